//! The adapters, the ports and the network, and the list of the next events.
//!
//! *Decided here*: events that are due at one time happen in the order network, packets on their
//! way through the adapters, timeouts; each kind in the order in which the events were added.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::rc::Rc;
use std::sync::Arc;

use channel::{ChannelEvent, Packet, Token};
use models::packet::{
    Encapsulation, OutboundPacket, PacketNetwork, PacketOverhead, PacketSettings, PacketTopology,
};
use mpi_verbs::{Device, DeviceEvent, Options};
use observe::{IncidentPlace, NetworkEvent};
use rdma::wire::{Bth, Extension, Opcode, Packet as WirePacket};
use rdma::{
    AdapterPort, AddressVector, Capture, ChannelAdapter, DeviceAttributes, Gid, GidType, LinkLayer,
    LocalAdapter, Mtu, SoftAdapterSettings,
};
use sim_core::{HostId, Kernel, Time};

use super::capture::HostCapture;
use super::host::{Surroundings, picoseconds};
use super::port::HostPort;
use super::{AdapterCosts, VerbsSettings, WAKE};
use crate::ranks::{Ranks, actor};
use crate::slab::Slab;

/// The highest local identifier of a port; higher identifiers are for multicast. IBA 4.1.1.
const UNICAST_LIDS: u32 = 0xBFFF;

/// A packet between two adapters.
#[derive(Debug)]
pub(super) struct InFlight {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) source_qp: u32,
    pub(super) bth: Bth,
    pub(super) extension: Extension,
    pub(super) service_level: u8,
    pub(super) is_global: bool,
    pub(super) payload: Vec<u8>,
    /// Number of packets in the network or at the receiver that have this content: links with
    /// faults double packets.
    copies: u32,
}

/// A step of a packet through an adapter.
#[derive(Clone, Copy, Debug)]
enum PacketStep {
    /// The packet reaches the link.
    Inject(u32),
    /// The packet is processed at its destination.
    Handle(u32),
    /// The port of a host takes the next packet.
    Resume(u32),
}

/// A rank's adapter and its connections.
struct RankAdapter {
    adapter: Rc<RefCell<ChannelAdapter>>,
    device: Device,
    /// The index of the rank's host among the ports.
    port: usize,
    /// Time of the adapter in the list of timeouts.
    timeout: Option<u64>,
    /// Operation of the rank that waits for an event at the adapter.
    watch: Option<Token>,
    /// True if an event has happened at the adapter since the rank waited last.
    has_news: bool,
}

/// The adapters, the ports of hosts and the network.
pub(super) struct VerbsState {
    clock: Rc<Cell<u64>>,
    called: Rc<RefCell<BTreeSet<u32>>>,
    costs: AdapterCosts,
    ranks: Vec<RankAdapter>,
    ports: Vec<HostPort>,
    /// The hosts of the ports.
    hosts: Vec<HostId>,
    network: PacketNetwork,
    topology: Arc<dyn PacketTopology>,
    service_levels: BTreeMap<(HostId, HostId), u8>,
    capture: Option<HostCapture>,
    packets: Slab<InFlight>,
    /// Payload buffers to be used again.
    spare: Vec<Vec<u8>>,
    /// By time and, at one time, in the order in which they were noted.
    steps: BTreeMap<u64, VecDeque<PacketStep>>,
    timeouts: BTreeSet<(u64, u32)>,
    /// The time of the kernel's next wake-up.
    armed: Option<u64>,
    /// Names, ranks and their peers, for an observer.
    incidents: Vec<(&'static str, u32, u32)>,
}

#[expect(
    clippy::cast_precision_loss,
    reason = "dates above 2^53 ps, 2.5 hours, are rounded"
)]
fn date(picoseconds: u64) -> Time {
    Time::from_secs(picoseconds as f64 / 1e12)
}

impl VerbsState {
    pub(super) fn new(
        hosts: &[HostId],
        options: &Options,
        verbs: &VerbsSettings,
        topology: Arc<dyn PacketTopology>,
    ) -> Self {
        let (clock, called) = (Rc::<Cell<u64>>::default(), Rc::default());
        let mut used: Vec<HostId> = Vec::new();
        let mut ranks = Vec::new();
        let mut place = BTreeMap::new();
        for (rank, &host) in (0..).zip(hosts) {
            let port = *place.entry(host).or_insert_with(|| {
                used.push(host);
                used.len() - 1
            });
            let adapter = Rc::new(RefCell::new(new_adapter(rank, verbs)));
            let surroundings = Surroundings {
                clock: Rc::clone(&clock),
                called: Rc::clone(&called),
                rank,
            };
            let local = Rc::new(LocalAdapter::new(Rc::clone(&adapter), surroundings));
            let device = Device::new(local, options.clone());
            ranks.push(RankAdapter {
                adapter,
                device: device.expect("an adapter that has just been made"),
                port,
                timeout: None,
                watch: None,
                has_news: false,
            });
        }
        let network = PacketSettings {
            report_departures: true,
            ..verbs.network.clone()
        };
        Self {
            clock,
            called,
            costs: verbs.costs,
            ranks,
            ports: used.iter().map(|_| HostPort::new(verbs.mtu)).collect(),
            hosts: used,
            network: PacketNetwork::new(Arc::clone(&topology), network),
            topology,
            service_levels: verbs.service_levels.clone(),
            capture: verbs.capture.clone().map(HostCapture::new),
            packets: Slab::default(),
            spare: Vec::new(),
            steps: BTreeMap::new(),
            timeouts: BTreeSet::new(),
            armed: None,
            incidents: Vec::new(),
        }
    }

    pub(super) fn set_time(&mut self, now: Time) {
        let now = picoseconds(now).max(self.clock.get());
        // The date of a wake-up may be rounded down.
        let armed = self.armed.filter(|armed| date(*armed) <= date(now));
        self.clock.set(now.max(armed.unwrap_or(0)));
    }

    pub(super) fn take_capture(&mut self) -> Option<Capture> {
        self.capture.take().map(HostCapture::into_inner)
    }

    pub(super) fn network_deadlock(&self) -> Vec<String> {
        let stall = self.network.stall();
        stall.map_or_else(Vec::new, |stall| stall.report_lines(&*self.topology))
    }

    pub(super) fn device(&mut self, rank: u32) -> &mut Device {
        self.called.borrow_mut().insert(rank);
        &mut self.ranks[rank as usize].device
    }

    /// Returns a rank's adapter and its surroundings.
    pub(super) fn rank_adapter(&self, rank: u32) -> (Rc<RefCell<ChannelAdapter>>, Surroundings) {
        let surroundings = Surroundings {
            clock: Rc::clone(&self.clock),
            called: Rc::clone(&self.called),
            rank,
        };
        (Rc::clone(&self.ranks[rank as usize].adapter), surroundings)
    }

    /// Lets the rank get [`ChannelEvent::Elapsed`] at the next event of the adapter; false if an
    /// event has happened since the rank waited last.
    pub(super) fn watch_adapter(&mut self, rank: u32, token: Token) -> bool {
        let place = &mut self.ranks[rank as usize];
        let has_news = std::mem::take(&mut place.has_news);
        place.watch = (!has_news).then_some(token);
        !has_news
    }

    /// Posts a packet, after the two ranks are connected.
    pub(super) fn post_packet(&mut self, rank: u32, peer: u32, packet: Packet) {
        if !self.ranks[rank as usize].device.has_link(peer) {
            self.connect_ranks(rank, peer);
        }
        self.device(rank).post_packet(peer, packet);
    }

    fn connect_ranks(&mut self, rank: u32, peer: u32) {
        let asking = self.device(rank).endpoint(peer, peer);
        let asking = asking.expect("queue pairs are not limited");
        let answering = self.device(peer).endpoint(rank, rank);
        let answering = answering.expect("queue pairs are not limited");
        let connected = self.device(peer).connect_link(rank, &asking, false);
        connected.expect("the endpoint of an adapter");
        let connected = self.device(rank).connect_link(peer, &answering, true);
        connected.expect("the endpoint of an adapter");
        let both = [(rank, peer), (peer, rank)];
        let incidents = both.map(|(rank, peer)| ("connection", rank, peer));
        self.incidents.extend(incidents);
    }

    /// Does everything that is due now, and asks the kernel for a call at the next time.
    pub(super) fn handle_due_events(&mut self, kernel: &mut Kernel, ranks: &Ranks) {
        let now = self.clock.get();
        loop {
            let called = std::mem::take(&mut *self.called.borrow_mut());
            for &rank in &called {
                self.handle_completions(kernel, ranks, rank);
                let place = &mut self.ranks[rank as usize];
                let watch = place.watch.take();
                place.has_news = watch.is_none();
                if let Some(token) = watch {
                    ranks.notify(kernel, rank, ChannelEvent::Elapsed(token));
                }
                self.note_timeout(rank);
                let port = self.ranks[rank as usize].port;
                self.ports[port].mark_ready(rank);
                self.send_from_port(now, port);
            }
            let happened = self.handle_next_event(now, kernel);
            if !happened && called.is_empty() {
                break;
            }
        }
        for (name, rank, peer) in self.incidents.drain(..) {
            let incident = NetworkEvent::Incident {
                at: IncidentPlace::Rank(rank),
                name,
                peer: Some(peer),
                value: None,
            };
            ranks.observe_network(kernel.now(), incident);
        }
        let is_quiet = self.network.packets_inside() == 0 && self.steps.is_empty();
        debug_assert!(
            !is_quiet || self.packets.iter().next().is_none(),
            "packets that have arrived or are lost keep no place"
        );
        self.arm(kernel);
    }

    /// Handles the next event that is due now; returns false if no event is due.
    fn handle_next_event(&mut self, now: u64, kernel: &mut Kernel) -> bool {
        if self.network.next_event_at().is_some_and(|at| at <= now) {
            self.network.handle_events(now);
            self.poll_network(now);
            return true;
        }
        if let Some(mut entry) = self.steps.first_entry()
            && *entry.key() <= now
        {
            let step = entry.get_mut().pop_front();
            if entry.get().is_empty() {
                entry.remove();
            }
            if let Some(step) = step {
                self.do_step(now, step, kernel);
            }
            return true;
        }
        if let Some((at, rank)) = self.first_timeout()
            && at <= now
        {
            self.timeouts.pop_first();
            self.ranks[rank as usize].timeout = None;
            let adapter = &self.ranks[rank as usize].adapter;
            adapter.borrow_mut().handle_timeout(now);
            self.called.borrow_mut().insert(rank);
            return true;
        }
        false
    }

    /// Returns the next timeout and its rank; `None` if the network is in a deadlock, which
    /// retransmissions do not resolve.
    fn first_timeout(&self) -> Option<(u64, u32)> {
        let first = self.timeouts.first().copied();
        first.filter(|_| self.network.stall().is_none())
    }

    /// Takes the copies, the departures, the losses and the deliveries of the network.
    fn poll_network(&mut self, now: u64) {
        while let Some(doubled) = self.network.poll_copy() {
            self.packets.get_mut(tag(doubled)).copies += 1;
        }
        while let Some(departure) = self.network.poll_departure() {
            let from = self.packets.get(tag(departure.tag)).from;
            let port = self.ranks[from as usize].port;
            self.ports[port].note_departure();
            self.send_from_port(now, port);
        }
        // A packet may be lost on the link on which it departs.
        while let Some(lost) = self.network.poll_loss() {
            self.note_loss(tag(lost));
            self.release_packet(tag(lost));
        }
        while let Some(delivery) = self.network.poll_delivery() {
            let index = tag(delivery.tag);
            let packet = self.packets.get(index);
            let port = self.ranks[packet.to as usize].port;
            if delivery.corrupted {
                self.note_loss(index);
                self.release_packet(index);
                continue;
            }
            let at = self.ports[port].receive_packet(now, &self.costs, packet.payload.len());
            self.note_step(at, PacketStep::Handle(index));
        }
    }

    /// Records that a packet is lost, at the sender of the packet.
    fn note_loss(&mut self, index: u32) {
        let packet = self.packets.get(index);
        let incident = ("lost packet", packet.from, packet.to);
        self.incidents.push(incident);
    }

    fn do_step(&mut self, now: u64, step: PacketStep, kernel: &mut Kernel) {
        match step {
            PacketStep::Inject(index) => self.inject(now, index, kernel),
            PacketStep::Resume(port) => self.send_from_port(now, port as usize),
            PacketStep::Handle(index) => {
                let packet = self.packets.get(index);
                let wire = WirePacket::new(packet.bth, packet.extension, &packet.payload);
                let adapter = &self.ranks[packet.to as usize].adapter;
                adapter.borrow_mut().handle_packet(now, &wire);
                self.called.borrow_mut().insert(packet.to);
                self.release_packet(index);
            }
        }
    }

    /// Lets the adapters of a host send as long as its port takes packets.
    fn send_from_port(&mut self, now: u64, port: usize) {
        while let Some(rank) = self.ports[port].next_sender(now) {
            let mut payload = self.spare.pop().unwrap_or_default();
            let adapter = Rc::clone(&self.ranks[rank as usize].adapter);
            let sent = adapter.borrow_mut().next_packet(now, &mut payload);
            let Some(sent) = sent else {
                self.spare.push(payload);
                self.note_timeout(rank);
                continue;
            };
            self.ports[port].mark_ready(rank);
            let read = if sent.reads_memory { payload.len() } else { 0 };
            let is_atomic = sent.bth.opcode == Opcode::RcAtomicAcknowledge;
            let at = self.ports[port].begin_packet(now, &self.costs, read, is_atomic);
            let to = destination(&sent.address);
            let index = self.packets.insert(InFlight {
                from: rank,
                to,
                source_qp: sent.source_qp,
                bth: sent.bth,
                extension: sent.extension,
                service_level: self.service_level(rank, to),
                is_global: sent.address.grh.is_some(),
                payload,
                copies: 1,
            });
            self.note_step(at, PacketStep::Inject(index));
        }
        if let Some(at) = self.ports[port].next_free(now) {
            let port = u32::try_from(port).expect("ports are as many as ranks at most");
            self.note_step(at, PacketStep::Resume(port));
        }
    }

    /// Gives a packet to the network.
    fn inject(&mut self, now: u64, index: u32, kernel: &mut Kernel) {
        let packet = self.packets.get(index);
        let (from, to) = (packet.from, packet.to);
        let encapsulation = if packet.is_global {
            Encapsulation::InfinibandGlobal
        } else {
            Encapsulation::InfinibandLocal
        };
        if let Some(capture) = &mut self.capture {
            let hosts = [from, to].map(|rank| self.hosts[self.ranks[rank as usize].port]);
            capture.add_packet(now, hosts, packet);
        }
        let bytes = packet.payload.len() + packet.extension.length();
        let bytes = u32::try_from(bytes).expect("a packet has 4096 bytes and headers at most");
        let outbound = OutboundPacket {
            destination: self.rank_host(to),
            wire_bytes: PacketOverhead::new(encapsulation).wire_bytes(bytes),
            service_level: packet.service_level,
            flow_hash: packet.bth.dest_qp,
            tag: u64::from(index),
        };
        if let Err(error) = self.network.send(now, self.rank_host(from), outbound) {
            kernel.fail_actor(actor(from), format!("packet to rank {to}: {error}"));
            self.release_packet(index);
        }
        self.poll_network(now);
    }

    /// Returns the service level of the route between two ranks, which the connection manager of a
    /// real adapter asks the subnet manager for.
    fn service_level(&self, from: u32, to: u32) -> u8 {
        let hosts = (self.rank_host(from), self.rank_host(to));
        self.service_levels.get(&hosts).copied().unwrap_or(0)
    }

    fn rank_host(&self, rank: u32) -> HostId {
        self.hosts[self.ranks[rank as usize].port]
    }

    /// Frees the place of a packet, unless other copies of the packet are in flight.
    fn release_packet(&mut self, index: u32) {
        let packet = self.packets.get_mut(index);
        packet.copies -= 1;
        if packet.copies > 0 {
            return;
        }
        let mut payload = self.packets.remove(index).payload;
        payload.clear();
        self.spare.push(payload);
    }

    fn note_step(&mut self, at: u64, step: PacketStep) {
        self.steps.entry(at).or_default().push_back(step);
    }

    /// Notes the next timeout of an adapter.
    fn note_timeout(&mut self, rank: u32) {
        let place = &mut self.ranks[rank as usize];
        let next = place.adapter.borrow_mut().next_timeout();
        if next == place.timeout {
            return;
        }
        if let Some(old) = std::mem::replace(&mut place.timeout, next) {
            self.timeouts.remove(&(old, rank));
        }
        if let Some(at) = next {
            self.timeouts.insert((at, rank));
        }
    }

    /// Passes the events of the connections of a rank to the rank.
    fn handle_completions(&mut self, kernel: &mut Kernel, ranks: &Ranks, rank: u32) {
        let device = &mut self.ranks[rank as usize].device;
        device.poll_async_events();
        device.poll_completions();
        while let Some(event) = device.take_event() {
            match event {
                DeviceEvent::Arrived { event, .. } | DeviceEvent::Event(event) => {
                    ranks.notify(kernel, rank, event);
                }
                DeviceEvent::Broken { peer, why, .. } => {
                    ranks.notify(kernel, rank, ChannelEvent::Failed { peer, why });
                }
                // Nobody says goodbye: the ranks end together with the run.
                DeviceEvent::Bye(_) | DeviceEvent::Notice(_) => {}
            }
        }
    }

    /// Asks the kernel for a call at the time of the next event.
    fn arm(&mut self, kernel: &mut Kernel) {
        let next = [
            self.network.next_event_at(),
            self.steps.keys().next().copied(),
            self.first_timeout().map(|(at, _)| at),
        ];
        let Some(next) = next.into_iter().flatten().min() else {
            self.armed = None;
            return;
        };
        let now = self.clock.get();
        if self.armed.is_none_or(|armed| armed <= now || armed > next) {
            self.armed = Some(next);
            kernel.set_device_timer(date(next).max(kernel.now()), WAKE);
        }
    }
}

fn tag(tag: u64) -> u32 {
    u32::try_from(tag).expect("tags of this device have 32 bits")
}

/// Returns the global identifier of a rank's port: the prefix of link-local addresses, and the
/// number of the rank. IBA 4.1.1.
pub(super) fn port_gid(rank: u32) -> Gid {
    let mut gid = Gid::default();
    gid.0[..2].copy_from_slice(&[0xFE, 0x80]);
    gid.0[12..].copy_from_slice(&(rank + 1).to_be_bytes());
    gid
}

/// Returns the local identifier of a rank's port; 0 for ranks beyond the size of a subnet, where
/// packets have a global route header.
pub(super) fn lid(rank: u32) -> u16 {
    let lid = u16::try_from(rank + 1).ok();
    lid.filter(|lid| u32::from(*lid) <= UNICAST_LIDS)
        .unwrap_or(0)
}

/// Returns the adapter of a rank.
fn new_adapter(rank: u32, verbs: &VerbsSettings) -> ChannelAdapter {
    let lid = lid(rank);
    let port = AdapterPort {
        link_layer: LinkLayer::InfiniBand,
        mtu: Mtu::from_bytes(verbs.mtu).expect("an MTU of InfiniBand"),
        lid,
        gid: (port_gid(rank), GidType::Ib),
    };
    let settings = SoftAdapterSettings {
        doorbell_delay: verbs.costs.doorbell,
        completion_delay: verbs.costs.completion,
        ..SoftAdapterSettings::default()
    };
    let attributes = DeviceAttributes::of_model(&format!("sim{rank}"), u64::from(rank) + 1);
    ChannelAdapter::new(attributes, port, settings)
}

/// Returns the rank at an address.
fn destination(address: &AddressVector) -> u32 {
    let number = address.grh.map_or(u32::from(address.dlid), |route| {
        let mut bytes = [0; 4];
        bytes.copy_from_slice(&route.dgid.0[12..]);
        u32::from_be_bytes(bytes)
    });
    number - 1
}
