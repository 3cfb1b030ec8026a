//! Running the machine that receives: its steps, and the resources that used-up packets return.

use super::FlowControl;
use crate::channel::{Packet, PacketHeader, Token};
use crate::protocol::defect::ProtocolDefect;
use crate::protocol::machine::receive::{ROWS, ReceiveAction, ReceiveEvent, ReceiveState};
use crate::protocol::machine::take_transition;

impl FlowControl {
    /// Executes a step of the machine of a connection. Returns the action.
    pub(crate) fn step(&mut self, peer: u32, event: ReceiveEvent, now: f64) -> ReceiveAction {
        let state = self.connection(peer, now).receive;
        let row = take_transition(ROWS, state, event, &mut self.taken.receive);
        self.connection(peer, now).receive = row.to;
        row.action
    }

    /// Notes the information of a packet about its connection, before the packet is handled.
    pub(crate) fn account_packet(&mut self, source: u32, packet: &Packet, now: f64) {
        if let Some(returned) = &packet.returned {
            self.apply_credit_return(source, returned, now);
        }
        let event = event_of(&packet.header);
        self.step(source, event, now);
        let uses_credit = !matches!(
            event,
            ReceiveEvent::Credits | ReceiveEvent::Eager | ReceiveEvent::EagerData
        );
        if uses_credit {
            self.consume_credits(source, 1, false, now);
        }
    }

    /// Tells the machine of a connection whether a receive or a message has been found.
    pub(crate) fn note_found(&mut self, source: u32, is_found: bool, now: f64) {
        let event = if is_found {
            ReceiveEvent::Found
        } else {
            ReceiveEvent::NotFound
        };
        self.step(source, event, now);
    }

    /// The eager message of which more packets will come on a connection.
    pub(crate) fn incoming(&mut self, peer: u32, now: f64) -> &mut Option<Token> {
        &mut self.connection(peer, now).incoming
    }

    /// Returns true if an unexpected eager message has begun to arrive on a connection and its next
    /// packet has not come.
    pub(crate) fn is_between_packets(&self, peer: u32) -> bool {
        let connection = self.connections.get(&peer);
        connection.is_some_and(|connection| connection.receive == ReceiveState::AwaitUnexpectedData)
    }

    /// This number of packets of a peer is used up.
    pub(crate) fn consume_credits(&mut self, peer: u32, packets: u32, eager: bool, now: f64) {
        let twice = self.defects.has(ProtocolDefect::CreditTwice);
        let returned = &mut self.connection(peer, now).returned;
        returned.credits += if twice { 2 * packets } else { packets };
        returned.eager_packets += if eager { packets } else { 0 };
    }

    /// Notes that an eager message of a peer has been matched.
    pub(crate) fn met(&mut self, peer: u32, length: u64, now: f64) {
        let returned = &mut self.connection(peer, now).returned;
        returned.messages += 1;
        returned.bytes += length;
    }

    /// Takes memory for an unexpected message; false if there is not so much.
    pub(crate) fn reserve_memory(&mut self, length: u64) -> bool {
        let memory = self.memory.saturating_add(length);
        if self.limits.unexpected.is_some_and(|limit| memory > limit) {
            return false;
        }
        self.memory = memory;
        self.memory_peak = self.memory_peak.max(memory);
        true
    }

    pub(crate) fn free_memory(&mut self, length: u64) {
        self.memory = self
            .memory
            .checked_sub(length)
            .expect("only what was taken is freed (M-13)");
    }
}

/// Returns the event of a packet for the machine that receives.
fn event_of(header: &PacketHeader) -> ReceiveEvent {
    match header {
        PacketHeader::Credits => ReceiveEvent::Credits,
        PacketHeader::Cts { .. } => ReceiveEvent::Cts,
        PacketHeader::Data { .. } | PacketHeader::DataPart { .. } | PacketHeader::Rma { .. } => {
            ReceiveEvent::Data
        }
        PacketHeader::Rts { .. } => ReceiveEvent::Rts,
        PacketHeader::Ack { .. } => ReceiveEvent::Ack,
        PacketHeader::CancelRequest { .. } => ReceiveEvent::CancelRequest,
        PacketHeader::CancelResponse { .. } => ReceiveEvent::CancelResponse,
        PacketHeader::Eager { .. }
        | PacketHeader::Synchronous { .. }
        | PacketHeader::EagerFirst { .. } => ReceiveEvent::Eager,
        PacketHeader::EagerNext { .. } => ReceiveEvent::EagerData,
        PacketHeader::Detached { .. } | PacketHeader::Redelivery { .. } => {
            unreachable!("only where nothing is limited")
        }
        // The layer below answers these.
        PacketHeader::Socket { .. } => unreachable!(),
    }
}
