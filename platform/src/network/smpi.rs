//! The model `smpi`: MPI point-to-point messages over TCP on a cluster, piecewise linear in the
//! size.
//!
//! As `cm02`, with factors on latency and bandwidth that depend on the size of the transfer,
//! measured with MPI ping-pongs on a Gigabit Ethernet cluster. The size that is looked up and
//! transferred is payload + envelope (16 bytes): the message layer adds the envelope before it
//! starts the transfer, so an empty message is a transfer of 16 bytes.
//!
//! An eager message (below `[protocol] eager_threshold`, SimGrid's `smpi/send-is-detached-thresh`)
//! does not block its sender. The message leaves when a receive has matched it, or at once if it is
//! shorter than `async_small_threshold` (`smpi/async-small-thresh`), which is 0. The calls take no
//! time unless `os`, `ois` and `or` are set.
//!
//! *Not modelled here*: the message layer, which has these parameters. A user of another network
//! than that cluster could observe any deviation: the factors are measurements of one machine and
//! should be replaced by the user's own measurements.
//!
//! Source: the defaults of `SimGrid` v4.1's `network/model:SMPI` (`network/bandwidth-factor`,
//! `network/latency-factor`, `network/weight-S`).

use super::cm02::tcp;
use super::factors::Factors;
use super::parameters::{FluidParameters, ModelRow, NetworkModel, NetworkParameters, size};

/// Sizes strictly greater than the threshold in bytes, factor of the bandwidth, factor of the
/// latency.
const FACTORS: [(u32, f64, f64); 9] = [
    (0, 0.812084, 2.01467),
    (257, 0.338112, 1.95341),
    (732, 0.341987, 1.9503),
    (1426, 0.608902, 1.61075),
    (3484, 0.77493, 1.88101),
    (5776, 1.08739, 2.18796),
    (9376, 0.58729, 2.59299),
    (15424, 0.697866, 3.48845),
    (65472, 0.940694, 11.6436),
];

/// The row of the model in the list of all.
pub(super) const MODEL: NetworkModel = NetworkModel(&ModelRow {
    name: "smpi",
    summary: "cm02 with factors by size for MPI on Ethernet",
    preset,
});

/// `cm02` with factor tables.
fn preset() -> NetworkParameters {
    let bandwidth = FACTORS.map(|(above, bandwidth, _)| (above, bandwidth));
    let latency = FACTORS.map(|(above, _, latency)| (above, latency));
    let fluid = FluidParameters {
        latency_factor: Factors::steps(&latency),
        bandwidth_factor: Factors::steps(&bandwidth),
        weight_s: size("8775B"),
        envelope: size("16B"),
        async_small_threshold: Some(size("0B")),
        ..tcp()
    };
    NetworkParameters::of_fluid(MODEL, fluid)
}
