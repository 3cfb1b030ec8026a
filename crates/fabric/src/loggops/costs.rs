//! The times for which a packet occupies processors and adapters.
//!
//! *Not decided here*: when a packet starts.

use channel::Packet;
use settings::{LogGopsLoopback, LogGopsParameters};
use sim_core::{Kernel, Span};

use crate::ranks::actor;

/// Costs of packets by their ways.
#[derive(Debug)]
pub(super) struct WayCosts {
    between: PacketCosts,
    /// Of packets that stay within a host, if these have costs of their own.
    within: Option<PacketCosts>,
}

impl WayCosts {
    pub(super) fn from_parameters(costs: &LogGopsParameters<Span>) -> Self {
        let within = |loopback| PacketCosts::from_loopback(loopback, costs.overhead_per_byte);
        Self {
            between: PacketCosts::from_parameters(costs),
            within: costs.loopback.as_ref().map(within),
        }
    }

    /// Returns the costs of the packets from one rank to another, and true if these packets go
    /// through the memory of a host and not through adapters.
    #[inline]
    pub(super) fn of_way(
        &self,
        kernel: &Kernel,
        source: u32,
        destination: u32,
    ) -> (&PacketCosts, bool) {
        let host = |rank| kernel.host_of(actor(rank));
        match &self.within {
            Some(within) if host(source) == host(destination) => (within, true),
            _ => (&self.between, false),
        }
    }
}

/// Costs of packets that take one kind of way: between hosts, or within a host.
#[derive(Clone, Copy, Debug)]
pub(super) struct PacketCosts {
    pub(super) latency: Span,
    pub(super) overhead: Span,
    /// Time in which the sender's processor copies a byte: O.
    copy_per_byte: Span,
    /// Time for each byte until the last one is through: max(O, G).
    through_per_byte: Span,
    gap: Span,
    gap_per_byte: Span,
}

impl PacketCosts {
    fn from_parameters(costs: &LogGopsParameters<Span>) -> Self {
        Self {
            latency: costs.latency,
            overhead: costs.overhead,
            copy_per_byte: costs.overhead_per_byte,
            through_per_byte: costs.overhead_per_byte.max(costs.gap_per_byte),
            gap: costs.gap,
            gap_per_byte: costs.gap_per_byte,
        }
    }

    /// Costs between ranks of one host: both processors copy, and no adapter is occupied.
    fn from_loopback(loopback: &LogGopsLoopback<Span>, overhead_per_byte: Span) -> Self {
        let through_per_byte = overhead_per_byte.max(loopback.gap_per_byte);
        Self {
            latency: loopback.latency,
            overhead: loopback.overhead,
            copy_per_byte: through_per_byte,
            through_per_byte,
            gap: Span::ZERO,
            gap_per_byte: Span::ZERO,
        }
    }

    /// Time in which the sender's processor copies a packet: o + (s−1)·O.
    pub(super) fn copy_time(&self, rest: f64) -> Span {
        self.overhead + self.copy_per_byte * rest
    }

    /// Time until the last byte is through: o + (s−1)·max(O, G).
    pub(super) fn through_time(&self, rest: f64) -> Span {
        self.overhead + self.through_per_byte * rest
    }

    /// Time until the adapter takes the next packet: g + (s−1)·G.
    pub(super) fn gap_time(&self, rest: f64) -> Span {
        self.gap + self.gap_per_byte * rest
    }
}

/// The bytes of a packet that take time each: s−1.
#[expect(
    clippy::cast_precision_loss,
    reason = "messages of 2^53 bytes and more may be off by one"
)]
pub(super) fn rest_of(packet: &Packet) -> f64 {
    if packet.header.is_control() {
        return 0.0;
    }
    let length = packet.header.charged_length(packet.payload.len());
    length.saturating_sub(1) as f64
}
