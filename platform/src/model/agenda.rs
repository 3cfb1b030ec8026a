//! The dates at which activities end or change, with priorities that move.
//!
//! The first date comes first; at equal dates the activity with the smaller number. The map inside the queue is
//! hashed by a fixed function of the slot and never iterated, so that its order cannot be seen.

use std::cmp::Reverse;
use std::hash::{BuildHasherDefault, Hasher};

use priority_queue::PriorityQueue;
use sim_core::{ActivityId, Time};

/// At most one date for each activity, which is known by its slot.
#[derive(Default, Debug)]
pub(crate) struct Agenda {
    queue: PriorityQueue<u32, Reverse<(Time, u64)>, BuildHasherDefault<SlotHasher>>,
}

/// Spreads slots over the table: a multiplication by 2^64 divided by the golden ratio, the usual odd constant.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct SlotHasher(u64);

impl Hasher for SlotHasher {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.write_u32(u32::from(*byte));
        }
    }

    fn write_u32(&mut self, slot: u32) {
        self.0 = (self.0 ^ u64::from(slot)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    }

    fn finish(&self) -> u64 {
        // The table takes its position from the low bits and a tag from the high ones.
        self.0.rotate_left(32)
    }
}

impl Agenda {
    /// Sets or moves the date of an activity.
    pub(crate) fn set(&mut self, activity: ActivityId, date: Time) {
        self.queue
            .push(activity.slot, Reverse((date, activity.number)));
    }

    /// Forgets the date of the activity in `slot`, if it has one.
    pub(crate) fn remove(&mut self, slot: u32) {
        self.queue.remove(&slot);
    }

    /// The first date.
    pub(crate) fn first(&self) -> Option<Time> {
        self.queue.peek().map(|(_, Reverse((date, _)))| *date)
    }

    /// Takes the first activity if its date is at most `last`.
    pub(crate) fn pop_until(&mut self, last: Time) -> Option<u32> {
        if self.first()? > last {
            return None;
        }
        self.queue.pop().map(|(slot, _)| slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_dates_leave_by_number_and_dates_move() {
        let mut agenda = Agenda::default();
        let at = |slot, number, seconds| (ActivityId { number, slot }, Time::from_secs(seconds));
        for (activity, date) in [at(0, 9, 1.0), at(1, 3, 1.0), at(2, 5, 0.5), at(3, 1, 2.0)] {
            agenda.set(activity, date);
        }
        let (moved, date) = at(2, 5, 1.0);
        agenda.set(moved, date);
        agenda.remove(3);
        let order: Vec<u32> =
            std::iter::from_fn(|| agenda.pop_until(Time::from_secs(1.5))).collect();
        assert_eq!(order, [1, 2, 0]);
        assert_eq!(agenda.first(), None);
    }
}
