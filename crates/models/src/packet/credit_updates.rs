//! Late credits: at most one update per interval, or by flow-control packets.
//!
//! A flow-control packet of 8 bytes travels over the reverse link, between data packets and ahead
//! of waiting data packets. The flow-control packet carries the blocks sent on its own link, so
//! that the receiver detects lost packets, and the limit for the opposite link. It is sent when one
//! of both has changed, at most once per interval. Links without a reverse link have ideal credits.
//!
//! *Not modelled*: faults of flow-control packets, and therefore their repetition after 65 536
//! symbol times and the link error when no flow-control packet comes.

use super::arena::Packet;
use super::credit_counters::{COUNTER_MODULUS, blocks_allowed, credit_limit};
use super::event_queue::{EventKind, PacketEvent};
use super::network::PacketNetwork;
use super::settings::FlowControl;
use super::topology::PacketLinkId;

/// Bytes of a flow-control packet on the wire, with delimiters.
pub const FLOW_CONTROL_PACKET_BYTES: u32 = 8;

/// Counters of one virtual lane of a link; both ends are here.
#[derive(Clone, Copy, Default, Debug)]
struct CreditLane {
    /// Sender: blocks sent.
    sent: u32,
    /// Receiver: blocks received.
    received: u32,
    /// Receiver: blocks in the buffer.
    occupied: u32,
    /// The last flow-control packet on this link: blocks sent on this link, and the limit for the
    /// opposite link.
    last: (u32, u32),
    /// Time of the last update.
    last_at: Option<u64>,
    is_planned: bool,
}

/// A flow-control packet on the wire.
#[derive(Clone, Copy, Debug)]
struct CreditPacket {
    vl: u8,
    sent: u32,
    limit: u32,
}

/// State of all links with late credits.
#[derive(Clone, Debug)]
pub(super) struct CreditUpdates {
    data_vls: u8,
    /// By port, then lane.
    lanes: Vec<Vec<CreditLane>>,
    on_wire: Vec<CreditPacket>,
    free: Vec<u32>,
}

impl PacketNetwork {
    /// Returns true if a link tells credits by flow-control packets.
    pub(super) fn has_credit_packets(&self, port: u32) -> bool {
        let port = &self.ports[port as usize];
        matches!(
            self.settings.flow_control,
            FlowControl::CreditPackets { .. }
        ) && port.has_credits
            && self.topology.reverse(port.link).is_some()
    }

    /// Counts a packet that has started on a link, and plans the arrival unless the packet is lost.
    pub(super) fn note_started(&mut self, out: u32, at: u32, arrival: Option<u64>) {
        if !self.has_credit_packets(out) {
            return;
        }
        let packet = self.packets[at];
        let (blocks, vl) = (u32::from(packet.blocks), packet.vl);
        let lane = self.credit_updates.credit_lane(out, vl);
        lane.sent = (lane.sent + blocks) % COUNTER_MODULUS;
        let port = &self.ports[out as usize];
        let (link, now) = (port.link, port.last_start);
        if let Some(time) = arrival {
            let subject = blocks << 8 | u32::from(vl);
            let event = PacketEvent::new(time, link.0, EventKind::Received, subject);
            self.events.push(event);
        }
        self.plan_credit_packet(link, vl, now);
    }

    /// Counts a packet after the arrival of the last bit.
    #[expect(clippy::cast_possible_truncation, reason = "packed by count_sent")]
    pub(super) fn count_received(&mut self, link: PacketLinkId, subject: u32) {
        let port = self.port(link);
        let lane = self.credit_updates.credit_lane(port, subject as u8);
        lane.received = (lane.received + (subject >> 8)) % COUNTER_MODULUS;
        lane.occupied += subject >> 8;
    }

    /// Frees blocks of a buffer, and plans a flow-control packet that says so.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "packed by plan_free_blocks"
    )]
    pub(super) fn free_blocks(&mut self, link: PacketLinkId, subject: u32, now: u64) {
        let (port, vl) = (self.port(link), subject as u8);
        let lane = self.credit_updates.credit_lane(port, vl);
        lane.occupied = lane.occupied.saturating_sub(subject >> 8);
        if let Some(reverse) = self.topology.reverse(link) {
            self.plan_credit_packet(reverse, vl, now);
        }
    }

    /// Plans the release of a packet's blocks.
    pub(super) fn plan_free_blocks(&mut self, packet: &Packet, freed: u64) {
        let link = self.ports[packet.stored_at as usize].link;
        let subject = u32::from(packet.blocks) << 8 | u32::from(packet.vl);
        let event = PacketEvent::new(freed, link.0, EventKind::Released, subject);
        self.events.push(event);
    }

    /// Plans a flow-control packet on a link, unless one is planned.
    fn plan_credit_packet(&mut self, link: PacketLinkId, vl: u8, now: u64) {
        let FlowControl::CreditPackets { min_interval_ps } = self.settings.flow_control else {
            return;
        };
        let port = self.port(link);
        let lane = self.credit_updates.credit_lane(port, vl);
        if lane.is_planned {
            return;
        }
        lane.is_planned = true;
        let time = lane
            .last_at
            .map_or(now, |last| now.max(last + min_interval_ps));
        let event = PacketEvent::new(time, link.0, EventKind::CreditSend, u32::from(vl));
        self.events.push(event);
    }

    /// Puts a flow-control packet on a link, or plans one for the end of the packet on the wire.
    #[expect(
        clippy::cast_possible_truncation,
        reason = "packed by plan_credit_packet"
    )]
    pub(super) fn send_credit_packet(&mut self, link: PacketLinkId, subject: u32, now: u64) {
        let (port, vl) = (self.port(link), subject as u8);
        let Some(reverse) = self.topology.reverse(link) else {
            return;
        };
        let opposite = self.port(reverse);
        let capacity = self.ports[opposite as usize].capacity;
        let limit = self
            .credit_updates
            .published_limit((opposite, vl), capacity);
        let state = &mut self.ports[port as usize];
        let busy_until = state.busy_until(now);
        let lane = self.credit_updates.credit_lane(port, vl);
        lane.is_planned = false;
        if lane.last_at.is_some() && lane.last == (lane.sent, limit) {
            return;
        }
        if busy_until > now {
            lane.is_planned = true;
            let event = PacketEvent::new(busy_until, link.0, EventKind::CreditSend, subject);
            self.events.push(event);
            return;
        }
        lane.last = (lane.sent, limit);
        lane.last_at = Some(now);
        let sent = lane.sent;
        let state = &mut self.ports[port as usize];
        let wire_time = state.rate.wire_time(FLOW_CONTROL_PACKET_BYTES);
        state.busy_until = now + wire_time;
        let time = now + wire_time + state.propagation;
        let packet = CreditPacket { vl, sent, limit };
        let number = self.credit_updates.insert(packet);
        self.statistics.credit_packets += 1;
        let event = PacketEvent::new(time, link.0, EventKind::CreditArrival, number);
        self.events.push(event);
    }

    /// Handles a flow-control packet that arrives at the end of a link.
    pub(super) fn receive_credit_packet(&mut self, link: PacketLinkId, number: u32, now: u64) {
        let CreditPacket { vl, sent, limit } = self.credit_updates.remove(number);
        let port = self.port(link);
        let lane = self.credit_updates.credit_lane(port, vl);
        let has_lost = lane.received != sent;
        // Lost packets count as received: their blocks are free again.
        lane.received = sent;
        let Some(reverse) = self.topology.reverse(link) else {
            return;
        };
        if has_lost {
            self.plan_credit_packet(reverse, vl, now);
        }
        let opposite = self.port(reverse);
        let sent = self.credit_updates.credit_lane(opposite, vl).sent;
        self.ports[opposite as usize].lanes[usize::from(vl)].credits = blocks_allowed(limit, sent);
        self.serve(opposite, now);
    }
}

impl CreditUpdates {
    pub(super) const fn new(data_vls: u8) -> Self {
        Self {
            data_vls,
            lanes: Vec::new(),
            on_wire: Vec::new(),
            free: Vec::new(),
        }
    }

    fn credit_lane(&mut self, port: u32, vl: u8) -> &mut CreditLane {
        debug_assert_ne!(port, u32::MAX, "a port of the network");
        let port = port as usize;
        if self.lanes.len() <= port {
            self.lanes.resize_with(port + 1, Vec::new);
        }
        let lanes = &mut self.lanes[port];
        if lanes.is_empty() {
            lanes.resize(usize::from(self.data_vls), CreditLane::default());
        }
        &mut lanes[usize::from(vl)]
    }

    /// Returns the limit that the receiver of a link publishes; `capacity` is in blocks.
    fn published_limit(&mut self, (port, vl): (u32, u8), capacity: u32) -> u32 {
        let lane = self.credit_lane(port, vl);
        credit_limit(lane.received, capacity.saturating_sub(lane.occupied))
    }

    /// Returns the time of the update that tells of space freed at `freed`: not earlier than an
    /// interval after the one before.
    pub(super) fn update_time(&mut self, packet: &Packet, freed: u64, interval: u64) -> u64 {
        let lane = self.credit_lane(packet.stored_at, packet.vl);
        let earliest = match lane.last_at {
            // An update that is still to come tells of this space as well.
            Some(last) if freed <= last => return last,
            Some(last) => freed.max(last + interval),
            None => freed,
        };
        lane.last_at = Some(earliest);
        earliest
    }

    fn insert(&mut self, packet: CreditPacket) -> u32 {
        if let Some(number) = self.free.pop() {
            self.on_wire[number as usize] = packet;
            return number;
        }
        self.on_wire.push(packet);
        u32::try_from(self.on_wire.len() - 1).expect("fewer than 2^32 packets")
    }

    fn remove(&mut self, number: u32) -> CreditPacket {
        self.free.push(number);
        self.on_wire[number as usize]
    }
}
