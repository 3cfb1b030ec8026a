//! The dates at which latencies are paid; dates can be moved and removed.
//!
//! Most latencies are alike, so that they end in the order in which they began. Such dates are in a
//! queue, and only a date before the last date in the queue goes to a heap.

use std::collections::VecDeque;

use sim_core::Time;

use maxmin::heap::{ABSENT, IndexedHeap};
use maxmin::least;

/// At most one date for each activity; a slot identifies the activity.
#[derive(Default, Debug)]
pub(crate) struct LatencyQueue {
    queue: VecDeque<Entry>,
    heap: IndexedHeap,
    /// Positions in the heap.
    positions: Vec<u32>,
    /// For each slot, the number of its entries in the queue that are past or removed.
    turns: Vec<u32>,
}

/// A date in the queue, in seconds; void if the slot has had more turns since.
#[derive(Clone, Copy, Debug)]
struct Entry {
    date: f64,
    slot: u32,
    turn: u32,
}

impl LatencyQueue {
    /// Sets the date of an activity that has none.
    pub(crate) fn set_date(&mut self, slot: u32, date: Time) {
        let at = slot as usize;
        if self.positions.len() <= at {
            self.positions.resize(at + 1, ABSENT);
            self.turns.resize(at + 1, 0);
        }
        let date = date.as_secs();
        if self.queue.back().is_none_or(|last| last.date <= date) {
            let turn = self.turns[at];
            self.queue.push_back(Entry { date, slot, turn });
        } else {
            self.heap.set(slot, date, &mut self.positions);
        }
    }

    /// Removes the date of the activity in `slot`, if there is one.
    pub(crate) fn remove_date(&mut self, slot: u32) {
        let Some(turn) = self.turns.get_mut(slot as usize) else {
            return;
        };
        *turn = turn.wrapping_add(1);
        self.heap.remove(slot, &mut self.positions);
        self.drop_stale();
    }

    fn drop_stale(&mut self) {
        while let Some(first) = self.queue.front()
            && self.turns[first.slot as usize] != first.turn
        {
            self.queue.pop_front();
        }
    }

    /// The first date in seconds, infinite if there is none.
    #[inline]
    pub(crate) fn first_s(&self) -> f64 {
        let queued = self.queue.front().map_or(f64::INFINITY, |first| first.date);
        let heaped = self.heap.first().map_or(f64::INFINITY, |(date, _)| date);
        least(queued, heaped)
    }

    /// Returns the activity with a date up to `last`, if that is one alone and in the queue.
    #[inline]
    pub(crate) fn only_until(&self, last: Time) -> Option<u32> {
        let last = last.as_secs();
        let first = self.queue.front()?;
        let second = self
            .queue
            .get(1)
            .map_or(f64::INFINITY, |second| second.date);
        let heaped = self.heap.first().map_or(f64::INFINITY, |(date, _)| date);
        (first.date <= last && second > last && heaped > last).then_some(first.slot)
    }

    /// Appends the activities with dates up to `last`, and returns true, unless one of these dates
    /// is in the heap.
    #[inline]
    pub(crate) fn queued_until(&self, last: Time, due: &mut Vec<u32>) -> bool {
        let last = last.as_secs();
        if self.heap.first().is_some_and(|(date, _)| date <= last) {
            return false;
        }
        let entries = self.queue.iter().take_while(|entry| entry.date <= last);
        let valid = entries.filter(|entry| self.turns[entry.slot as usize] == entry.turn);
        due.extend(valid.map(|entry| entry.slot));
        true
    }

    /// Takes the first activity, which is in the queue.
    #[inline]
    pub(crate) fn pop_first(&mut self) {
        if let Some(first) = self.queue.pop_front() {
            self.turns[first.slot as usize] = first.turn.wrapping_add(1);
            self.drop_stale();
        }
    }

    /// Removes the first activity if its date is at most `last`, and returns the slot.
    pub(crate) fn pop_until(&mut self, last: Time) -> Option<u32> {
        let last = last.as_secs();
        if let Some(first) = self.queue.front().copied()
            && first.date <= last
        {
            self.pop_first();
            return Some(first.slot);
        }
        let (date, slot) = self.heap.first()?;
        (date <= last).then(|| {
            self.heap.remove(slot, &mut self.positions);
            slot
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    proptest! {
        #[test]
        fn dates_leave_when_they_are_due(
            changes in prop::collection::vec((0_u32..12, prop::option::weighted(0.7, 0_u32..9)), 1..150),
        ) {
            let mut agenda = LatencyQueue::default();
            let mut model = BTreeMap::new();
            for (step, (slot, date)) in changes.into_iter().enumerate() {
                match date {
                    Some(date) => {
                        // Dates that mostly grow, as they do while time passes.
                        let date = step as f64 / 3.0 + f64::from(date);
                        agenda.remove_date(slot);
                        agenda.set_date(slot, Time::from_secs(date));
                        model.insert(slot, date);
                    }
                    None => {
                        agenda.remove_date(slot);
                        model.remove(&slot);
                    }
                }
                let first = model.values().copied().fold(f64::INFINITY, f64::min);
                prop_assert_eq!(agenda.first_s(), first);
                if step % 5 == 4 {
                    let last = step as f64 / 3.0 + 2.0;
                    let mut due: Vec<u32> =
                        std::iter::from_fn(|| agenda.pop_until(Time::from_secs(last))).collect();
                    due.sort_unstable();
                    let mut wanted: Vec<u32> =
                        model.iter().filter(|(_, date)| **date <= last).map(|(slot, _)| *slot).collect();
                    wanted.sort_unstable();
                    model.retain(|_, date| *date > last);
                    prop_assert_eq!(due, wanted);
                }
            }
        }
    }
}
