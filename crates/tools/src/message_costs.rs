//! A warning of platforms without costs of software: messages of such a platform take no time of a
//! processor, so results favour algorithms with many messages.

use std::path::Path;

use platform::Platform;
use simrun::status;

/// Warns of a platform on which a message takes no processor time and no time of an adapter.
pub(crate) fn warn_of_free_messages(path: &Path, platform: &Platform) {
    if has_free_messages(platform) {
        status::warn(format_args!(
            "{}: messages take no processor time, so algorithms with many messages are too fast: \
             expected costs in the table [network], as measured, such as\n  \
             os = [{{ above = \"0B\", time = \"500ns\", per_byte = \"0s\" }}]\n  \
             ois = [{{ above = \"0B\", time = \"500ns\", per_byte = \"0s\" }}]\n  \
             or = [{{ above = \"0B\", time = \"500ns\", per_byte = \"0s\" }}]",
            path.display()
        ));
    }
}

fn has_free_messages(platform: &Platform) -> bool {
    let (network, protocol) = (platform.network(), platform.protocol());
    let overheads = network.fluid.as_ref().map(|fluid| &fluid.overheads);
    let has_overheads =
        overheads.is_some_and(|all| all.tables().iter().any(|(_, table)| !table.is_empty()));
    let has_loggops = network.loggops.as_ref().is_some_and(|costs| {
        [&costs.overhead, &costs.gap]
            .iter()
            .any(|time| time.as_secs() > 0.0)
    });
    let has_posting = [
        &protocol.post_cost_per_packet,
        &protocol.post_cost_per_batch,
    ];
    let has_posting = has_posting.iter().any(|cost| cost.is_some());
    !(has_overheads || has_loggops || has_posting || network.verbs.is_some())
}
