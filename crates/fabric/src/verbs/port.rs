//! The port of a host: the packets that its adapters send and receive, one after another.
//!
//! *Decided here*: ranks of one host take turns, packet by packet; the adapter reads ahead a
//! limited number of packets, so that the network's queue at the host stays short.

use std::collections::VecDeque;

use super::AdapterCosts;

/// Bytes of full packets that are read ahead of the link. Enough to cover the latency of a read of
/// memory at 400 Gb/s (1.3 µs). \[choice\]
const READ_AHEAD: u32 = 65_536;

/// The port of a host.
#[derive(Debug, Default)]
pub(super) struct HostPort {
    /// Ranks whose adapter may have a packet to send.
    ready: VecDeque<u32>,
    /// Packets between the adapters and the link.
    waiting: u32,
    /// The largest number of them.
    read_ahead: u32,
    /// When the processing of packets that leave is free, in picoseconds.
    tx_free: u64,
    /// When the last packet reaches the link: no packet overtakes another one.
    last_at_link: u64,
    /// As `tx_free`, for packets that arrive.
    rx_free: u64,
}

impl HostPort {
    /// Returns a port for packets of at most `mtu` bytes.
    pub(super) fn new(mtu: u32) -> Self {
        Self {
            read_ahead: READ_AHEAD / mtu,
            ..Self::default()
        }
    }

    pub(super) fn mark_ready(&mut self, rank: u32) {
        if !self.ready.contains(&rank) {
            self.ready.push_back(rank);
        }
    }

    /// Returns the rank whose adapter may send next, if the port takes a packet at `now`.
    pub(super) fn next_sender(&mut self, now: u64) -> Option<u32> {
        if self.waiting >= self.read_ahead || self.tx_free > now {
            return None;
        }
        self.ready.pop_front()
    }

    /// Returns the time at which the port takes the next packet, if a packet may wait for the port.
    pub(super) fn next_free(&self, now: u64) -> Option<u64> {
        let waits = !self.ready.is_empty() && self.waiting < self.read_ahead;
        (waits && self.tx_free > now).then_some(self.tx_free)
    }

    /// Begins to process a packet now, and returns the time at which the packet reaches the link.
    /// The adapter reads `payload` bytes of the packet from memory; the packet may be the response
    /// to an atomic operation.
    pub(super) fn begin_packet(
        &mut self,
        now: u64,
        costs: &AdapterCosts,
        payload: usize,
        is_atomic: bool,
    ) -> u64 {
        self.waiting += 1;
        self.tx_free = now + costs.tx_packet.max(transfer_time(costs, payload));
        let mut work = if is_atomic { costs.atomic } else { 0 };
        if payload > 0 {
            work += costs.dma_read + transfer_time(costs, payload);
        }
        self.last_at_link = self.last_at_link.max(now + work + costs.tx_packet);
        self.last_at_link
    }

    /// Notes that a packet has left on the link.
    pub(super) const fn note_departure(&mut self) {
        self.waiting -= 1;
    }

    /// Returns the time at which the adapter has processed a packet that arrives now.
    pub(super) fn receive_packet(&mut self, now: u64, costs: &AdapterCosts, payload: usize) -> u64 {
        let start = now.max(self.rx_free);
        self.rx_free = start + costs.rx_packet.max(transfer_time(costs, payload));
        start + costs.rx_packet + transfer_time(costs, payload)
    }
}

/// Returns the time that bytes take between memory and the adapter, in picoseconds.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "payloads of 4096 bytes at most, and costs that are not negative"
)]
fn transfer_time(costs: &AdapterCosts, payload: usize) -> u64 {
    (payload as f64 * costs.pcie_per_byte).round() as u64
}
