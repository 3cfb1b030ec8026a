//! `<disk>` of a `<host>`.

use super::values::{Importer, spanned_at};
use super::xml::Element;
use platform::file::{DiskEntry, Named, cut};

impl Importer {
    /// The disks of a host.
    pub(super) fn disks(&mut self, host: &Element) -> Vec<Named<DiskEntry>> {
        let mut disks: Vec<Named<DiskEntry>> = Vec::new();
        for child in host.children.iter().filter(|child| child.name == "disk") {
            let id = self.required(child, "id");
            let read_bandwidth = self.bandwidth(child, "read_bw");
            let write_bandwidth = self.bandwidth(child, "write_bw");
            self.note_unread(child, &["id", "read_bw", "write_bw"]);
            let (Some(id), Some(read_bandwidth), Some(write_bandwidth)) =
                (id, read_bandwidth, write_bandwidth)
            else {
                continue;
            };
            if disks.iter().any(|disk| disk.name.get_ref() == id) {
                let problem = format!("a second <disk> {:?} of one host", cut(id));
                self.diagnostic(child, problem, "expected disks with different names");
                continue;
            }
            let entry = DiskEntry {
                read_bandwidth,
                write_bandwidth,
                total_bandwidth: None,
            };
            let name = spanned_at(child, id.to_owned());
            disks.push(Named { name, entry });
        }
        disks
    }
}
