//! The engine over connections with flow control: if limits are set, every packet goes through the
//! machines of its connection.
//!
//! An eager message that arrives before its receive is an [`Assembly`]: in memory for unexpected
//! messages if there is room for the whole message, else in its packets. The credits of the packets
//! then come back when a receive has matched the message.

use super::observation::post_event;
use super::{OperationState, ProtocolEngine, library};
use crate::channel::{Channel, CreditReturn, Packet, PacketHeader, Token};
use crate::matching::UnexpectedContent;
use crate::protocol::flow_control::{FlowAction, FlowControl, MessageType, OutboundMessage};
use crate::protocol::machine::receive::{ReceiveAction, ReceiveEvent};
use crate::{Buffer, Envelope};

/// An eager message that arrives, or has arrived before its receive.
#[derive(Clone, Debug)]
pub(crate) struct Assembly {
    envelope: Envelope,
    length: u64,
    arrived: u64,
    buffer: Buffer,
    place: EagerPlace,
    receive: Option<Token>,
}

/// The place of an eager message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum EagerPlace {
    /// In the buffer of the matching receive.
    Receive,
    /// In memory for unexpected messages.
    Memory,
    /// In this many packets.
    Packets(u32),
}

impl EagerPlace {
    /// Frees the resources of an unexpected message.
    fn free_in(self, flow: &mut FlowControl, (source, length): (u32, u64), now: f64) {
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
            let mut flow = Box::new(FlowControl::from_settings(channel.settings()));
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
            self.requests
                .observe(|| post_event(peer, &packet.header, packet.payload.len()));
            return channel.post(peer, packet);
        }
        self.dispatch_in_turn(channel, peer, message);
    }

    #[inline(never)]
    fn dispatch_in_turn(&mut self, channel: &dyn Channel, peer: u32, message: OutboundMessage) {
        self.flow(channel)
            .queue_message(peer, message, channel.now());
        FlowLayer::new(self, channel).apply_effects();
    }

    /// Sends an announcement or an answer.
    pub(super) fn post_control(&mut self, channel: &dyn Channel, peer: u32, header: PacketHeader) {
        let kind = match header {
            PacketHeader::Rts { .. } | PacketHeader::CancelRequest { .. } => MessageType::Control,
            _ => MessageType::Answer,
        };
        let message = OutboundMessage::new(kind, header, Buffer::phantom(0));
        self.dispatch(channel, peer, message);
    }

    /// A part of a message that was cleared.
    pub(super) fn handle_part(
        &mut self,
        channel: &dyn Channel,
        token: Token,
        offset: u64,
        part: &Buffer,
    ) {
        let OperationState::AwaitData {
            envelope,
            length,
            buffer,
            detached,
            arrived,
        } = &mut self.requests[token].state
        else {
            unreachable!("data come for a receive that sent a CTS");
        };
        let (envelope, length, detached) = (*envelope, *length, *detached);
        if buffer.is_room() && length <= buffer.len() {
            *buffer = part.of_kind(length).with_element(buffer.element());
        }
        if length <= buffer.len() {
            buffer.write_part(offset, part);
        }
        *arrived += part.len();
        assert!(*arrived <= length, "no byte arrives twice");
        if *arrived < length {
            return;
        }
        let rest = buffer.len();
        let buffer = std::mem::replace(buffer, Buffer::phantom(rest));
        if detached {
            let cost = channel.settings().overheads.or.message_overhead(length);
            self.requests.operations.add_charge(token, cost);
        }
        if !self.requests.rare.is_empty() {
            library::acknowledge_read(self, channel, token);
        }
        // The bytes are there already.
        self.deliver(channel, token, envelope, (buffer, Buffer::phantom(length)));
    }
}

/// The layer between the engine and the machines of the connections, if limits are set.
pub(super) struct FlowLayer<'a> {
    engine: &'a mut ProtocolEngine,
    channel: &'a dyn Channel,
}

impl<'a> FlowLayer<'a> {
    pub(super) fn new(engine: &'a mut ProtocolEngine, channel: &'a dyn Channel) -> Self {
        Self { engine, channel }
    }

    fn flow(&mut self) -> &mut FlowControl {
        self.engine.flow(self.channel)
    }

    /// Executes the actions that the machines have requested.
    pub(super) fn apply_effects(&mut self) {
        while let Some(effect) = self.flow().effect() {
            match effect {
                FlowAction::Post {
                    peer,
                    mut packet,
                    slot,
                } => {
                    packet.notify = slot.map(|slot| {
                        self.engine
                            .requests
                            .insert_inner(OperationState::Packet(slot))
                    });
                    self.engine.requests.operations.offer_buffers(
                        self.channel,
                        peer,
                        &packet.header,
                    );
                    if let Some(observation) = self.engine.requests.rare.observation() {
                        observation.post_credits(peer, &packet);
                    }
                    self.engine
                        .requests
                        .observe(|| post_event(peer, &packet.header, packet.payload.len()));
                    self.channel.post(peer, packet);
                }
                FlowAction::Finished(send) => self.engine.handle_sent(send),
                FlowAction::Converted(send) => self.engine.requests.operations.await_cts(send),
                FlowAction::Pack { peer, seconds } => self.pack(peer, seconds),
                FlowAction::Held {
                    peer,
                    resource,
                    seconds,
                } => self
                    .engine
                    .requests
                    .observe(|| observe::RankEvent::Incident {
                        name: resource.name(),
                        peer: Some(peer),
                        value: Some(seconds),
                    }),
            }
        }
    }

    /// Packs for a connection, after earlier packing for other connections: the rank has one
    /// processor for packing, in addition to the processor of its program.
    fn pack(&mut self, peer: u32, seconds: f64) {
        let left = self.engine.processor.pack_next(self.channel.now(), seconds);
        let token = self
            .engine
            .requests
            .insert_inner(OperationState::Packing { peer });
        self.channel.timer(left, token);
    }

    /// Handles the end of packing of the next packet to a peer.
    pub(super) fn handle_packed(&mut self, token: Token) {
        let OperationState::Packing { peer } = self.engine.requests.operations.remove(token) else {
            unreachable!("only packing is over");
        };
        if self.engine.lost.contains_rank(peer) {
            return;
        }
        let now = self.channel.now();
        self.flow().handle_packed(peer, now);
        self.apply_effects();
    }

    /// Removes a send from the queue of its connection; false if the send has begun to leave.
    pub(super) fn withdraw_queued(&mut self, peer: u32, send: Token) -> bool {
        if self.engine.flow.is_none() {
            return false;
        }
        let now = self.channel.now();
        let found = self.flow().withdraw_message(peer, send, now);
        self.apply_effects();
        found
    }

    /// Frees the resources of an eager message that has arrived and that no receive will get.
    pub(super) fn discard_held(&mut self, token: Token, source: u32, length: u64) {
        let now = self.channel.now();
        let assembly = self.engine.requests.operations.take_assembly(token);
        debug_assert!(
            assembly.arrived == length,
            "a synchronous message is one packet"
        );
        self.flow().met(source, length, now);
        assembly.place.free_in(self.flow(), (source, length), now);
    }

    /// A packet has left.
    pub(super) fn handle_left(&mut self, token: Token) {
        let OperationState::Packet(slot) = self.engine.requests.operations.remove(token) else {
            unreachable!("only packets are reported as sent");
        };
        let now = self.channel.now();
        self.flow().handle_left(slot, now);
        self.apply_effects();
    }

    /// Lets the machines react after a packet has been handled.
    pub(super) fn answer_packet(&mut self, source: u32) {
        let now = self.channel.now();
        self.flow().run_machines(source, now);
        self.apply_effects();
    }

    /// Handles a message that the channel has fetched, or the fetched content of a window.
    pub(super) fn handle_fetched(&mut self, source: u32, receive: Token, message: Buffer) {
        if matches!(
            self.engine.requests[receive].state,
            OperationState::Remote(_)
        ) {
            return self
                .engine
                .requests
                .put_result(receive, source, (0, &message));
        }
        let now = self.channel.now();
        self.flow().step(source, ReceiveEvent::Data, now);
        self.engine.handle_data(self.channel, receive, message);
        self.flow().run_machines(source, now);
        self.apply_effects();
    }

    /// Handles the end of the fetch of an announced message: both CTS and end of the data.
    pub(super) fn handle_taken(
        &mut self,
        (peer, send): (u32, Token),
        returned: Option<&CreditReturn>,
    ) {
        let now = self.channel.now();
        let flow = self.flow();
        if let Some(returned) = returned {
            flow.apply_credit_return(peer, returned, now);
        }
        flow.step(peer, ReceiveEvent::Cts, now);
        flow.consume_credits(peer, 1, false, now);
        let place = &mut self.engine.requests[send].state;
        let OperationState::AwaitCts(message) = std::mem::replace(place, OperationState::Elapsing)
        else {
            unreachable!("only what was announced is fetched");
        };
        self.engine.requests.end_send(send, message);
        self.flow().run_machines(peer, now);
        self.apply_effects();
    }

    /// Handles a packet of an eager message.
    pub(super) fn handle_eager(&mut self, source: u32, header: &PacketHeader, payload: Buffer) {
        let (envelope, length) = match *header {
            PacketHeader::Eager { envelope } => (envelope, (payload.len(), None)),
            PacketHeader::Synchronous { envelope, send } => (envelope, (payload.len(), Some(send))),
            PacketHeader::EagerFirst { envelope, length } => (envelope, (length, None)),
            PacketHeader::EagerNext { offset } => {
                return self.handle_next(source, offset, &payload);
            }
            _ => unreachable!("only eager messages come here"),
        };
        self.handle_first(envelope, length, payload);
    }

    /// The first packet of an eager message.
    fn handle_first(
        &mut self,
        envelope: Envelope,
        (length, synchronous): (u64, Option<Token>),
        payload: Buffer,
    ) {
        let (now, source) = (self.channel.now(), envelope.source);
        let arrived = payload.len();
        let buffer = if arrived == length {
            payload
        } else {
            let mut buffer = payload.of_kind(length);
            buffer.write_part(0, &payload);
            buffer
        };
        let state = OperationState::Assembly(Box::new(Assembly {
            envelope,
            length,
            arrived,
            buffer,
            place: EagerPlace::Packets(1),
            receive: None,
        }));
        let assembly = self.engine.requests.insert_inner(state);
        *self.flow().incoming(source, now) = Some(assembly);
        let held = UnexpectedContent::Held { length, assembly };
        let content = match synchronous {
            Some(send) => UnexpectedContent::Synchronous {
                send,
                message: Box::new(held),
            },
            None => held,
        };
        if let Some((receive, content)) = self.engine.arrive(self.channel, envelope, content) {
            self.flow().note_found(source, true, now);
            self.engine
                .matched(self.channel, receive, envelope, content);
        } else {
            let flow = self.flow();
            flow.note_found(source, false, now);
            let event = if flow.reserve_memory(length) {
                ReceiveEvent::Room
            } else {
                ReceiveEvent::NoRoom
            };
            if flow.step(source, event, now) == ReceiveAction::CopyOut {
                flow.consume_credits(source, 1, true, now);
                self.engine.requests.operations.assembly(assembly).place = EagerPlace::Memory;
            }
        }
        self.continue_eager(source, assembly);
    }

    /// A further packet of an eager message.
    fn handle_next(&mut self, source: u32, offset: u64, payload: &Buffer) {
        let now = self.channel.now();
        let incoming = *self.flow().incoming(source, now);
        let token = incoming.expect("a further packet comes after the first one");
        let assembly = self.engine.requests.operations.assembly(token);
        assembly.buffer.write_part(offset, payload);
        assembly.arrived += payload.len();
        if let EagerPlace::Packets(count) = &mut assembly.place {
            *count += 1;
        } else {
            self.flow().consume_credits(source, 1, true, now);
        }
        self.continue_eager(source, token);
    }

    /// After a packet of an eager message: there are more, or all has been received.
    fn continue_eager(&mut self, source: u32, token: Token) {
        let now = self.channel.now();
        let assembly = self.engine.requests.operations.assembly(token);
        let complete = assembly.arrived == assembly.length;
        let flow = self.flow();
        let event = if complete {
            ReceiveEvent::AllReceived
        } else {
            ReceiveEvent::More
        };
        let action = flow.step(source, event, now);
        if complete {
            *flow.incoming(source, now) = None;
        }
        if action == ReceiveAction::Deliver {
            self.complete(token);
        }
    }

    /// Matches a receive with an eager message, and frees the resources of the message.
    pub(super) fn meet(&mut self, token: Token, receive: Token) {
        let now = self.channel.now();
        let assembly = self.engine.requests.operations.assembly(token);
        assembly.receive = Some(receive);
        let place = std::mem::replace(&mut assembly.place, EagerPlace::Receive);
        let (source, length) = (assembly.envelope.source, assembly.length);
        let complete = assembly.arrived == length;
        self.flow().met(source, length, now);
        place.free_in(self.flow(), (source, length), now);
        let flow = self.flow();
        if *flow.incoming(source, now) == Some(token) {
            // Of one that has just come, the machine knows already.
            if flow.is_between_packets(source) {
                flow.step(source, ReceiveEvent::ReceivePosted, now);
            }
        } else {
            debug_assert!(complete, "only the last message is incomplete");
            self.complete(token);
        }
        self.flow().run_machines(source, now);
        self.apply_effects();
    }

    /// Completes the receive of a message that has come whole and has been matched.
    fn complete(&mut self, token: Token) {
        let assembly = self.engine.requests.operations.take_assembly(token);
        let receive = assembly.receive.expect("it has met its receive");
        self.engine
            .handle_data(self.channel, receive, assembly.buffer);
    }
}
