//! Initiators of the dynamically connected transport of InfiniBand (DC): the number of peers to
//! which packets of a rank are on their way at one time.
//!
//! An initiator serves one peer from a packet to that peer until all packets to that peer are
//! acknowledged. A packet to a peer without an initiator takes a free one. If none is free, the
//! packet waits behind the others that wait. Data that a receiver reads need no initiator of the
//! sender.
//!
//! *Not modelled*: time to connect an initiator to another peer, and with that the choice among
//! free initiators. A quota: packets that follow each other closely keep their initiator. The
//! initiator of a read serves the announcement's sender as for a request, and not until the end of
//! the data.
//!
//! Source: UCX 1.15, `src/uct/ib/mlx5/dc` (`UCX_DC_MLX5_TX_POLICY=dcs_quota`).

use std::collections::VecDeque;

use channel::{PacketHeader, Settings};
use settings::RendezvousMode;

use crate::slab::Slab;

/// The transfer of a packet, which may wait for an initiator.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WaitingPacket {
    /// The rank that sends, and the other one.
    pub(crate) pair: (u32, u32),
    /// The number of the packet.
    pub(crate) index: u32,
    pub(crate) bytes: f64,
}

/// The initiators of all ranks.
#[derive(Debug)]
pub(crate) struct Initiators {
    /// Initiators of each rank.
    count: usize,
    /// True if the data of a rendezvous are read by the receiver.
    receivers_read: bool,
    /// By rank, as far as ranks have sent.
    ranks: Vec<RankInitiators>,
    /// Packets that have waited, and leave now.
    leaving: Vec<WaitingPacket>,
    /// Acknowledgements on their way, of a packet from the first rank to the second.
    acknowledgements: Slab<(u32, u32)>,
}

#[derive(Default, Debug)]
struct RankInitiators {
    /// The peers that are served, with the number of packets that are not acknowledged.
    served: Vec<(u32, u32)>,
    waiting: VecDeque<WaitingPacket>,
}

impl RankInitiators {
    /// Lets a packet to a peer leave if an initiator serves that peer, or one of `count` is free.
    fn serve_peer(&mut self, peer: u32, count: usize) -> bool {
        if let Some((_, packets)) = self.served.iter_mut().find(|(served, _)| *served == peer) {
            *packets += 1;
            return true;
        }
        let is_free = self.served.len() < count;
        if is_free {
            self.served.push((peer, 1));
        }
        is_free
    }
}

impl Initiators {
    /// Returns the initiators that the settings limit, if they do.
    pub(crate) fn of_settings(settings: &Settings) -> Option<Self> {
        let mode = (settings.library.as_ref()).map(|library| library.rendezvous.mode);
        settings.initiators.map(|count| Self {
            count: count as usize,
            receivers_read: mode == Some(RendezvousMode::Get),
            ranks: Vec::new(),
            leaving: Vec::new(),
            acknowledgements: Slab::default(),
        })
    }

    /// Returns true if the transfer of a packet to another host needs an initiator of the sender.
    pub(crate) const fn are_needed(&self, header: &PacketHeader) -> bool {
        let has_data = matches!(
            header,
            PacketHeader::Data { .. } | PacketHeader::DataPart { .. }
        );
        !(has_data && self.receivers_read)
    }

    /// Returns true if a packet can leave; otherwise the packet waits.
    pub(crate) fn admit_packet(&mut self, packet: WaitingPacket) -> bool {
        let at = packet.pair.0 as usize;
        if self.ranks.len() <= at {
            self.ranks.resize_with(at + 1, RankInitiators::default);
        }
        let leaves = self.ranks[at].serve_peer(packet.pair.1, self.count);
        if !leaves {
            self.ranks[at].waiting.push_back(packet);
        }
        leaves
    }

    /// Notes that the acknowledgement of a packet from a rank to a peer is on its way; returns the
    /// number of the acknowledgement.
    pub(crate) fn begin_acknowledgement(&mut self, rank: u32, peer: u32) -> u32 {
        self.acknowledgements.insert((rank, peer))
    }

    /// Takes an acknowledgement that has arrived or was lost; returns the sender and the receiver
    /// of the packet.
    pub(crate) fn take_acknowledgement(&mut self, number: u32) -> (u32, u32) {
        self.acknowledgements.remove(number)
    }

    /// Notes that a packet of a rank is acknowledged or lost; returns true if packets leave now.
    pub(crate) fn release_packet(&mut self, rank: u32, peer: u32) -> bool {
        let state = &mut self.ranks[rank as usize];
        state.served.retain_mut(|(served, packets)| {
            *packets -= u32::from(*served == peer);
            *packets > 0
        });
        while let Some(packet) = state.waiting.front().copied()
            && state.serve_peer(packet.pair.1, self.count)
        {
            state.waiting.pop_front();
            self.leaving.push(packet);
        }
        !self.leaving.is_empty()
    }

    /// Takes the packets that leave now.
    pub(crate) fn take_leaving(&mut self) -> Vec<WaitingPacket> {
        std::mem::take(&mut self.leaving)
    }
}
