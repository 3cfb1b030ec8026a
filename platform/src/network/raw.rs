//! The model `raw`: latency and bandwidth as given, shared unfairly by round-trip time.
//!
//! As `flow`, but on a full link the rates are inversely proportional to the latencies of the
//! routes, as for TCP flows in congestion avoidance: of two transfers with 1 ms and 3 ms, the first
//! gets three quarters. With `rtt_penalty = false` the model is `flow`.
//!
//! *Not modelled*: a window (so a fast link over a long way is used fully), acknowledgements,
//! packet headers. A user could observe that a lone transfer reaches 100 % of the bandwidth
//! whatever the distance.
//!
//! A route without latency has the penalty 1, far more than any other route: next to transfers with
//! a latency of 1 ms, a transfer on such a route gets a thousandth. The model does not define the
//! penalty of such a route.
//!
//! Source: `SimGrid` v4.1, `network/model:raw`.

use super::flow::plain;
use super::parameters::{FluidParameters, ModelRow, NetworkModel, NetworkParameters};

/// The row of the model in the list of all.
pub(super) const MODEL: NetworkModel = NetworkModel(&ModelRow {
    name: "raw",
    summary: "no factors, sharing weighted by round-trip time",
    preset,
});

/// `flow` with penalties.
fn preset() -> NetworkParameters {
    let fluid = FluidParameters {
        rtt_penalty: true,
        ..plain()
    };
    NetworkParameters::of_fluid(MODEL, fluid)
}
