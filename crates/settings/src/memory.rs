//! Costs of a rank's memory in collective operations, by the working set of the call.
//!
//! A cost is `time + per_byte × length`, with the section of a table in which the working set lies.
//! From the threshold of a section to twice the threshold, both numbers go linearly from the
//! section before: a cache holds a part of a working set that is a little larger.
//!
//! * `reduce`: of each reduction of two buffers, `length` is the length of one.
//! * `copy`: of each copy that a schedule makes.
//! * `datatype_build`: of each datatype that a schedule builds, whatever the working set: creation,
//!   commit and release. Libraries build one for each step of `alltoall` by Bruck's algorithm, to
//!   pack blocks that are not neighbours; the packing is copies.
//!
//! Temporary buffers that are *fresh* have further costs, by the length of the region:
//!
//! * `first_touch`: the kernel maps and clears pages when they are written for the first time.
//! * `registration`: the adapter registers a region before a rendezvous reads or writes the region.
//!
//! Buffers are fresh if the allocator gave their pages back to the kernel at the end of the last
//! call. glibc does so for a buffer of [`MMAP_THRESHOLD_MAX`] and more, and for two or more buffers
//! above [`TRIM_THRESHOLD`]: together they are above the threshold at which the heap is trimmed,
//! which is twice the largest freed buffer.
//!
//! *Not modelled*: the state of the caches before the call, and ranks of one node that share a
//! cache or the bandwidth of the memory. Buffers of the program are touched and registered.
//! Buffers of different lengths in one call; other allocators. Datatypes that a program builds, and
//! datatypes of other schedules than Bruck's `alltoall`.
//!
//! Sources: stream benchmarks have one bandwidth for each level of caches; the step is smooth
//! because caches are not flushed between two blocks (measured collectives of MareNostrum 5 and
//! LUMI, PICO, github.com/HLC-Lab/pico). glibc 2.31, `malloc/malloc.c`, `M_MMAP_THRESHOLD` and
//! `M_TRIM_THRESHOLD`, which are dynamic. UCX 1.15, `ib_md.c`, `MEM_REG_OVERHEAD` and
//! `MEM_REG_GROWTH`: a registration costs 16 µs and 60 ps per byte. Open MPI 4.1,
//! `coll_base_alltoall.c`, and MPICH, `alltoall_intra_brucks.c`: a datatype for each step.

use serde::Serialize;

use crate::OverheadTable;

/// Buffers of this many bytes and more are mapped for each allocation
/// (`DEFAULT_MMAP_THRESHOLD_MAX` of glibc on 64-bit systems).
pub const MMAP_THRESHOLD_MAX: u64 = 32 << 20;

/// The heap is not trimmed for fewer free bytes than these (`DEFAULT_TRIM_THRESHOLD` of glibc).
pub const TRIM_THRESHOLD: u64 = 128 << 10;

/// Costs of memory in collective operations.
///
/// `S`: sizes, in bytes if numbers; `T`: times, in seconds if numbers.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct MemorySettings<S = u64, T = f64> {
    /// Of a reduction, by working set.
    #[serde(skip_serializing_if = "OverheadTable::is_empty")]
    pub reduce: OverheadTable<S, T>,
    /// Of a copy, by working set.
    #[serde(skip_serializing_if = "OverheadTable::is_empty")]
    pub copy: OverheadTable<S, T>,
    /// Of the first write to a region of a fresh buffer, by the length of the region.
    #[serde(skip_serializing_if = "OverheadTable::is_empty")]
    pub first_touch: OverheadTable<S, T>,
    /// Of the registration of a region of a fresh buffer, by the length of the region.
    #[serde(skip_serializing_if = "OverheadTable::is_empty")]
    pub registration: OverheadTable<S, T>,
    /// Of a datatype that a schedule builds; `None` if datatypes are free.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub datatype_build: Option<T>,
}

impl<S, T> MemorySettings<S, T> {
    /// No costs.
    pub const NONE: Self = Self {
        reduce: OverheadTable::NONE,
        copy: OverheadTable::NONE,
        first_touch: OverheadTable::NONE,
        registration: OverheadTable::NONE,
        datatype_build: None,
    };

    /// Returns true if memory is free.
    pub const fn is_default(&self) -> bool {
        let has_builds = self.datatype_build.is_some();
        self.reduce.is_empty() && self.copy.is_empty() && !self.has_fresh_buffers() && !has_builds
    }

    /// Returns true if fresh buffers have costs.
    pub const fn has_fresh_buffers(&self) -> bool {
        !self.first_touch.is_empty() || !self.registration.is_empty()
    }

    /// Returns the costs with converted sizes and times.
    pub fn map_units<S2, T2>(
        &self,
        size: impl Fn(&S) -> S2,
        time: impl Fn(&T) -> T2,
    ) -> MemorySettings<S2, T2> {
        MemorySettings {
            reduce: self.reduce.map(&size, &time),
            copy: self.copy.map(&size, &time),
            first_touch: self.first_touch.map(&size, &time),
            registration: self.registration.map(&size, &time),
            datatype_build: self.datatype_build.as_ref().map(&time),
        }
    }
}

impl<S, T> Default for MemorySettings<S, T> {
    fn default() -> Self {
        Self::NONE
    }
}

impl OverheadTable {
    /// Returns the cost of `length` bytes in seconds, in a call with a working set in bytes.
    #[must_use]
    #[expect(
        clippy::cast_precision_loss,
        reason = "sizes of 2^53 bytes and more may be off by one"
    )]
    pub fn of_working_set(&self, length: u64, working_set: u64) -> f64 {
        let sections = self.sections();
        let after = sections.partition_point(|section| section.above < working_set);
        let Some(at) = after.checked_sub(1).filter(|_| length > 0) else {
            return 0.0;
        };
        let (own, length) = (sections[at], length as f64);
        let cost = own.time + own.per_byte * length;
        let Some(before) = at.checked_sub(1).map(|before| sections[before]) else {
            return cost;
        };
        let part = ((working_set - own.above) as f64 / own.above as f64).min(1.0);
        let lower = before.time + before.per_byte * length;
        lower + (cost - lower) * part
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::OverheadSection;

    #[test]
    fn costs_rise_between_a_threshold_and_twice_the_threshold() {
        let section = |above, time, per_byte| OverheadSection {
            above,
            time,
            per_byte,
        };
        let table = OverheadTable::new(vec![section(0, 1.0, 0.5), section(1000, 2.0, 1.5)]);
        let cost = |working_set| table.of_working_set(10, working_set);
        let found = [1, 1000, 1500, 2000, 1 << 40].map(cost);
        assert_eq!(found, [6.0, 6.0, 11.5, 17.0, 17.0]);
        // Nothing is below the first threshold.
        assert_eq!([cost(0), table.of_working_set(0, 10)], [0.0; 2]);
        assert_eq!(OverheadTable::NONE.of_working_set(10, 10), 0.0);
    }
}
