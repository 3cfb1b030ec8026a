//! Operations without a connection, or after its loss: started and later operations with a lost
//! rank fail.
//!
//! A receive from any source continues to wait, because another rank may send. Messages that had
//! arrived before the loss can be received.
//!
//! *Not modelled*: a message that is being forwarded in parts when its source is lost stays
//! unfinished at its destination, and the rank between them stays in its finalize.

use std::collections::BTreeMap;

use super::{FlowLayer, OperationState, OutboundSend, ProtocolEngine};
use crate::channel::{Channel, ChannelEvent, Packet, PacketHeader, Token};
use crate::connection::Failure;
use crate::protocol::flow_control::{Hold, PacketSlot};
use crate::{Buffer, Error};

/// The lost ranks, and the reasons; there are none unless ranks get connected.
#[derive(Clone, Debug, Default)]
pub(super) struct LostRanks(Option<Box<Reasons>>);

type Reasons = BTreeMap<u32, Failure>;

impl LostRanks {
    /// Returns true if no rank is lost.
    #[inline]
    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Returns true if a rank is lost.
    #[inline]
    pub(super) fn contains_rank(&self, peer: u32) -> bool {
        self.why_lost(peer).is_some()
    }

    #[inline]
    fn why_lost(&self, peer: u32) -> Option<Failure> {
        self.0.as_ref()?.get(&peer).copied()
    }

    /// Adds a rank. Returns the first reason for the loss: later ones are consequences.
    fn add_rank(&mut self, peer: u32, why: Failure) -> Failure {
        *self.0.get_or_insert_default().entry(peer).or_insert(why)
    }
}

const fn error(peer: u32, why: Failure) -> Error {
    Error::Connection {
        rank: peer as usize,
        why,
    }
}

impl ProtocolEngine {
    /// Moves on by an event that comes only where ranks get connected.
    pub(super) fn handle_connection(&mut self, channel: &dyn Channel, event: ChannelEvent) {
        match event {
            ChannelEvent::Lost { peer } => self.lose(channel, peer, Failure::PeerLost),
            ChannelEvent::Failed { peer, why } => self.lose(channel, peer, why),
            ChannelEvent::Refused { peer, packet, why } => {
                self.refused(channel, peer, &packet, why);
            }
            other => unreachable!("the layer below answers {other:?}"),
        }
    }

    /// Everything that waits for a rank fails.
    fn lose(&mut self, channel: &dyn Channel, peer: u32, why: Failure) {
        let why = self.lost.add_rank(peer, why);
        let concerned = |state: &OperationState| match state {
            OperationState::AwaitCts(to)
            | OperationState::AwaitAck(to)
            | OperationState::Queued(to)
            | OperationState::Sending(to) => to.peer == peer,
            OperationState::Posted { pattern, .. } => pattern.source == Some(peer),
            OperationState::AwaitData { envelope, .. } => envelope.source == peer,
            OperationState::Remote(call) => call.peers.contains(&peer),
            _ => false,
        };
        let all = self.requests.operations.iter_places();
        let concerned: Vec<Token> = all
            .filter(|(_, operation)| concerned(&operation.state))
            .map(|(token, _)| token)
            .collect();
        self.lose_flow(channel, peer, &concerned);
        for token in concerned {
            self.fail(token, error(peer, why));
        }
    }

    /// With limits: frees the resources that the rank held.
    fn lose_flow(&mut self, channel: &dyn Channel, peer: u32, operations: &[Token]) {
        if self.flow.is_none() {
            return;
        }
        self.flow(channel).lose(peer, operations, channel.now());
        let all = self.requests.operations.iter_places();
        let packets = all.filter_map(|(token, operation)| {
            let OperationState::Packet(slot) = operation.state else {
                return None;
            };
            (slot.peer == peer).then_some((token, slot))
        });
        for (token, slot) in packets.collect::<Vec<(Token, PacketSlot)>>() {
            self.requests.operations.remove(token);
            let hold = match slot.hold {
                // The connection that kept it is forgotten.
                Hold::Reserved => Hold::Nothing,
                other => other,
            };
            let slot = PacketSlot {
                hold,
                operation: None,
                ..slot
            };
            self.flow(channel).handle_left(slot, channel.now());
        }
        FlowLayer::new(self, channel).apply_effects();
    }

    /// Ends an operation that is under way.
    fn fail(&mut self, token: Token, error: Error) {
        if let OperationState::Posted { pattern, .. } = self.requests[token].state {
            let found = self.matching.withdraw_receive(&pattern, token);
            debug_assert!(found, "a posted receive is in the queue");
        }
        if let OperationState::Sending(OutboundSend { envelope, .. }) = self.requests[token].state {
            self.windows
                .note_put_left(&self.requests[token], envelope.context);
        }
        self.requests.sends -= u32::from(crate::protocol::waiting::is_send(
            self.requests.operations.state(token),
        ));
        let operation = &mut self.requests[token];
        let buffer = match &mut operation.state {
            OperationState::AwaitCts(to)
            | OperationState::AwaitAck(to)
            | OperationState::Queued(to)
            | OperationState::Sending(to) => &mut to.buffer,
            OperationState::Posted { buffer, .. } | OperationState::AwaitData { buffer, .. } => {
                buffer
            }
            OperationState::Remote(call) => &mut call.buffer,
            _ => unreachable!("only what waits for a rank fails"),
        };
        let buffer = std::mem::replace(buffer, Buffer::phantom(0));
        self.requests.end_operation(token, Err(error), buffer);
    }

    /// A packet could not leave.
    fn refused(&mut self, channel: &dyn Channel, peer: u32, packet: &Packet, why: Failure) {
        if why == Failure::PeerLost || self.flow.is_some() {
            // With limits, what a message has left behind would never come back.
            return self.lose(channel, peer, Failure::PeerLost);
        }
        let token = match packet.header {
            PacketHeader::Rts { send, .. } | PacketHeader::Synchronous { send, .. } => Some(send),
            // The send fails by itself.
            PacketHeader::CancelRequest { .. } => None,
            PacketHeader::Cts { receive, .. } => Some(receive),
            PacketHeader::Rma {
                call, operation, ..
            } if call.is_answered() => Some(operation),
            _ => packet.notify,
        };
        if let Some(token) = token {
            self.fail(token, error(peer, why));
        }
    }

    /// A send to a lost rank.
    pub(super) fn fail_send(&mut self, send: Token, peer: u32, buffer: Buffer) {
        self.requests.sends -= 1;
        let error = error(peer, self.lost.why_lost(peer).unwrap_or(Failure::PeerLost));
        self.requests.end_operation(send, Err(error), buffer);
    }

    /// Fails a receive that has just been posted, and may have matched, if its source is lost and
    /// the message has not come.
    pub(super) fn check_source(&mut self, receive: Token) {
        let source = match self.requests.operations.state(receive) {
            OperationState::Posted { pattern, .. } => pattern.source,
            OperationState::AwaitData { envelope, .. } => Some(envelope.source),
            _ => None,
        };
        if let Some(source) = source
            && let Some(why) = self.lost.why_lost(source)
        {
            self.fail(receive, error(source, why));
        }
    }
}
