//! `[hosts.NAME.disks.NAME]` and `[clusters.NAME.disks.NAME]`: the disks of a host, or of each host
//! of a cluster.

use serde::Serialize;

use super::Named;
use super::field::{InvalidValue, cut};
use super::section::{Collector, Section, in_file_order};
use crate::units::Bandwidth;

/// A disk of a host.
#[derive(Clone, Serialize, Debug)]
pub struct DiskEntry {
    /// Bandwidth of all reads together.
    pub read_bandwidth: Bandwidth,
    /// Bandwidth of all writes together.
    pub write_bandwidth: Bandwidth,
    /// Bandwidth of all reads and writes together; by default the larger of both. The default is
    /// not written out, so a change of the read or write bandwidth changes the default, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_bandwidth: Option<Bandwidth>,
}

impl DiskEntry {
    /// Returns the bandwidth of all reads and writes together.
    #[must_use]
    pub fn total(&self) -> &Bandwidth {
        let (read, write) = (&self.read_bandwidth, &self.write_bandwidth);
        let larger = if read.bytes_per_s() >= write.bytes_per_s() {
            read
        } else {
            write
        };
        self.total_bandwidth.as_ref().unwrap_or(larger)
    }
}

/// The disks in the table `disks` of a host or cluster; `None` if there is a mistake.
pub(super) fn disks(
    collector: &mut Collector,
    section: &Section<'_>,
) -> Option<Vec<Named<DiskEntry>>> {
    const KEYS: [&str; 3] = ["read_bandwidth", "write_bandwidth", "total_bandwidth"];
    let Some(value) = section.get("disks") else {
        return Some(Vec::new());
    };
    let Some(table) = value.get_ref().as_table() else {
        let expected = "named tables, such as [hosts.alice.disks.ssd]";
        collector.wrong(value.span(), InvalidValue::kind(value.get_ref(), expected));
        return None;
    };
    let mut read = Vec::new();
    for (name, value) in in_file_order(table) {
        if name.get_ref().is_empty() {
            let problem = "empty name".to_owned();
            collector.add(name.span(), problem, "expected a name", None);
        }
        let what = format!("disk {:?}", cut(name.get_ref()));
        let disk = collector
            .section(value, name.span(), what, &KEYS)
            .and_then(|disk| {
                let read = collector.required(&disk, "read_bandwidth", "\"200MBps\"");
                let write = collector.required(&disk, "write_bandwidth", "\"100MBps\"");
                let total = collector.optional(&disk, "total_bandwidth");
                Some(DiskEntry {
                    read_bandwidth: read?,
                    write_bandwidth: write?,
                    total_bandwidth: total?,
                })
            });
        read.push(disk.map(|entry| Named { name, entry }));
    }
    read.into_iter().collect()
}
