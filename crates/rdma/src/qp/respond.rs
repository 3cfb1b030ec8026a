//! Packets of responses, first in, first out: the data of a long read leave before the response of
//! the next request. IBA 9.7.5.1, C9-027 to C9-030.

use super::receive_queue::Response;
use super::{Defect, RcQueuePair, transmit};
use crate::Psn;
use crate::adapter::AdapterParts;
use crate::wire::{Aeth, Bth, Extension, Nak, Opcode, Reth, Syndrome};

impl RcQueuePair {
    /// Returns the headers of the next response packet, and appends the payload to `payload`.
    pub(super) fn next_response(
        &mut self,
        parts: &mut AdapterParts<'_>,
        payload: &mut Vec<u8>,
    ) -> Option<(Bth, Extension)> {
        let responses = &mut self.responder.responses;
        if parts.has_defect(Defect::AtomicResponseOvertaken)
            && matches!(responses.front(), Some(Response::Atomic { .. }))
        {
            responses.rotate_left(1);
        }
        let response = responses.pop_front()?;
        match response {
            Response::Ack { psn, syndrome, msn } => {
                let aeth = aeth(syndrome, msn, parts);
                Some((
                    self.response(Opcode::RcAcknowledge, psn),
                    Extension::Aeth(aeth),
                ))
            }
            Response::Atomic {
                psn, original, msn, ..
            } => {
                let aeth = aeth(Syndrome::Ack(self.responder.credit_code(parts)), msn, parts);
                let extension = Extension::AtomicAck(aeth, original);
                Some((self.response(Opcode::RcAtomicAcknowledge, psn), extension))
            }
            Response::Read {
                psn,
                rest,
                is_first,
                msn,
                is_repeat,
            } => {
                let flags = (is_first, is_repeat);
                self.next_read_response(parts, payload, (psn, rest), flags, msn)
            }
        }
    }

    fn next_read_response(
        &mut self,
        parts: &mut AdapterParts<'_>,
        payload: &mut Vec<u8>,
        (psn, rest): (Psn, Reth),
        (is_first, is_repeat): (bool, bool),
        msn: u32,
    ) -> Option<(Bth, Extension)> {
        let length = rest.length.min(self.mtu());
        let place = (rest.address, length);
        let Ok(bytes) = parts.regions.remote(rest.rkey, self.init.pd, place) else {
            // The region was deregistered after the request was accepted.
            self.responder.responses.clear();
            self.refuse_request(parts, psn, Nak::RemoteAccess, None);
            return self.next_response(parts, payload);
        };
        payload.extend_from_slice(bytes);
        let is_last = length == rest.length;
        let opcode = match (is_first, is_last) {
            (true, true) => Opcode::RcReadResponseOnly,
            (true, false) => Opcode::RcReadResponseFirst,
            (false, false) => Opcode::RcReadResponseMiddle,
            (false, true) => Opcode::RcReadResponseLast,
        };
        if !is_last {
            self.responder.responses.push_front(Response::Read {
                psn: psn.plus(1),
                rest: transmit::behind(rest, length),
                is_first: false,
                msn,
                is_repeat,
            });
            if parts.has_defect(Defect::ResponsesOutOfOrder) {
                self.responder.responses.rotate_left(1);
            }
        }
        let extension = if is_first || is_last {
            Extension::Aeth(aeth(
                Syndrome::Ack(self.responder.credit_code(parts)),
                msn,
                parts,
            ))
        } else {
            Extension::None
        };
        Some((self.response(opcode, psn), extension))
    }

    const fn response(&self, opcode: Opcode, psn: Psn) -> Bth {
        Bth::new(opcode, self.attributes.dest_qp_num, psn)
    }
}

fn aeth(syndrome: Syndrome, msn: u32, parts: &AdapterParts<'_>) -> Aeth {
    let msn = msn + u32::from(parts.has_defect(Defect::MsnOffByOne));
    Aeth { syndrome, msn }
}
