//! Packets of send requests: when a request may start, its segmentation, and when an
//! acknowledgement is requested. IBA 9.7.2, 9.7.3, 9.9.2.

use super::send_queue::{Cursor, SendEntry, is_in_window, psn_count};
use super::{Defect, RcQueuePair, RequestData};
use crate::adapter::AdapterParts;
use crate::wire::{AtomicEth, Bth, Extension, Opcode, Reth};
use crate::{Access, Operation, ProtectionDomain, Psn, QpState, WcStatus};

/// More packets than may be outstanding: newer and older ones could not be told apart.
const PSN_HALF: u32 = Psn::MODULUS / 2;

impl RcQueuePair {
    /// Returns the headers of the next packet of a request that may leave now, and true if the
    /// payload was inline.
    pub(super) fn next_request(
        &mut self,
        parts: &mut AdapterParts<'_>,
        payload: &mut Vec<u8>,
    ) -> Option<(Bth, Extension, bool)> {
        let can_send = matches!(self.state(), QpState::Rts | QpState::Sqd);
        if !can_send || self.send.rnr_until.is_some_and(|until| parts.now < until) {
            return None;
        }
        self.send.rnr_until = None;
        let index = self.send.cursor.entry;
        if !self.send.entries.get(index)?.has_started() && !self.start_request(parts, index) {
            return None;
        }
        let entry = self.send.entries.get(index)?;
        if entry.failure.is_some() {
            return None;
        }
        let is_read = entry.operation.returns_data();
        let packet = if is_read && parts.has_defect(Defect::ReadRestartsFromStart) {
            0
        } else if is_read {
            entry.responses
        } else {
            self.send.cursor.packet
        };
        let psn = entry.first_psn.plus(packet);
        if !is_in_window(&self.send, psn, parts.settings) {
            return None;
        }
        let gathered = append_payload(entry, packet, self.mtu(), self.init.pd, parts, payload);
        if gathered.is_none() {
            self.fail_request(parts, index, WcStatus::LocProtErr);
            return None;
        }
        let mut bth = Bth::new(Opcode::RcSendOnly, self.attributes.dest_qp_num, psn);
        let extension = request_headers(entry, packet, self.mtu(), &mut bth);
        let is_last = is_read || packet + 1 == entry.psn_count;
        bth.ack_request = is_last || self.send.must_request_ack(psn, parts.settings);
        if parts.has_defect(Defect::NoAckRequest) {
            bth.ack_request = false;
        }
        let is_inline = matches!(entry.data, RequestData::Inline(_));
        let end = if is_read {
            entry.end_psn()
        } else {
            psn.plus(1)
        };
        self.note_sent(parts, (end, is_last), bth.ack_request);
        Some((bth, extension, is_inline))
    }

    fn note_sent(&mut self, parts: &AdapterParts<'_>, (end, is_last): (Psn, bool), asks: bool) {
        let send = &mut self.send;
        send.since_ack_request = if asks { 0 } else { send.since_ack_request + 1 };
        if end.ahead_of(send.sent_end) > 0 {
            send.sent_end = end;
        }
        send.cursor = if is_last {
            Cursor {
                entry: send.cursor.entry + 1,
                packet: 0,
            }
        } else {
            Cursor {
                packet: send.cursor.packet + 1,
                ..send.cursor
            }
        };
        if send.deadline.is_none() {
            self.restart_timer(parts);
        }
    }

    /// Starts a request, if the request may start. Returns true if the request has started.
    fn start_request(&mut self, parts: &mut AdapterParts<'_>, index: usize) -> bool {
        let drains = self.state() == QpState::Sqd && index >= self.send.draining;
        let entry = &self.send.entries[index];
        if drains || entry.failure.is_some() || entry.known_at > parts.now {
            return false;
        }
        if !self.may_start(parts, index) {
            return false;
        }
        let entry = &self.send.entries[index];
        let length = match check_request(entry, self.init.pd, parts, self.mtu()) {
            Ok(length) => length,
            Err(status) => {
                self.fail_request(parts, index, status);
                return false;
            }
        };
        let count = psn_count(&entry.operation, length, self.mtu());
        let outstanding = self.send.next_psn.ahead_of(self.send.unacked);
        let is_read = entry.operation.returns_data();
        if is_read && u32::try_from(outstanding).unwrap_or(0) + count >= PSN_HALF {
            return false;
        }
        self.send.reads += u32::from(is_read);
        self.send.started_messages = (self.send.started_messages + 1) % Psn::MODULUS;
        let entry = &mut self.send.entries[index];
        entry.first_psn = self.send.next_psn;
        entry.psn_count = count;
        entry.length = length;
        self.send.next_psn = entry.end_psn();
        if parts.has_defect(Defect::ReadTakesOnePsn) {
            self.send.next_psn = entry.first_psn.plus(1);
        }
        true
    }

    /// Returns true if the fence, the limit of reads and atomics, and the credits let a request
    /// start.
    fn may_start(&self, parts: &AdapterParts<'_>, index: usize) -> bool {
        let entry = &self.send.entries[index];
        let is_fenced = if parts.settings.strong_fence {
            index > 0
        } else {
            self.send.reads > 0
        };
        if entry.flags.fence && is_fenced {
            return false;
        }
        let limit = u32::from(self.attributes.max_rd_atomic);
        // A limit of 0 is an error that `check_request` does not see: the responder refuses it.
        if entry.operation.returns_data() && limit > 0 && self.send.reads >= limit {
            return false;
        }
        let Some(limit) = self.send.limit_message else {
            return true;
        };
        let message = Psn::new(self.send.started_messages + 1);
        let has_credit = message.ahead_of(Psn::new(limit)) <= 0;
        // Without credit a single request may probe (IBA 9.7.7.2.5).
        !entry.operation.consumes_receive() || has_credit || index == 0
    }

    /// Records the error of a request. The request ends with the error after all earlier requests.
    fn fail_request(&mut self, parts: &mut AdapterParts<'_>, index: usize, status: WcStatus) {
        self.send.entries[index].failure = Some(status);
        self.end_failed(parts);
    }
}

/// Returns the length of a request's message in bytes, or the error with which the request ends.
fn check_request(
    entry: &SendEntry,
    pd: ProtectionDomain,
    parts: &AdapterParts<'_>,
    mtu: u32,
) -> Result<u32, WcStatus> {
    let length = entry.data.byte_count();
    let is_read = matches!(entry.operation, Operation::RdmaRead { .. });
    let is_atomic = entry.operation.returns_data() && !is_read;
    let most = if is_read {
        u64::from(parts.settings.max_message).min(u64::from(PSN_HALF - 1) * u64::from(mtu))
    } else {
        u64::from(parts.settings.max_message)
    };
    if is_atomic && length != 8 || length > most {
        return Err(WcStatus::LocLenErr);
    }
    let rights = if entry.operation.returns_data() {
        Access::LOCAL_WRITE
    } else {
        Access::NONE
    };
    let checked = parts.regions.check_local(entry.data.sges(), pd, rights);
    checked.map_err(|_| WcStatus::LocProtErr)?;
    u32::try_from(length).map_err(|_| WcStatus::LocLenErr)
}

/// Appends the payload of a packet; returns `None` if a local key is not valid any more.
fn append_payload(
    entry: &SendEntry,
    packet: u32,
    mtu: u32,
    pd: ProtectionDomain,
    parts: &mut AdapterParts<'_>,
    payload: &mut Vec<u8>,
) -> Option<()> {
    if entry.operation.returns_data() {
        return Some(());
    }
    let offset = packet * mtu;
    let length = (entry.length - offset).min(mtu) as usize;
    if let RequestData::Inline(bytes) = &entry.data {
        payload.extend_from_slice(&bytes[offset as usize..offset as usize + length]);
        return Some(());
    }
    let place = (u64::from(offset), length);
    let gathered = parts
        .regions
        .gather_bytes(entry.data.sges(), pd, place, payload);
    gathered.ok()
}

/// Fills in the opcode and the solicited bit of a packet, and returns its extended headers.
fn request_headers(entry: &SendEntry, packet: u32, mtu: u32, bth: &mut Bth) -> Extension {
    let (is_first, is_last) = (packet == 0, packet + 1 == entry.psn_count);
    let reth = |address: u64, rkey: u32| Reth {
        address,
        rkey,
        length: entry.length,
    };
    let (opcode, extension) = match entry.operation {
        Operation::Send => (send_opcode(is_first, is_last, false), Extension::None),
        Operation::SendWithImm(data) if is_last => (
            send_opcode(is_first, true, true),
            Extension::Immediate(data),
        ),
        Operation::SendWithImm(_) => (send_opcode(is_first, false, false), Extension::None),
        Operation::RdmaWrite { remote_addr, rkey } => {
            write_headers((is_first, is_last), reth(remote_addr, rkey), None)
        }
        Operation::RdmaWriteWithImm {
            remote_addr,
            rkey,
            imm_data,
        } => write_headers((is_first, is_last), reth(remote_addr, rkey), Some(imm_data)),
        Operation::RdmaRead { remote_addr, rkey } => {
            let done = packet * mtu;
            let rest = Reth {
                address: remote_addr.wrapping_add(u64::from(done)),
                rkey,
                length: entry.length - done,
            };
            (Opcode::RcReadRequest, Extension::Reth(rest))
        }
        Operation::AtomicCmpAndSwp {
            remote_addr,
            rkey,
            compare,
            swap,
        } => {
            let header = atomic(remote_addr, rkey, swap, compare);
            (Opcode::RcCompareSwap, header)
        }
        Operation::AtomicFetchAndAdd {
            remote_addr,
            rkey,
            add,
        } => (Opcode::RcFetchAdd, atomic(remote_addr, rkey, add, 0)),
    };
    bth.opcode = opcode;
    // IBA 9.2.3: only on the last packet of what consumes a receive.
    bth.solicited = entry.flags.solicited && is_last && entry.operation.consumes_receive();
    extension
}

const fn send_opcode(is_first: bool, is_last: bool, has_immediate: bool) -> Opcode {
    match (is_first, is_last, has_immediate) {
        (true, false, _) => Opcode::RcSendFirst,
        (false, false, _) => Opcode::RcSendMiddle,
        (false, true, false) => Opcode::RcSendLast,
        (false, true, true) => Opcode::RcSendLastImmediate,
        (true, true, false) => Opcode::RcSendOnly,
        (true, true, true) => Opcode::RcSendOnlyImmediate,
    }
}

fn write_headers(place: (bool, bool), reth: Reth, immediate: Option<u32>) -> (Opcode, Extension) {
    match (place, immediate) {
        ((true, false), _) => (Opcode::RcWriteFirst, Extension::Reth(reth)),
        ((false, false), _) => (Opcode::RcWriteMiddle, Extension::None),
        ((false, true), None) => (Opcode::RcWriteLast, Extension::None),
        ((false, true), Some(data)) => (Opcode::RcWriteLastImmediate, Extension::Immediate(data)),
        ((true, true), None) => (Opcode::RcWriteOnly, Extension::Reth(reth)),
        ((true, true), Some(data)) => (
            Opcode::RcWriteOnlyImmediate,
            Extension::RethImmediate(reth, data),
        ),
    }
}

const fn atomic(address: u64, rkey: u32, swap_or_add: u64, compare: u64) -> Extension {
    Extension::AtomicEth(AtomicEth {
        address,
        rkey,
        swap_or_add,
        compare,
    })
}

/// Returns the rest of a transfer after its next `bytes` bytes.
pub(super) const fn behind(rest: Reth, bytes: u32) -> Reth {
    Reth {
        address: rest.address.wrapping_add(bytes as u64),
        rkey: rest.rkey,
        length: rest.length - bytes,
    }
}
