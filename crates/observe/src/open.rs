//! Calls, regions and collective operations in progress while a log is written. The record of an
//! end names the ended operation, for readers that go backwards.
//!
//! *Not reported*: operations that began before the log, or end after the log.

use std::collections::BTreeMap;

use crate::numbering::NameId;
use crate::record::{
    COLLECTIVE, COLLECTIVE_CALL, COLLECTIVE_END, CONTINUE, ENTER, LEAVE, Record, WAIT,
};

/// A call with a wait that has ended.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EndedCall {
    /// Name of the call.
    pub call: NameId,
    /// Line of the call.
    pub place: NameId,
    /// True if the time was the time of a computation or a sleep.
    pub elapses: bool,
    /// Beginning of the wait in seconds.
    pub from: f64,
}

/// Calls, regions and collective operations in progress.
#[derive(Debug, Default)]
pub(crate) struct Open {
    /// The latest wait of each rank.
    waits: Vec<Option<EndedCall>>,
    /// The regions of each rank that has any, the innermost last.
    regions: BTreeMap<u32, Vec<NameId>>,
    /// Rank 0 of the communicator of the collective operation that a rank is about to enter.
    next: BTreeMap<u32, u32>,
    /// The same rank 0 for operations in progress, by rank, context and number; unless 0.
    first: BTreeMap<(u32, u32, u32), u32>,
}

impl Open {
    /// Notes the begin of an operation in a record; completes a record that ends an operation.
    #[inline]
    pub(crate) fn complete_record(&mut self, record: &mut Record) {
        let rank = record.rank;
        match record.kind {
            WAIT => {
                let at = rank as usize;
                if at >= self.waits.len() {
                    self.waits.resize(at + 1, None);
                }
                self.waits[at] = Some(EndedCall {
                    call: record.name,
                    place: low(record.c),
                    elapses: record.flag == 1,
                    from: record.time,
                });
            }
            CONTINUE => {
                let wait = self.waits.get(rank as usize).copied().flatten();
                if let Some(wait) = wait {
                    record.name = wait.call;
                    record.a = u32::from(wait.place);
                    record.flag = u8::from(wait.elapses);
                    record.c = wait.from.to_bits();
                }
            }
            COLLECTIVE_CALL => {
                let first = u32::try_from(record.c >> 32).unwrap_or(0);
                if first != 0 {
                    self.next.insert(rank, first);
                }
            }
            COLLECTIVE => {
                if let Some(first) = self.next.remove(&rank) {
                    self.first.insert((rank, record.a, record.b), first);
                }
            }
            COLLECTIVE_END => {
                let first = self.first.remove(&(rank, record.a, record.b));
                record.c = u64::from(first.unwrap_or(0));
            }
            ENTER => self.regions.entry(rank).or_default().push(record.name),
            LEAVE => {
                let region = self.regions.get_mut(&rank).and_then(Vec::pop);
                record.name = region.unwrap_or(NameId::MAX);
            }
            _ => {}
        }
    }
}

/// Returns the lower 16 bits.
fn low(field: u64) -> NameId {
    NameId::try_from(field & 0xffff).unwrap_or(0)
}

/// Returns the call that a record ends; `None` for records of other events.
pub(crate) fn ended_call(record: &Record) -> Option<EndedCall> {
    (record.kind == CONTINUE).then(|| EndedCall {
        call: record.name,
        place: low(u64::from(record.a)),
        elapses: record.flag == 1,
        from: f64::from_bits(record.c),
    })
}

/// Returns the region that a record ends; `None` for records of other events.
pub(crate) const fn ended_region(record: &Record) -> Option<NameId> {
    if record.kind == LEAVE {
        Some(record.name)
    } else {
        None
    }
}

/// Returns rank 0 of the communicator of the operation that a record ends; `None` for records of
/// other events.
pub(crate) fn ended_first(record: &Record) -> Option<u32> {
    (record.kind == COLLECTIVE_END).then(|| u32::try_from(record.c).unwrap_or(0))
}
