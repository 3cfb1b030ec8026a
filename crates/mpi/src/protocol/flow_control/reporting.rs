//! Running the machine that reports the used-up packets to the peer.

use super::connection::{FlowControlledConnection, Hold, PacketSlot};
use super::sending::take_from;
use super::{FlowControl, SharedResources};
use crate::channel::{CreditReturn, PacketHeader};
use crate::protocol::defect::{ProtocolDefect, ProtocolDefects};
use crate::protocol::machine::credits::{CreditAction, CreditEvent, CreditState, ROWS};
use crate::protocol::machine::take_transition;
use crate::{Buffer, Limits};

impl FlowControl {
    pub(super) fn run_credits(&mut self, peer: u32) {
        let Self {
            limits,
            shared,
            connections,
            taken,
            defects,
            ..
        } = self;
        let Some(connection) = connections.get_mut(&peer) else {
            return;
        };
        while let Some(event) = connection.observe_report(limits, shared.buffers, *defects) {
            let row = take_transition(ROWS, connection.report, event, &mut taken.credits);
            // What is posted takes everything along: the state is the next one already.
            connection.report = row.to;
            if row.action == CreditAction::PostUpdate {
                connection.post_update(shared, &mut taken.credits);
            }
        }
    }
}

impl FlowControlledConnection {
    fn observe_report(
        &self,
        limits: &Limits,
        free: Option<u32>,
        defects: ProtocolDefects,
    ) -> Option<CreditEvent> {
        let reserved = self.reserved > 0 && !defects.has(ProtocolDefect::UpdatesNotReserved);
        let has_buffer = reserved || free != Some(0);
        let tells = !defects.has(ProtocolDefect::NoUpdates);
        match self.report {
            CreditState::Quiet if self.returned.is_nothing() => None,
            CreditState::Quiet | CreditState::Owing if tells && self.owes_much(limits) => {
                Some(CreditEvent::Many)
            }
            CreditState::Quiet => Some(CreditEvent::Few),
            CreditState::Owing => None,
            CreditState::Report if has_buffer => Some(CreditEvent::Free),
            CreditState::Report => Some(CreditEvent::NoneFree),
            CreditState::AwaitBuf => has_buffer.then_some(CreditEvent::BuffersAvailable),
        }
    }

    /// Returns true if the report is so large that the peer may be waiting for it.
    fn owes_much(&self, limits: &Limits) -> bool {
        let half =
            |is: u64, limit: Option<u64>| limit.is_some_and(|limit| is > 0 && is >= limit / 2);
        let credits = self.returned.credits;
        limits.window().is_some()
            && (credits >= limits.report_threshold() || self.urgent && credits > 0)
            || half(
                self.returned.messages.into(),
                limits.eager_messages.map(u64::from),
            )
            || half(self.returned.bytes, limits.eager_bytes)
    }

    fn post_update(&mut self, shared: &mut SharedResources, reports: &mut [u64]) {
        let hold = if shared.buffers.is_none() {
            Hold::Nothing
        } else if self.reserved > 0 {
            self.reserved -= 1;
            Hold::Reserved
        } else {
            take_from(&mut shared.buffers, 1);
            Hold::Pool
        };
        let slot = PacketSlot {
            peer: self.peer,
            hold,
            operation: None,
        };
        self.post_packet(
            shared,
            PacketHeader::Credits,
            Buffer::phantom(0),
            slot,
            reports,
        );
    }

    /// Takes the pending report, for a packet that leaves anyway.
    pub(super) fn piggyback(&mut self, reports: &mut [u64]) -> Option<Box<CreditReturn>> {
        if self.returned.is_nothing() {
            return None;
        }
        self.urgent = false;
        if matches!(self.report, CreditState::Owing | CreditState::AwaitBuf) {
            let row = take_transition(ROWS, self.report, CreditEvent::PiggyBacked, reports);
            self.report = row.to;
        }
        Some(Box::new(std::mem::replace(
            &mut self.returned,
            CreditReturn::NOTHING,
        )))
    }
}
