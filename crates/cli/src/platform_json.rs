//! Platforms and routes as JSON, for scripts: `simrun platform show --format json`.
//!
//! Quantities are numbers in their base units: keys in `_s` are in seconds, speeds in flop/s,
//! bandwidths in B/s.
//!
//! *Not included*: zones, disks, states of processors and parameters of models, which `simrun
//! platform show` prints for people.

use platform::{LinkInfo, Platform, Route, Sharing};
use serde_json::{Value as Json, json};

/// Returns the hosts of a platform and the name of the network model.
pub(crate) fn describe_platform(platform: &Platform) -> Json {
    let hosts = platform.hosts().map(|host| {
        json!({
            "name": platform.host_name(host),
            "speed": platform.speed(host),
            "cores": platform.cores(host),
        })
    });
    json!({
        "name": platform.name(),
        "network_model": platform.network_model().name(),
        "hosts": hosts.collect::<Vec<_>>(),
    })
}

/// Returns a route. `links`: the links of the route in order. The bandwidth is the least bandwidth
/// of the links, `null` without links.
pub(crate) fn describe_route(route: &Route, links: &[LinkInfo]) -> Json {
    let least = links.iter().map(|link| link.bandwidth).reduce(f64::min);
    let links = links.iter().map(|link| {
        json!({
            "name": link.name,
            "bandwidth": link.bandwidth,
            "latency_s": link.latency.as_secs(),
            "sharing": sharing(link.sharing),
        })
    });
    json!({
        "latency_s": route.latency_s,
        "bandwidth": least,
        "links": links.collect::<Vec<_>>(),
    })
}

/// Returns the word of a platform file.
pub(crate) const fn sharing(sharing: Sharing) -> &'static str {
    match sharing {
        Sharing::Shared => "shared",
        Sharing::SplitDuplex => "split-duplex",
        Sharing::FatPipe => "fatpipe",
        Sharing::Wifi => "wifi",
    }
}
