//! Receives: the call, the matched message, its data, the end.

use channel::COLLECTIVE;
use observe::SourceLocation;
use observe::{PacketKind, RankEvent};

use super::turns::copy_time;
use super::{FlowLayer, OperationState, ProtocolEngine, library, status};
use crate::channel::{Channel, Packet, PacketHeader, Settings, Token};
use crate::exploration::{self, ExplorationFact};
use crate::matching::{UnexpectedContent, UnexpectedMessage};
use crate::{Buffer, ElementMismatch, Envelope, Error, Pattern, Status};

impl ProtocolEngine {
    /// Starts a receive; `unpacks` if its program unpacks the received data.
    #[inline(always)]
    pub(crate) fn receive(
        &mut self,
        channel: &dyn Channel,
        pattern: Pattern,
        (buffer, unpacks): (Buffer, bool),
        location: SourceLocation,
    ) -> Token {
        if !self.requests.rare.is_empty() {
            self.note_receive(channel, &pattern, buffer.len(), location);
        }
        if !self.processor.may_begin(channel) {
            return self.receive_later(channel, pattern, (buffer, unpacks), location);
        }
        let posted = OperationState::Posted { pattern, buffer };
        let receive = self.requests.insert(posted, location);
        if unpacks {
            self.requests[receive].unpacks = true;
        }
        self.requests.note_cause(|record| {
            record.note_posted(channel, receive, (&pattern, location));
        });
        if let Some(message) = self.matching.post(pattern, receive) {
            self.match_unexpected(channel, receive, message);
        }
        if !self.lost.is_empty() {
            self.check_source(receive);
        }
        receive
    }

    /// Notes the call of a receive, for a model checker and an observer.
    #[cold]
    fn note_receive(
        &self,
        channel: &dyn Channel,
        pattern: &Pattern,
        bytes: u64,
        location: SourceLocation,
    ) {
        if pattern.source.is_none() {
            exploration::note_fact(channel, ExplorationFact::SourceReceive);
        }
        self.requests.observe(|| RankEvent::Receive {
            peer: pattern.source,
            bytes,
            place: location,
            collective: pattern.context & COLLECTIVE != 0,
            request: self.requests.operations.next_token(),
        });
    }

    /// Starts a receive of a busy rank, at the turn of the receive.
    #[inline(never)]
    fn receive_later(
        &mut self,
        channel: &dyn Channel,
        pattern: Pattern,
        (buffer, unpacks): (Buffer, bool),
        location: SourceLocation,
    ) -> Token {
        let waits = OperationState::AwaitPost {
            pattern,
            buffer,
            message: None,
        };
        let receive = self.requests.insert(waits, location);
        self.requests[receive].unpacks = unpacks;
        self.in_turn(channel, receive);
        receive
    }

    /// Takes the result of a receive that is over and paid for, and the buffer of the receive.
    #[inline(always)]
    pub(crate) fn take_received(
        &mut self,
        channel: &dyn Channel,
        token: Token,
        buffer: &mut Buffer,
    ) -> Option<Result<Status, Error>> {
        if !self.requests.is_done(token) || self.pay_charge(channel, token) {
            return None;
        }
        let (result, received) = self.requests.take_result(token);
        *buffer = received;
        Some(result)
    }

    /// Gives a receive an unexpected message, which is copied out of its place.
    #[inline(never)]
    pub(super) fn match_unexpected(
        &mut self,
        channel: &dyn Channel,
        receive: Token,
        message: UnexpectedMessage,
    ) {
        let UnexpectedMessage {
            envelope,
            content,
            arrival,
        } = message;
        self.requests.note_cause(|record| record.arrival = arrival);
        let (peer, tag, bytes) = (envelope.source, envelope.tag, content.length());
        self.requests
            .observe(|| RankEvent::Taken { peer, tag, bytes });
        if content.is_here() && !self.requests[receive].unpacks {
            let cost = copy_time(channel, content.length());
            self.requests.operations.add_charge(receive, cost);
        }
        self.matched(channel, receive, envelope, content);
        self.requests.rare.note_handled(channel);
    }

    /// Returns the content itself, without the layers that mark it as ready or synchronous.
    fn unwrapped(
        &mut self,
        channel: &dyn Channel,
        receive: Token,
        envelope: Envelope,
        mut content: UnexpectedContent,
    ) -> UnexpectedContent {
        loop {
            content = match content {
                UnexpectedContent::Unready(message) => {
                    self.requests[receive].unready = true;
                    self.requests
                        .note_cause(|record| record.note_unready(channel, receive));
                    *message
                }
                UnexpectedContent::Synchronous { send, message } => {
                    self.post_control(channel, envelope.source, PacketHeader::Ack { send });
                    *message
                }
                other => break other,
            };
        }
    }

    /// Handles a receive that has got its message, or the announcement of its message.
    pub(super) fn matched(
        &mut self,
        channel: &dyn Channel,
        receive: Token,
        envelope: Envelope,
        content: UnexpectedContent,
    ) {
        self.requests.note_answer(channel, receive, envelope);
        if let Some(log) = &self.call_log {
            log.stored()
                .note_matched(channel, envelope.source, &content);
        }
        let content = self.unwrapped(channel, receive, envelope, content);
        let buffer = self.take_buffer(channel, receive, envelope.source);
        match content {
            UnexpectedContent::Eager(message) => {
                let settings = channel.settings();
                self.deliver_whole((channel, settings), receive, envelope, (buffer, message));
            }
            UnexpectedContent::Detached(message) => {
                self.requests[receive].state = awaited_data(envelope, message.len(), buffer, true);
                let packet = Packet::new(PacketHeader::Data { receive }, message);
                self.requests.observe(|| RankEvent::Post {
                    peer: envelope.source,
                    packet: PacketKind::Pull,
                    key: receive,
                    bytes: packet.payload.len(),
                });
                channel.pull(envelope.source, packet);
            }
            UnexpectedContent::Held { length, assembly } => {
                self.requests[receive].state = awaited_data(envelope, length, buffer, true);
                FlowLayer::new(self, channel).meet(assembly, receive);
            }
            UnexpectedContent::Synchronous { .. } | UnexpectedContent::Unready(_) => {
                unreachable!("what is around a message was taken off")
            }
            UnexpectedContent::Rts {
                length,
                send,
                detached,
            } => {
                self.requests[receive].state = awaited_data(envelope, length, buffer, detached);
                let (peer, answer) = (envelope.source, PacketHeader::Cts { send, receive });
                let is_free = self.requests.rare.is_empty() && self.requests.collectives.is_none();
                if is_free || !library::answer_later(self, channel, peer, answer) {
                    self.post_control(channel, peer, answer);
                }
            }
        }
    }

    /// Handles a receive after its message has come whole.
    #[inline(always)]
    fn deliver_whole(
        &mut self,
        (channel, settings): (&dyn Channel, &Settings),
        receive: Token,
        envelope: Envelope,
        (buffer, message): (Buffer, Buffer),
    ) {
        let costs = &settings.overheads.or;
        if !costs.is_empty() {
            let cost = costs.message_overhead(message.len());
            self.requests.operations.add_charge(receive, cost);
        }
        self.deliver(channel, receive, envelope, (buffer, message));
    }

    /// A posted receive of an engine without rare parts meets a message that arrives whole.
    #[inline]
    pub(super) fn receive_eager(
        &mut self,
        (channel, settings): (&dyn Channel, &Settings),
        receive: Token,
        envelope: Envelope,
        message: Buffer,
    ) {
        if let Some(log) = &self.call_log {
            log.stored().note_received(envelope.source, &message);
        }
        let buffer = self.take_buffer(channel, receive, envelope.source);
        self.deliver_whole((channel, settings), receive, envelope, (buffer, message));
    }

    /// Takes the buffer of a posted receive that has met a message of `source`.
    #[inline(always)]
    fn take_buffer(&mut self, channel: &dyn Channel, receive: Token, source: u32) -> Buffer {
        let operation = &mut self.requests[receive];
        let OperationState::Posted { pattern, buffer } = &mut operation.state else {
            unreachable!("only posted receives are matched");
        };
        let (is_wildcard, buffer) = (pattern.source.is_none(), buffer.take());
        if is_wildcard {
            exploration::note_source(channel, source, operation.location);
        }
        buffer
    }

    /// Ends a receive with the message. The buffer has been taken from the state of the receive.
    #[inline(always)]
    pub(super) fn deliver(
        &mut self,
        channel: &dyn Channel,
        receive: Token,
        envelope: Envelope,
        (mut buffer, message): (Buffer, Buffer),
    ) {
        let length = message.len();
        let result = if self.requests[receive].unready
            || envelope.signature.differs(buffer.element())
            || length > buffer.len()
        {
            Err(delivery_error(
                self,
                channel,
                receive,
                envelope,
                (&buffer, length),
            ))
        } else {
            if let Some(memory) = buffer.receive(message) {
                channel.recycle_memory(memory);
            }
            Ok(status(envelope, length))
        };
        self.requests.end_emptied(receive, result, buffer);
    }

    pub(super) fn handle_data(&mut self, channel: &dyn Channel, receive: Token, message: Buffer) {
        let place = &mut self.requests[receive].state;
        let OperationState::AwaitData {
            envelope,
            length,
            buffer,
            detached,
            ..
        } = std::mem::replace(place, OperationState::Elapsing)
        else {
            unreachable!("data come for a receive that sent a CTS");
        };
        debug_assert_eq!(length, message.len(), "the RTS announced the length");
        if detached {
            let cost = channel.settings().overheads.or.message_overhead(length);
            self.requests.operations.add_charge(receive, cost);
        }
        if !self.requests.rare.is_empty() {
            library::acknowledge_read(self, channel, receive);
        }
        self.deliver(channel, receive, envelope, (buffer, message));
    }
}

/// Returns the error of a receive with a buffer that does not get the message.
#[cold]
fn delivery_error(
    engine: &ProtocolEngine,
    channel: &dyn Channel,
    receive: Token,
    envelope: Envelope,
    (buffer, length): (&Buffer, u64),
) -> Error {
    let (source, tag) = (envelope.source as usize, envelope.tag);
    if engine.requests[receive].unready {
        let record = engine.requests.rare.causality();
        let send = record.and_then(|record| record.unready_send(receive));
        let calls = send.map(|send| [engine.requests[receive].location, send]);
        return Error::NotReady { source, tag, calls };
    }
    if envelope.signature.differs(buffer.element()) {
        return elements_differ(engine, channel, receive, envelope, buffer);
    }
    Error::Truncated {
        source,
        tag,
        length,
        buffer: buffer.len(),
    }
}

fn elements_differ(
    engine: &ProtocolEngine,
    channel: &dyn Channel,
    receive: Token,
    envelope: Envelope,
    buffer: &Buffer,
) -> Error {
    let signature = envelope.signature;
    Error::of_elements(ElementMismatch {
        receiver: channel.rank() as usize,
        received: buffer.element().name(),
        receive: engine.requests[receive].location,
        source: envelope.source as usize,
        sent: signature.element_type().name(),
        send: engine
            .call_log
            .as_ref()
            .and_then(|log| log.sender_location(signature)),
    })
}

/// Returns the state of a receive with a message that has not begun to arrive.
const fn awaited_data(
    envelope: Envelope,
    length: u64,
    buffer: Buffer,
    detached: bool,
) -> OperationState {
    OperationState::AwaitData {
        envelope,
        length,
        buffer,
        detached,
        arrived: 0,
    }
}
