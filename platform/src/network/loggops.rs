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
//! Between processes of one host, `loopback = { latency, overhead, gap_per_byte }` has the costs of
//! shared memory in the place of L, o and G; those that it leaves out, or all without it, are those
//! between hosts. Actor programs do not use it.
//!
//! *Not modelled*: links, routes and topology. A user sees the same time between any two hosts; no
//! congestion but at the two ends; and hosts that need no route to talk. A
//! platform with links must therefore say L, o, g and G itself: defaults would silently take the
//! place of its links.
//!
//! Source: T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim: simulating large-scale applications
//! in the LogGOPS model", LSAP workshop at HPDC 2010; defaults as those of the simulator of that
//! name.

use settings::LogGopsParameters;

use super::parameters::{NetworkModel, NetworkParameters, Row};
use crate::units::Duration;

/// The parameters of the model, with the texts of the file.
pub type LogGops = LogGopsParameters<Duration>;

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
        pair_duplex: None,
        duration: None,
        loggops: Some(LogGopsParameters {
            latency: time("2500ns"),
            overhead: time("1500ns"),
            gap: time("1000ns"),
            gap_per_byte: time("6ns"),
            overhead_per_byte: time("0ns"),
            loopback: None,
        }),
        device: None,
        verbs: None,
    }
}
