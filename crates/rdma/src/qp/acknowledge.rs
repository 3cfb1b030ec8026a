//! Responses: acknowledgements, data of reads, results of atomics. IBA 9.7.5.1 and 9.9.2.3.
//!
//! An acknowledgement counts for all sends and writes before it. If an acknowledgement skips a read
//! or an atomic, the response was lost, and all requests from there on are sent again.

use super::retry::next_response_length;
use super::send_queue::SendQueue;
use super::{Defect, RcQueuePair};
use crate::adapter::AdapterParts;
use crate::wire::{Aeth, CREDITS, Extension, Nak, Opcode, Packet, Syndrome};
use crate::{Psn, WcStatus};

impl RcQueuePair {
    /// Takes a response.
    pub(super) fn handle_response(&mut self, parts: &mut AdapterParts<'_>, packet: &Packet<'_>) {
        let psn = packet.bth().psn;
        let is_known = psn.ahead_of(self.send.unacked) >= 0 && psn.ahead_of(self.send.sent_end) < 0;
        match *packet.extension() {
            Extension::Aeth(aeth) if packet.bth().opcode == Opcode::RcAcknowledge => {
                self.handle_acknowledge(parts, (psn, is_known), aeth);
            }
            _ if !is_known => {}
            Extension::AtomicAck(aeth, original) => {
                self.send.take_credits(aeth);
                self.handle_data(parts, psn, &original.to_ne_bytes(), false);
            }
            Extension::Aeth(aeth) => {
                self.send.take_credits(aeth);
                self.handle_data(parts, psn, packet.payload(), true);
            }
            _ => self.handle_data(parts, psn, packet.payload(), true),
        }
        self.end_failed(parts);
    }

    fn handle_acknowledge(
        &mut self,
        parts: &mut AdapterParts<'_>,
        (psn, is_known): (Psn, bool),
        aeth: Aeth,
    ) {
        // Credits may be updated by an acknowledgement of what was acknowledged before.
        if is_known || psn.plus(1) == self.send.unacked {
            self.send.take_credits(aeth);
        }
        if !is_known {
            return;
        }
        match aeth.syndrome {
            Syndrome::Ack(_) => {
                if parts.has_defect(Defect::AckPassesRead) {
                    while self.send.entries.front().is_some_and(|entry| {
                        entry.has_started() && entry.end_psn().ahead_of(psn.plus(1)) <= 0
                    }) {
                        let end = self.send.entries[0].end_psn();
                        self.complete_oldest_send(parts, WcStatus::Success);
                        self.send.advance_unacked(end);
                    }
                }
                self.acknowledge_before(parts, psn.plus(1));
            }
            Syndrome::RnrNak(timer) => self.handle_rnr_nak(parts, psn, timer),
            Syndrome::Nak(Nak::SequenceError) => self.handle_sequence_nak(parts, psn),
            Syndrome::Nak(Nak::InvalidRequest | Nak::InvalidRdRequest) => {
                self.handle_fatal_nak(parts, psn, WcStatus::RemInvReqErr);
            }
            Syndrome::Nak(Nak::RemoteAccess) => {
                self.handle_fatal_nak(parts, psn, WcStatus::RemAccessErr);
            }
            Syndrome::Nak(Nak::RemoteOperational) => {
                self.handle_fatal_nak(parts, psn, WcStatus::RemOpErr);
            }
        }
    }

    /// Completes the sends and writes before `limit`. Returns false, after a retry, if a read or an
    /// atomic before `limit` has no response yet.
    pub(super) fn acknowledge_before(&mut self, parts: &mut AdapterParts<'_>, limit: Psn) -> bool {
        let before = self.send.unacked;
        let mut is_skipped = false;
        while let Some(entry) = self.send.entries.front() {
            if !entry.has_started() || entry.failure.is_some() {
                break;
            }
            let end = entry.end_psn();
            if entry.operation.returns_data() {
                let expected = entry.first_psn.plus(entry.responses);
                is_skipped = limit.ahead_of(expected) > 0;
                break;
            }
            if end.ahead_of(limit) > 0 {
                self.send.advance_unacked(limit);
                break;
            }
            self.complete_oldest_send(parts, WcStatus::Success);
            self.send.advance_unacked(end);
        }
        if self.send.unacked != before {
            self.note_progress(parts);
        }
        if is_skipped {
            self.retry_skipped();
        }
        !is_skipped
    }

    /// Takes the data of a read or of an atomic.
    fn handle_data(&mut self, parts: &mut AdapterParts<'_>, psn: Psn, data: &[u8], is_read: bool) {
        if !self.acknowledge_before(parts, psn) {
            return;
        }
        let mtu = self.mtu();
        let Some(entry) = self.send.entries.front_mut() else {
            return;
        };
        let is_expected = entry.has_started()
            && entry.operation.returns_data()
            && entry.first_psn.plus(entry.responses) == psn;
        if !is_expected {
            return;
        }
        let is_atomic = !matches!(entry.operation, crate::Operation::RdmaRead { .. });
        if is_atomic == is_read || data.len() != next_response_length(entry, mtu) {
            self.send.entries[0].failure = Some(WcStatus::BadRespErr);
            return;
        }
        let offset = u64::from(entry.responses) * u64::from(mtu);
        let scattered = parts
            .regions
            .scatter_bytes(entry.data.sges(), self.init.pd, offset, data);
        if scattered.is_err() {
            entry.failure = Some(WcStatus::LocProtErr);
            return;
        }
        entry.responses += 1;
        let is_complete = entry.responses == entry.psn_count;
        self.send.advance_unacked(psn.plus(1));
        if is_complete {
            self.complete_oldest_send(parts, WcStatus::Success);
            if parts.has_defect(Defect::ResponseCompletesNext) {
                self.complete_oldest_send(parts, WcStatus::Success);
            }
        }
        self.note_progress(parts);
    }
}

impl SendQueue {
    /// Takes the credits of an acknowledgement: the newest message that may start is MSN plus the
    /// number of receives. IBA 9.7.7.2.5.
    fn take_credits(&mut self, aeth: Aeth) {
        let Syndrome::Ack(code) = aeth.syndrome else {
            return;
        };
        let Some(&credits) = CREDITS.get(usize::from(code)) else {
            self.limit_message = None;
            return;
        };
        let limit = Psn::new(aeth.msn).plus(u32::from(credits));
        let is_newer = |old: u32| limit.ahead_of(Psn::new(old)) > 0;
        if self.limit_message.is_none_or(is_newer) {
            self.limit_message = Some(limit.get());
        }
    }
}
