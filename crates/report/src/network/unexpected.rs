//! Messages that arrived before their receives were posted: the number of waiting messages at each
//! rank, and the match distance of their receives.
//!
//! *Match distance*: the number of unexpected messages that a receive examines, from the oldest
//! message to its own message. In implementations that search a list, the search time grows with
//! this distance; simrun has an index.
//!
//! *Not distinguished*: messages of one source, tag and length in different communicators. The
//! first that arrived counts as the first that was received.

use std::collections::{BTreeMap, VecDeque};

use serde::Serialize;

/// Unexpected messages of a rank.
#[derive(Clone, Copy, PartialEq, Debug, Serialize, Default)]
pub struct UnexpectedMessages {
    /// The rank.
    pub rank: u32,
    /// Number of messages that came before their receives.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Number that waited at once, at most.
    pub waiting_max: u64,
    /// Bytes that waited at once, at most.
    pub bytes_max: u64,
    /// Number that waited, as a mean over the duration of the run.
    pub waiting_mean: f64,
    /// Match distance, at most; 0 if none was received.
    pub distance_max: u64,
    /// Match distance, as a mean over the unexpected messages that were received.
    pub distance_mean: f64,
}

/// Source, tag and length in bytes.
type Envelope = (u32, u32, u64);

/// Number of arrivals below which a queue keeps the entries of received messages.
const KEPT: usize = 64;

/// The messages that wait, in the order of arrival: a Fenwick tree (*A new data structure for
/// cumulative frequency tables*, 1994) counts the messages before a message in logarithmic time.
#[derive(Default, Debug)]
struct Queue {
    /// Entry i (from 1) is the number that waits among the arrivals in (i − lowest bit of i, i].
    tree: Vec<u32>,
    /// Arrivals of the messages that wait, by envelope.
    arrivals: BTreeMap<Envelope, VecDeque<usize>>,
    waiting: usize,
}

/// Returns the lowest bit that is set.
const fn low_bit(number: usize) -> usize {
    number & number.wrapping_neg()
}

impl Queue {
    fn push_message(&mut self, envelope: Envelope) {
        if self.tree.len() >= KEPT.max(4 * self.waiting) {
            self.compact();
        }
        let at = self.append();
        self.arrivals.entry(envelope).or_default().push_back(at);
    }

    /// Appends an arrival. Returns the number of the arrival, from 1.
    fn append(&mut self) -> usize {
        let at = self.tree.len() + 1;
        let mut sum = 1;
        let mut child = at - 1;
        while child > at - low_bit(at) {
            sum += self.tree[child - 1];
            child -= low_bit(child);
        }
        self.tree.push(sum);
        self.waiting += 1;
        at
    }

    /// Removes a message. Returns its place among the waiting messages; `None` if it does not wait.
    fn take_message(&mut self, envelope: Envelope) -> Option<u64> {
        let queue = self.arrivals.get_mut(&envelope)?;
        let at = queue.pop_front()?;
        if queue.is_empty() {
            self.arrivals.remove(&envelope);
        }
        let (mut distance, mut before) = (0, at);
        while before > 0 {
            distance += u64::from(self.tree[before - 1]);
            before -= low_bit(before);
        }
        let mut above = at;
        while above <= self.tree.len() {
            self.tree[above - 1] -= 1;
            above += low_bit(above);
        }
        self.waiting -= 1;
        if self.waiting == 0 {
            // Ranks at which nothing waits are many.
            *self = Self::default();
        }
        Some(distance)
    }

    /// Forgets the arrivals that were taken.
    fn compact(&mut self) {
        let mut left: Vec<&mut usize> = self.arrivals.values_mut().flatten().collect();
        left.sort_unstable();
        for (number, at) in (1..).zip(left) {
            *at = number;
        }
        self.tree.clear();
        for _ in 0..std::mem::take(&mut self.waiting) {
            self.append();
        }
    }
}

/// The messages of one rank.
#[derive(Default, Debug)]
struct Waiting {
    messages: u64,
    bytes: u64,
    bytes_now: u64,
    max: u64,
    bytes_max: u64,
    /// Integral of the number that waits over time.
    message_s: f64,
    since_s: f64,
    queue: Queue,
    /// Number that was received, and sum and greatest of their distances.
    taken: u64,
    distances: u64,
    distance_max: u64,
}

impl Waiting {
    fn advance_time(&mut self, time_s: f64) {
        self.message_s += self.queue.waiting as f64 * (time_s - self.since_s).max(0.0);
        self.since_s = time_s;
    }
}

/// Unexpected messages of the ranks that have any.
#[derive(Default, Debug)]
pub(super) struct UnexpectedCounter(BTreeMap<u32, Waiting>);

impl UnexpectedCounter {
    /// A message waits at a rank from a time in seconds on.
    pub(super) fn add_message(&mut self, (rank, time_s): (u32, f64), envelope: Envelope) {
        let waiting = self.0.entry(rank).or_default();
        let (.., bytes) = envelope;
        waiting.advance_time(time_s);
        waiting.queue.push_message(envelope);
        waiting.messages += 1;
        waiting.bytes = waiting.bytes.saturating_add(bytes);
        waiting.bytes_now = waiting.bytes_now.saturating_add(bytes);
        waiting.max = waiting.max.max(waiting.queue.waiting as u64);
        waiting.bytes_max = waiting.bytes_max.max(waiting.bytes_now);
    }

    /// A receive gets a message that waits.
    pub(super) fn take_message(&mut self, (rank, time_s): (u32, f64), envelope: Envelope) {
        let Some(waiting) = self.0.get_mut(&rank) else {
            return;
        };
        let (.., bytes) = envelope;
        waiting.advance_time(time_s);
        if let Some(distance) = waiting.queue.take_message(envelope) {
            waiting.bytes_now = waiting.bytes_now.saturating_sub(bytes);
            waiting.taken += 1;
            waiting.distances += distance;
            waiting.distance_max = waiting.distance_max.max(distance);
        }
    }

    /// Returns the ranks with unexpected messages, in their order.
    pub(super) fn into_rank_messages(self, end_s: f64) -> Vec<UnexpectedMessages> {
        let mean = |sum: f64, count: f64| if count > 0.0 { sum / count } else { 0.0 };
        let of = |(rank, mut waiting): (u32, Waiting)| {
            waiting.advance_time(end_s);
            UnexpectedMessages {
                rank,
                messages: waiting.messages,
                bytes: waiting.bytes,
                waiting_max: waiting.max,
                bytes_max: waiting.bytes_max,
                waiting_mean: mean(waiting.message_s, end_s),
                distance_max: waiting.distance_max,
                distance_mean: mean(waiting.distances as f64, waiting.taken as f64),
            }
        };
        self.0.into_iter().map(of).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::{Queue, VecDeque};

    #[test]
    fn distances_are_those_of_a_list() {
        let (mut queue, mut list) = (Queue::default(), VecDeque::new());
        let mut state = 1_u32;
        for step in 0..5000 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let envelope = (state >> 29, state >> 27 & 3, 8);
            // Phases in which the list grows, and in which it shrinks.
            let grows = step % 1000 < 600;
            if state >> 20 & 7 < if grows { 6 } else { 1 } {
                queue.push_message(envelope);
                list.push_back(envelope);
            } else {
                let found = list.iter().position(|other| *other == envelope);
                let expected = found.map(|at| at as u64 + 1);
                assert_eq!(queue.take_message(envelope), expected, "step {step}");
                found.map(|at| list.remove(at));
            }
            assert_eq!(queue.waiting, list.len());
        }
        assert!(queue.tree.len() <= super::KEPT.max(4 * queue.waiting) + 1 + list.len());
    }
}
