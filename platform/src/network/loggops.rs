//! The model `loggops`: what a message costs at processors, at adapters and between them, without
//! links and flows.
//!
//! Parameters, with the letters of the literature: the latency L between any two processes, the
//! time o for which a message occupies a processor at either end (`overhead`), the time g that an
//! adapter needs from one message to the next (`gap`), the time G per byte at the adapter
//! (`gap_per_byte`), the time O per byte at the processor (`overhead_per_byte`), and S, the largest
//! message that is sent without asking: that is the message layer's `[protocol] eager_threshold`
//! less one byte. G is the inverse of a bandwidth.
//!
//! *Rank programs* run on a device of their own in `fabric`, which has the rules of processors and
//! adapters; this file has the parameters. *Actor programs* have no processors that send: each
//! transfer of s bytes lasts what a single message lasts from the call of the sender to the end of
//! the receiver's work,
//!
//! `T = o + L + o + (s − 1) × max(G, O)`,
//!
//! whatever the other transfers. An empty message counts as one byte.
//!
//! *Not modelled*: links, routes and topology. A user sees the same time between any two processes,
//! also on one host; no congestion but at the two ends; and hosts that need no route to talk. A
//! platform with links must therefore say L, o, g and G itself: defaults would silently take the
//! place of its links.
//!
//! Source: T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim: simulating large-scale applications
//! in the LogGOPS model", LSAP workshop at HPDC 2010; defaults as those of the simulator of that
//! name.

use serde::Serialize;
use sim_core::Span;

use super::parameters::{NetworkModel, NetworkParameters, Row};
use crate::units::Duration;

/// What a message costs.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct LogGops {
    /// L, in seconds: from the end of the sender's overhead to the arrival of the first byte.
    pub latency: Duration,
    /// o, in seconds: the processor's work for a message, at either end.
    pub overhead: Duration,
    /// g, in seconds: from the start of a message at an adapter to the next one.
    pub gap: Duration,
    /// G, in seconds per byte at an adapter, for each byte but the first.
    pub gap_per_byte: Duration,
    /// O, in seconds per byte at a processor, for each byte but the first.
    pub overhead_per_byte: Duration,
}

impl LogGops {
    /// Returns the duration of a message alone, from the call that sends it to the end of the work
    /// of its receiver.
    #[must_use]
    pub fn alone(&self, bytes: f64) -> Span {
        let rest = (bytes - 1.0).max(0.0);
        let per_byte = self
            .gap_per_byte
            .as_secs()
            .max(self.overhead_per_byte.as_secs());
        Span::from_secs(self.overhead.as_secs() + self.latency.as_secs())
            + Span::from_secs(self.overhead.as_secs() + rest * per_byte)
    }
}

/// The row of the model in the list of all.
pub(super) const MODEL: NetworkModel = NetworkModel(&Row {
    name: "loggops",
    summary: "overhead, gap and latency of messages, no links",
    preset,
});

/// The defaults of the simulator LogGOPSim.
fn preset() -> NetworkParameters {
    let time = |text: &str| text.parse().expect("a duration");
    NetworkParameters {
        model: MODEL,
        compat: None,
        fluid: None,
        ib_penalty_factors: None,
        duration: None,
        loggops: Some(LogGops {
            latency: time("2500ns"),
            overhead: time("1500ns"),
            gap: time("1000ns"),
            gap_per_byte: time("6ns"),
            overhead_per_byte: time("0ns"),
        }),
        device: None,
        verbs: None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_alone() {
        let costs = preset().loggops.expect("its parameters");
        let of = |bytes| costs.alone(bytes).as_secs();
        assert!((of(1.0) - 5.5e-6).abs() < 1e-18);
        assert!((of(0.0) - 5.5e-6).abs() < 1e-18);
        assert!((of(1001.0) - 11.5e-6).abs() < 1e-18);
    }
}
