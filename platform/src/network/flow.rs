//! The plain fluid model, `model = "flow"`: `T = latency + size / bandwidth`, fairly shared.
//!
//! The sum of the latencies of the route is paid first, using no bandwidth. Then the data flow at
//! the max-min fair rate: all transfers that cross a full link have the same rate there, unless
//! another link or their own limit makes them slower. A `shared` link is one capacity for both
//! directions, a `split-duplex` link one per direction; a `fatpipe` link only limits each transfer.
//! A transfer of 0 bytes takes the latency.
//!
//! With `message_latency`, a transfer between two hosts has a second latency by size, beside the
//! latency of the links. An adapter of InfiniBand fetches a payload that is not in the work request
//! by a read over PCI Express (UCX: `TX_MIN_INLINE`), and sends other messages meanwhile.
//!
//! With `message_gap`, the messages of a host to other hosts leave at least the gap g apart, in the
//! order of their calls (the gap of LogP: Culler et al., PPoPP 1993). A message of s bytes over a
//! link of bandwidth B occupies the sender for max(g, s / B): with a shorter gap, two messages
//! share the link. The ranks of one host share the adapter. Control messages that take time,
//! rendezvous data that a receiver reads, and acknowledgements of `endpoints` count as messages. A
//! gap below the overhead of a send (`os`, `ois`) has an effect only where several ranks share a
//! host.
//!
//! With `pair_duplex`, a transfer of s bytes has at most the rate B / (1 + η) while the two hosts
//! have one transfer in each direction, between them, and no other transfer. B is the rate of the
//! slowest link of the route, and η = log(s / `from`) / log(`full` / `from`), at least 0 and at
//! most 1. So two long opposite transfers take as long as one after the other. Measured on
//! MareNostrum 5 with Open MPI 4.1 over UCX (PICO, github.com/HLC-Lab/pico): an exchange of 256 MB
//! has 12.3 GB/s in each direction, a ring 24.4 GB/s. The mechanism was not observed.
//!
//! *Not modelled*, with the effects that a user could observe:
//! - no gap at the receiver: messages of many senders arrive at one host at one date;
//! - no protocol efficiency and no packet headers: a large transfer reaches 100 % of the nominal
//!   bandwidth;
//! - no reverse traffic of acknowledgements: two opposite transfers on a split-duplex link do not
//!   slow each other;
//! - no slow start, no window, no unfairness by round-trip time: a transfer has its fair share as
//!   soon as its latency is paid, and a transfer over a long way gets the same share of a full link
//!   as a transfer over a short way;
//! - no packets: a fair share is exact at every moment, and buffers never overflow.

use super::factors::Factors;
use super::parameters::{
    FluidParameters, Loopback, ModelRow, NetworkModel, NetworkParameters, size,
};
use settings::{OverheadTable, Overheads};

/// The row of the model in the list of all.
pub(super) const MODEL: NetworkModel = NetworkModel(&ModelRow {
    name: "flow",
    summary: "latency + size / bandwidth, max-min fair sharing",
    preset,
});

/// Only latency and bandwidth.
fn preset() -> NetworkParameters {
    NetworkParameters::of_fluid(MODEL, plain())
}

/// The parameters without any effect beyond latency and bandwidth.
pub(crate) fn plain() -> FluidParameters {
    FluidParameters {
        latency_factor: Factors::ONE,
        message_latency: OverheadTable::NONE,
        message_gap: None,
        bandwidth_factor: Factors::ONE,
        rtt_penalty: false,
        weight_s: size("0B"),
        tcp_gamma: size("0B"),
        crosstraffic: 0.0,
        // SimGrid's network/loopback-bw and network/loopback-lat: 10 GB/s without latency, about a
        // copy in memory.
        loopback: Loopback {
            bandwidth: "10GBps".parse().expect("a bandwidth"),
            latency: "0s".parse().expect("a duration"),
        },
        envelope: size("0B"),
        async_small_threshold: None,
        overheads: Overheads::default(),
    }
}
