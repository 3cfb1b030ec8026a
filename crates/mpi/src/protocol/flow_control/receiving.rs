//! Running the machine that receives: its steps, and the resources that used-up packets return.

use super::FlowControl;
use crate::channel::Token;
use crate::protocol::defect::ProtocolDefect;
use crate::protocol::machine::receive::{Action, Event, ROWS, State};
use crate::protocol::machine::take;

impl FlowControl {
    /// Executes a step of the machine of a connection. Returns the action.
    pub(crate) fn step(&mut self, peer: u32, event: Event, now: f64) -> Action {
        let state = self.connection(peer, now).receive;
        let row = take(ROWS, state, event, &mut self.taken.receive);
        self.connection(peer, now).receive = row.to;
        row.action
    }

    /// The eager message of which more packets will come on a connection.
    pub(crate) fn incoming(&mut self, peer: u32, now: f64) -> &mut Option<Token> {
        &mut self.connection(peer, now).incoming
    }

    /// Returns true if an unexpected eager message has begun to arrive on a connection and its next
    /// packet has not come.
    pub(crate) fn is_between_packets(&self, peer: u32) -> bool {
        let connection = self.connections.get(&peer);
        connection.is_some_and(|connection| connection.receive == State::AwaitUnexpectedData)
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
