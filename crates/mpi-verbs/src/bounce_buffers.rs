//! Registered memory for copies of messages whose own memory is not registered.
//!
//! Registration of memory is a system call that pins its pages, at each end, for each message with
//! memory that is new to the adapter; a copy is limited by the memory bandwidth. So short messages
//! are copied through memory that stays registered. Their own memory is registered only if it is
//! sent again (see [`registrations`](super::registrations)). Long messages never come here.
//!
//! Regions have lengths of powers of two, and are kept for the next message that fits. A peer keeps
//! the key of a region to which it has written, and could write there again: into a message in
//! transit to another receiver, but not into memory that a program holds.

use std::collections::BTreeMap;

use rdma::{Access, MemoryRegion, ProtectionDomain, RegionMemory, Verbs};

use super::registrations::deregister_region;

/// The shortest region, in bytes: a page.
const SHORTEST: u64 = 4096;

/// Regions of a device for copies.
#[derive(Debug)]
pub(crate) struct BounceBuffers {
    pd: ProtectionDomain,
    access: Access,
    /// Longer messages are not copied.
    longest: u64,
    /// Maximum number of bytes that are kept.
    most_bytes: u64,
    /// Unused regions, by their length.
    kept: BTreeMap<u64, Vec<MemoryRegion>>,
    bytes: u64,
}

impl BounceBuffers {
    pub(crate) const fn new(
        pd: ProtectionDomain,
        access: Access,
        (longest, most_bytes): (u64, u64),
    ) -> Self {
        Self {
            pd,
            access,
            longest,
            most_bytes,
            kept: BTreeMap::new(),
            bytes: 0,
        }
    }

    /// Returns true if a message of this many bytes is copied.
    pub(crate) const fn accepts_length(&self, length: u64) -> bool {
        length <= self.longest
    }

    /// A region for a message of the given number of bytes, and perhaps more; `None` if such a
    /// message is not copied, or the adapter has no room.
    pub(crate) fn take_region(&mut self, verbs: &dyn Verbs, length: u64) -> Option<MemoryRegion> {
        if !self.accepts_length(length) {
            return None;
        }
        let length = length.next_power_of_two().max(SHORTEST);
        if let Some(region) = self.kept.get_mut(&length).and_then(Vec::pop) {
            self.bytes -= length;
            return Some(region);
        }
        let memory = RegionMemory::Zeroed(length);
        verbs.reg_mr(self.pd, memory, self.access).ok()
    }

    /// A region is not used any more.
    pub(crate) fn give_back(&mut self, verbs: &dyn Verbs, region: MemoryRegion) {
        if self.bytes + region.length > self.most_bytes {
            return deregister_region(verbs, &region);
        }
        self.bytes += region.length;
        self.kept.entry(region.length).or_default().push(region);
    }

    /// Releases the kept regions; returns true if there were any.
    pub(crate) fn clear_cache(&mut self, verbs: &dyn Verbs) -> bool {
        self.bytes = 0;
        let kept = std::mem::take(&mut self.kept);
        let any = !kept.is_empty();
        kept.into_values()
            .flatten()
            .for_each(|region| deregister_region(verbs, &region));
        any
    }
}
