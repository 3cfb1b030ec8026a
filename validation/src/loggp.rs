//! LogGP(S): latency, overhead, gap and gap per byte, from the ping-pong, the calls and streams of
//! messages.
//!
//! With T(1) of the ping-pong's fit, o_s and o_r at one byte and a line through (PRTT(16, 0, s) −
//! PRTT(1, 0, s)) / 15 below the threshold: L = T(1) − o_s − o_r, g and G are the line's, O is the
//! slope of o_s. The model has one overhead for both ends: o = (o_s + o_r) / 2, so that the sum is
//! right.
//!
//! *Not modelled*: a curve with breaks. A user sees errors wherever the curve is no line; the
//! validation says how large they are.

use std::collections::BTreeMap;

use crate::fit::{Fit, FitError, FitOptions, fit_line};
use crate::overheads::CallCosts;
use crate::point::{Point, bytes};
use crate::sampling::SizeSummary;

/// The parameters, in seconds and seconds per byte.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LogGp {
    /// L: from the end of the sender's work to the arrival.
    pub latency_s: f64,
    /// o: the work at either end.
    pub overhead_s: f64,
    /// g: between messages.
    pub gap_s: f64,
    /// G: per byte at the adapter.
    pub gap_per_byte_s: f64,
    /// O: per byte at the processor.
    pub overhead_per_byte_s: f64,
    /// S: messages of the given number of bytes and more go by rendezvous.
    pub threshold: u64,
    /// By how much the overheads had to be scaled down: measured / used.
    pub scaled: f64,
    /// True if the measured gap was below the overhead, which the model cannot have.
    pub gap_raised: bool,
}

impl LogGp {
    /// Returns the parameters from a fit of ping-pongs, the costs of calls, and the times of
    /// streams of one and of `number` messages.
    pub fn new(
        fitted: &Fit,
        calls: &CallCosts,
        single: &[SizeSummary],
        (number, many): (u32, &[SizeSummary]),
        threshold: u64,
    ) -> Result<Self, FitError> {
        let times: BTreeMap<u64, f64> = single
            .iter()
            .map(|one| (one.point.size, one.point.time_s))
            .collect();
        let gaps: Vec<Point> = many
            .iter()
            .filter(|one| one.point.size > 0 && one.point.size < threshold)
            .filter_map(|one| {
                let all = one.point.time_s - times.get(&one.point.size)?;
                let gap = all / f64::from(number.max(2) - 1);
                // In bytes after the first, as the model counts.
                (gap > 0.0).then(|| Point::of_table(one.point.size - 1, gap))
            })
            .collect();
        let line = fit_line(&gaps, &FitOptions::samples())?.segments()[0].line;
        let at_one = |call: &Option<Fit>| call.as_ref().map_or(0.0, |fit| fit.predict(1));
        let (sum, whole) = (at_one(&calls.os) + at_one(&calls.or), fitted.predict(1));
        let used = sum.min(whole);
        let overhead_s = used / 2.0;
        Ok(Self {
            latency_s: whole - used,
            overhead_s,
            gap_s: line.intercept_s.max(overhead_s),
            gap_per_byte_s: line.slope_s,
            overhead_per_byte_s: calls
                .os
                .as_ref()
                .map_or(0.0, |fit| fit.segments()[0].line.slope_s)
                .min(line.slope_s),
            threshold,
            scaled: if used > 0.0 { sum / used } else { 1.0 },
            gap_raised: line.intercept_s < 0.99 * overhead_s,
        })
    }

    /// Seconds from the call that sends to the end of the receiver's work. By rendezvous two
    /// control messages come first.
    pub fn predict(&self, size: u64) -> f64 {
        let small = 2.0 * self.overhead_s + self.latency_s;
        let moving =
            self.bytes_after_first(size) * self.gap_per_byte_s.max(self.overhead_per_byte_s);
        let messages = if size >= self.threshold { 3.0 } else { 1.0 };
        messages * small + moving
    }

    /// Seconds of a stream of eager messages and one empty answer.
    pub fn stream(&self, number: u32, size: u64) -> f64 {
        let rest = self.bytes_after_first(size);
        let adapter = self.gap_s + rest * self.gap_per_byte_s;
        let processor = self.receive_time(size);
        self.predict(size) + f64::from(number - 1) * adapter.max(processor) + self.predict(0)
    }

    /// Seconds inside a send.
    pub fn send_time(&self, size: u64) -> f64 {
        self.overhead_s + self.bytes_after_first(size) * self.overhead_per_byte_s
    }

    /// Seconds of the receiver's work.
    pub fn receive_time(&self, size: u64) -> f64 {
        self.overhead_s
            + self.bytes_after_first(size) * self.gap_per_byte_s.max(self.overhead_per_byte_s)
    }

    fn bytes_after_first(&self, size: u64) -> f64 {
        bytes(size.saturating_sub(1))
    }
}
