//! A queue pair of the service *unreliable datagram* (UD): messages of one packet to any queue
//! pair, without acknowledgements. IBA 9.8.3 and 10.2.5.
//!
//! The payload of a datagram is placed behind 40 bytes of the receive, the area of the global route
//! header. A datagram is dropped if the Q_Key differs, or no receive is posted. A send that fails
//! locally moves the queue pair to SQE: later sends are flushed, and receives continue.
//!
//! *Not modelled*: the content of the 40 bytes, which a program needs to answer over a router; the
//! bytes are not changed. Multicast, the counter of Q_Key violations, and the delay from the post
//! of a request until the adapter sees the request.

use std::collections::VecDeque;

use super::receive_queue::ReceiveEntry;
use super::send_queue::RequestData;
use super::transitions::{ServiceType, target_state};
use super::{Transmit, check_sges, invalid};
use crate::adapter::AdapterParts;
use crate::wire::{Bth, Deth, Extension, Opcode, Packet};
use crate::{
    Access, AddressVector, AsyncEvent, DatagramRequest, Payload, Psn, QpAttributes,
    QpInitAttributes, QpModify, QpState, QueuePair, RecvRequest, VerbsError, WcOpcode, WcStatus,
    WorkCompletion,
};

/// Bytes of a receive before the payload, for a global route header. `ibv_post_recv(3)`.
const GRH_LENGTH: u64 = 40;

/// The bit of a request's Q_Key that selects the Q_Key of the sending queue pair. IBA 3.5.3.
const OWN_QKEY: u32 = 1 << 31;

/// A posted datagram.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct DatagramEntry {
    wr_id: u64,
    data: RequestData,
    immediate: Option<u32>,
    is_signaled: bool,
    solicited: bool,
    address: AddressVector,
    remote_qpn: u32,
    remote_qkey: u32,
}

/// A queue pair of unreliable datagrams.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct DatagramQueuePair {
    pub(crate) handle: QueuePair,
    pub(crate) init: QpInitAttributes,
    pub(crate) attributes: QpAttributes,
    /// The longest message in bytes: the MTU of the port.
    mtu: u32,
    qkey: u32,
    next_psn: Psn,
    sends: VecDeque<DatagramEntry>,
    receives: VecDeque<ReceiveEntry>,
    /// Occupied places, including requests whose completion was not polled.
    used: (u32, u32),
    /// Requests that completed without a completion and still take their places.
    unsignaled: u32,
    /// Sends to finish before the queue is drained.
    draining: usize,
    reports_drained: bool,
}

impl DatagramQueuePair {
    pub(crate) fn new(handle: QueuePair, init: QpInitAttributes, mtu: u32) -> Self {
        Self {
            handle,
            init,
            attributes: QpAttributes::reset(init.cap),
            mtu,
            qkey: 0,
            next_psn: Psn::default(),
            sends: VecDeque::new(),
            receives: VecDeque::new(),
            used: (0, 0),
            unsignaled: 0,
            draining: 0,
            reports_drained: false,
        }
    }

    const fn state(&self) -> QpState {
        self.attributes.qp_state
    }

    /// Takes a datagram to send.
    ///
    /// # Errors
    /// [`VerbsError`] if the state permits none, the queue is full, or the request is beyond the
    /// capabilities of the queue pair.
    pub(crate) fn post_send(
        &mut self,
        parts: &mut AdapterParts<'_>,
        request: &DatagramRequest<'_>,
    ) -> Result<(), VerbsError> {
        let (state, cap) = (self.state(), self.init.cap);
        if matches!(state, QpState::Reset | QpState::Init | QpState::Rtr) {
            return invalid(format!("a queue pair in {state} takes no send request"));
        }
        if self.used.0 >= cap.max_send_wr {
            return Err(VerbsError::NoRoom { what: "send queue" });
        }
        let data = match request.payload {
            Payload::Sges(sges) => {
                check_sges("max_send_sge", sges.len(), cap.max_send_sge)?;
                RequestData::from_sges(sges)
            }
            Payload::Inline(bytes) if bytes.len() > cap.max_inline_data as usize => {
                return invalid(format!(
                    "{} bytes inline, max_inline_data of the queue pair is {}",
                    bytes.len(),
                    cap.max_inline_data
                ));
            }
            Payload::Inline(bytes) => RequestData::Inline(bytes.into()),
        };
        self.used.0 += 1;
        self.sends.push_back(DatagramEntry {
            wr_id: request.wr_id,
            data,
            immediate: request.imm_data,
            is_signaled: request.flags.signaled || self.init.sq_sig_all,
            solicited: request.flags.solicited,
            address: request.address,
            remote_qpn: request.remote_qpn,
            remote_qkey: request.remote_qkey,
        });
        if matches!(state, QpState::Sqe | QpState::Err) {
            self.flush_sends(parts);
        }
        Ok(())
    }

    /// Accepts a receive request; the first 40 bytes of its memory are kept free.
    ///
    /// # Errors
    /// As [`post_send`](Self::post_send).
    pub(crate) fn post_recv(
        &mut self,
        parts: &mut AdapterParts<'_>,
        request: &RecvRequest<'_>,
    ) -> Result<(), VerbsError> {
        let (state, cap) = (self.state(), self.init.cap);
        if state == QpState::Reset {
            return invalid(format!("a queue pair in {state} takes no receive request"));
        }
        if self.used.1 >= cap.max_recv_wr {
            return Err(VerbsError::NoRoom {
                what: "receive queue",
            });
        }
        check_sges("max_recv_sge", request.sges.len(), cap.max_recv_sge)?;
        self.used.1 += 1;
        self.receives.push_back(ReceiveEntry {
            wr_id: request.wr_id,
            data: RequestData::from_sges(request.sges),
        });
        if state == QpState::Err {
            self.flush_receives(parts);
        }
        Ok(())
    }

    /// Changes attributes and the state.
    ///
    /// # Errors
    /// [`VerbsError::Invalid`] if the transition is illegal; then no attribute has changed.
    pub(crate) fn modify(
        &mut self,
        parts: &mut AdapterParts<'_>,
        modify: &QpModify,
    ) -> Result<(), VerbsError> {
        let from = self.state();
        let to = target_state(ServiceType::Ud, from, modify)?;
        if to == QpState::Reset {
            *self = Self::new(self.handle, self.init, self.mtu);
            return Ok(());
        }
        if to == QpState::Err {
            self.enter_error(parts);
            return Ok(());
        }
        self.attributes.apply_changes(modify);
        self.attributes.qp_state = to;
        self.qkey = modify.qkey.unwrap_or(self.qkey);
        if let Some(psn) = modify.sq_psn {
            self.next_psn = Psn::new(psn);
        }
        if to == QpState::Sqd && from != QpState::Sqd {
            self.draining = self.sends.len();
            self.reports_drained = modify.en_sqd_async_notify == Some(true);
            self.report_drained(parts);
        }
        Ok(())
    }

    fn report_drained(&mut self, parts: &mut AdapterParts<'_>) {
        if self.state() == QpState::Sqd && self.draining == 0 && self.reports_drained {
            self.reports_drained = false;
            parts.events.push_back(AsyncEvent::SqDrained(self.handle));
        }
    }

    /// Notes that completions were polled that free places of the queues.
    pub(crate) const fn free_places(&mut self, sends: u32, receives: u32) {
        self.used.0 = self.used.0.saturating_sub(sends);
        self.used.1 = self.used.1.saturating_sub(receives);
    }

    /// Returns the next datagram and appends the payload to `payload`. The request completes then.
    pub(crate) fn next_packet(
        &mut self,
        parts: &mut AdapterParts<'_>,
        payload: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let may_send = match self.state() {
            QpState::Rts => true,
            QpState::Sqd => self.draining > 0,
            _ => false,
        };
        if !may_send {
            return None;
        }
        let entry = self.sends.pop_front()?;
        self.draining = self.draining.saturating_sub(1);
        if let Err(status) = self.gather_payload(parts, &entry, payload) {
            self.complete_send(parts, &entry, status);
            self.attributes.qp_state = QpState::Sqe;
            self.flush_sends(parts);
            return None;
        }
        let psn = self.next_psn;
        self.next_psn = psn.plus(1);
        let transmit = self.transmit(&entry, psn, !payload.is_empty());
        self.complete_send(parts, &entry, WcStatus::Success);
        self.report_drained(parts);
        Some(transmit)
    }

    fn gather_payload(
        &self,
        parts: &mut AdapterParts<'_>,
        entry: &DatagramEntry,
        payload: &mut Vec<u8>,
    ) -> Result<(), WcStatus> {
        let length = entry.data.byte_count();
        if length > u64::from(self.mtu) {
            return Err(WcStatus::LocLenErr);
        }
        if let RequestData::Inline(bytes) = &entry.data {
            payload.extend_from_slice(bytes);
            return Ok(());
        }
        let (sges, pd) = (entry.data.sges(), self.init.pd);
        let checked = parts.regions.check_local(sges, pd, Access::NONE);
        // At most the MTU.
        let length = usize::try_from(length).unwrap_or(0);
        let gathered =
            checked.and_then(|()| parts.regions.gather_bytes(sges, pd, (0, length), payload));
        gathered.map_err(|_| WcStatus::LocProtErr)
    }

    fn transmit(&self, entry: &DatagramEntry, psn: Psn, has_payload: bool) -> Transmit {
        let deth = Deth {
            qkey: if entry.remote_qkey & OWN_QKEY == 0 {
                entry.remote_qkey
            } else {
                self.qkey
            },
            source_qp: self.handle.qp_num,
        };
        let (opcode, extension) = match entry.immediate {
            Some(data) => (
                Opcode::UdSendOnlyImmediate,
                Extension::DethImmediate(deth, data),
            ),
            None => (Opcode::UdSendOnly, Extension::Deth(deth)),
        };
        let mut bth = Bth::new(opcode, entry.remote_qpn, psn);
        bth.solicited = entry.solicited;
        Transmit {
            source_qp: self.handle.qp_num,
            address: entry.address,
            bth,
            extension,
            reads_memory: has_payload && !matches!(entry.data, RequestData::Inline(_)),
        }
    }

    /// Takes a packet that names this queue pair.
    pub(crate) fn handle_packet(&mut self, parts: &mut AdapterParts<'_>, packet: &Packet<'_>) {
        let receives = !matches!(self.state(), QpState::Reset | QpState::Init | QpState::Err);
        let (deth, immediate) = match *packet.extension() {
            Extension::Deth(deth) => (deth, None),
            Extension::DethImmediate(deth, data) => (deth, Some(data)),
            _ => return,
        };
        if !receives || deth.qkey != self.qkey {
            return;
        }
        let Some(receive) = self.receives.pop_front() else {
            return;
        };
        let length = GRH_LENGTH + packet.payload().len() as u64;
        let sges = receive.data.sges();
        let scattered = if length > receive.data.byte_count() {
            Err(WcStatus::LocLenErr)
        } else {
            let (regions, pd) = (&mut *parts.regions, self.init.pd);
            let scattered = regions.scatter_bytes(sges, pd, GRH_LENGTH, packet.payload());
            scattered.map_err(|_| WcStatus::LocProtErr)
        };
        let solicited = packet.bth().solicited;
        let Err(status) = scattered else {
            let length = u32::try_from(length).unwrap_or(u32::MAX);
            let completion = WorkCompletion {
                opcode: Some(WcOpcode::Recv),
                byte_len: length,
                imm_data: immediate,
                src_qp: Some(deth.source_qp),
                ..self.completion(receive.wr_id, WcStatus::Success)
            };
            parts.add_completion(self.init.recv_cq, completion, solicited, (0, 1));
            return;
        };
        let completion = self.completion(receive.wr_id, status);
        parts.add_completion(self.init.recv_cq, completion, true, (0, 1));
        self.enter_error(parts);
    }

    const fn completion(&self, wr_id: u64, status: WcStatus) -> WorkCompletion {
        WorkCompletion {
            wr_id,
            status,
            opcode: None,
            byte_len: 0,
            imm_data: None,
            qp_num: self.handle.qp_num,
            src_qp: None,
            vendor_err: 0,
        }
    }

    fn complete_send(
        &mut self,
        parts: &mut AdapterParts<'_>,
        entry: &DatagramEntry,
        status: WcStatus,
    ) {
        let is_success = status.is_success();
        self.unsignaled += 1;
        if is_success && !entry.is_signaled {
            return;
        }
        let places = (std::mem::take(&mut self.unsignaled), 0);
        let completion = WorkCompletion {
            opcode: is_success.then_some(WcOpcode::Send),
            ..self.completion(entry.wr_id, status)
        };
        parts.add_completion(self.init.send_cq, completion, !is_success, places);
    }

    /// Enters the error state: whatever is queued is flushed, sends first.
    pub(crate) fn enter_error(&mut self, parts: &mut AdapterParts<'_>) {
        self.attributes.qp_state = QpState::Err;
        self.flush_sends(parts);
        self.flush_receives(parts);
    }

    fn flush_sends(&mut self, parts: &mut AdapterParts<'_>) {
        self.draining = 0;
        while let Some(entry) = self.sends.pop_front() {
            self.complete_send(parts, &entry, WcStatus::WrFlushErr);
        }
    }

    fn flush_receives(&mut self, parts: &mut AdapterParts<'_>) {
        while let Some(receive) = self.receives.pop_front() {
            let completion = self.completion(receive.wr_id, WcStatus::WrFlushErr);
            parts.add_completion(self.init.recv_cq, completion, true, (0, 1));
        }
    }
}
