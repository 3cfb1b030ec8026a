//! The dates at which latencies are paid, which can be moved and taken out.

use sim_core::Time;

use crate::solver::heap::{ABSENT, Heap};

/// At most one date for each activity, which is known by its slot.
#[derive(Default, Debug)]
pub(crate) struct Agenda {
    heap: Heap,
    positions: Vec<u32>,
}

impl Agenda {
    /// Sets or moves the date of an activity.
    pub(crate) fn set(&mut self, slot: u32, date: Time) {
        let count = slot as usize + 1;
        if self.positions.len() < count {
            self.positions.resize(count, ABSENT);
        }
        self.heap.set(slot, date.as_secs(), &mut self.positions);
    }

    /// Forgets the date of the activity in `slot`, if it has one.
    pub(crate) fn remove(&mut self, slot: u32) {
        if (slot as usize) < self.positions.len() {
            self.heap.remove(slot, &mut self.positions);
        }
    }

    /// The first date.
    pub(crate) fn first(&self) -> Option<Time> {
        self.heap.first().map(|(date, _)| Time::from_secs(date))
    }

    /// Takes the first activity if its date is at most `last`.
    pub(crate) fn pop_until(&mut self, last: Time) -> Option<u32> {
        if self.first()? > last {
            return None;
        }
        self.heap.pop(&mut self.positions).map(|(_, slot)| slot)
    }
}
