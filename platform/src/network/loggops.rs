//! The model `loggops`: the costs of a message at processors, at adapters and between them, without
//! links and flows.
//!
//! Parameters, with the letters of the literature: the latency L between any two processes, the
//! time o for which a message occupies a processor at either end (`overhead`), the time g that an
//! adapter needs from one message to the next (`gap`), the time G per byte at the adapter
//! (`gap_per_byte`), the time O per byte at the processor (`overhead_per_byte`), and S, the largest
//! message that is sent eagerly: S is `[protocol] eager_threshold` of the message layer less one
//! byte. G is the inverse of a bandwidth.
//!
//! *Rank programs* run on a separate device in `fabric`, which has the rules of processors and
//! adapters; this file has the parameters. *Actor programs* have no processors that send: the time
//! of each transfer of s bytes is the time of a single message from the call of the sender to the
//! end of the receiver's work,
//!
//! `T = o + L + o + (s − 1) × max(G, O)`,
//!
//! whatever the other transfers. An empty message counts as one byte.
//!
//! Between processes of one host, `loopback = { latency, overhead, gap_per_byte }` has the costs of
//! shared memory in the place of L, o and G. An absent cost (without the table, each cost) is the
//! cost between hosts. Actor programs do not use `loopback`.
//!
//! *Not modelled*: links, routes and topology. A user sees the same time between any two hosts, no
//! congestion except at the two ends, and hosts that communicate without a route. A platform with
//! links must therefore set L, o, g and G: defaults would silently replace its links.
//!
//! Source: T. Hoefler, T. Schneider, A. Lumsdaine, "LogGOPSim: simulating large-scale applications
//! in the LogGOPS model", LSAP workshop at HPDC 2010; the defaults are the defaults of the
//! simulator LogGOPSim.

use settings::LogGopsParameters;

use super::parameters::{ModelRow, NetworkModel, NetworkParameters};
use crate::units::Duration;

/// The parameters of the model, with the texts of the file.
pub type LogGops = LogGopsParameters<Duration>;

/// The row of the model in the list of all.
pub(super) const MODEL: NetworkModel = NetworkModel(&ModelRow {
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
