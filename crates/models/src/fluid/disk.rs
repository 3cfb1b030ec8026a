//! Reading from and writing to disks: the model S19 of SimGrid.
//!
//! A disk is three capacities: bytes per second for all reads, for all writes, and for both
//! together. The last capacity is the larger of the first two unless the platform says otherwise.
//! Each capacity is shared max-min fairly, with the priorities as weights. There is no latency, and
//! no limit for one operation beyond the limits of the disk.
//!
//! *Not modelled*: seeking, caches, queues, files. SimGrid rounds the progress of every operation
//! to whole bytes at every event of the simulation; here, also with `compat`, bytes may be split,
//! so that dates differ by up to half a byte per such event, and do not depend on events elsewhere.
//!
//! Units: bytes, bytes/s.

use sim_core::{DiskId, Io, Span, StartError};

use super::{ActivityResources, FlowModel};
use platform::Platform;

/// Capacities per disk: all, reading, writing.
const CAPACITIES: u32 = 3;

/// Number of capacities of the disks of a platform; they follow the capacities of links and hosts.
pub(super) fn capacities(platform: &Platform) -> u64 {
    u64::from(CAPACITIES) * u64::from(platform.disk_count())
}

impl FlowModel {
    /// Stores an operation on a disk; such an operation has no latency.
    pub(super) fn prepare_io(
        &mut self,
        slot: u32,
        (disk, operation): (DiskId, Io),
        bytes: f64,
        priority: f64,
    ) -> Result<Span, StartError> {
        let Some(figures) = self.platform.disk(disk) else {
            return Err(StartError(format!(
                "disk number {} of a platform with {} disks",
                disk.0,
                self.platform.disk_count()
            )));
        };
        let first = self.platform.link_id_end() + self.platform.host_count() + CAPACITIES * disk.0;
        let (side, bandwidth) = match operation {
            Io::Read => (first + 1, figures.read_bandwidth),
            Io::Write => (first + 2, figures.write_bandwidth),
        };
        for (number, capacity) in [(first, figures.total_bandwidth), (side, bandwidth)] {
            self.solver.cross(slot, number, capacity, 1.0);
        }
        let activity = &mut self.activities.0[slot as usize];
        activity.place = ActivityResources::Io(disk);
        activity.weight = priority;
        (activity.remaining, activity.wanted) = (bytes, f64::INFINITY);
        activity.set_bound(1.0);
        Ok(Span::ZERO)
    }
}
