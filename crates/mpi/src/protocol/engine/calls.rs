//! Rarer calls: operations that are cancelled, messages that a matched
//! probe has taken, and operations that are over before they begin.

use super::{FlowLayer, OperationState, ProtocolEngine};
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
        self.requests.actions += 1;
        let record = self.requests.rare.causality();
        if record.is_none_or(|record| record.number_of_receive(token) == 0) {
            choose(channel);
        }
        let operation = &mut self.requests[token];
        let place = &mut operation.state;
        match place {
            OperationState::AwaitPost { message: None, .. } | OperationState::AwaitTurn { .. } => {
                operation.cancelled = true;
            }
            OperationState::Posted { pattern, buffer } if !operation.cancelled => {
                let pattern = *pattern;
                let buffer = std::mem::replace(buffer, Buffer::phantom(0));
                let found = self.matching.withdraw_receive(&pattern, token);
                debug_assert!(found, "a posted receive is in the queue");
                self.requests.end_cancelled(token, buffer);
            }
            OperationState::Queued(message)
            | OperationState::AwaitCts(message)
            | OperationState::AwaitAck(message) => {
                let (peer, envelope) = (message.peer, message.envelope);
                self.cancel_send(channel, token, peer, envelope);
            }
            _ => {}
        }
    }

    fn cancel_send(&mut self, channel: &dyn Channel, send: Token, peer: u32, envelope: Envelope) {
        if FlowLayer::new(self, channel).withdraw_queued(peer, send) {
            return self.requests.end_cancelled_send(send);
        }
        let may_come_back = !matches!(self.requests[send].state, OperationState::Queued(_));
        let operation = &mut self.requests[send];
        if may_come_back && !operation.cancelled {
            operation.cancelled = true;
            if self.defects.has(ProtocolDefect::CancelWithoutAnswer) {
                self.requests.end_cancelled_send(send);
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

    /// Receives a message that was extracted.
    pub(crate) fn receive_extracted(
        &mut self,
        channel: &dyn Channel,
        message: UnexpectedMessage,
        buffer: Buffer,
        location: SourceLocation,
    ) -> Token {
        let waits = OperationState::AwaitPost {
            pattern: Pattern::from_envelope(&message.envelope),
            buffer,
            message: Some(Box::new(message)),
        };
        let receive = self.requests.insert(waits, location);
        self.in_turn(channel, receive);
        receive
    }

    /// Lets messages that were given back meet receives.
    #[inline]
    pub(crate) fn take_back(&mut self, channel: &dyn Channel) {
        if self.requests.rare.has_returned() {
            self.take_all_back(channel);
        }
    }

    #[cold]
    fn take_all_back(&mut self, channel: &dyn Channel) {
        let returned = std::mem::take(&mut self.requests.rare.insert_parts().returned);
        for UnexpectedMessage {
            envelope, content, ..
        } in returned
        {
            self.requests.events += 1;
            if let Some((receive, content)) = self.matching.arrive(envelope, content) {
                self.matched(channel, receive, envelope, content);
            }
        }
    }
}
