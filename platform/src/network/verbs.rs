//! The device `verbs`: rank programs over queue pairs of simulated InfiniBand adapters, and a
//! network of single packets.
//!
//! `device = "verbs"` is set beside the model: links and routes come from the platform, and actor
//! programs keep the model. The defaults describe an adapter of 100 Gb/s on PCIe 3.0 x16.
//!
//! *Not modelled here*: adapters and packets; `fabric` runs the adapters and `models` the packets.
//!
//! Sources: `completion` and `dma_read` are fitted to perftest's `ib_send_lat` over RC in the
//! thesis of D. Potter (table of MTUs), see `results/verbs-calibration.md`; the division of the sum
//! between `doorbell`, `tx_packet`, `rx_packet` and `completion` is our choice. PCIe 3.0 x16
//! carries 15.75 GB/s. Switches: Mellanox's data sheets have 90 ns (Switch-IB) to 130 ns (Quantum).

use std::num::NonZeroU8;

use serde::Serialize;

use crate::units::{Bandwidth, Duration, Size};

/// Parameters of adapters, switches and buffers: the table `[network.verbs]`.
#[derive(Clone, PartialEq, Serialize, Debug)]
pub struct VerbsParameters {
    /// The largest payload of a packet: 256, 512, 1024, 2048 or 4096 bytes.
    pub mtu: Size,
    /// Time from posting a request until the adapter knows the request.
    pub doorbell: Duration,
    /// From the adapter's request for bytes of memory to the first of them.
    pub dma_read: Duration,
    /// Processing of a packet that leaves an adapter.
    pub tx_packet: Duration,
    /// Processing of a packet that arrives at an adapter.
    pub rx_packet: Duration,
    /// Work of an adapter for an atomic operation.
    pub atomic: Duration,
    /// Time from the end of a request until its completion can be polled.
    pub completion: Duration,
    /// Bandwidth between an adapter and the memory of its host.
    pub pcie_bandwidth: Bandwidth,
    /// Time from the first bit at an input of a switch to the first bit at the output.
    pub switch_latency: Duration,
    /// Buffer of each link and virtual lane at the switch or adapter at the end of the link.
    pub buffer: Size,
    /// Number of virtual lanes for data, 1 to 15. With several, routes are assigned to lanes so
    /// that no credit loop is possible. IBA 7.6.
    pub lanes: NonZeroU8,
    /// Faults of every link.
    pub faults: PacketFaults,
}

/// Faults of the links of a packet network: the table `[network.verbs.faults]`. Each direction of
/// each link draws from a separate random stream.
#[derive(Clone, PartialEq, Default, Serialize, Debug)]
pub struct PacketFaults {
    /// Probability that a packet is lost.
    pub loss: f64,
    /// Probability that a bit is inverted; the receiver drops a packet with a wrong bit.
    pub bit_error_rate: f64,
    /// Probability that a packet arrives twice.
    pub duplication: f64,
    /// Probability that a packet is delayed, so that later packets overtake this packet.
    pub reordering: f64,
    /// Delay of such a packet.
    pub reordering_delay: Duration,
}

/// The largest number of virtual lanes for data. IBA 7.6.1.
pub(crate) const LANES_MAX: u32 = 15;

impl Default for VerbsParameters {
    fn default() -> Self {
        let time = |text: &str| -> Duration { text.parse().expect("a duration") };
        let size = |text: &str| -> Size { text.parse().expect("a size") };
        Self {
            mtu: size("4096B"),
            doorbell: time("300ns"),
            dma_read: time("624ns"),
            tx_packet: time("30ns"),
            rx_packet: time("30ns"),
            atomic: time("100ns"),
            completion: time("333ns"),
            pcie_bandwidth: "15.75GBps".parse().expect("a bandwidth"),
            switch_latency: time("100ns"),
            buffer: size("32KiB"),
            lanes: NonZeroU8::MIN,
            faults: PacketFaults::default(),
        }
    }
}
