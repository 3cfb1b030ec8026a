//! The engine: packets move from port to port, without I/O and without an own clock.
//!
//! One hop is one event: *the packet can leave the next switch*. A transmission starts within the
//! event that made it possible. A port is woken when the port becomes free or gets credits, and
//! only while packets wait for the port.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;

use sim_core::HostId;

use super::arena::{NONE, Packet, PacketArena};
use super::credit_updates::CreditUpdates;
use super::event_queue::{EventKind, EventQueue, PacketEvent};
use super::faults::FaultState;
use super::lane_choice::lane;
use super::overhead::credit_blocks;
use super::pfc_network::PfcState;
use super::port::{NEVER, Port, SOURCE_INPUT, input_of};
use super::routes::PathTable;
use super::settings::{FlowControl, Forwarding, PacketSettings};
use super::stall::PacketStall;
use super::statistics::PacketStatistics;
use super::topology::{NoPacketRoute, PACKET_LINKS_MAX, PacketLinkId, PacketTopology};

/// A packet that a host hands to the network.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct OutboundPacket {
    /// The host that receives the packet; it may be the source.
    pub destination: HostId,
    /// Bytes on the wire, with all headers; at most 65535.
    pub wire_bytes: u32,
    /// Service level, 0 to 15; the service level selects the virtual lane of each link.
    pub service_level: u8,
    /// Hash of the flow, for the choice among several routes.
    pub flow_hash: u32,
    /// Returned with the delivery.
    pub tag: u64,
}

/// A packet that has reached the destination completely.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketDelivery {
    /// The tag of the sent packet.
    pub tag: u64,
    /// The host that received the packet.
    pub host: HostId,
    /// Arrival of the last bit, in picoseconds.
    pub at: u64,
    /// True if a switch marked congestion: FECN on InfiniBand, ECN on RoCE.
    pub marked: bool,
    /// True if the check sequence of the packet is wrong.
    pub corrupted: bool,
}

/// A packet that has left the queue of its source: the first bit is on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketDeparture {
    /// The tag of the sent packet.
    pub tag: u64,
    /// Start of the transmission, in picoseconds.
    pub at: u64,
    /// End of the transmission: the link is free for the next packet.
    pub ends_at: u64,
}

/// A packet that cannot be sent.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum PacketSendError {
    /// No route joins the hosts.
    NoRoute(NoPacketRoute),
    /// The packet has more than 65535 bytes.
    TooLong {
        /// Bytes on the wire.
        wire_bytes: u32,
    },
    /// The service level has no virtual lane on the first link.
    NoVirtualLane {
        /// The service level.
        service_level: u8,
        /// The lane of the table.
        vl: u8,
        /// Lanes of the network.
        data_vls: u8,
    },
}

impl std::fmt::Display for PacketSendError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NoRoute(error) => error.fmt(f),
            Self::TooLong { wire_bytes } => {
                write!(f, "a packet of {wire_bytes} bytes: expected at most 65535")
            }
            Self::NoVirtualLane {
                service_level,
                vl,
                data_vls,
            } => write!(
                f,
                "service level {service_level} has virtual lane {vl}: expected one below \
                 {data_vls}, the number of data lanes"
            ),
        }
    }
}

impl std::error::Error for PacketSendError {}

/// Packets that hosts keep in their buffers, by host.
pub(super) type HeldSinks = BTreeMap<HostId, Vec<u32>>;

/// Output and packet of all that wait at an input, by port and lane, without virtual output queues.
pub(super) type InputFifos = BTreeMap<(u32, u8), VecDeque<(u32, u32)>>;

/// Reports about packets besides their deliveries; the settings ask for these reports.
#[derive(Default, Debug)]
pub(super) struct PacketReports {
    is_wanted: bool,
    departures: VecDeque<PacketDeparture>,
    /// Tags of packets that will not arrive.
    losses: VecDeque<u64>,
    /// Tags of packets that a faulty link has doubled.
    copies: VecDeque<u64>,
}

impl PacketReports {
    /// Notes that a packet will not arrive.
    pub(super) fn note_loss(&mut self, packet: &Packet) {
        if self.is_wanted {
            self.losses.push_back(packet.tag);
        }
    }

    /// Notes that a faulty link has doubled a packet.
    pub(super) fn note_copy(&mut self, packet: &Packet) {
        if self.is_wanted {
            self.copies.push_back(packet.tag);
        }
    }
}

/// A network of directed links, switches and hosts that carries packets.
#[derive(Debug)]
pub struct PacketNetwork {
    pub(super) topology: Arc<dyn PacketTopology>,
    pub(super) settings: PacketSettings,
    pub(super) ports: Vec<Port>,
    /// The port of each link, `NONE` for unused links.
    port_of_link: Vec<u32>,
    pub(super) packets: PacketArena,
    paths: PathTable,
    is_multipath: bool,
    has_sl_tables: bool,
    /// Tables of service levels by input and output, as far as they were used.
    sl_tables: BTreeMap<(Option<PacketLinkId>, PacketLinkId), [u8; 16]>,
    pub(super) events: EventQueue,
    pub(super) stall: Option<PacketStall>,
    pub(super) is_check_planned: bool,
    pub(super) held_sinks: HeldSinks,
    pub(super) pfc: PfcState,
    pub(super) input_fifos: InputFifos,
    pub(super) credit_updates: CreditUpdates,
    has_credit_packets: bool,
    /// Outputs among which adaptive routing chooses, by input and destination.
    pub(super) minimal_outputs: BTreeMap<(u32, u32), Box<[u32]>>,
    deliveries: VecDeque<PacketDelivery>,
    pub(super) reports: PacketReports,
    pub(super) statistics: PacketStatistics,
}

impl PacketNetwork {
    /// Returns an idle network.
    ///
    /// # Panics
    /// If `settings.data_vls` is not within 1 to 15, the topology has 2^28 links, priority flow
    /// control is combined with cut-through, or adaptive routing with a topology that has no
    /// alternatives.
    pub fn new(topology: Arc<dyn PacketTopology>, settings: PacketSettings) -> Self {
        let links = topology.link_id_end();
        assert!(
            (1..=15).contains(&settings.data_vls),
            "{} data lanes: expected 1 to 15",
            settings.data_vls
        );
        assert!(
            links <= PACKET_LINKS_MAX,
            "{links} directed links: expected at most {PACKET_LINKS_MAX}"
        );
        let needs_storing = matches!(settings.flow_control, FlowControl::Pfc(_));
        assert!(
            !needs_storing || settings.forwarding == Forwarding::StoreAndForward,
            "priority flow control with cut-through: expected store-and-forward"
        );
        assert!(
            !settings.adaptive_routing || topology.has_minimal_outputs(),
            "adaptive routing with one route for each pair of hosts: expected a graph"
        );
        let flow_control = settings.flow_control;
        let credit_updates = CreditUpdates::new(settings.data_vls);
        let reports = PacketReports {
            is_wanted: settings.report_departures,
            ..PacketReports::default()
        };
        Self {
            has_credit_packets: matches!(flow_control, FlowControl::CreditPackets { .. }),
            is_multipath: topology.is_multipath(),
            has_sl_tables: topology.has_sl_tables(),
            sl_tables: BTreeMap::new(),
            topology,
            settings,
            ports: Vec::new(),
            port_of_link: vec![NONE; links as usize],
            packets: PacketArena::new(),
            paths: PathTable::default(),
            events: EventQueue::default(),
            stall: None,
            is_check_planned: false,
            held_sinks: BTreeMap::new(),
            pfc: PfcState::default(),
            input_fifos: BTreeMap::new(),
            credit_updates,
            minimal_outputs: BTreeMap::new(),
            deliveries: VecDeque::new(),
            reports,
            statistics: PacketStatistics::default(),
        }
    }

    /// Puts a packet into the output queue of a host, which is unbounded.
    ///
    /// `now` must not be before the last event handled.
    #[expect(
        clippy::missing_panics_doc,
        reason = "a packet of 16-bit length has at most 1024 blocks"
    )]
    pub fn send(
        &mut self,
        now: u64,
        source: HostId,
        packet: OutboundPacket,
    ) -> Result<(), PacketSendError> {
        let OutboundPacket {
            destination,
            wire_bytes,
            service_level,
            flow_hash,
            tag,
        } = packet;
        let Ok(short) = u16::try_from(wire_bytes) else {
            return Err(PacketSendError::TooLong { wire_bytes });
        };
        let blocks = credit_blocks(wire_bytes, self.settings.delimiter_bytes);
        let route = self.find_route(source, destination, flow_hash)?;
        let first = self.paths.port(route);
        let is_adaptive = self.settings.adaptive_routing;
        let mut record = Packet {
            tag,
            route: if is_adaptive { flow_hash } else { route },
            stored_at: NONE,
            next: NONE,
            destination: destination.0,
            wire_bytes: short,
            blocks: u16::try_from(blocks).expect("blocks of a packet of 16-bit length"),
            vl: 0,
            next_vl: 0,
            service_level: service_level & 15,
            flags: if is_adaptive { Packet::ADAPTIVE } else { 0 },
        };
        let vl = self.virtual_lane(&record, first);
        if vl >= self.settings.data_vls {
            return Err(PacketSendError::NoVirtualLane {
                service_level,
                vl,
                data_vls: self.settings.data_vls,
            });
        }
        record.next_vl = vl;
        let at = self.packets.insert(record);
        self.offer(first, SOURCE_INPUT, at, now);
        Ok(())
    }

    /// Returns the time of the next event, in picoseconds.
    pub fn next_event_at(&self) -> Option<u64> {
        self.events.peek().map(PacketEvent::time)
    }

    /// Handles all events up to `now`.
    pub fn handle_events(&mut self, now: u64) {
        while let Some(event) = self.events.peek()
            && event.time() <= now
        {
            self.events.pop();
            self.handle_event(event);
        }
        self.check_when_idle();
    }

    /// Returns the next delivery of the events handled so far.
    pub fn poll_delivery(&mut self) -> Option<PacketDelivery> {
        self.deliveries.pop_front()
    }

    /// Returns the next departure of a packet from the queue of its source, if the settings request
    /// departures.
    pub fn poll_departure(&mut self) -> Option<PacketDeparture> {
        self.reports.departures.pop_front()
    }

    /// Returns the tag of the next packet that was lost or dropped, if the settings ask for
    /// departures.
    pub fn poll_loss(&mut self) -> Option<u64> {
        self.reports.losses.pop_front()
    }

    /// Returns the tag of the next packet that was doubled, if the settings ask for departures:
    /// one more packet with this tag is delivered, lost or dropped.
    pub fn poll_copy(&mut self) -> Option<u64> {
        self.reports.copies.pop_front()
    }

    /// Returns the number of packets inside, including packets in the queues of hosts.
    pub const fn packets_inside(&self) -> u32 {
        self.packets.live()
    }

    /// Returns the bytes that wait for a link, all virtual lanes together.
    pub fn queued_bytes(&self, link: PacketLinkId) -> u64 {
        let port = self.ports.get(self.port_of_link[link.0 as usize] as usize);
        port.map_or(0, |port| {
            port.lanes.iter().map(|lane| lane.queued_bytes).sum()
        })
    }

    /// Returns counts since the start.
    pub fn statistics(&self) -> PacketStatistics {
        let ports: usize = self.ports.iter().map(Port::memory_bytes).sum();
        PacketStatistics {
            ports: self.ports.len(),
            port_bytes: ports + self.ports.capacity() * size_of::<Port>(),
            packet_bytes: self.packets.memory_bytes() + self.paths.memory_bytes(),
            ..self.statistics
        }
    }

    /// Returns the description from which the network was made.
    pub fn topology(&self) -> &dyn PacketTopology {
        &*self.topology
    }

    fn handle_event(&mut self, event: PacketEvent) {
        self.statistics.events += 1;
        let (time, subject) = (event.time(), event.subject());
        match event.kind() {
            EventKind::Eligible => self.forward(subject, time),
            EventKind::Delivered => self.deliver_packet(subject, time),
            EventKind::Stored => self.store_packet(subject, time),
            EventKind::Released => match self.settings.flow_control {
                FlowControl::Pfc(_) => self.handle_release(subject, time),
                _ => self.free_blocks(event.link(), subject, time),
            },
            EventKind::HeadLeft => self.advance_fifo(event.link(), subject, time),
            EventKind::Received => self.count_received(event.link(), subject),
            EventKind::CreditArrival => self.receive_credit_packet(event.link(), subject, time),
            EventKind::CreditSend => self.send_credit_packet(event.link(), subject, time),
            EventKind::Pause => self.apply_pause(event.link(), subject, time),
            EventKind::Check => self.check_periodically(time),
            EventKind::Wake => {
                let port = &mut self.ports[subject as usize];
                // A wake-up that was replaced by an earlier one is void.
                if port.wake_at == time {
                    port.wake_at = NEVER;
                    self.serve(subject, time);
                }
            }
        }
    }

    /// Moves a packet from the end of a link to the queue of the next one.
    fn forward(&mut self, at: u32, now: u64) {
        let packet = self.packets[at];
        let is_stored = self.settings.forwarding == Forwarding::StoreAndForward;
        if is_stored && packet.has_flag(Packet::CORRUPTED) {
            self.drop_packet(at, now);
            return;
        }
        let stored_at = packet.stored_at;
        let out = if packet.has_flag(Packet::ADAPTIVE) {
            self.shortest_queue(&packet, now)
        } else {
            self.paths.port(packet.route)
        };
        let vl = self.virtual_lane(&packet, out);
        if vl >= self.settings.data_vls {
            self.drop_packet(at, now);
            return;
        }
        self.packets[at].next_vl = vl;
        if self.settings.ecn.is_some() {
            self.mark_at_enqueue(out, at);
        }
        if !self.settings.virtual_output_queues {
            let fifo = self.input_fifos.entry((stored_at, packet.vl)).or_default();
            fifo.push_back((out, at));
            if fifo.len() > 1 {
                return;
            }
        }
        let input = input_of(self.ports[stored_at as usize].link);
        self.offer(out, input, at, now);
    }

    /// Handles the next packet of an input after the head has left, without virtual output queues.
    #[expect(clippy::cast_possible_truncation, reason = "packed by start")]
    fn advance_fifo(&mut self, link: PacketLinkId, subject: u32, now: u64) {
        let key = (self.port(link), subject as u8);
        let Some(fifo) = self.input_fifos.get_mut(&key) else {
            return;
        };
        fifo.pop_front();
        if let Some(&(out, at)) = fifo.front() {
            self.offer(out, input_of(link), at, now);
        }
    }

    /// Passes a packet to its host. The host takes the packet at once unless the host is held.
    pub(super) fn deliver_packet(&mut self, at: u32, now: u64) {
        let packet = self.packets[at];
        if !self.held_sinks.is_empty()
            && let Some(held) = self.held_sinks.get_mut(&HostId(packet.destination))
        {
            held.push(at);
            return;
        }
        self.return_credits(&packet, now);
        self.packets.remove(at);
        self.statistics.delivered += 1;
        self.deliveries.push_back(PacketDelivery {
            tag: packet.tag,
            host: HostId(packet.destination),
            at: now,
            marked: packet.has_flag(Packet::MARKED),
            corrupted: packet.has_flag(Packet::CORRUPTED),
        });
    }

    fn drop_packet(&mut self, at: u32, now: u64) {
        let packet = self.packets[at];
        self.free_buffer(&packet, now);
        self.packets.remove(at);
        self.statistics.dropped += 1;
        self.reports.note_loss(&packet);
    }

    /// Returns the virtual lane of a packet on a link; `NO_VL` means that the packet is dropped.
    fn virtual_lane(&mut self, packet: &Packet, out: u32) -> u8 {
        let escalations = packet.escalations() + u8::from(self.ports[out as usize].dateline);
        let table = if self.has_sl_tables {
            self.sl_table(packet.stored_at, out)
        } else {
            self.settings.sl_to_vl
        };
        lane(
            &table,
            packet.service_level,
            self.settings.data_vls,
            escalations,
        )
    }

    /// Returns the table of service levels of an input and an output of a switch or host.
    fn sl_table(&mut self, stored_at: u32, out: u32) -> [u8; 16] {
        let link = |port: u32| self.ports.get(port as usize).map(|port| port.link);
        let key = (link(stored_at), self.ports[out as usize].link);
        *self.sl_tables.entry(key).or_insert_with(|| {
            let own = self.topology.sl_to_vl(key.0, key.1);
            own.unwrap_or(self.settings.sl_to_vl)
        })
    }

    /// Offers a packet to an output: the packet starts at once or waits.
    fn offer(&mut self, out: u32, input: u32, at: u32, now: u64) {
        let port = &mut self.ports[out as usize];
        let packet = &self.packets[at];
        let vl = packet.next_vl;
        // With arbitration tables every packet passes the arbiter.
        let is_simple = self.settings.vl_arbitration.is_none();
        if is_simple && port.waiting.is_empty() && port.busy_until(now) <= now {
            port.absorb_credits(now);
            if port.lanes[usize::from(vl)].credits >= u32::from(packet.blocks) {
                port.note_winner(vl, input);
                self.transmit_packet(out, at, now);
                return;
            }
        }
        port.enqueue(vl, input, at, &mut self.packets);
        self.serve(out, now);
    }

    /// Starts the next packet of a port, or plans the next look.
    pub(super) fn serve(&mut self, out: u32, now: u64) {
        let port = &mut self.ports[out as usize];
        if port.waiting.is_empty() {
            return;
        }
        let free_at = port.busy_until(now);
        if free_at > now {
            self.wake(out, free_at);
            return;
        }
        port.absorb_credits(now);
        let tables = self.settings.vl_arbitration.as_ref();
        let Some(queue) = port.choose_queue(&self.packets, tables) else {
            if !port.credit_blocked {
                port.credit_blocked = true;
                port.blocked_since = now;
            }
            match port.next_credit(&self.packets) {
                Some(time) => self.wake(out, time),
                None => {
                    port.wake_at = NEVER;
                    self.plan_check(now);
                }
            }
            return;
        };
        let (vl, input) = (port.waiting[queue].vl(), port.waiting[queue].input());
        port.note_winner(vl, input);
        if self.settings.fecn.is_some() {
            self.mark_at_dequeue(out, queue);
        }
        let port = &mut self.ports[out as usize];
        let packet = port.dequeue(queue, &self.packets);
        port.credit_blocked = false;
        let is_empty = port.waiting.is_empty();
        self.transmit_packet(out, packet, now);
        if !is_empty {
            let time = self.ports[out as usize].busy_until;
            self.wake(out, time);
        }
    }

    /// Puts a packet on the wire; the packet is already removed from all queues.
    fn transmit_packet(&mut self, out: u32, at: u32, now: u64) {
        self.statistics.hops += 1;
        let port = &mut self.ports[out as usize];
        let packet = &mut self.packets[at];
        let bytes = u32::from(packet.wire_bytes);
        let wire_time = port.rate.wire_time(bytes);
        if !port.contention_free {
            port.busy_until = now + wire_time;
        }
        if port.has_credits {
            port.lanes[usize::from(packet.next_vl)].credits -= u32::from(packet.blocks);
        }
        port.last_start = now;
        let before = *packet;
        packet.flags &= !Packet::UNCREDITED;
        packet.stored_at = out;
        packet.vl = packet.next_vl;
        packet.flags += u8::from(port.dateline);
        let (link, propagation, delay) = (port.link.0, port.propagation, port.forward_delay);
        let stored = now + wire_time + propagation;
        let (mut time, kind) = match self.next_wire_time(out, at, bytes) {
            None => (stored, EventKind::Delivered),
            Some(_) if matches!(self.settings.flow_control, FlowControl::Pfc(_)) => {
                (stored, EventKind::Stored)
            }
            Some(next) => {
                let rest = match self.settings.forwarding {
                    Forwarding::StoreAndForward => wire_time,
                    // A faster output waits, so that it never runs out of bytes within a packet.
                    Forwarding::CutThrough => wire_time.saturating_sub(next),
                };
                (now + delay + rest, EventKind::Eligible)
            }
        };
        let port = &mut self.ports[out as usize];
        if port.contention_free {
            // Packets stay in order, although they do not wait for each other.
            time = time.max(port.last_arrival + 1);
            port.last_arrival = time;
        }
        let is_faulty = port.faults.is_some();
        if is_faulty {
            self.start_with_faults(out, at, (now, wire_time), (time, kind));
        } else {
            self.events.push(PacketEvent::new(time, link, kind, at));
            if self.has_credit_packets {
                self.note_started(out, at, Some(stored));
            }
        }
        self.free_buffer(&before, now + wire_time);
        if !self.settings.virtual_output_queues && before.stored_at != NONE {
            let link = self.ports[before.stored_at as usize].link.0;
            let (end, vl) = (now + wire_time, u32::from(before.vl));
            self.events
                .push(PacketEvent::new(end, link, EventKind::HeadLeft, vl));
        }
        if before.stored_at == NONE && self.reports.is_wanted {
            self.reports.departures.push_back(PacketDeparture {
                tag: before.tag,
                at: now,
                ends_at: now + wire_time,
            });
        }
    }

    /// Moves a packet on in its route, and returns the wire time on the next link; `None` if the
    /// destination is next.
    fn next_wire_time(&mut self, out: u32, at: u32, bytes: u32) -> Option<u64> {
        let packet = &mut self.packets[at];
        if packet.has_flag(Packet::ADAPTIVE) {
            let packet = *packet;
            return self.adaptive_wire_time(out, &packet);
        }
        packet.route += 1;
        let next = self.paths.port(packet.route);
        (next != NONE).then(|| self.ports[next as usize].rate.wire_time(bytes))
    }

    /// Frees the buffer in which a packet is stored, from `freed` on.
    fn free_buffer(&mut self, packet: &Packet, freed: u64) {
        if packet.stored_at == NONE {
            return;
        }
        if matches!(self.settings.flow_control, FlowControl::Pfc(_)) {
            self.plan_release(packet, freed);
        } else {
            self.return_credits(packet, freed);
        }
    }

    /// Tells the sender of a link that the credits of a packet are free again from `freed` on.
    pub(super) fn return_credits(&mut self, packet: &Packet, freed: u64) {
        let of = packet.stored_at;
        if packet.has_flag(Packet::UNCREDITED) {
            return;
        }
        let freed = match self.settings.flow_control {
            FlowControl::CreditsAtIntervals { min_interval_ps } => {
                self.credit_updates
                    .update_time(packet, freed, min_interval_ps)
            }
            FlowControl::CreditPackets { .. } if self.has_credit_packets(of) => {
                self.plan_free_blocks(packet, freed);
                return;
            }
            _ => freed,
        };
        let port = &mut self.ports[of as usize];
        let due = freed + port.propagation;
        port.return_credits(due, packet.blocks, packet.vl);
        if port.credit_blocked
            && due < port.wake_at
            && let Some(time) = port.next_credit(&self.packets)
        {
            self.wake(of, time);
        }
    }

    /// Plans a look for a packet to send, unless an earlier one is planned.
    fn wake(&mut self, out: u32, time: u64) {
        let port = &mut self.ports[out as usize];
        if time < port.wake_at {
            port.wake_at = time;
            let event = PacketEvent::new(time, port.link.0, EventKind::Wake, out);
            self.events.push(event);
        }
    }

    /// Returns the position of a route in the table of routes.
    fn find_route(
        &mut self,
        source: HostId,
        destination: HostId,
        flow_hash: u32,
    ) -> Result<u32, PacketSendError> {
        let key = (
            source,
            destination,
            if self.is_multipath { flow_hash } else { 0 },
        );
        if let Some(start) = self.paths.find_route(key) {
            return Ok(start);
        }
        let mut links = Vec::new();
        self.topology
            .route_into(source, destination, flow_hash, &mut links)
            .map_err(PacketSendError::NoRoute)?;
        let ports: Vec<u32> = links.iter().map(|link| self.port(*link)).collect();
        Ok(self.paths.add_route(key, &ports))
    }

    /// Returns the port of a link; the port is made on first use.
    pub(super) fn port(&mut self, link: PacketLinkId) -> u32 {
        let known = self.port_of_link[link.0 as usize];
        if known != NONE {
            return known;
        }
        let spec = self.topology.link(link);
        let at = u32::try_from(self.ports.len()).expect("fewer ports than links");
        let mut port = Port::new(link, &spec, &self.settings);
        port.faults = FaultState::of_link(&self.settings, link, self.settings.faults.clone());
        port.end_host = self.topology.host_at_end(link).map_or(NONE, |host| host.0);
        if self.ports.len() == self.ports.capacity() {
            // By an eighth: there are many ports, and they are made once.
            self.ports.reserve_exact(16 + self.ports.len() / 8);
        }
        self.ports.push(port);
        self.port_of_link[link.0 as usize] = at;
        at
    }
}
