//! Sends: the call, the decision between eager and rendezvous, the answer to an announcement,
//! the end.

use super::{
    Departure, Library, OperationState, OutboundSend, ProtocolEngine, SendCall, find_causes, status,
};
use crate::channel::{Channel, Packet, PacketHeader, Settings, Token};
use crate::exploration::ExplorationFact;
use crate::protocol::flow_control::{MessageType, OutboundMessage};
use crate::{Buffer, Envelope};
use observe::SourceLocation;

impl SendCall {
    /// Returns the time in seconds for which the call keeps the rank busy.
    #[inline]
    fn busy_time(self, settings: &Settings, length: u64) -> f64 {
        if !self.blocks {
            settings.overheads.ois.message_overhead(length)
        } else if length < settings.eager_threshold && !self.synchronous {
            settings.overheads.os.message_overhead(length)
        } else {
            0.0
        }
    }
}

impl ProtocolEngine {
    /// Sends a message in a blocking call and takes the buffer, if the message leaves at once and
    /// costs no time, and no caller needs its end: then there is no operation. Returns false if the
    /// message was not sent.
    ///
    /// A tracing engine has operations for all sends: a checker decides if they are buffered.
    #[inline(always)]
    pub(crate) fn send_at_once(
        &mut self,
        channel: &dyn Channel,
        (settings, peer, envelope): (&Settings, u32, Envelope),
        (buffer, location): (&mut Buffer, SourceLocation),
    ) -> bool {
        let length = buffer.len();
        let costs = &settings.overheads.os;
        if length >= settings.eager_threshold
            || settings.tells_eager_sends
            || !settings.is_pulled()
            || !costs.is_empty() && costs.message_overhead(length) > 0.0
            || !self.requests.rare.is_empty()
            || !self.lost.is_empty()
            || !self.processor.may_begin(channel)
        {
            return false;
        }
        let header = if length < settings.async_small_threshold {
            PacketHeader::Eager { envelope }
        } else {
            PacketHeader::Detached { envelope }
        };
        if let Some(log) = &self.call_log {
            let sent = (&*buffer, location);
            log.stored().note_sent(channel, envelope.source, sent);
        }
        // As if an operation had been started, had ended and been taken.
        self.requests.actions += 2;
        self.requests.ended += 1;
        channel.post(peer, Packet::new(header, buffer.take()));
        true
    }

    /// Sends a message, in a blocking or nonblocking call; an eager send is over at once.
    pub(crate) fn send(
        &mut self,
        channel: &dyn Channel,
        peer: u32,
        envelope: Envelope,
        buffer: Buffer,
        call: SendCall,
    ) -> Token {
        self.requests.observe(|| observe::RankEvent::Send {
            peer,
            tag: envelope.tag,
            bytes: buffer.len(),
            place: call.location,
            collective: envelope.is_collective(),
            request: self.requests.operations.next_token(),
        });
        self.requests.sends += 1;
        let cost = call.busy_time(channel.settings(), buffer.len());
        self.processor.charge_time(channel, cost);
        let departure = call.departure_of(&self.requests.rare, buffer.len());
        if self.processor.may_begin(channel) {
            let send = self
                .requests
                .insert(OperationState::Elapsing, call.location);
            let waits = call.synchronous || buffer.len() >= channel.settings().eager_threshold;
            if let Some(record) = self.requests.rare.causality_mut() {
                let end = (waits, call.location);
                record.note_call(channel, send, (peer, envelope), end);
            }
            self.launch(channel, send, peer, envelope, (buffer, departure));
            if let Some((_, causes)) = find_causes(&mut self.requests.rare, channel) {
                causes.note_fact(ExplorationFact::MessageSent(call.location));
            }
            return send;
        }
        let message = OutboundSend::new(peer, envelope, buffer);
        let waits = OperationState::AwaitTurn { message, departure };
        let send = self.requests.insert(waits, call.location);
        self.in_turn(channel, send);
        send
    }

    /// Sends a message, or announces it.
    pub(super) fn launch(
        &mut self,
        channel: &dyn Channel,
        send: Token,
        peer: u32,
        envelope: Envelope,
        (buffer, departure): (Buffer, Departure),
    ) {
        if self.lost.contains_rank(peer) {
            return self.fail_send(send, peer, buffer);
        }
        let settings = channel.settings();
        let length = buffer.len();
        let leaves_at_once = length < settings.eager_threshold.min(settings.async_small_threshold);
        let synchronous = departure == Departure::Synchronous;
        if synchronous && leaves_at_once && settings.acknowledged_ssend {
            return self.launch_synchronous(channel, send, peer, envelope, buffer);
        }
        let is_standard = departure == Departure::Standard;
        if leaves_at_once && is_standard {
            return self.launch_eager(channel, send, (peer, envelope), buffer);
        }
        let detached = length < settings.eager_threshold && is_standard;
        if detached {
            let location = self.requests[send].location;
            if let Some(log) = &self.call_log {
                log.stored()
                    .note_sent(channel, envelope.source, (&buffer, location));
            }
        }
        if detached && settings.is_pulled() {
            self.requests.sends -= 1;
            let header = PacketHeader::Detached { envelope };
            let message = OutboundMessage::new(MessageType::Eager, header, buffer.clone());
            self.requests
                .end_operation(send, Ok(status(envelope, length)), buffer);
            return self.dispatch(channel, peer, message);
        }
        let waits = OperationState::AwaitCts(OutboundSend::new(peer, envelope, buffer.clone()));
        let announced = if detached {
            // The program's operation is over; that of the message continues, and the rank stays
            // until it is over too.
            let location = self.requests[send].location;
            self.requests
                .end_operation(send, Ok(status(envelope, length)), buffer);
            let message = self.requests.insert(waits, location);
            let operation = &mut self.requests[message];
            (operation.released, operation.detached) = (true, true);
            message
        } else {
            self.requests[send].state = waits;
            send
        };
        let header = PacketHeader::Rts {
            envelope,
            length,
            send: announced,
            detached,
        };
        self.post_control(channel, peer, header);
    }

    pub(super) fn handle_cts(
        &mut self,
        channel: &dyn Channel,
        source: u32,
        send: Token,
        receive: Token,
    ) {
        let place = &mut self.requests[send].state;
        let OperationState::AwaitCts(sent) = std::mem::replace(place, OperationState::Elapsing)
        else {
            unreachable!("a CTS answers an RTS");
        };
        let peer = sent.peer;
        assert!(
            peer == source,
            "a CTS comes from the rank that the RTS went to"
        );
        let header = PacketHeader::Data { receive };
        let mut message = OutboundMessage::new(MessageType::Data, header, sent.buffer.clone());
        let library = self.requests.rare.library();
        self.requests[send].state = if library.is_some_and(Library::reads_data) {
            OperationState::AwaitAck(sent)
        } else {
            message.operation = Some(send);
            OperationState::Sending(sent)
        };
        self.dispatch(channel, peer, message);
    }

    /// Sends a short synchronous message; the send ends with the acknowledgement.
    fn launch_synchronous(
        &mut self,
        channel: &dyn Channel,
        send: Token,
        peer: u32,
        envelope: Envelope,
        buffer: Buffer,
    ) {
        self.requests[send].state =
            OperationState::AwaitAck(OutboundSend::new(peer, envelope, buffer.clone()));
        let header = PacketHeader::Synchronous { envelope, send };
        let message = OutboundMessage::new(MessageType::Eager, header, buffer);
        self.dispatch(channel, peer, message);
    }

    /// Sends an eager message. The send is over when the message is posted, unless the channel
    /// reports its end or the message has to wait for buffers and credits.
    fn launch_eager(
        &mut self,
        channel: &dyn Channel,
        send: Token,
        (peer, envelope): (u32, Envelope),
        buffer: Buffer,
    ) {
        let settings = channel.settings();
        if let Some(log) = &self.call_log {
            log.stored().note_sent(
                channel,
                envelope.source,
                (&buffer, self.requests[send].location),
            );
        }
        let header = PacketHeader::Eager { envelope };
        let mut message = OutboundMessage::new(MessageType::Eager, header, buffer.clone());
        message.told = settings.tells_eager_sends;
        let state = &mut self.requests[send].state;
        if settings.limits.is_some() {
            message.operation = Some(send);
            *state = OperationState::Queued(OutboundSend::new(peer, envelope, buffer));
        } else if message.told || settings.connections.is_some() {
            message.operation = Some(send);
            *state = OperationState::Sending(OutboundSend::new(peer, envelope, buffer));
        } else {
            self.requests.sends -= 1;
            self.requests
                .end_operation(send, Ok(status(envelope, buffer.len())), buffer);
        }
        self.dispatch(channel, peer, message);
    }

    pub(super) fn handle_sent(&mut self, send: Token) {
        let place = &mut self.requests[send].state;
        let (OperationState::Sending(message) | OperationState::Queued(message)) =
            std::mem::replace(place, OperationState::Elapsing)
        else {
            unreachable!("only data are reported as sent");
        };
        self.windows
            .note_put_left(&self.requests[send], message.envelope.context);
        self.requests.end_send(send, message);
    }
}
