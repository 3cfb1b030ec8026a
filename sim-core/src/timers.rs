//! The event queue: dates in order, ties in the order in which they were pushed.
//!
//! Entries are in one of three places, and the earliest first entry of the three is next:
//!
//! - The *lane* is a list to which entries are appended that are no earlier than the last one. So
//!   ranks that go in step, or wait for one duration, cost no search, however many they are.
//! - A binary *heap* has the other entries, while they are few.
//! - One entry more than [`HEAP_MAX`] moves the entries of the heap to the *buckets* of a radix
//!   heap on the bit pattern of the date, which has fewer cache misses. When few entries are left,
//!   they return.
//!
//! Bucket 0 holds the dates equal to `floor`; bucket k holds the dates whose highest bit that
//! differs from `floor` is bit k-1. Taking the earliest date raises `floor` to it and spreads the
//! lowest bucket that is not empty over the buckets below; every entry only ever moves down, so the
//! cost is bounded by the 64 bits and in practice a few moves per entry, whatever the number of
//! entries. Spreading keeps the order of entries, and equal dates are always in one bucket, so ties
//! stay first in, first out.
//!
//! Taking an entry finds the next one, which may raise `floor` above the present. Dates pushed
//! below `floor` after that go to the heap. Measured against other queues in
//! `docs/decisions/0002-event-queue.md`.
//!
//! Invariant: every date in the heap is below `floor`, every date in the buckets is at least
//! `floor`.

use std::cmp::{Ordering, Reverse};
use std::collections::{BinaryHeap, VecDeque};

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

/// Up to this many entries are in the heap; more take less time in the buckets. Few in tests of the
/// buckets.
const HEAP_MAX: usize = if cfg!(test) { 16 } else { 1 << 13 };

/// Up to this many entries return from the buckets to the heap: three times as many others are
/// pushed before they leave again.
const RETURN_MAX: usize = HEAP_MAX / 4;

/// Later than all dates: the first date of an empty queue, and `floor` while the buckets are not in
/// use.
const NO_DATE: u64 = u64::MAX;

/// Emptied buckets above this many entries give their memory back.
const KEPT_CAPACITY: usize = 1024;

/// Groups of at most this many entries are told to the caller when they come near.
const NEAR_MAX: usize = 256;

/// A part of the queue.
#[derive(Clone, Copy, Debug)]
enum Place {
    Lane,
    Heap,
    Bucket,
}

/// A monotone priority queue of dates.
#[derive(Debug)]
pub(crate) struct TimerQueue {
    /// The date of the earliest entry in bits; [`NO_DATE`] if there is none.
    first_date: u64,
    /// The place of this entry.
    first_place: Place,
    lane: VecDeque<Timer>,
    /// Entries below `floor`.
    heap: BinaryHeap<Reverse<Timer>>,
    floor: u64,
    buckets: Box<[Vec<Timer>; 65]>,
    /// Bit k is set when bucket k+1 is not empty.
    occupied: u64,
    /// Bucket 0 is taken from this position on.
    taken: usize,
    /// Number of entries in the buckets.
    in_buckets: usize,
}

impl TimerQueue {
    pub(crate) fn new() -> Self {
        Self {
            first_date: NO_DATE,
            first_place: Place::Lane,
            lane: VecDeque::new(),
            heap: BinaryHeap::new(),
            floor: NO_DATE,
            buckets: Box::new([const { Vec::new() }; 65]),
            occupied: 0,
            taken: 0,
            in_buckets: 0,
        }
    }

    /// Forgets all entries.
    pub(crate) fn clear(&mut self) {
        if self.len() > 0 || self.floor < NO_DATE {
            *self = Self::new();
        }
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.lane.len() + self.heap.len() + self.in_buckets
    }

    /// Adds a date. Numbers must be pushed in growing order.
    #[inline]
    pub(crate) fn push(&mut self, timer: Timer) {
        let last = self.lane.back().map_or(0, |last| last.date);
        if last <= timer.date {
            self.lane.push_back(timer);
            self.note_first(timer, Place::Lane);
        } else {
            self.push_unordered(timer);
        }
    }

    #[inline]
    fn note_first(&mut self, timer: Timer, place: Place) {
        if timer.date < self.first_date {
            (self.first_date, self.first_place) = (timer.date, place);
        }
    }

    #[inline(never)]
    fn push_unordered(&mut self, timer: Timer) {
        if timer.date >= self.floor {
            // The first date is at most `floor`.
            self.place(timer);
            return;
        }
        self.heap.push(Reverse(timer));
        self.note_first(timer, Place::Heap);
        if self.heap.len() > HEAP_MAX && self.floor == NO_DATE {
            let all = std::mem::take(&mut self.heap).into_sorted_vec();
            self.floor = all.last().map_or(NO_DATE, |Reverse(first)| first.date);
            for Reverse(timer) in all.into_iter().rev() {
                self.place(timer);
            }
            self.find_first(|_| ());
        }
    }

    #[inline]
    fn place(&mut self, timer: Timer) {
        let differs = timer.date ^ self.floor;
        let bucket = 64 - differs.leading_zeros();
        if bucket > 0 {
            self.occupied |= 1 << (bucket - 1);
        }
        self.buckets[bucket as usize].push(timer);
        self.in_buckets += 1;
    }

    /// The date of the earliest entry, in bits.
    #[inline]
    pub(crate) fn first_date(&self) -> Option<u64> {
        (self.first_date < NO_DATE).then_some(self.first_date)
    }

    /// The earliest entry, left in the queue.
    pub(crate) fn first(&self) -> Option<Timer> {
        match self.first_place {
            Place::Lane => self.lane.front().copied(),
            Place::Heap => self.heap.peek().map(|Reverse(first)| *first),
            Place::Bucket => self.buckets[0].get(self.taken).copied(),
        }
    }

    /// Takes the earliest entry.
    pub(crate) fn pop(&mut self) -> Option<Timer> {
        self.pop_until(NO_DATE, |_| ())
    }

    /// Takes the earliest entry if its date is at most `date`, in bits. Tells `near` of groups of
    /// entries, in no order, that come soon.
    #[inline]
    pub(crate) fn pop_until(&mut self, date: u64, near: impl FnMut(&[Timer])) -> Option<Timer> {
        if self.first_date > date {
            return None;
        }
        let first = match self.first_place {
            Place::Lane => self.lane.pop_front(),
            Place::Heap => self.heap.pop().map(|Reverse(first)| first),
            Place::Bucket => {
                self.taken += 1;
                self.in_buckets -= 1;
                Some(self.buckets[0][self.taken - 1])
            }
        };
        self.find_first(near);
        first
    }

    #[inline]
    fn find_first(&mut self, near: impl FnMut(&[Timer])) {
        let mut first = u128::MAX;
        if let Some(timer) = self.lane.front() {
            (first, self.first_place) = (timer.order(), Place::Lane);
        }
        if self.floor < NO_DATE && self.heap.is_empty() {
            if self.taken == self.buckets[0].len() {
                self.refill(near);
            }
            if let Some(timer) = self.buckets[0].get(self.taken)
                && timer.order() < first
            {
                (first, self.first_place) = (timer.order(), Place::Bucket);
            }
        }
        if let Some(Reverse(timer)) = self.heap.peek()
            && timer.order() < first
        {
            (first, self.first_place) = (timer.order(), Place::Heap);
        }
        self.first_date = (first >> 64) as u64;
    }

    /// Raises `floor` to the earliest date in the buckets, or moves the last few entries there to
    /// the heap.
    #[inline(never)]
    fn refill(&mut self, mut near: impl FnMut(&[Timer])) {
        self.taken = 0;
        release(&mut self.buckets[0]);
        if self.in_buckets <= RETURN_MAX {
            for bucket in self.buckets.iter_mut() {
                self.heap.extend(bucket.drain(..).map(Reverse));
                release(bucket);
            }
            (self.floor, self.occupied, self.in_buckets) = (NO_DATE, 0, 0);
            return;
        }
        let lowest = self.occupied.trailing_zeros() as usize + 1;
        self.occupied &= self.occupied - 1;
        let mut spread = std::mem::take(&mut self.buckets[lowest]);
        if spread.len() <= NEAR_MAX {
            near(&spread);
        }
        self.floor = spread
            .iter()
            .map(|timer| timer.date)
            .min()
            .expect("an occupied bucket has entries");
        self.in_buckets -= spread.len();
        for &timer in &spread {
            self.place(timer);
        }
        release(&mut spread);
        self.buckets[lowest] = spread;
    }

    /// Keeps only the entries for which `live` holds.
    pub(crate) fn retain(&mut self, mut live: impl FnMut(&Timer) -> bool) {
        self.heap.retain(|Reverse(timer)| live(timer));
        self.lane.retain(&mut live);
        self.buckets[0].drain(..self.taken);
        self.taken = 0;
        (self.occupied, self.in_buckets) = (0, 0);
        for (index, bucket) in self.buckets.iter_mut().enumerate() {
            bucket.retain(&mut live);
            self.in_buckets += bucket.len();
            if index > 0 && !bucket.is_empty() {
                self.occupied |= 1 << (index - 1);
            }
        }
        self.find_first(|_| ());
    }
}

fn release(bucket: &mut Vec<Timer>) {
    if bucket.capacity() > KEPT_CAPACITY {
        *bucket = Vec::new();
    } else {
        bucket.clear();
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Time;

    #[derive(Clone, Debug)]
    enum Step {
        Push(u8),
        Peek,
        Pop,
        Retain,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            5 => any::<u8>().prop_map(Step::Push),
            2 => Just(Step::Peek),
            3 => Just(Step::Pop),
            1 => Just(Step::Retain),
        ];
        proptest::collection::vec(step, 0..400)
    }

    proptest! {
        /// Against a sorted list: the same entries in the same order, also when dates are pushed
        /// below a date that has been looked at, and after entries were thrown out.
        #[test]
        fn agrees_with_a_sorted_list(steps in steps()) {
            let (mut timers, mut list) = (TimerQueue::new(), Vec::<Timer>::new());
            let mut now = 0.0;
            for (number, step) in (0..).zip(steps) {
                match step {
                    Step::Push(delay) => {
                        let date = Time::from_secs(now + f64::from(delay / 8) * 0.1).to_bits();
                        let timer = Timer { date, number, target: u64::from(delay % 8) };
                        timers.push(timer);
                        list.push(timer);
                        list.sort();
                    }
                    Step::Peek => {
                        prop_assert_eq!(timers.first(), list.first().copied());
                        let date = list.first().map(|timer| timer.date);
                        prop_assert_eq!(timers.first_date(), date);
                    },
                    Step::Pop => {
                        let first = (!list.is_empty()).then(|| list.remove(0));
                        prop_assert_eq!(timers.pop(), first);
                        now = first.map_or(now, |timer| f64::from_bits(timer.date));
                    }
                    Step::Retain => {
                        timers.retain(|timer| timer.target != 3);
                        list.retain(|timer| timer.target != 3);
                    }
                }
                prop_assert_eq!(timers.len(), list.len());
            }
        }
    }
}
