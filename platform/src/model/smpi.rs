//! The model `smpi`: MPI point-to-point messages over TCP on a cluster, piecewise linear in the size.
//!
//! As `cm02`, with factors on latency and bandwidth that depend on the size of the transfer, measured with MPI ping-pongs on
//! a Gigabit Ethernet cluster. The size that is looked up and transferred is payload + envelope (16 bytes): the message
//! layer adds the envelope before it starts the transfer, so an empty message is a transfer of 16 bytes.
//!
//! *Not modelled here*: when a message leaves (eager, rendezvous), and the time that sender and receiver spend on it; that is
//! the message layer's. A user of another network than that cluster could observe any deviation: the factors are
//! measurements of one machine and should be replaced by one's own.
//!
//! Source: the defaults of `SimGrid` v4.1's `network/model:SMPI` (`network/bandwidth-factor`, `network/latency-factor`,
//! `network/weight-S`).

use super::cm02::tcp;
use super::factors::Factors;
use super::parameters::{FluidParameters, NetworkModel, NetworkParameters, size};

/// Sizes strictly greater than the threshold in bytes, factor of the bandwidth, factor of the latency.
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

/// `cm02` with factor tables.
pub(crate) fn preset() -> NetworkParameters {
    let bandwidth = FACTORS.map(|(above, bandwidth, _)| (above, bandwidth));
    let latency = FACTORS.map(|(above, _, latency)| (above, latency));
    let fluid = FluidParameters {
        latency_factor: Factors::steps(&latency),
        bandwidth_factor: Factors::steps(&bandwidth),
        weight_s: size("8775B"),
        envelope: size("16B"),
        ..tcp()
    };
    NetworkParameters::of_fluid(NetworkModel::Smpi, fluid)
}
