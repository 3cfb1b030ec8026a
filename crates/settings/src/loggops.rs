//! The parameters of the model LogGOPS but S, which is the eager threshold.
//!
//! Source: T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim: simulating large-scale applications
//! in the LogGOPS model", LSAP workshop at HPDC 2010.

use serde::Serialize;

/// Parameters L, o, g, G and O, each at least 0 and finite.
///
/// `T`: times, in seconds if numbers.
#[derive(Clone, Copy, PartialEq, Serialize, Debug, Default)]
pub struct LogGopsParameters<T = f64> {
    /// L: time from the end of the sender's overhead to the arrival of the first byte.
    pub latency: T,
    /// o: processor time for a message, at each end.
    pub overhead: T,
    /// g: time between the starts of two messages at an adapter.
    pub gap: T,
    /// G: time at an adapter for each byte but the first.
    pub gap_per_byte: T,
    /// O: processor time for each byte but the first.
    pub overhead_per_byte: T,
    /// Costs in the place of L, o and G between ranks of one host; `None` if they are the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loopback: Option<LogGopsLoopback<T>>,
}

/// Costs of messages within a host, through memory: no adapter takes part, so there is no gap.
///
/// `T`: times, in seconds if numbers.
#[derive(Clone, Copy, PartialEq, Serialize, Debug, Default)]
pub struct LogGopsLoopback<T = f64> {
    /// L: time from the end of the sender's overhead to the arrival of the first byte.
    pub latency: T,
    /// o: processor time for a message, at each end.
    pub overhead: T,
    /// G: time to copy each byte but the first, at each end.
    pub gap_per_byte: T,
}

impl<T> LogGopsParameters<T> {
    /// Returns the parameters with converted times.
    pub fn map<T2>(&self, time: impl Fn(&T) -> T2) -> LogGopsParameters<T2> {
        LogGopsParameters {
            latency: time(&self.latency),
            overhead: time(&self.overhead),
            gap: time(&self.gap),
            gap_per_byte: time(&self.gap_per_byte),
            overhead_per_byte: time(&self.overhead_per_byte),
            loopback: (self.loopback.as_ref()).map(|within| LogGopsLoopback {
                latency: time(&within.latency),
                overhead: time(&within.overhead),
                gap_per_byte: time(&within.gap_per_byte),
            }),
        }
    }
}

impl LogGopsParameters {
    /// Returns the duration of a single message in seconds, from the call of the sender to the end
    /// of the receiver's overhead: o + L + o + (s − 1) × max(G, O). An empty message counts as one
    /// byte.
    pub const fn message_time(&self, bytes: f64) -> f64 {
        let rest = (bytes - 1.0).max(0.0);
        let per_byte = self.gap_per_byte.max(self.overhead_per_byte);
        (self.overhead + self.latency) + (self.overhead + rest * per_byte)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_message() {
        let parameters = LogGopsParameters {
            latency: 2500e-9,
            overhead: 1500e-9,
            gap: 1000e-9,
            gap_per_byte: 6e-9,
            overhead_per_byte: 0.0,
            loopback: None,
        };
        for (bytes, wanted) in [(0.0, 5.5e-6), (1.0, 5.5e-6), (1001.0, 11.5e-6)] {
            assert!((parameters.message_time(bytes) - wanted).abs() < 1e-18);
        }
    }
}
