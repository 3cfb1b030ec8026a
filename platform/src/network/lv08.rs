//! The model `lv08`: TCP over wide-area networks, fitted to a packet-level simulator.
//!
//! As `cm02`, with three constants fitted against GTNetS: the latency paid is 13.01 times the
//! latency of the route (slow start and handshake), the rate is 0.97 of the shared rate (headers),
//! and a link counts in the penalty as `20537 bytes / B` of latency. A lone transfer on a symmetric
//! `shared` route takes `13.01 lat + size / (0.97 min(B / 1.05, 4 MiB / 2 lat))`.
//!
//! *Not modelled*: slow start proper; the factor on the latency replaces it at sizes above about
//! 100 kB. A user could observe that the time of small messages is far too long on a local network.
//!
//! Source: P. Velho, A. Legrand, "Accuracy study and improvement of network simulation in the
//! SimGrid framework", SIMUTools 2009; constants of `SimGrid` v4.1, `network/model:LV08`, the
//! default of SimGrid.

use super::cm02::tcp;
use super::factors::Factors;
use super::parameters::{FluidParameters, ModelRow, NetworkModel, NetworkParameters, size};

/// The row of the model in the list of all.
pub(super) const MODEL: NetworkModel = NetworkModel(&ModelRow {
    name: "lv08",
    summary: "cm02 with factors for TCP on wide-area networks",
    preset,
});

/// `cm02` with three constants.
fn preset() -> NetworkParameters {
    let fluid = FluidParameters {
        latency_factor: Factors::Same(13.01),
        bandwidth_factor: Factors::Same(0.97),
        weight_s: size("20537B"),
        ..tcp()
    };
    NetworkParameters::of_fluid(MODEL, fluid)
}
