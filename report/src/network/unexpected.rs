//! Messages that arrived before their receives were posted: how many waited at each rank.

use std::collections::BTreeMap;

use serde::Serialize;

/// Unexpected messages of a rank.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
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
}

/// The messages of one rank.
#[derive(Default, Debug)]
struct Waiting {
    messages: u64,
    bytes: u64,
    now: u64,
    bytes_now: u64,
    max: u64,
    bytes_max: u64,
    /// Integral of the number that waits over time.
    message_s: f64,
    since_s: f64,
}

impl Waiting {
    fn advance(&mut self, time_s: f64) {
        self.message_s += self.now as f64 * (time_s - self.since_s).max(0.0);
        self.since_s = time_s;
    }
}

/// Those of the ranks that have any.
#[derive(Default, Debug)]
pub(super) struct UnexpectedCounter(BTreeMap<u32, Waiting>);

impl UnexpectedCounter {
    pub(super) fn arrive(&mut self, rank: u32, time_s: f64, bytes: u64) {
        let waiting = self.0.entry(rank).or_default();
        waiting.advance(time_s);
        waiting.messages += 1;
        waiting.bytes = waiting.bytes.saturating_add(bytes);
        waiting.now += 1;
        waiting.bytes_now = waiting.bytes_now.saturating_add(bytes);
        waiting.max = waiting.max.max(waiting.now);
        waiting.bytes_max = waiting.bytes_max.max(waiting.bytes_now);
    }

    pub(super) fn take(&mut self, rank: u32, time_s: f64, bytes: u64) {
        if let Some(waiting) = self.0.get_mut(&rank) {
            waiting.advance(time_s);
            waiting.now = waiting.now.saturating_sub(1);
            waiting.bytes_now = waiting.bytes_now.saturating_sub(bytes);
        }
    }

    /// Returns the ranks with unexpected messages, in their order.
    pub(super) fn finish(self, end_s: f64) -> Vec<UnexpectedMessages> {
        let of = |(rank, mut waiting): (u32, Waiting)| {
            waiting.advance(end_s);
            let waiting_mean = if end_s > 0.0 {
                waiting.message_s / end_s
            } else {
                0.0
            };
            UnexpectedMessages {
                rank,
                messages: waiting.messages,
                bytes: waiting.bytes,
                waiting_max: waiting.max,
                bytes_max: waiting.bytes_max,
                waiting_mean,
            }
        };
        self.0.into_iter().map(of).collect()
    }
}
