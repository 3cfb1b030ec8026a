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

use crate::inbox::{Ends, NONE, Transit};
use crate::initiators::{Initiators, WaitingPacket};
use crate::last::LastPackets;
use crate::ranks::{Ranks, SimulatedDevice, actor, begin_computation};

/// Token bit of an acknowledgement; without this bit a token is the number of an event.
const ACKNOWLEDGEMENT: u64 = 1 << 32;

/// A device that connects all ranks; rank r is the actor with the index r.
pub struct Flow {
    ranks: Ranks,
    /// The last packet in flight of each pair, by destination and source, that keeps order.
    last: RefCell<LastPackets>,
    is_timed: bool,
    /// True if packets take no time.
    is_ideal: bool,
    /// `None` if their number is not limited.
    initiators: Option<RefCell<Initiators>>,
}

impl Flow {
    /// Tells the observer of a rank that a packet has entered the network.
    #[cold]
    fn observe_posted(&self, rank: u32, peer: u32, index: u32) {
        if let Some((_, packet)) = self.ranks.ends.borrow().transits.get(index).packet() {
            let length = packet.payload.len();
            (self.ranks).observe_injection(rank, peer, &packet.header, length);
        }
    }

    /// Returns true if the transfer of a packet waits for an initiator of the sender.
    #[cold]
    fn waits_for_initiator(
        &self,
        initiators: &mut Initiators,
        kernel: &Kernel,
        waiting: WaitingPacket,
    ) -> bool {
        let (from, to) = (actor(waiting.pair.0), actor(waiting.pair.1));
        let mut ends = self.ranks.ends.borrow_mut();
        let transit = ends.transits.get_mut(waiting.index);
        let is_needed =
            (transit.packet()).is_some_and(|(_, packet)| initiators.are_needed(&packet.header));
        transit.has_initiator = is_needed && kernel.host_of(from) != kernel.host_of(to);
        transit.has_initiator && !initiators.admit_packet(waiting)
    }

    /// Returns true if a control packet can be delivered at its post: packets take time, and no
    /// earlier packet of the pair is in flight. Without time, the arrival is a separate event,
    /// which may come after other events.
    fn is_next(&self, source: u32, destination: u32, packet: &Packet) -> bool {
        let last = || self.last.borrow().get(destination, source);
        self.is_timed && !(packet.header.is_ordered() && last().is_some())
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
            last: RefCell::default(),
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

/// Starts a transfer from the host of one rank to the host of another rank.
#[inline(always)]
fn start_transfer(kernel: &mut Kernel, (rank, peer): (u32, u32), bytes: f64, token: u64) {
    let work = Work::Transfer {
        from: kernel.host_of(actor(rank)),
        to: kernel.host_of(actor(peer)),
        bytes,
        rate: f64::INFINITY,
    };
    kernel.start_for_device(&work, token);
}

impl Flow {
    /// Appends a packet to the packets of its pair that are in flight.
    #[inline]
    fn launch_packet(&self, source: u32, destination: u32, packet: Packet) -> u32 {
        let is_ordered = packet.header.is_ordered();
        let transits = &mut self.ranks.ends.borrow_mut().transits;
        let event = ChannelEvent::Packet { source, packet };
        let index = transits.insert(Transit::new(destination, event));
        if is_ordered {
            let before = (self.last.borrow_mut()).replace(destination, source, index);
            if let Some(before) = before {
                transits.get_mut(before).after = index;
                transits.get_mut(index).before = before;
            }
        }
        index
    }

    /// Handles the arrival of a packet. A packet without a predecessor in flight is delivered, and
    /// then the packets that waited for this packet.
    #[inline(always)]
    fn handle_arrival(&self, kernel: &mut Kernel, ends: &mut Ends, index: u32) {
        let transit = ends.transits.get_mut(index);
        transit.has_arrived = true;
        if transit.before != NONE {
            return;
        }
        let mut next = index;
        while next != NONE {
            let index = next;
            let transit = ends.transits.get_mut(index);
            transit.before = NONE;
            if !transit.has_arrived {
                return;
            }
            next = transit.after;
            let destination = transit.destination;
            let Some((source, packet)) = transit.packet() else {
                unreachable!("the event is the arrival of a packet")
            };
            if next == NONE && packet.header.is_ordered() {
                self.last.borrow_mut().remove(destination, source);
            }
            if transit.is_lost {
                ends.transits.remove(index);
                ends.report_broken(kernel, source, destination);
                continue;
            }
            if let Some(token) = packet.notify {
                ends.deliver_new(kernel, source, ChannelEvent::Sent(token));
            }
            self.ranks.deliver_transit(kernel, ends, index);
        }
    }

    /// Starts the acknowledgement of a packet that has arrived, if an initiator waits for that.
    #[cold]
    fn acknowledge_packet(&self, kernel: &mut Kernel, ends: &Ends, index: u32) {
        let transit = ends.transits.get(index);
        if let Some((source, _)) = transit.packet()
            && transit.has_initiator
            && let Some(initiators) = &self.initiators
        {
            let peer = transit.destination;
            let number = initiators.borrow_mut().begin_acknowledgement(source, peer);
            let token = ACKNOWLEDGEMENT | u64::from(number);
            start_transfer(kernel, (peer, source), 0.0, token);
        }
    }

    /// Handles the end or the failure of an acknowledgement.
    #[cold]
    fn end_acknowledgement(&self, kernel: &mut Kernel, number: u32, end: End) {
        let Some(initiators) = &self.initiators else {
            return;
        };
        let initiators = &mut *initiators.borrow_mut();
        let (rank, peer) = initiators.take_acknowledgement(number);
        if initiators.release_packet(rank, peer) {
            kernel.request_progress();
        }
        if end != End::Done && !self.ranks.connects() {
            kernel.fail_actor(actor(rank), lost_message(peer));
        }
    }

    /// Delivers a packet at the present date.
    #[inline(never)]
    fn hand_over(&self, source: u32, destination: u32, packet: Packet) {
        self.ranks.port.with_kernel(|kernel| {
            let ends = &mut *self.ranks.ends.borrow_mut();
            if let Some(token) = packet.notify {
                ends.deliver_new(kernel, source, ChannelEvent::Sent(token));
            }
            let event = ChannelEvent::Packet { source, packet };
            let index = ends.transits.insert(Transit::new(destination, event));
            self.ranks.deliver_transit(kernel, ends, index);
        });
    }

    /// Handles the failure of a host or a link under a packet or a computation. Without connections
    /// the failure ends the run. With connections, the connection of the two ranks breaks at the
    /// turn of the packet; other calls tell the device of a lost host.
    #[cold]
    fn handle_failure(&self, kernel: &mut Kernel, ends: &mut Ends, index: u32) {
        let transit = ends.transits.get_mut(index);
        let destination = transit.destination;
        let Some((source, _)) = transit.packet() else {
            ends.transits.remove(index);
            if !self.ranks.connects() {
                let message = "computation failed: host failure".to_owned();
                kernel.fail_actor(actor(destination), message);
            }
            return;
        };
        if !self.ranks.connects() {
            // The record stays: the sender may post a packet behind this one at this date.
            return kernel.fail_actor(actor(source), lost_message(destination));
        }
        transit.is_lost = true;
        if let Some(initiators) = self.initiators.as_ref().filter(|_| transit.has_initiator)
            && initiators.borrow_mut().release_packet(source, destination)
        {
            kernel.request_progress();
        }
        self.handle_arrival(kernel, ends, index);
    }

    /// Makes the record of a timer or a computation of a rank; returns the target.
    fn insert_activity(&self, rank: u32, token: Token) -> u64 {
        let transit = Transit::new(rank, ChannelEvent::Elapsed(token));
        let index = (self.ranks.ends.borrow_mut().transits).insert(transit);
        u64::from(index)
    }
}

fn lost_message(destination: u32) -> String {
    format!("message to rank {destination} failed: host or link failure on the route")
}

impl Device for Flow {
    fn on_end(&self, kernel: &mut Kernel, token: u64, end: End) {
        #[expect(clippy::cast_possible_truncation, reason = "the flag is cut off")]
        let index = token as u32;
        if token & ACKNOWLEDGEMENT != 0 {
            return self.end_acknowledgement(kernel, index, end);
        }
        let ends = &mut *self.ranks.ends.borrow_mut();
        if end != End::Done {
            return self.handle_failure(kernel, ends, index);
        }
        if ends.transits.get(index).packet().is_none() {
            return ends.deliver_event(kernel, index);
        }
        if self.initiators.is_some() {
            self.acknowledge_packet(kernel, ends, index);
        }
        self.handle_arrival(kernel, ends, index);
    }

    fn on_timer(&self, kernel: &mut Kernel, token: u64) {
        self.on_end(kernel, token, End::Done);
    }

    fn progress(&self) {
        if let Some(initiators) = &self.initiators {
            let leaving = initiators.borrow_mut().take_leaving();
            for WaitingPacket { pair, index, bytes } in leaving {
                let start = |kernel: &mut Kernel| start_transfer(kernel, pair, bytes, index.into());
                self.ranks.port.with_kernel(start);
                if self.ranks.is_observed() {
                    self.observe_posted(pair.0, pair.1, index);
                }
            }
        }
        self.ranks.handle_parked_events();
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

impl SimulatedDevice for Flow {
    fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    fn post_packet(&self, rank: u32, peer: u32, packet: Packet) {
        let settings = &self.ranks.settings;
        let is_control = packet.header.is_control();
        let is_timeless = is_control && settings.control.is_none();
        if is_timeless && rank != peer && self.is_next(rank, peer, &packet) {
            return self.hand_over(rank, peer, packet);
        }
        let length = packet.header.charged_length(packet.payload.len());
        let control_size = settings.control.filter(|_| is_control);
        #[expect(
            clippy::cast_precision_loss,
            reason = "messages of 2^53 bytes and more may be off by one"
        )]
        let bytes = control_size.unwrap_or(length + settings.envelope) as f64;
        let begins = begins(&packet);
        let index = self.launch_packet(rank, peer, packet);
        let leaves = self.ranks.port.with_kernel(|kernel| {
            if let Some(message) = begins {
                kernel.count_message(message);
            }
            if self.is_ideal || is_timeless {
                kernel.set_device_timer(kernel.now(), u64::from(index));
                return true;
            }
            let pair = (rank, peer);
            if let Some(all) = &self.initiators {
                let packet = WaitingPacket { pair, index, bytes };
                if self.waits_for_initiator(&mut all.borrow_mut(), kernel, packet) {
                    return false;
                }
            }
            start_transfer(kernel, pair, bytes, u64::from(index));
            true
        });
        if leaves && self.ranks.is_observed() && !is_timeless {
            self.observe_posted(rank, peer, index);
        }
    }

    fn timer(&self, rank: u32, seconds: f64, token: Token) {
        let target = self.insert_activity(rank, token);
        let date = |now: Time| now + Span::from_secs(seconds);
        self.ranks
            .port
            .with_kernel(|kernel| kernel.set_device_timer(date(kernel.now()), target));
    }

    fn start_computation(&self, rank: u32, flops: f64, token: Token) {
        let target = self.insert_activity(rank, token);
        self.ranks
            .port
            .with_kernel(|kernel| begin_computation(kernel, rank, flops, target));
    }

    /// The messages to a rank that are on their way, by sender and in the order in which they were
    /// sent.
    fn undelivered(&self, destination: u32) -> Vec<(Envelope, u64)> {
        let ends = self.ranks.ends.borrow();
        let mut all = Vec::new();
        for last in self.last.borrow().to(destination) {
            let start = all.len();
            let mut next = last;
            while next != NONE {
                let transit = ends.transits.get(next);
                all.extend(transit.packet().and_then(|(_, packet)| message(packet)));
                next = transit.before;
            }
            all[start..].reverse();
        }
        all
    }
}
