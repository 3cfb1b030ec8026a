//! Rarer calls: operations that are cancelled, messages that a matched
//! probe has taken, and operations that are over before they begin.

use super::{FlowLayer, NOTHING, ProtocolEngine, State, Status};
use crate::channel::{Channel, PacketHeader, Token};
use crate::exploration::choose;
use crate::matching::{UnexpectedContent, UnexpectedMessage};
use crate::protocol::defect::ProtocolDefect;
use crate::{Buffer, Envelope, Pattern};
use observe::SourceLocation;

impl ProtocolEngine {
    /// Ends a receive that no message has matched, or a send that waits for its receive:
    /// `MPI_Cancel`. All other operations continue unchanged.
    ///
    /// A message that is only announced is asked back. The receiver decides: it answers the request
    /// only if it had not answered the announcement, and then forgets the announcement. So there is
    /// one winner (M-14).
    pub(crate) fn cancel(&mut self, channel: &dyn Channel, token: Token) {
        self.actions += 1;
        let record = self.causality();
        if record.is_none_or(|record| record.number_of_receive(token) == 0) {
            choose(channel);
        }
        let operation = &mut self.operations[token];
        let place = &mut operation.state;
        match place {
            State::AwaitPost { message: None, .. } | State::AwaitTurn { .. } => {
                operation.cancelled = true;
            }
            State::Posted { pattern, buffer } if !operation.cancelled => {
                let pattern = *pattern;
                let buffer = std::mem::replace(buffer, Buffer::phantom(0));
                let found = self.matching.withdraw(&pattern, token);
                debug_assert!(found, "a posted receive is in the queue");
                self.finish_cancelled(token, buffer);
            }
            State::Queued(message) | State::AwaitCts(message) | State::AwaitAck(message) => {
                let (peer, envelope) = (message.peer, message.envelope);
                self.cancel_send(channel, token, peer, envelope);
            }
            _ => {}
        }
    }

    /// Returns true if a model checker picks whether an operation is cancelled or ends as ever: a
    /// receive that the program does not know to be over.
    pub(crate) fn may_lose_cancel(&self, token: Token) -> bool {
        let is_cancelled = self.operations[token].cancelled;
        let record = self.causality().filter(|_| !is_cancelled);
        record.is_some_and(|record| record.number_of_receive(token) > 0 && !record.is_told(token))
    }

    /// A message will meet a receive that is cancelled.
    pub(crate) fn let_complete(&mut self, token: Token) {
        self.actions += 1;
        self.operations[token].cancelled = true;
    }

    fn cancel_send(&mut self, channel: &dyn Channel, send: Token, peer: u32, envelope: Envelope) {
        if FlowLayer::new(self, channel).withdraw_queued(peer, send) {
            return self.finish_cancelled_send(send);
        }
        let may_come_back = !matches!(self.operations.state(send), State::Queued(_));
        let operation = &mut self.operations[send];
        if may_come_back && !operation.cancelled {
            operation.cancelled = true;
            if self.defects.has(ProtocolDefect::CancelWithoutAnswer) {
                self.finish_cancelled_send(send);
            }
            let header = PacketHeader::CancelRequest { envelope, send };
            self.post_control(channel, peer, header);
        }
    }

    /// Handles the request of a sender that wants its message back.
    pub(super) fn handle_cancel_request(
        &mut self,
        channel: &dyn Channel,
        envelope: Envelope,
        send: Token,
    ) -> bool {
        choose(channel);
        self.take_back(channel);
        let Some(message) = self.matching.withdraw_message(&envelope, send) else {
            return false;
        };
        if self.defects.has(ProtocolDefect::CancelKeepsMessage) {
            let content = message.content.clone();
            self.matching.arrive(envelope, content);
        }
        self.discard(channel, &message.content, envelope.source);
        let header = PacketHeader::CancelResponse { send };
        self.post_control(channel, envelope.source, header);
        true
    }

    /// Frees the resources of a message that no receive will get.
    fn discard(&mut self, channel: &dyn Channel, content: &UnexpectedContent, source: u32) {
        match content {
            UnexpectedContent::Eager(_)
            | UnexpectedContent::Detached(_)
            | UnexpectedContent::Rts { .. } => {}
            UnexpectedContent::Held { length, assembly } => {
                FlowLayer::new(self, channel).discard_held(*assembly, source, *length);
            }
            UnexpectedContent::Synchronous { message, .. }
            | UnexpectedContent::Unready(message) => {
                self.discard(channel, message, source);
            }
        }
    }

    /// The receiver has given a message back.
    pub(super) fn handle_cancel_response(&mut self, send: Token) {
        debug_assert!(
            matches!(
                self.operations.state(send),
                State::AwaitCts(_) | State::AwaitAck(_)
            ) && self.operations[send].cancelled,
            "what was given back was asked back, and not received"
        );
        self.finish_cancelled_send(send);
    }

    fn finish_cancelled_send(&mut self, send: Token) {
        let operation = &mut self.operations[send];
        let (State::Queued(message) | State::AwaitCts(message) | State::AwaitAck(message)) =
            std::mem::replace(&mut operation.state, State::Elapsing)
        else {
            unreachable!("only a send that waits is cancelled");
        };
        self.sends -= 1;
        self.finish_cancelled(send, message.buffer);
    }

    pub(super) fn finish_cancelled(&mut self, token: Token, buffer: Buffer) {
        let cancelled = Status {
            cancelled: true,
            ..NOTHING
        };
        self.finish(token, Ok(cancelled), buffer);
    }

    /// Starts a partitioned send without ready partitions.
    pub(crate) fn await_partitions(&mut self, left: u32, location: SourceLocation) -> Token {
        self.insert(State::Partitions { left }, location)
    }

    /// Ends the wait for partitions: all are ready, and another operation follows.
    pub(crate) fn end_partitions(&mut self, token: Token) {
        self.operations.remove(token);
    }

    /// Returns an operation that is over before it begins.
    pub(crate) fn finished(
        &mut self,
        status: Status,
        buffer: Buffer,
        location: SourceLocation,
    ) -> Token {
        let token = self.finished_early(status, buffer, location);
        self.note_causality(|record| record.note_told(token));
        token
    }

    /// Returns an operation that is over before it begins here, but later in other libraries: a
    /// test may return *no*.
    pub(crate) fn finished_early(
        &mut self,
        status: Status,
        buffer: Buffer,
        location: SourceLocation,
    ) -> Token {
        let token = self.insert(State::Elapsing, location);
        self.finish(token, Ok(status), buffer);
        token
    }

    /// Receives a message that was extracted.
    pub(crate) fn receive_extracted(
        &mut self,
        channel: &dyn Channel,
        message: UnexpectedMessage,
        buffer: Buffer,
        location: SourceLocation,
    ) -> Token {
        let waits = State::AwaitPost {
            pattern: Pattern::of(&message.envelope),
            buffer,
            message: Some(Box::new(message)),
        };
        let receive = self.insert(waits, location);
        self.in_turn(channel, receive);
        receive
    }

    /// Gives back an extracted message that was not received: it waits again, behind the messages
    /// that have arrived.
    pub(crate) fn give_back(&mut self, message: UnexpectedMessage) {
        self.cold.get_or_insert_default().returned.push(message);
    }

    /// Lets messages that were given back meet receives.
    #[inline]
    pub(crate) fn take_back(&mut self, channel: &dyn Channel) {
        if self.has_returned() {
            self.take_all_back(channel);
        }
    }

    #[cold]
    fn take_all_back(&mut self, channel: &dyn Channel) {
        let cold = self.cold.get_or_insert_default();
        let returned = std::mem::take(&mut cold.returned);
        for UnexpectedMessage {
            envelope, content, ..
        } in returned
        {
            self.events += 1;
            if let Some((receive, content)) = self.matching.arrive(envelope, content) {
                self.matched(channel, receive, envelope, content);
            }
        }
    }
}
