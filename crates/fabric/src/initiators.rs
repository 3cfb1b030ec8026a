//! Initiators of the dynamically connected transport of InfiniBand (DC): the number of peers to
//! which packets of a rank are on their way at one time.
//!
//! An initiator serves one peer from a packet to that peer until all packets to that peer are
//! acknowledged. A packet to a peer without an initiator takes a free one. If none is free, the
//! packet waits; peers get initiators in the order of their first waiting packets. Data that a
//! receiver reads need no initiator of their sender.
//!
//! *Not modelled*: time to connect an initiator to another peer, and with that the choice among
//! free initiators. A quota: packets that follow each other closely keep their initiator. The
//! initiator of a read serves the announcement's sender as for a request, and not until the end of
//! the data.
//!
//! Source: UCX 1.15, `src/uct/ib/mlx5/dc` (`UCX_DC_MLX5_TX_POLICY=dcs_quota`).

use std::collections::{BTreeMap, VecDeque};

use channel::{PacketHeader, Settings};
use settings::RendezvousMode;

/// A packet that waits for an initiator.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct WaitingPacket {
    pub(crate) rank: u32,
    pub(crate) peer: u32,
    /// The job of the device.
    pub(crate) job: u32,
    /// Bytes to transfer.
    pub(crate) bytes: f64,
}

/// The initiators of all ranks.
#[derive(Debug)]
pub(crate) struct Initiators {
    /// Initiators of each rank.
    count: usize,
    /// True if the data of a rendezvous are read by the receiver.
    receivers_read: bool,
    /// True if control packets take time.
    controls_travel: bool,
    /// The ranks with packets on their way.
    ranks: BTreeMap<u32, RankInitiators>,
    /// Packets that have waited, and leave now.
    leaving: Vec<WaitingPacket>,
}

#[derive(Default, Debug)]
struct RankInitiators {
    /// The peers that are served, with the number of packets that are not acknowledged.
    served: Vec<(u32, usize)>,
    /// The peers without an initiator, in the order of their first waiting packets.
    queue: VecDeque<u32>,
    /// Packets to the peers in the queue.
    waiting: BTreeMap<u32, Vec<WaitingPacket>>,
}

impl Initiators {
    /// Returns the initiators that the settings limit, if they do.
    pub(crate) fn of_settings(settings: &Settings) -> Option<Self> {
        let mode = (settings.library.as_ref()).map(|library| library.rendezvous.mode);
        settings.initiators.map(|count| Self {
            count: count as usize,
            receivers_read: mode == Some(RendezvousMode::Get),
            controls_travel: settings.control.is_some(),
            ranks: BTreeMap::new(),
            leaving: Vec::new(),
        })
    }

    /// Returns true if a packet to another host needs an initiator of the sender.
    pub(crate) const fn are_needed(&self, header: &PacketHeader) -> bool {
        match header {
            PacketHeader::Data { .. } | PacketHeader::DataPart { .. } => !self.receivers_read,
            header => self.controls_travel || !header.is_control(),
        }
    }

    /// Returns true if a packet can leave; otherwise the packet waits.
    pub(crate) fn admit_packet(&mut self, packet: WaitingPacket) -> bool {
        let WaitingPacket { rank, peer, .. } = packet;
        let state = self.ranks.entry(rank).or_default();
        if let Some((_, packets)) = state.served.iter_mut().find(|(served, _)| *served == peer) {
            *packets += 1;
            return true;
        }
        if state.served.len() < self.count {
            state.served.push((peer, 1));
            return true;
        }
        let waiting = state.waiting.entry(peer).or_default();
        if waiting.is_empty() {
            state.queue.push_back(peer);
        }
        waiting.push(packet);
        false
    }

    /// Notes that a packet of a rank is acknowledged; returns true if packets leave now.
    pub(crate) fn take_acknowledgement(&mut self, rank: u32, peer: u32) -> bool {
        let state = self.ranks.entry(rank).or_default();
        let served = state.served.iter_mut();
        for (_, packets) in served.filter(|(served, _)| *served == peer) {
            *packets -= 1;
        }
        state.served.retain(|(_, packets)| *packets > 0);
        if state.served.len() == self.count {
            return false;
        }
        let next = state.queue.pop_front();
        let next = next.and_then(|peer| state.waiting.remove_entry(&peer));
        let leaves = next.is_some();
        if let Some((peer, packets)) = next {
            state.served.push((peer, packets.len()));
            self.leaving.extend(packets);
        } else if state.served.is_empty() {
            self.ranks.remove(&rank);
        }
        leaves
    }

    /// Takes the packets that leave now.
    pub(crate) fn take_leaving(&mut self) -> Vec<WaitingPacket> {
        std::mem::take(&mut self.leaving)
    }
}
