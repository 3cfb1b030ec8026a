//! The model `cm02`: TCP in its steady state, without correction factors.
//!
//! Sharing is unfair by round-trip time, as in `raw`. In addition, a transfer has at most one
//! window of 4 MiB on the way in two latencies, and the acknowledgements take 5 % of the rate of
//! the transfer on every link of the way back. On a `shared` link that lies on both ways a lone
//! transfer therefore reaches `B / 1.05`.
//!
//! *Not modelled*: slow start and packet headers. A user could observe that small messages are too
//! fast, and that a lone transfer over split-duplex links reaches 100 % of the bandwidth.
//!
//! A route without latency: as in `raw`.
//!
//! Source: H. Casanova, L. Marchal, "A network model for simulation of grid application", research
//! report RR-2002-40, LIP, ENS Lyon, 2002; constants of `SimGrid` v4.1, `network/model:CM02`.

use super::flow::plain;
use super::parameters::{FluidParameters, ModelRow, NetworkModel, NetworkParameters, size};

/// The share of acknowledgements: SimGrid's fixed factor of `network/crosstraffic`.
pub const CROSSTRAFFIC: f64 = 0.05;

/// The row of the model in the list of all.
pub(super) const MODEL: NetworkModel = NetworkModel(&ModelRow {
    name: "cm02",
    summary: "no factors, sharing weighted by round-trip time, window, reverse traffic",
    preset,
});

/// `raw` with a window and acknowledgements.
fn preset() -> NetworkParameters {
    NetworkParameters::of_fluid(MODEL, tcp())
}

/// Parameters that all models of TCP have in common.
pub(crate) fn tcp() -> FluidParameters {
    FluidParameters {
        rtt_penalty: true,
        // SimGrid's default of network/TCP-gamma: the maximal window of Linux in 2008.
        tcp_gamma: size("4194304B"),
        crosstraffic: CROSSTRAFFIC,
        ..plain()
    }
}
