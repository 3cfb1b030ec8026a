//! The dates of events, one for each slot; dates can be removed.
//!
//! Most events are alike, so that they happen in the order in which they began. Such dates are in a
//! queue, and only a date before the last date in the queue goes to a heap.

use std::collections::VecDeque;

use super::heap::{ABSENT, IndexedHeap};
use super::least;

/// In the queue: an event that was removed.
const REMOVED: u32 = u32::MAX;

/// The place of a date, needed to remove it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DatePlace(u32);

impl DatePlace {
    /// The place of no date.
    pub const NONE: Self = Self(u32::MAX);
    /// In the heap, where the slot says where.
    const HEAP: Self = Self(u32::MAX - 1);
    /// Numbers of entries of the queue go round within these bits.
    const QUEUE: u32 = (1 << 31) - 1;
}

/// The dates, in seconds.
#[derive(Default, Debug)]
pub struct DateQueue {
    queue: VecDeque<(f64, u32)>,
    /// The number of entries that have left the queue.
    left: u32,
    heap: IndexedHeap,
    /// Positions in the heap.
    positions: Vec<u32>,
}

impl DateQueue {
    /// Sets the date of a slot that has none.
    #[inline]
    pub fn insert(&mut self, slot: u32, date: f64) -> DatePlace {
        if self.queue.back().is_some_and(|(last, _)| *last > date) {
            return self.insert_into_heap(slot, date);
        }
        let number = self.left.wrapping_add(self.queue.len() as u32);
        self.queue.push_back((date, slot));
        DatePlace(number & DatePlace::QUEUE)
    }

    #[inline(never)]
    fn insert_into_heap(&mut self, slot: u32, date: f64) -> DatePlace {
        let count = slot as usize + 1;
        if self.positions.len() < count {
            self.positions.resize(count, ABSENT);
        }
        self.heap.set(slot, date, &mut self.positions);
        DatePlace::HEAP
    }

    /// Removes the date of a slot, which is in this place.
    #[inline(never)]
    pub fn remove(&mut self, slot: u32, place: DatePlace) {
        match place {
            DatePlace::NONE => {}
            DatePlace::HEAP => self.heap.remove(slot, &mut self.positions),
            DatePlace(number) => {
                let at = number.wrapping_sub(self.left) & DatePlace::QUEUE;
                let entry = &mut self.queue[at as usize];
                debug_assert_eq!(entry.1, slot);
                entry.1 = REMOVED;
                self.drop_removed();
            }
        }
    }

    #[inline]
    fn drop_removed(&mut self) {
        while let Some((_, REMOVED)) = self.queue.front() {
            self.queue.pop_front();
            self.left = self.left.wrapping_add(1);
        }
    }

    /// The first date, infinite if there is none.
    #[inline]
    #[must_use]
    pub fn first_s(&self) -> f64 {
        let queued = self.queue.front().map_or(f64::INFINITY, |(date, _)| *date);
        least(queued, self.heap_first_s())
    }

    #[inline]
    fn heap_first_s(&self) -> f64 {
        self.heap.first().map_or(f64::INFINITY, |(date, _)| date)
    }

    /// Returns the slot with a date up to `last`, if that is one alone and in the queue.
    #[inline]
    #[must_use]
    pub fn only_until(&self, last: f64) -> Option<u32> {
        let (first, slot) = *self.queue.front()?;
        let second = self.queue.get(1).map_or(f64::INFINITY, |(date, _)| *date);
        (first <= last && second > last && self.heap_first_s() > last).then_some(slot)
    }

    /// Appends the slots with dates up to `last`, and returns true, unless one of these dates is in
    /// the heap.
    #[inline]
    pub fn queued_until(&self, last: f64, due: &mut Vec<u32>) -> bool {
        if self.heap_first_s() <= last {
            return false;
        }
        let entries = self.queue.iter().take_while(|(date, _)| *date <= last);
        due.extend(
            entries
                .map(|(_, slot)| *slot)
                .filter(|slot| *slot != REMOVED),
        );
        true
    }

    /// Takes the first date, which is in the queue.
    #[inline]
    pub fn pop_queued(&mut self) {
        self.queue.pop_front();
        self.left = self.left.wrapping_add(1);
        self.drop_removed();
    }

    /// Takes a slot with a date up to `last`.
    #[inline]
    pub fn pop_until(&mut self, last: f64) -> Option<u32> {
        if let Some((date, slot)) = self.queue.front().copied()
            && date <= last
        {
            self.pop_queued();
            return Some(slot);
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
            left in prop_oneof![Just(0), Just(u32::MAX - 9), Just(DatePlace::QUEUE - 9)],
        ) {
            let mut dates = DateQueue { left, ..DateQueue::default() };
            let mut places = [DatePlace::NONE; 12];
            let mut model = BTreeMap::new();
            for (step, (slot, date)) in changes.into_iter().enumerate() {
                let place = &mut places[slot as usize];
                dates.remove(slot, *place);
                model.remove(&slot);
                *place = DatePlace::NONE;
                if let Some(date) = date {
                    // Dates that mostly grow, as they do while time passes.
                    let date = step as f64 / 3.0 + f64::from(date);
                    *place = dates.insert(slot, date);
                    model.insert(slot, date);
                }
                let first = model.values().copied().fold(f64::INFINITY, f64::min);
                prop_assert_eq!(dates.first_s(), first);
                if step % 5 == 4 {
                    let last = step as f64 / 3.0 + 2.0;
                    let mut wanted: Vec<u32> =
                        model.iter().filter(|(_, date)| **date <= last).map(|(slot, _)| *slot).collect();
                    wanted.sort_unstable();
                    let only = dates.only_until(last);
                    prop_assert!(only.is_none_or(|slot| wanted == [slot]));
                    let mut queued = Vec::new();
                    if dates.queued_until(last, &mut queued) {
                        queued.sort_unstable();
                        prop_assert_eq!(&queued, &wanted);
                    }
                    let mut due: Vec<u32> = std::iter::from_fn(|| dates.pop_until(last)).collect();
                    due.sort_unstable();
                    model.retain(|_, date| *date > last);
                    prop_assert_eq!(&due, &wanted);
                    for slot in due {
                        places[slot as usize] = DatePlace::NONE;
                    }
                }
            }
        }
    }
}
