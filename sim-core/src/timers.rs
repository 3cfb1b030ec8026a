//! The event queue: dates in order, ties in the order in which they were pushed.
//!
//! Entries are in one of four places:
//!
//! - The *lane* is a list to which entries are appended that are no earlier than the last one. So
//!   ranks that go in step, or wait for one duration, cost no search, however many they are.
//! - The *run* is a second sorted list. Entries that are no earlier than the last one are appended,
//!   as of two groups of ranks that go in step; others are inserted while the list is short.
//! - The *calendar* has all later entries: in buckets of equal width, unsorted, and in a list of
//!   the entries beyond the last bucket. A push costs one multiplication. A bucket that is reached
//!   becomes the run.
//! - A *heap* has the entries for which the run has no room.
//!
//! The earliest of the first entries of lane, run and heap is next. When the run and the heap are
//! empty, the next bucket is taken; after the last one, the entries beyond get new buckets. The
//! dates of a sample of these entries say how wide these buckets are, so that a few late dates do
//! not matter. For any dates, an entry costs at most one sort or one heap. Measured against other
//! queues in `docs/decisions/0002-event-queue.md`.
//!
//! Invariants: the number of a bucket never falls with a later date, with rounding too. So every
//! entry of the run and of the heap is before all entries of the buckets that are not taken. While
//! the calendar is in use, the run or the heap has an entry.

use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;

/// One date in the queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Timer {
    /// Bits of the date.
    pub(crate) date: u64,
    /// Serial number: decides among equal dates.
    pub(crate) number: u64,
    /// Purpose of the date; opaque to the queue.
    pub(crate) target: u64,
}

impl Timer {
    #[inline]
    fn order(&self) -> u128 {
        u128::from(self.date) << 64 | u128::from(self.number)
    }
}

impl Ord for Timer {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

impl PartialOrd for Timer {
    #[inline]
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    // The comparison of heaps: one without branches, unlike that by `partial_cmp`.
    #[inline]
    fn le(&self, other: &Self) -> bool {
        self.order() <= other.order()
    }
}

/// An entry is inserted into a run of fewer entries than this: moving half of them costs as much as
/// a heap. Appended entries have no limit. Few in tests of the calendar.
const RUN_MAX: usize = if cfg!(test) { 4 } else { 48 };

/// The mean number of entries of a bucket: sorting 8 costs about as much as to find the next
/// bucket.
const ENTRIES_PER_BUCKET: usize = 8;

/// Limits of the number of buckets: the ends of 2048 buckets stay in the cache.
const BUCKETS: (usize, usize) = (4, 1 << 11);

/// Number of entries from which the width of buckets is estimated.
const SAMPLE: usize = 32;

/// Later than all entries, in the order of entries.
const NO_ENTRY: u128 = u128::MAX;

/// Later than all dates: the first date of an empty queue.
const NO_DATE: u64 = u64::MAX;

/// Emptied buckets give back their memory above this many entries.
const KEPT_CAPACITY: usize = 1024;

/// Entries that are looked at in advance, by their distance from the first of their list.
const AHEAD: [(usize, Nearness); 2] = [(16, Nearness::Far), (8, Nearness::Near)];

/// The position of an entry behind the first one of its list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Nearness {
    /// Within few entries.
    Near,
    /// Twice as late: in a long list, each entry is first far and then near.
    Far,
}

/// Entries in order, taken from the front.
#[derive(Default, Debug)]
struct SortedList {
    /// The entries before `at` have been taken.
    entries: Vec<Timer>,
    at: usize,
}

impl SortedList {
    #[inline]
    const fn count_left(&self) -> usize {
        self.entries.len() - self.at
    }

    #[inline]
    fn first_entry(&self) -> Option<&Timer> {
        self.entries.get(self.at)
    }

    #[inline]
    fn first_order(&self) -> u128 {
        self.first_entry().map_or(NO_ENTRY, Timer::order)
    }

    /// Takes the first entry. Calls `near` with entries that come soon.
    #[inline]
    fn pop_first(&mut self, mut near: impl FnMut(&Timer, Nearness)) -> Option<Timer> {
        for (distance, nearness) in AHEAD {
            if let Some(ahead) = self.entries.get(self.at + distance) {
                near(ahead, nearness);
            }
        }
        let first = self.first_entry().copied();
        self.at += 1;
        first
    }

    /// Appends an entry that is no earlier than the last one. The list grows only if fewer than
    /// half of the entries have been taken.
    #[inline]
    fn append_timer(&mut self, timer: Timer) {
        if self.entries.len() == self.entries.capacity() && self.at >= self.count_left() {
            self.drop_taken();
        }
        self.entries.push(timer);
    }

    /// Makes room where entries were taken.
    #[cold]
    fn drop_taken(&mut self) {
        self.entries.drain(..self.at);
        self.at = 0;
    }
}

/// A monotone priority queue of dates.
#[derive(Debug)]
pub(crate) struct TimerQueue {
    /// The date of the earliest entry in bits; [`NO_DATE`] if there is none.
    first_date: u64,
    lane: SortedList,
    /// The earliest entry that is not in the lane.
    first_outside: u128,
    run: SortedList,
    heap: BinaryHeap<Reverse<Timer>>,
    /// By date. No buckets while the entries are few.
    buckets: Vec<Vec<Timer>>,
    /// Number of buckets that have been taken.
    taken: usize,
    /// The date at which the first bucket begins, in seconds.
    start_s: f64,
    buckets_per_s: f64,
    /// Entries after the last bucket.
    beyond: Vec<Timer>,
    /// Number of entries in the buckets.
    in_buckets: usize,
}

impl TimerQueue {
    pub(crate) fn new() -> Self {
        Self {
            first_date: NO_DATE,
            lane: SortedList::default(),
            first_outside: NO_ENTRY,
            run: SortedList::default(),
            heap: BinaryHeap::new(),
            buckets: Vec::new(),
            taken: 0,
            start_s: 0.0,
            buckets_per_s: 0.0,
            beyond: Vec::new(),
            in_buckets: 0,
        }
    }

    /// Forgets all entries.
    pub(crate) fn clear(&mut self) {
        if self.len() > 0 || !self.buckets.is_empty() {
            *self = Self::new();
        }
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        let sorted = self.lane.count_left() + self.run.count_left() + self.heap.len();
        sorted + self.in_buckets + self.beyond.len()
    }

    /// Adds a date. Numbers must be pushed in growing order.
    #[inline]
    pub(crate) fn push(&mut self, timer: Timer) {
        self.first_date = self.first_date.min(timer.date);
        let last = self.lane.entries.last().map_or(0, |last| last.date);
        if last <= timer.date {
            self.lane.append_timer(timer);
        } else {
            self.push_unordered(timer);
        }
    }

    #[inline(never)]
    fn push_unordered(&mut self, timer: Timer) {
        if !self.buckets.is_empty() {
            let number = self.bucket_of(timer.date);
            if number >= self.taken {
                return self.store_timer(timer, number);
            }
        }
        self.first_outside = self.first_outside.min(timer.order());
        let run = &mut self.run;
        if run
            .entries
            .last()
            .is_none_or(|last| last.date <= timer.date)
        {
            return run.append_timer(timer);
        }
        // A bucket that became the run may have any number of entries: moving these for each push
        // would cost a square.
        if run.entries.len() >= RUN_MAX && run.count_left() < RUN_MAX {
            run.drop_taken();
        }
        if run.entries.len() < RUN_MAX {
            let rest = &run.entries[run.at..];
            // Most entries are late.
            let earlier = rest.iter().rposition(|other| other.date <= timer.date);
            let before = earlier.map_or(0, |last| last + 1);
            return run.entries.insert(run.at + before, timer);
        }
        self.heap.push(Reverse(timer));
        if self.buckets.is_empty() {
            self.run.drop_taken();
            self.beyond.append(&mut self.run.entries);
            let all = std::mem::take(&mut self.heap).into_iter();
            self.beyond.extend(all.map(|Reverse(timer)| timer));
            self.find_outside();
        }
    }

    /// The number of the bucket of a date in bits, which may be beyond the last bucket.
    #[inline]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "rounds down, to 0 before the first bucket"
    )]
    fn bucket_of(&self, date: u64) -> usize {
        ((f64::from_bits(date) - self.start_s) * self.buckets_per_s) as usize
    }

    #[inline]
    fn store_timer(&mut self, timer: Timer, number: usize) {
        if let Some(bucket) = self.buckets.get_mut(number) {
            bucket.push(timer);
            self.in_buckets += 1;
        } else {
            self.beyond.push(timer);
        }
    }

    /// The date of the earliest entry, in bits.
    #[inline]
    pub(crate) fn first_date(&self) -> Option<u64> {
        (self.first_date < NO_DATE).then_some(self.first_date)
    }

    /// The earliest entry, left in the queue.
    pub(crate) fn first_timer(&self) -> Option<Timer> {
        let sorted = [self.lane.first_entry(), self.run.first_entry()];
        let heap = self.heap.peek().map(|Reverse(first)| first);
        sorted.into_iter().chain([heap]).flatten().min().copied()
    }

    /// Takes the earliest entry.
    pub(crate) fn pop(&mut self) -> Option<Timer> {
        self.pop_until(NO_DATE - 1, |_, _| ())
    }

    /// Takes the earliest entry if its date is at most `date`, in bits. Calls `near` with entries
    /// that come soon.
    #[inline]
    pub(crate) fn pop_until(
        &mut self,
        date: u64,
        near: impl FnMut(&Timer, Nearness),
    ) -> Option<Timer> {
        if self.first_date > date {
            return None;
        }
        let lane = &mut self.lane;
        let first = if lane.first_order() < self.first_outside {
            let first = lane.pop_first(near);
            if lane.at == lane.entries.len() {
                lane.entries.clear();
                lane.at = 0;
            }
            first
        } else {
            self.pop_outside(near)
        };
        self.find_first();
        first
    }

    #[inline]
    fn find_first(&mut self) {
        let first = self.lane.first_order().min(self.first_outside);
        self.first_date = (first >> 64) as u64;
    }

    /// Takes the earliest entry that is not in the lane.
    #[inline]
    fn pop_outside(&mut self, near: impl FnMut(&Timer, Nearness)) -> Option<Timer> {
        let first = if self.run.first_order() == self.first_outside {
            self.run.pop_first(near)
        } else {
            self.heap.pop().map(|Reverse(first)| first)
        };
        self.find_outside();
        first
    }

    #[inline]
    fn find_outside(&mut self) {
        let is_calendar_open = !self.buckets.is_empty() || !self.beyond.is_empty();
        if is_calendar_open && self.run.count_left() == 0 && self.heap.is_empty() {
            self.take_bucket();
        }
        self.first_outside = self.run.first_order();
        if let Some(Reverse(timer)) = self.heap.peek() {
            self.first_outside = self.first_outside.min(timer.order());
        }
    }

    /// Takes the next bucket.
    #[inline(never)]
    fn take_bucket(&mut self) {
        if self.in_buckets == 0 && !self.spread() {
            return;
        }
        while self.buckets[self.taken].is_empty() {
            self.taken += 1;
        }
        let run = &mut self.run.entries;
        run.clear();
        run.shrink_to(KEPT_CAPACITY);
        std::mem::swap(run, &mut self.buckets[self.taken]);
        self.run.at = 0;
        self.taken += 1;
        self.in_buckets -= run.len();
        run.sort_unstable();
    }

    /// Gives buckets to the entries beyond the last one. Returns false if these were few, and are
    /// the run now.
    fn spread(&mut self) -> bool {
        self.taken = 0;
        let mut entries = std::mem::take(&mut self.beyond);
        if entries.len() <= RUN_MAX / 2 {
            self.buckets.clear();
            entries.sort_unstable();
            self.run = SortedList { entries, at: 0 };
            return false;
        }
        let (least, most) = BUCKETS;
        let count = (entries.len() / ENTRIES_PER_BUCKET).clamp(least, most);
        self.buckets.resize_with(count, Vec::new);
        let dates = entries.iter().map(|timer| timer.date);
        self.start_s = dates.min().map_or(0.0, f64::from_bits);
        let sample = entries.iter().step_by(entries.len().div_ceil(SAMPLE));
        let mut sample: Vec<Timer> = sample.copied().collect();
        sample.sort_unstable();
        // Three quarters of the entries are up to this date.
        let late_s = f64::from_bits(sample[sample.len() * 3 / 4].date);
        let span_s = (late_s - self.start_s) * (4.0 / 3.0);
        #[expect(clippy::cast_precision_loss, reason = "the number of buckets is small")]
        let per_s = count as f64 / span_s;
        self.buckets_per_s = if per_s < f64::INFINITY { per_s } else { 0.0 };
        for timer in entries {
            let number = self.bucket_of(timer.date);
            self.store_timer(timer, number);
        }
        true
    }

    /// Keeps only the entries for which `live` holds.
    pub(crate) fn retain(&mut self, mut live: impl FnMut(&Timer) -> bool) {
        self.heap.retain(|Reverse(timer)| live(timer));
        for list in [&mut self.lane, &mut self.run] {
            list.drop_taken();
            list.entries.retain(&mut live);
        }
        self.beyond.retain(&mut live);
        self.in_buckets = 0;
        for bucket in &mut self.buckets {
            bucket.retain(&mut live);
            self.in_buckets += bucket.len();
        }
        self.find_outside();
        self.find_first();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Time;

    #[derive(Clone, Debug)]
    enum QueueStep {
        Push(u8),
        Peek,
        Pop,
        Retain,
    }

    fn steps() -> impl Strategy<Value = Vec<QueueStep>> {
        let step = prop_oneof![
            5 => any::<u8>().prop_map(QueueStep::Push),
            2 => Just(QueueStep::Peek),
            3 => Just(QueueStep::Pop),
            1 => Just(QueueStep::Retain),
        ];
        proptest::collection::vec(step, 0..400)
    }

    proptest! {
        /// Against a sorted list: the same entries in the same order, also when dates are pushed
        /// below a date that has been looked at, with dates far beyond the others, and after
        /// entries were thrown out.
        #[test]
        fn agrees_with_a_sorted_list(steps in steps()) {
            let (mut timers, mut list) = (TimerQueue::new(), Vec::<Timer>::new());
            let mut now = 0.0;
            for (number, step) in (0..).zip(steps) {
                match step {
                    QueueStep::Push(delay) => {
                        let unit = if delay % 16 == 5 { 1e9 } else { 0.1 };
                        let date = Time::from_secs(now + f64::from(delay / 8) * unit).to_bits();
                        let timer = Timer { date, number, target: u64::from(delay % 8) };
                        timers.push(timer);
                        list.push(timer);
                        list.sort();
                    }
                    QueueStep::Peek => {
                        prop_assert_eq!(timers.first_timer(), list.first().copied());
                        let date = list.first().map(|timer| timer.date);
                        prop_assert_eq!(timers.first_date(), date);
                    },
                    QueueStep::Pop => {
                        let first = (!list.is_empty()).then(|| list.remove(0));
                        prop_assert_eq!(timers.pop(), first);
                        now = first.map_or(now, |timer| f64::from_bits(timer.date));
                    }
                    QueueStep::Retain => {
                        timers.retain(|timer| timer.target != 3);
                        list.retain(|timer| timer.target != 3);
                    }
                }
                prop_assert_eq!(timers.len(), list.len());
            }
        }
    }
}
