//! Requests that were executed before: no duplicate is executed again, and each one is answered
//! again. IBA 9.7.5.1.2 to 9.7.5.1.4.

use super::receive_queue::{Responder, Response, SavedRequest};
use super::{Defect, RcQueuePair};
use crate::Psn;
use crate::adapter::AdapterParts;
use crate::wire::{Extension, Packet, RequestKind, Reth, Syndrome};

impl RcQueuePair {
    /// Takes a request packet that lies before the expected one.
    pub(super) fn handle_duplicate(&mut self, parts: &mut AdapterParts<'_>, packet: &Packet<'_>) {
        let psn = packet.bth().psn;
        let Some((kind, _)) = packet.bth().opcode.request() else {
            return;
        };
        if self.duplicate_by_defect(parts, packet, kind) {
            return;
        }
        match (kind, packet.extension()) {
            (RequestKind::Send | RequestKind::Write, _) if packet.bth().ack_request => {
                let last = self.responder.expected.plus(Psn::MODULUS - 1);
                let credits = self.responder.credit_code(parts);
                self.responder.acknowledge(last, Syndrome::Ack(credits));
            }
            (RequestKind::Read, Extension::Reth(reth)) => self.repeat_read(psn, *reth),
            (RequestKind::CompareSwap | RequestKind::FetchAdd, _) => {
                self.responder.repeat_atomic(psn);
            }
            _ => {}
        }
    }

    /// Answers the rest of a read again, if the rest is part of a saved read.
    fn repeat_read(&mut self, psn: Psn, reth: Reth) {
        let mtu = u64::from(self.mtu());
        let part_of = |saved: &SavedRequest| match *saved {
            SavedRequest::Read {
                psn: first,
                count,
                reth: whole,
                msn,
            } => {
                let skipped = u32::try_from(psn.ahead_of(first)).ok()?;
                let bytes = u64::from(skipped) * mtu;
                let fits = skipped < count
                    && reth.rkey == whole.rkey
                    && reth.address == whole.address.wrapping_add(bytes)
                    && u64::from(reth.length) + bytes == u64::from(whole.length);
                fits.then_some(msn)
            }
            SavedRequest::Atomic { .. } => None,
        };
        if let Some(msn) = self.responder.saved.iter().find_map(part_of) {
            self.responder.repeat(Response::Read {
                psn,
                rest: reth,
                is_first: true,
                msn,
                is_repeat: true,
            });
        }
    }

    /// Handles a duplicate wrongly, if a seeded defect says so.
    fn duplicate_by_defect(
        &mut self,
        parts: &mut AdapterParts<'_>,
        packet: &Packet<'_>,
        kind: RequestKind,
    ) -> bool {
        let expected = self.responder.expected;
        match (kind, packet.extension()) {
            _ if parts.has_defect(Defect::DuplicateDropped) => true,
            (RequestKind::Send | RequestKind::Write, _)
                if parts.has_defect(Defect::DuplicateSendExecuted) =>
            {
                self.responder.expected = packet.bth().psn;
                self.handle_request(parts, packet);
                self.responder.expected = expected;
                true
            }
            (RequestKind::Read, Extension::Reth(reth))
                if parts.has_defect(Defect::DuplicateReadFromStart) =>
            {
                let start = |saved: &SavedRequest| match *saved {
                    SavedRequest::Read { reth: whole, .. } => Some(whole.address),
                    SavedRequest::Atomic { .. } => None,
                };
                let Some(address) = self.responder.saved.iter().find_map(start) else {
                    return false;
                };
                let (psn, msn) = (packet.bth().psn, self.responder.msn);
                self.responder
                    .queue_data(psn, Reth { address, ..*reth }, msn);
                true
            }
            (RequestKind::CompareSwap | RequestKind::FetchAdd, Extension::AtomicEth(atomic))
                if parts.has_defect(Defect::DuplicateAtomicExecuted) =>
            {
                let (psn, msn) = (packet.bth().psn, self.responder.msn);
                if let Ok(original) = self.execute_atomic_on_memory(parts, kind, *atomic) {
                    self.responder.queue_value(psn, original, msn);
                }
                true
            }
            _ => false,
        }
    }
}

impl Responder {
    /// Answers an atomic operation again with the saved original value.
    fn repeat_atomic(&mut self, psn: Psn) {
        let same = |saved: &SavedRequest| match *saved {
            SavedRequest::Atomic {
                psn: first,
                original,
                msn,
            } if first == psn => Some(Response::Atomic {
                psn,
                original,
                msn,
                is_repeat: true,
            }),
            _ => None,
        };
        if let Some(response) = self.saved.iter().find_map(same) {
            self.repeat(response);
        }
    }
}
