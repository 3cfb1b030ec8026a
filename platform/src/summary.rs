//! A platform in a few lines: counts and parameters.

use std::fmt;

use crate::{NetworkModel, Platform};

/// Prints counts of hosts, clusters, links and routes, the model and its parameters; made by [`Platform::summary`].
#[derive(Clone, Copy, Debug)]
pub struct Summary<'p>(pub(crate) &'p Platform);

impl fmt::Display for Summary<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let platform = self.0;
        if let Some(name) = platform.name() {
            writeln!(f, "name      {name}")?;
        }
        writeln!(
            f,
            "hosts     {} ({} single, {} in clusters)",
            platform.host_count,
            platform.singles.len(),
            platform.host_count as usize - platform.singles.len()
        )?;
        for named in &platform.file.root.clusters {
            let entry = &named.entry;
            writeln!(
                f,
                "cluster   {}: {}, {} hosts of {} x {}, links of {} and {}, {}",
                named.name.get_ref(),
                entry.hosts.text(),
                entry.hosts.count(),
                entry.cores,
                entry.speed,
                entry.link.bandwidth,
                entry.link.latency,
                match &entry.backbone {
                    Some(backbone) => format!("backbone of {}", backbone.bandwidth),
                    None => "no backbone".to_owned(),
                }
            )?;
        }
        // The implicit loopback is always there and not worth counting.
        writeln!(f, "links     {}", platform.wire_count - 1)?;
        writeln!(
            f,
            "routes    {} declared, in clusters computed",
            platform.tree.table.len()
        )?;
        let model = match platform.network_model() {
            NetworkModel::Flow => "flow: latency + size / bandwidth, max-min fair sharing",
        };
        writeln!(f, "network   {model}")?;
        let threshold = &platform.protocol().eager_threshold;
        write!(
            f,
            "protocol  eager below {threshold}, rendezvous from there on"
        )
    }
}
