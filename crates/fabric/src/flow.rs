//! The flow device: a packet is one transfer in the network model.
//!
//! A packet that carries a message travels from the sender's host to the receiver's host, as the
//! model determines. Control packets (RTS, CTS) cost no time and arrive at the date of their post,
//! so a rendezvous starts to move data at the later of the two calls, as in other simulators of
//! this kind. Where the settings give control packets a size ([`Settings::control`]), they travel
//! as other packets do. Packets with an envelope keep the order of each pair of ranks: a packet
//! that arrives before its predecessor waits for the predecessor.
//!
//! With each message travels an envelope; the settings give its number of bytes.
//!
//! A rendezvous send is over when its data have arrived; an eager send is over at its post.
//!
//! A host or a link that goes off under a message ends the run as a failure of the sending rank. A
//! host that goes off under a rank ends the run as a failure of that rank. Where ranks get
//! connected, the connection breaks instead, and the other ranks are told of the lost rank.
//!
//! Where ranks have a limited number of initiators ([`Settings::initiators`]), a packet to another
//! host may wait for one (`initiators`). The acknowledgement takes the time of an empty packet.
//!
//! *Not modelled*: packet sizes, buffers, credits, injection order at the adapter, and, unless they
//! have a size, the time of control messages. A user sees a rendezvous without its round trip;
//! messages of one pair share the bandwidth instead of queueing; and an RTS waits for the arrival
//! of an eager message before it, and for no other packet.
//!
//! Units: bytes, seconds, flop.

use std::cell::RefCell;
use std::fmt;
use std::rc::Rc;

use channel::{ChannelEvent, Envelope, Packet, PacketHeader, Settings, Token};
use sim_core::{ActorId, Blocked, Device, End, Kernel, KernelHandle, Span, Time, Work};

use crate::initiators::{Initiators, WaitingPacket};
use crate::last::LastPackets;
use crate::ranks::{PacketTransport, Ranks, actor};
use crate::slab::Slab;

/// A packet in flight.
#[derive(Debug)]
struct InFlightPacket {
    source: u32,
    destination: u32,
    packet: Packet,
    arrived: bool,
    /// The packet will not be delivered.
    lost: bool,
    /// An initiator of the sender waits for the acknowledgement.
    has_initiator: bool,
    /// The packet of this pair that was posted before and has not been delivered.
    before: Option<u32>,
    /// The packet of this pair that was posted after.
    after: Option<u32>,
}

/// Operation whose end the device reports.
#[derive(Debug)]
enum FlowOperation {
    Packet(InFlightPacket),
    Elapse {
        rank: u32,
        token: Token,
    },
    /// The acknowledgement of a packet from the first rank to the second.
    Acknowledgement(u32, u32),
}

#[derive(Debug, Default)]
struct Tables {
    jobs: Slab<FlowOperation>,
    /// The last packet in flight of each pair, by destination and source, that keeps order.
    last: LastPackets,
}

/// A device that connects all ranks; rank r is the actor with the index r.
pub struct Flow {
    ranks: Ranks,
    tables: RefCell<Tables>,
    is_timed: bool,
    /// True if packets take no time.
    is_ideal: bool,
    /// `None` if their number is not limited.
    initiators: Option<RefCell<Initiators>>,
}

impl Flow {
    /// Tells the observer of a rank that the packet of this job has entered the network.
    #[cold]
    fn observe_posted(&self, rank: u32, peer: u32, job: u32) {
        let tables = self.tables.borrow();
        if let FlowOperation::Packet(InFlightPacket { packet, .. }) = tables.jobs.get(job) {
            let length = packet.payload.len();
            let header = &packet.header;
            self.ranks.observe_injection(rank, peer, header, length);
        }
    }

    /// Returns true if the transfer of a packet waits for an initiator of the sender.
    #[cold]
    fn waits_for_initiator(
        &self,
        initiators: &mut Initiators,
        kernel: &Kernel,
        packet: WaitingPacket,
    ) -> bool {
        let (from, to) = (actor(packet.pair.0), actor(packet.pair.1));
        let tables = &mut *self.tables.borrow_mut();
        let sent = tables.packet_mut(packet.job);
        sent.has_initiator = kernel.host_of(from) != kernel.host_of(to)
            && initiators.are_needed(&sent.packet.header);
        sent.has_initiator && !initiators.admit_packet(packet)
    }

    /// Returns true if a control packet can be delivered at its post: packets take time, and no
    /// earlier packet of the pair is in flight. Without time, the arrival is a separate event,
    /// which may come after other events.
    fn is_next(&self, source: u32, destination: u32, packet: &Packet) -> bool {
        let last = &self.tables.borrow().last;
        let has_before = packet.header.is_ordered() && last.get(destination, source).is_some();
        !has_before && self.is_timed
    }

    /// A device for `ranks` ranks, attached to the kernel behind `port`.
    pub fn new(port: KernelHandle, ranks: u32, settings: Settings) -> Rc<Self> {
        Self::new_device(port, ranks, settings, false)
    }

    /// Returns a device like [`Flow::new`] whose packets arrive at the time of their post, in any
    /// network.
    pub fn ideal(port: KernelHandle, ranks: u32, settings: Settings) -> Rc<Self> {
        Self::new_device(port, ranks, settings, true)
    }

    fn new_device(port: KernelHandle, ranks: u32, settings: Settings, is_ideal: bool) -> Rc<Self> {
        let flow = Rc::new(Self {
            is_ideal,
            is_timed: port.with_kernel(|kernel| kernel.is_timed()),
            initiators: Initiators::of_settings(&settings).map(RefCell::new),
            ranks: Ranks::new(port.clone(), ranks, settings),
            tables: RefCell::default(),
        });
        port.attach(Rc::clone(&flow) as Rc<dyn Device>);
        flow
    }
}

/// A number that tells packets apart, for the digest.
pub(crate) fn label(packet: &Packet) -> u64 {
    let (kind, detail) = match packet.header {
        PacketHeader::Eager { envelope } => (1, envelope.tag),
        PacketHeader::Rts { envelope, .. } => (2, envelope.tag),
        PacketHeader::Cts { .. } => (3, 0),
        PacketHeader::Data { .. } => (4, 0),
        PacketHeader::EagerFirst { envelope, .. } => (5, envelope.tag),
        PacketHeader::EagerNext { .. } => (6, 0),
        PacketHeader::DataPart { .. } => (7, 0),
        PacketHeader::Credits => (8, 0),
        PacketHeader::Detached { envelope } => (13, envelope.tag),
        PacketHeader::Synchronous { envelope, .. } => (9, envelope.tag),
        PacketHeader::Ack { .. } => (10, 0),
        PacketHeader::CancelRequest { envelope, .. } => (11, envelope.tag),
        PacketHeader::CancelResponse { .. } => (12, 0),
        PacketHeader::Socket { socket, .. } => (14, socket),
        PacketHeader::Rma { call, .. } => (15, call.frame_code()),
        PacketHeader::Redelivery { envelope } => (16, envelope.tag),
    };
    packet.payload.len() << 8 | kind | u64::from(detail) << 40
}

/// Returns the length of a message in bytes if this is the first packet with its data, so that each
/// message is counted once.
#[expect(
    clippy::cast_precision_loss,
    reason = "messages of 2^53 bytes and more may be off by one"
)]
pub(crate) fn begins(packet: &Packet) -> Option<f64> {
    let begins = packet.header.begins(packet.payload.len());
    begins.map(|length| length as f64)
}

/// Returns the message that a packet brings or announces, if any.
pub(crate) fn message(packet: &Packet) -> Option<(Envelope, u64)> {
    match packet.header {
        PacketHeader::Eager { envelope }
        | PacketHeader::Detached { envelope }
        | PacketHeader::Redelivery { envelope }
        | PacketHeader::Synchronous { envelope, .. } => Some((envelope, packet.payload.len())),
        PacketHeader::Rts {
            envelope, length, ..
        }
        | PacketHeader::EagerFirst { envelope, length } => Some((envelope, length)),
        PacketHeader::Cts { .. }
        | PacketHeader::Data { .. }
        | PacketHeader::EagerNext { .. }
        | PacketHeader::DataPart { .. }
        | PacketHeader::Credits
        | PacketHeader::Ack { .. }
        | PacketHeader::CancelRequest { .. }
        | PacketHeader::CancelResponse { .. }
        | PacketHeader::Rma { .. }
        | PacketHeader::Socket { .. } => None,
    }
}

/// Starts the transfer of a job from the host of one rank to the host of another rank.
#[inline(always)]
fn start_transfer(kernel: &mut Kernel, (rank, peer): (u32, u32), bytes: f64, job: u32) {
    let work = Work::Transfer {
        from: kernel.host_of(actor(rank)),
        to: kernel.host_of(actor(peer)),
        bytes,
        rate: f64::INFINITY,
    };
    kernel.start_for_device(&work, u64::from(job));
}

/// Delivers a packet at its destination.
#[inline]
fn hand_over(kernel: &mut Kernel, ranks: &Ranks, source: u32, destination: u32, packet: Packet) {
    if let Some(token) = packet.notify {
        ranks.notify(kernel, source, ChannelEvent::Sent(token));
    }
    ranks.deliver_packet(kernel, source, destination, packet);
}

impl Tables {
    fn packet_mut(&mut self, index: u32) -> &mut InFlightPacket {
        match self.jobs.get_mut(index) {
            FlowOperation::Packet(packet) => packet,
            FlowOperation::Elapse { .. } | FlowOperation::Acknowledgement(..) => {
                unreachable!("the job is a packet")
            }
        }
    }

    /// Appends a packet to the packets of its pair that are in flight.
    fn launch_packet(&mut self, source: u32, destination: u32, packet: Packet) -> u32 {
        let ordered = packet.header.is_ordered();
        let before = if ordered {
            self.last.get(destination, source)
        } else {
            None
        };
        let in_flight = InFlightPacket {
            source,
            destination,
            packet,
            arrived: false,
            lost: false,
            has_initiator: false,
            before,
            after: None,
        };
        let index = self.jobs.insert(FlowOperation::Packet(in_flight));
        if ordered {
            self.last.set(destination, source, index);
        }
        if let Some(before) = before {
            self.packet_mut(before).after = Some(index);
        }
        index
    }

    /// Handles the arrival of a packet. A packet without a predecessor in flight is delivered, and
    /// then the packets that waited for this packet.
    #[inline(always)]
    fn handle_arrival(&mut self, kernel: &mut Kernel, ranks: &Ranks, index: u32) {
        let packet = self.packet_mut(index);
        packet.arrived = true;
        if packet.before.is_some() {
            return;
        }
        let mut next = Some(index);
        while let Some(index) = next {
            let packet = self.packet_mut(index);
            packet.before = None;
            if !packet.arrived {
                return;
            }
            next = packet.after;
            let (pair, ordered) = (
                (packet.destination, packet.source),
                packet.packet.header.is_ordered(),
            );
            if ordered && next.is_none() {
                self.last.remove(pair.0, pair.1);
            }
            self.deliver_packet(kernel, ranks, index);
        }
    }

    #[inline]
    fn deliver_packet(&mut self, kernel: &mut Kernel, ranks: &Ranks, index: u32) {
        let FlowOperation::Packet(InFlightPacket {
            source,
            destination,
            packet,
            lost,
            ..
        }) = self.jobs.remove(index)
        else {
            unreachable!("a packet is delivered once");
        };
        if lost {
            return ranks.report_broken(kernel, source, destination);
        }
        hand_over(kernel, ranks, source, destination, packet);
    }

    /// Starts the acknowledgement of a packet that has arrived, if an initiator waits for that;
    /// returns true if the job was such an acknowledgement.
    #[cold]
    fn end_acknowledgement(
        &mut self,
        initiators: &mut Initiators,
        kernel: &mut Kernel,
        index: u32,
    ) -> bool {
        if let &FlowOperation::Acknowledgement(rank, peer) = self.jobs.get(index) {
            self.jobs.remove(index);
            if initiators.take_acknowledgement(rank, peer) {
                kernel.request_progress();
            }
            return true;
        }
        let packet = self.packet_mut(index);
        if packet.has_initiator {
            let (rank, peer) = (packet.source, packet.destination);
            let job = self.jobs.insert(FlowOperation::Acknowledgement(rank, peer));
            start_transfer(kernel, (peer, rank), 0.0, job);
        }
        false
    }

    /// Handles the failure of a host or a link under a packet or a computation. Without connections
    /// the failure ends the run. With connections, the connection of the two ranks breaks at the
    /// turn of the packet; other calls tell the device of a lost host.
    fn handle_failure(&mut self, kernel: &mut Kernel, ranks: &Ranks, index: u32) {
        if ranks.connects() {
            if let FlowOperation::Packet(packet) = self.jobs.get_mut(index) {
                packet.lost = true;
                return self.handle_arrival(kernel, ranks, index);
            }
            self.jobs.remove(index);
            return;
        }
        let (rank, what) = match self.jobs.remove(index) {
            FlowOperation::Packet(InFlightPacket {
                source,
                destination,
                ..
            })
            | FlowOperation::Acknowledgement(source, destination) => (
                source,
                format!("message to rank {destination} failed: host or link failure on the route"),
            ),
            FlowOperation::Elapse { rank, .. } => {
                (rank, "computation failed: host failure".to_owned())
            }
        };
        kernel.fail_actor(actor(rank), what);
    }

    /// The messages to a rank that are on their way, by sender and in the order in which they were
    /// sent.
    fn undelivered(&self, destination: u32) -> Vec<(Envelope, u64)> {
        let mut all = Vec::new();
        for last in self.last.to(destination) {
            let start = all.len();
            let mut next = Some(last);
            while let Some(FlowOperation::Packet(InFlightPacket { packet, before, .. })) =
                next.map(|index| self.jobs.get(index))
            {
                all.extend(message(packet));
                next = *before;
            }
            all[start..].reverse();
        }
        all
    }
}

impl Device for Flow {
    fn on_end(&self, kernel: &mut Kernel, token: u64, end: End) {
        let index = u32::try_from(token).expect("tokens of this device have 32 bits");
        let mut tables = self.tables.borrow_mut();
        if end != End::Done {
            return tables.handle_failure(kernel, &self.ranks, index);
        }
        if let FlowOperation::Elapse { rank, token } = *tables.jobs.get(index) {
            tables.jobs.remove(index);
            return self
                .ranks
                .notify(kernel, rank, ChannelEvent::Elapsed(token));
        }
        if let Some(all) = &self.initiators
            && tables.end_acknowledgement(&mut all.borrow_mut(), kernel, index)
        {
            return;
        }
        tables.handle_arrival(kernel, &self.ranks, index);
    }

    fn on_timer(&self, kernel: &mut Kernel, token: u64) {
        self.on_end(kernel, token, End::Done);
    }

    fn progress(&self) {
        if let Some(initiators) = &self.initiators {
            let leaving = initiators.borrow_mut().take_leaving();
            for WaitingPacket { pair, job, bytes } in leaving {
                (self.ranks.port).with_kernel(|kernel| start_transfer(kernel, pair, bytes, job));
                if self.ranks.is_observed() {
                    self.observe_posted(pair.0, pair.1, job);
                }
            }
        }
        self.ranks.handle_parked_events(|_| ());
    }

    fn on_host_off(&self, kernel: &mut Kernel, lost: ActorId) {
        self.ranks.lose(kernel, lost);
    }

    fn describe(&self, blocked: ActorId) -> Option<Blocked> {
        self.ranks.describe_wait(blocked)
    }
}

impl fmt::Debug for Flow {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Flow")
            .field("settings", &self.ranks.settings)
            .finish_non_exhaustive()
    }
}

impl PacketTransport for Flow {
    fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    fn post_packet(&self, rank: u32, peer: u32, packet: Packet) {
        let control = packet.header.is_control();
        let length = packet.header.charged_length(packet.payload.len());
        let settings = &self.ranks.settings;
        let begins = begins(&packet);
        if control
            && settings.control.is_none()
            && rank != peer
            && self.is_next(rank, peer, &packet)
        {
            let notify = |kernel: &mut Kernel| hand_over(kernel, &self.ranks, rank, peer, packet);
            return self.ranks.port.with_kernel(notify);
        }
        let job = self.tables.borrow_mut().launch_packet(rank, peer, packet);
        let leaves = self.ranks.port.with_kernel(|kernel| {
            if let Some(message) = begins {
                kernel.count_message(message);
            }
            let control_size = settings.control.filter(|_| control);
            if self.is_ideal || control && control_size.is_none() {
                kernel.set_device_timer(kernel.now(), u64::from(job));
                return true;
            }
            #[expect(
                clippy::cast_precision_loss,
                reason = "messages of 2^53 bytes and more may be off by one"
            )]
            let bytes = control_size.unwrap_or(length + settings.envelope) as f64;
            if let Some(all) = &self.initiators {
                let pair = (rank, peer);
                let packet = WaitingPacket { pair, job, bytes };
                if self.waits_for_initiator(&mut all.borrow_mut(), kernel, packet) {
                    return false;
                }
            }
            start_transfer(kernel, (rank, peer), bytes, job);
            true
        });
        if leaves && self.ranks.is_observed() && (!control || settings.control.is_some()) {
            self.observe_posted(rank, peer, job);
        }
    }

    fn timer(&self, rank: u32, seconds: f64, token: Token) {
        let job = FlowOperation::Elapse { rank, token };
        let index = self.tables.borrow_mut().jobs.insert(job);
        let date = |now: Time| now + Span::from_secs(seconds);
        self.ranks
            .port
            .with_kernel(|kernel| kernel.set_device_timer(date(kernel.now()), u64::from(index)));
    }

    fn start_computation(&self, rank: u32, flops: f64, token: Token) {
        let job = FlowOperation::Elapse { rank, token };
        let index = self.tables.borrow_mut().jobs.insert(job);
        self.ranks.port.with_kernel(|kernel| {
            let host = kernel.host_of(actor(rank));
            let work = Work::Exec {
                host,
                threads: 1,
                flops,
                priority: 1.0,
                bound: f64::INFINITY,
            };
            kernel.start_for_device(&work, u64::from(index));
        });
    }

    fn undelivered(&self, rank: u32) -> Vec<(Envelope, u64)> {
        self.tables.borrow().undelivered(rank)
    }
}
