//! The engine over connections with flow control: if limits are set, every packet goes through the
//! machines of its connection.
//!
//! An eager message that arrives before its receive is an [`Assembly`]: in memory for unexpected
//! messages if there is room for the whole message, else in its packets. The credits of the packets
//! then come back when a receive has matched the message.

use super::observation::post_event;
use super::{ProtocolEngine, State, library};
use crate::channel::{Channel, CreditReturn, Packet, PacketHeader, Token};
use crate::matching::UnexpectedContent;
use crate::protocol::flow_control::{FlowAction, FlowControl, Kind, OutboundMessage};
use crate::protocol::machine::receive::{Action, Event};
use crate::{Buffer, Envelope};
use observe::SourceLocation;

/// An eager message that arrives, or has arrived before its receive.
#[derive(Clone, Debug)]
pub(crate) struct Assembly {
    envelope: Envelope,
    length: u64,
    arrived: u64,
    buffer: Buffer,
    place: Place,
    receive: Option<Token>,
}

/// Where an eager message is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Place {
    /// In the buffer of the matching receive.
    Receive,
    /// In memory for unexpected messages.
    Memory,
    /// In this many packets.
    Packets(u32),
}

impl Place {
    /// Frees the resources of an unexpected message.
    fn free(self, flow: &mut FlowControl, (source, length): (u32, u64), now: f64) {
        match self {
            Self::Receive => unreachable!("a message meets one receive"),
            Self::Memory => flow.free_memory(length),
            Self::Packets(count) => flow.consume_credits(source, count, true, now),
        }
    }
}

impl ProtocolEngine {
    /// Returns the connections and their shared resources, if limits are set and a packet has left
    /// or come.
    pub(crate) fn flow_control(&self) -> Option<&FlowControl> {
        self.flow.as_deref()
    }

    pub(super) fn flow(&mut self, channel: &dyn Channel) -> &mut FlowControl {
        let defects = self.defects;
        let fresh = || {
            let mut flow = Box::new(FlowControl::of(channel.settings()));
            flow.defects = defects;
            flow
        };
        self.flow.get_or_insert_with(fresh)
    }

    /// Sends a message: at once without limits, otherwise through the machine of the connection.
    #[inline(always)]
    pub(super) fn dispatch(&mut self, channel: &dyn Channel, peer: u32, message: OutboundMessage) {
        if channel.settings().limits.is_none() {
            let packet = Packet {
                header: message.header,
                payload: message.payload,
                notify: message.operation,
                returned: None,
            };
            self.observe(|| post_event(peer, &packet.header, packet.payload.len()));
            return channel.post(peer, packet);
        }
        self.dispatch_in_turn(channel, peer, message);
    }

    #[inline(never)]
    fn dispatch_in_turn(&mut self, channel: &dyn Channel, peer: u32, message: OutboundMessage) {
        self.flow(channel).send(peer, message, channel.now());
        self.apply_effects(channel);
    }

    /// Sends an announcement or an answer.
    pub(super) fn post_control(&mut self, channel: &dyn Channel, peer: u32, header: PacketHeader) {
        let kind = match header {
            PacketHeader::Rts { .. } | PacketHeader::CancelRequest { .. } => Kind::Control,
            _ => Kind::CloseAckPolicy,
        };
        let message = OutboundMessage::new(kind, header, Buffer::phantom(0));
        self.dispatch(channel, peer, message);
    }

    /// Executes the actions that the machines have requested.
    pub(super) fn apply_effects(&mut self, channel: &dyn Channel) {
        while let Some(effect) = self.flow(channel).effect() {
            match effect {
                FlowAction::Post {
                    peer,
                    mut packet,
                    slot,
                } => {
                    packet.notify = slot.map(|slot| self.insert_inner(State::Packet(slot)));
                    self.operations.offer_buffers(channel, peer, &packet.header);
                    if let Some(observation) = self.observation() {
                        observation.post_credits(peer, &packet);
                    }
                    self.observe(|| post_event(peer, &packet.header, packet.payload.len()));
                    channel.post(peer, packet);
                }
                FlowAction::Finished(send) => self.handle_sent(send),
                FlowAction::Converted(send) => self.operations.await_cts(send),
                FlowAction::Pack { peer, seconds } => self.pack(channel, peer, seconds),
                FlowAction::Held {
                    peer,
                    resource,
                    seconds,
                } => self.observe(|| observe::Event::Incident {
                    name: resource.name(),
                    peer: Some(peer),
                    value: Some(seconds),
                }),
            }
        }
    }

    /// An operation of the message layer's own.
    pub(super) fn insert_inner(&mut self, state: State) -> Token {
        // No action of the program's: tests may continue to say no.
        let actions = self.actions;
        let token = self.insert(state, SourceLocation::caller());
        self.actions = actions;
        token
    }

    /// Packs for a connection, after earlier packing for other connections: the rank has one
    /// processor for packing, in addition to the processor of its program.
    fn pack(&mut self, channel: &dyn Channel, peer: u32, seconds: f64) {
        let left = self.processor.pack(channel.now(), seconds);
        let token = self.insert_inner(State::Packing { peer });
        channel.timer(left, token);
    }

    /// Handles the end of packing of the next packet to a peer.
    pub(super) fn handle_packed(&mut self, channel: &dyn Channel, token: Token) {
        let State::Packing { peer } = self.operations.remove(token) else {
            unreachable!("only packing is over");
        };
        if self.lost.contains(peer) {
            return;
        }
        self.flow(channel).packed(peer, channel.now());
        self.apply_effects(channel);
    }

    /// Removes a send from the queue of its connection; false if the send has begun to leave.
    pub(super) fn withdraw_queued(
        &mut self,
        channel: &dyn Channel,
        peer: u32,
        send: Token,
    ) -> bool {
        if self.flow.is_none() {
            return false;
        }
        let found = self.flow(channel).withdraw(peer, send, channel.now());
        self.apply_effects(channel);
        found
    }

    /// Frees the resources of an eager message that has arrived and that no receive will get.
    pub(super) fn discard_held(
        &mut self,
        channel: &dyn Channel,
        token: Token,
        source: u32,
        length: u64,
    ) {
        let now = channel.now();
        let assembly = self.operations.take_assembly(token);
        debug_assert!(
            assembly.arrived == length,
            "a synchronous message is one packet"
        );
        self.flow(channel).met(source, length, now);
        assembly
            .place
            .free(self.flow(channel), (source, length), now);
    }

    /// A packet has left.
    pub(super) fn handle_left(&mut self, channel: &dyn Channel, token: Token) {
        let State::Packet(slot) = self.operations.remove(token) else {
            unreachable!("only packets are reported as sent");
        };
        self.flow(channel).left(slot, channel.now());
        self.apply_effects(channel);
    }

    /// Lets the machines react after a packet has been handled.
    pub(super) fn answer_packet(&mut self, channel: &dyn Channel, source: u32) {
        self.flow(channel).run_machines(source, channel.now());
        self.apply_effects(channel);
    }

    /// Handles a message that the channel has fetched, or the fetched content of a window.
    pub(super) fn handle_fetched(
        &mut self,
        channel: &dyn Channel,
        source: u32,
        receive: Token,
        message: &Buffer,
    ) {
        if matches!(self.operations.state(receive), State::Remote(_)) {
            return self.take_result(receive, source, (0, message));
        }
        let now = channel.now();
        self.flow(channel).step(source, Event::Data, now);
        self.handle_data(channel, receive, message);
        self.flow(channel).run_machines(source, now);
        self.apply_effects(channel);
    }

    /// Handles the end of the fetch of an announced message: both CTS and end of the data.
    pub(super) fn handle_taken(
        &mut self,
        channel: &dyn Channel,
        (peer, send): (u32, Token),
        returned: Option<&CreditReturn>,
    ) {
        let now = channel.now();
        let flow = self.flow(channel);
        if let Some(returned) = returned {
            flow.open(peer, returned, now);
        }
        flow.step(peer, Event::Cts, now);
        flow.consume_credits(peer, 1, false, now);
        let operation = &mut self.operations[send];
        let State::AwaitCts {
            envelope, buffer, ..
        } = std::mem::replace(&mut operation.state, State::Elapsing)
        else {
            unreachable!("only what was announced is fetched");
        };
        self.sends -= 1;
        let length = buffer.len();
        self.finish(send, Ok(super::status(envelope, length)), buffer);
        self.flow(channel).run_machines(peer, now);
        self.apply_effects(channel);
    }

    /// The first packet of an eager message.
    pub(super) fn handle_first(
        &mut self,
        channel: &dyn Channel,
        envelope: Envelope,
        (length, synchronous): (u64, Option<Token>),
        payload: Buffer,
    ) {
        let (now, source) = (channel.now(), envelope.source);
        let arrived = payload.len();
        let buffer = if arrived == length {
            payload
        } else {
            let mut buffer = payload.of_kind(length);
            buffer.place(0, &payload);
            buffer
        };
        let state = State::Assembly(Box::new(Assembly {
            envelope,
            length,
            arrived,
            buffer,
            place: Place::Packets(1),
            receive: None,
        }));
        let assembly = self.insert_inner(state);
        *self.flow(channel).incoming(source, now) = Some(assembly);
        let held = UnexpectedContent::Held { length, assembly };
        let content = match synchronous {
            Some(send) => UnexpectedContent::Synchronous {
                send,
                message: Box::new(held),
            },
            None => held,
        };
        if let Some((receive, content)) = self.arrive(channel, envelope, content) {
            self.flow(channel).note_found(source, true, now);
            self.matched(channel, receive, envelope, content);
        } else {
            let flow = self.flow(channel);
            flow.note_found(source, false, now);
            let event = if flow.reserve_memory(length) {
                Event::Room
            } else {
                Event::NoRoom
            };
            if flow.step(source, event, now) == Action::CopyOut {
                flow.consume_credits(source, 1, true, now);
                self.operations.assembly(assembly).place = Place::Memory;
            }
        }
        self.continue_eager(channel, source, assembly);
    }

    /// A further packet of an eager message.
    pub(super) fn handle_next(
        &mut self,
        channel: &dyn Channel,
        source: u32,
        offset: u64,
        payload: &Buffer,
    ) {
        let now = channel.now();
        let incoming = *self.flow(channel).incoming(source, now);
        let token = incoming.expect("a further packet comes after the first one");
        let assembly = self.operations.assembly(token);
        assembly.buffer.place(offset, payload);
        assembly.arrived += payload.len();
        if let Place::Packets(count) = &mut assembly.place {
            *count += 1;
        } else {
            self.flow(channel).consume_credits(source, 1, true, now);
        }
        self.continue_eager(channel, source, token);
    }

    /// After a packet of an eager message: there are more, or all has been received.
    fn continue_eager(&mut self, channel: &dyn Channel, source: u32, token: Token) {
        let now = channel.now();
        let assembly = self.operations.assembly(token);
        let complete = assembly.arrived == assembly.length;
        let flow = self.flow(channel);
        let event = if complete {
            Event::AllReceived
        } else {
            Event::More
        };
        let action = flow.step(source, event, now);
        if complete {
            *flow.incoming(source, now) = None;
        }
        if action == Action::Deliver {
            self.complete(channel, token);
        }
    }

    /// Matches a receive with an eager message, and frees the resources of the message.
    pub(super) fn meet(&mut self, channel: &dyn Channel, token: Token, receive: Token) {
        let now = channel.now();
        let assembly = self.operations.assembly(token);
        assembly.receive = Some(receive);
        let place = std::mem::replace(&mut assembly.place, Place::Receive);
        let (source, length) = (assembly.envelope.source, assembly.length);
        let complete = assembly.arrived == length;
        self.flow(channel).met(source, length, now);
        place.free(self.flow(channel), (source, length), now);
        let flow = self.flow(channel);
        if *flow.incoming(source, now) == Some(token) {
            // Of one that has just come, the machine knows already.
            if flow.is_between_packets(source) {
                flow.step(source, Event::ReceivePosted, now);
            }
        } else {
            debug_assert!(complete, "only the last message is incomplete");
            self.complete(channel, token);
        }
        self.flow(channel).run_machines(source, now);
        self.apply_effects(channel);
    }

    /// Completes the receive of a message that has come whole and has been matched.
    fn complete(&mut self, channel: &dyn Channel, token: Token) {
        let assembly = self.operations.take_assembly(token);
        let receive = assembly.receive.expect("it has met its receive");
        self.handle_data(channel, receive, &assembly.buffer);
    }

    /// A part of a message that was cleared.
    pub(super) fn handle_part(
        &mut self,
        channel: &dyn Channel,
        token: Token,
        offset: u64,
        part: &Buffer,
    ) {
        let State::AwaitData {
            envelope,
            length,
            buffer,
            detached,
            arrived,
        } = &mut self.operations[token].state
        else {
            unreachable!("data come for a receive that sent a CTS");
        };
        let (envelope, length, detached) = (*envelope, *length, *detached);
        if buffer.is_room() && length <= buffer.len() {
            *buffer = part.of_kind(length).with_element(buffer.element());
        }
        if length <= buffer.len() {
            buffer.place(offset, part);
        }
        *arrived += part.len();
        assert!(*arrived <= length, "no byte arrives twice");
        if *arrived < length {
            return;
        }
        let rest = buffer.len();
        let buffer = std::mem::replace(buffer, Buffer::phantom(rest));
        if detached {
            self.add_charge(channel, token, length);
        }
        if !self.is_plain() {
            library::acknowledge_read(self, channel, token);
        }
        // The bytes are there already.
        self.deliver(channel, token, envelope, (buffer, &Buffer::phantom(length)));
    }
}
