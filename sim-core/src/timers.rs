//! The event queue: dates in order, ties in the order in which they were pushed.
//!
//! A radix heap on the bit pattern of the date. Bucket 0 holds the dates equal to `floor`; bucket k
//! holds the dates whose highest bit that differs from `floor` is bit k-1. Taking the earliest date
//! raises `floor` to it and spreads the lowest bucket that is not empty over the buckets below;
//! every entry only ever moves down, so the cost is bounded by the 64 bits and in practice a few
//! moves per entry, whatever the number of entries. Spreading keeps the order of entries, and equal
//! dates are always in one bucket, so ties stay first in, first out.
//!
//! Looking at the next date may raise `floor` above the present, because a resource may have an
//! earlier date. Dates pushed below `floor` after that go to a small binary heap in front. Measured
//! against other queues in `docs/decisions/0002-event-queue.md`.
//!
//! Up to [`FEW`] entries are a sorted list instead; one more moves all of them to the heap,
//! until it is empty again.
//!
//! Invariant: every date in `early` is below `floor`, every date in the buckets is at least
//! `floor`.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// One date in the queue.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Timer {
    /// Bits of the date.
    pub(crate) date: u64,
    /// Serial number: decides among equal dates.
    pub(crate) number: u64,
    /// Purpose of the date; opaque to the queue.
    pub(crate) target: u64,
}

/// Emptied buckets above this many entries give their memory back.
const KEPT_CAPACITY: usize = 1024;

/// Groups of at most this many entries are told to the caller when they come near.
const NEAR_MAX: usize = 256;

/// Up to this many entries are kept sorted: moving a few of them costs less than any heap.
const FEW: usize = 16;

/// A monotone priority queue of dates.
#[derive(Debug)]
pub(crate) struct TimerQueue {
    /// All entries while they are few, the earliest last; empty while the heap holds any.
    few: Vec<Timer>,
    floor: u64,
    buckets: Box<[Vec<Timer>; 65]>,
    /// Bit k is set when bucket k+1 is not empty.
    occupied: u64,
    /// Bucket 0 is taken from this position on.
    taken: usize,
    early: BinaryHeap<Reverse<Timer>>,
    len: usize,
}

impl TimerQueue {
    pub(crate) fn new() -> Self {
        Self {
            few: Vec::new(),
            floor: 0,
            buckets: Box::new([const { Vec::new() }; 65]),
            occupied: 0,
            taken: 0,
            early: BinaryHeap::new(),
            len: 0,
        }
    }

    /// Forgets all entries.
    pub(crate) fn clear(&mut self) {
        if self.len > 0 || self.floor > 0 {
            *self = Self::new();
        }
    }

    /// The number of entries.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Adds a date. Numbers must be pushed in growing order.
    #[inline]
    pub(crate) fn push(&mut self, timer: Timer) {
        self.len += 1;
        if self.len <= FEW && self.few.len() + 1 == self.len {
            self.sort_in(timer);
        } else {
            self.push_to_heap(timer);
        }
    }

    #[inline(never)]
    fn push_to_heap(&mut self, timer: Timer) {
        if !self.few.is_empty() {
            self.spread();
        }
        if timer.date < self.floor {
            self.early.push(Reverse(timer));
        } else {
            self.place(timer);
        }
    }

    #[inline]
    fn sort_in(&mut self, timer: Timer) {
        let later = |known: &&Timer| **known > timer;
        let at = self.few.iter().take_while(later).count();
        self.few.insert(at, timer);
    }

    /// Moves what is sorted to the heap, which is empty.
    #[cold]
    fn spread(&mut self) {
        self.buckets[0].clear();
        self.taken = 0;
        self.floor = self.few.last().map_or(0, |first| first.date);
        while let Some(timer) = self.few.pop() {
            self.place(timer);
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
    }

    /// The earliest entry, left in the queue. Tells `near` of groups of entries, in no order, that
    /// come soon.
    #[inline]
    pub(crate) fn peek(&mut self, near: impl FnMut(&[Timer])) -> Option<Timer> {
        match self.few.last() {
            Some(&first) => Some(first),
            None if self.len == 0 => None,
            None => self.peek_into_heap(near),
        }
    }

    #[inline(never)]
    fn peek_into_heap(&mut self, near: impl FnMut(&[Timer])) -> Option<Timer> {
        if let Some(&Reverse(first)) = self.early.peek() {
            return Some(first);
        }
        if self.taken == self.buckets[0].len() && !self.refill(near) {
            return None;
        }
        Some(self.buckets[0][self.taken])
    }

    /// Takes the earliest entry.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<Timer> {
        if let Some(first) = self.few.pop() {
            self.len -= 1;
            return Some(first);
        }
        self.pop_from_heap()
    }

    #[inline(never)]
    fn pop_from_heap(&mut self) -> Option<Timer> {
        let first = self.peek(|_| ())?;
        self.len -= 1;
        if self.early.is_empty() {
            self.taken += 1;
        } else {
            self.early.pop();
        }
        Some(first)
    }

    /// Takes the earliest entry if its date is at most `date`, in bits.
    #[inline]
    pub(crate) fn pop_until(&mut self, date: u64, near: impl FnMut(&[Timer])) -> Option<Timer> {
        let first = self.peek(near)?;
        if first.date > date { None } else { self.pop() }
    }

    /// Raises `floor` to the earliest date in the buckets; false if there is none.
    fn refill(&mut self, mut near: impl FnMut(&[Timer])) -> bool {
        self.taken = 0;
        release(&mut self.buckets[0]);
        if self.occupied == 0 {
            return false;
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
        for &timer in &spread {
            self.place(timer);
        }
        release(&mut spread);
        self.buckets[lowest] = spread;
        true
    }

    /// Keeps only the entries for which `live` holds.
    pub(crate) fn retain(&mut self, mut live: impl FnMut(&Timer) -> bool) {
        self.few.retain(&mut live);
        self.buckets[0].drain(..self.taken);
        self.taken = 0;
        self.early.retain(|Reverse(timer)| live(timer));
        self.len = self.few.len() + self.early.len();
        self.occupied = 0;
        for (index, bucket) in self.buckets.iter_mut().enumerate() {
            bucket.retain(&mut live);
            self.len += bucket.len();
            if index > 0 && !bucket.is_empty() {
                self.occupied |= 1 << (index - 1);
            }
        }
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
        proptest::collection::vec(step, 0..200)
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
                    Step::Peek => prop_assert_eq!(timers.peek(|_| ()), list.first().copied()),
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
