//! The names of a platform's hosts and disks, as the kernel asks for them.

use std::sync::Arc;

use sim_core::{DiskId, HostId, Hosts};

use crate::Platform;

/// The hosts of a platform, for reports and for programs that ask for a disk by its name.
#[derive(Clone, Debug)]
pub struct HostNames(pub Arc<Platform>);

impl Hosts for HostNames {
    fn count(&self) -> u32 {
        self.0.host_count()
    }

    fn name(&self, host: HostId) -> String {
        self.0.host_name(host).into_owned()
    }

    fn disk(&self, host: HostId, name: &str) -> Option<DiskId> {
        self.0.disk_by_name(host, name)
    }
}
