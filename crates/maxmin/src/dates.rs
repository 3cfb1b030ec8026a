//! The dates of events, one for each slot; dates can be removed.
//!
//! Most events are alike, so that they happen in the order in which they began. Such dates are in a
//! queue, and only a date before the last date in the queue goes to a heap.

use super::heap::{ABSENT, IndexedHeap};
use super::least;

/// In the queue: an event that was removed.
const REMOVED: u32 = u32::MAX;

/// Number of removed events that stay in the queue however few others there are.
const REMOVED_MAX: usize = 64;

/// The place of a date, needed to remove the date.
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
#[derive(Debug)]
pub struct DateQueue {
    /// The first date, infinite if there is none.
    first_s: f64,
    /// The queue begins at `head`.
    entries: Vec<(f64, u32)>,
    head: usize,
    /// The number of entries that have left the queue.
    left: u32,
    /// The number of removed events in the queue.
    removed: usize,
    heap: IndexedHeap,
    /// Positions in the heap.
    positions: Vec<u32>,
}

impl Default for DateQueue {
    fn default() -> Self {
        Self {
            first_s: f64::INFINITY,
            entries: Vec::new(),
            head: 0,
            left: 0,
            removed: 0,
            heap: IndexedHeap::default(),
            positions: Vec::new(),
        }
    }
}

impl DateQueue {
    /// Sets the date of a slot that has none.
    #[inline]
    pub fn insert_date(&mut self, slot: u32, date: f64) -> DatePlace {
        self.first_s = least(self.first_s, date);
        let is_early = self.entries.last().is_some_and(|(last, _)| *last > date);
        if is_early || self.removed > REMOVED_MAX && self.is_mostly_removed() {
            return self.insert_into_heap(slot, date);
        }
        if self.entries.len() == self.entries.capacity() {
            self.make_room();
        }
        let number = self
            .left
            .wrapping_add((self.entries.len() - self.head) as u32);
        self.entries.push((date, slot));
        DatePlace(number & DatePlace::QUEUE)
    }

    /// Returns true if the queue has more removed events than others: behind a late first event,
    /// the queue would grow with each event that begins and is removed.
    #[cold]
    fn is_mostly_removed(&self) -> bool {
        self.removed > (self.entries.len() - self.head) / 2
    }

    /// Makes room at the end of the queue, if possible where entries have left.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        if self.head > self.entries.len() / 2 {
            self.entries.drain(..self.head);
            self.head = 0;
        } else {
            self.entries.reserve(1);
        }
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
    pub fn remove_date(&mut self, slot: u32, place: DatePlace) {
        match place {
            DatePlace::NONE => return,
            DatePlace::HEAP => self.heap.remove(slot, &mut self.positions),
            DatePlace(number) => {
                let at = number.wrapping_sub(self.left) & DatePlace::QUEUE;
                let entry = &mut self.entries[self.head + at as usize];
                debug_assert_eq!(entry.1, slot);
                entry.1 = REMOVED;
                self.removed += 1;
            }
        }
        self.drop_removed();
    }

    /// Drops removed entries from the front of the queue, and finds the first date.
    #[inline]
    fn drop_removed(&mut self) {
        let mut queued_s = f64::INFINITY;
        while let Some((date, slot)) = self.entries.get(self.head) {
            if *slot != REMOVED {
                queued_s = *date;
                break;
            }
            self.removed -= 1;
            self.head += 1;
            self.left = self.left.wrapping_add(1);
        }
        if self.head == self.entries.len() {
            self.entries.clear();
            self.head = 0;
        }
        self.first_s = least(queued_s, self.heap_first_s());
    }

    /// The first date, infinite if there is none.
    #[inline]
    #[must_use]
    pub const fn first_s(&self) -> f64 {
        self.first_s
    }

    #[inline]
    fn heap_first_s(&self) -> f64 {
        self.heap.first().map_or(f64::INFINITY, |(date, _)| date)
    }

    /// Returns the slot with a date up to `last`, if that is one alone and in the queue.
    #[inline]
    #[must_use]
    pub fn only_until(&self, last: f64) -> Option<u32> {
        let (first, slot) = *self.entries.get(self.head)?;
        let next = self.entries.get(self.head + 1);
        let is_alone = next.is_none_or(|(second, _)| *second > last) && self.heap_first_s() > last;
        (is_alone && first <= last).then_some(slot)
    }

    /// Returns true if `test` holds for all slots with dates up to `last`, all of them in the
    /// queue.
    pub fn all_until(&self, last: f64, test: impl Fn(u32) -> bool) -> bool {
        let due = self.entries[self.head..].iter();
        self.heap_first_s() > last
            && due
                .take_while(|(date, _)| *date <= last)
                .all(|(_, slot)| *slot == REMOVED || test(*slot))
    }

    /// Takes the first date, which is in the queue.
    #[inline]
    pub fn pop_queued(&mut self) {
        self.head += 1;
        self.left = self.left.wrapping_add(1);
        self.drop_removed();
    }

    /// Takes the slots with dates up to `last`.
    pub fn take_until(&mut self, last: f64, due: &mut Vec<u32>) {
        if self.first_s > last {
            return;
        }
        while let Some((date, slot)) = self.entries.get(self.head)
            && *date <= last
        {
            if *slot == REMOVED {
                self.removed -= 1;
            } else {
                due.push(*slot);
            }
            self.head += 1;
            self.left = self.left.wrapping_add(1);
        }
        while let Some((date, slot)) = self.heap.first()
            && date <= last
        {
            self.heap.remove(slot, &mut self.positions);
            due.push(slot);
        }
        self.drop_removed();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::cell::RefCell;
    use std::collections::BTreeMap;

    #[test]
    fn removed_dates_do_not_pile_up_behind_a_late_one() {
        let mut dates = DateQueue::default();
        let late = dates.insert_date(0, 1e6);
        for step in 0..100_000 {
            let place = dates.insert_date(1, 2e6 + f64::from(step));
            dates.remove_date(1, place);
        }
        assert!(dates.entries.len() < 200, "{}", dates.entries.len());
        assert_eq!(dates.first_s(), 1e6);
        dates.remove_date(0, late);
        assert_eq!(dates.first_s(), f64::INFINITY);
        assert_eq!(dates.removed, 0);
    }

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
                dates.remove_date(slot, *place);
                model.remove(&slot);
                *place = DatePlace::NONE;
                if let Some(date) = date {
                    // Dates that mostly grow, as they do while time passes.
                    let date = step as f64 / 3.0 + f64::from(date);
                    *place = dates.insert_date(slot, date);
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
                    let queued = RefCell::new(Vec::new());
                    let all_queued = dates.all_until(last, |slot| {
                        queued.borrow_mut().push(slot);
                        true
                    });
                    if all_queued {
                        let mut queued = queued.into_inner();
                        queued.sort_unstable();
                        prop_assert_eq!(&queued, &wanted);
                    }
                    let mut due = Vec::new();
                    dates.take_until(last, &mut due);
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
