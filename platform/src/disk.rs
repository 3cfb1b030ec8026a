//! Disks of hosts and their speeds.
//!
//! Disks are numbered like hosts, disks of single hosts before disks of clusters. All hosts of a
//! cluster have the same disks, which are computed, not stored.

use sim_core::{DiskId, HostId};

/// Largest number of disks: three capacities per disk must fit, besides links and hosts.
pub(crate) const DISKS_MAX: u32 = 1 << 28;

/// A disk with its limits.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DiskInfo<'p> {
    /// Name of the disk, unique on its host.
    pub name: &'p str,
    /// The host of the disk.
    pub host: HostId,
    /// Bytes per second of all that read together.
    pub read_bandwidth: f64,
    /// Bytes per second of all that write together.
    pub write_bandwidth: f64,
    /// Bytes per second of all reads and writes together.
    pub total_bandwidth: f64,
}

/// A disk that one host or each host of a cluster has.
#[derive(Clone, Debug)]
pub(crate) struct DiskLimits {
    pub(crate) name: Box<str>,
    pub(crate) read_bandwidth: f64,
    pub(crate) write_bandwidth: f64,
    pub(crate) total_bandwidth: f64,
}

/// Hosts in a row with equal disks.
#[derive(Clone, Debug)]
struct DiskOwners {
    first_disk: u32,
    first_host: u32,
    hosts: u32,
    disks: Vec<DiskLimits>,
}

/// All disks.
#[derive(Clone, Default, Debug)]
pub(crate) struct Disks {
    /// Sorted by host and by disk.
    owners: Vec<DiskOwners>,
    count: u32,
}

fn entry_count(disks: &[DiskLimits]) -> u32 {
    u32::try_from(disks.len()).expect("fewer disks than DISKS_MAX")
}

impl Disks {
    /// Gives the same disks to `hosts` hosts from `first_host` on, which come after all hosts so
    /// far.
    pub(crate) fn add_disks(&mut self, first_host: u32, hosts: u32, disks: Vec<DiskLimits>) {
        if disks.is_empty() {
            return;
        }
        let first_disk = self.count;
        self.count += hosts * entry_count(&disks);
        self.owners.push(DiskOwners {
            first_disk,
            first_host,
            hosts,
            disks,
        });
    }

    pub(crate) const fn disk_count(&self) -> u32 {
        self.count
    }

    /// The disk of a host that is called so.
    pub(crate) fn find_disk(&self, host: HostId, name: &str) -> Option<DiskId> {
        let before = self
            .owners
            .partition_point(|owners| owners.first_host <= host.0);
        let owners = &self.owners[before.checked_sub(1)?];
        let offset = host.0 - owners.first_host;
        let at = owners.disks.iter().position(|disk| *disk.name == *name)?;
        let at = u32::try_from(at).ok()?;
        (offset < owners.hosts)
            .then(|| DiskId(owners.first_disk + offset * entry_count(&owners.disks) + at))
    }

    /// Returns the disk with a number, and the host of the disk.
    pub(crate) fn get(&self, disk: DiskId) -> Option<(HostId, &DiskLimits)> {
        if disk.0 >= self.count {
            return None;
        }
        let before = self
            .owners
            .partition_point(|owners| owners.first_disk <= disk.0);
        let owners = &self.owners[before.checked_sub(1)?];
        let offset = disk.0 - owners.first_disk;
        let each = entry_count(&owners.disks);
        let host = HostId(owners.first_host + offset / each);
        Some((host, &owners.disks[(offset % each) as usize]))
    }
}
