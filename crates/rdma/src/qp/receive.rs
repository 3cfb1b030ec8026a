//! Request packets in order: the checks in the sequence that the standard asks for, and their
//! effects on memory and the receive queue. IBA 9.7.4.1 and 9.9.3.

use super::receive_queue::{IncomingMessage, ReceiveEntry, Responder, SavedRequest};
use super::transmit;
use super::{Defect, RcQueuePair};
use crate::adapter::AdapterParts;
use crate::wire::{AtomicEth, Extension, Nak, Packet, Position, RequestKind, Reth, Syndrome};
use crate::{Access, AsyncEvent, Psn, QpState, WcOpcode, WcStatus, WorkCompletion};

/// The reason why a request packet has no effect.
pub(super) enum Refusal {
    /// No receive is posted.
    NotReady,
    /// An error that ends the connection; the receive of the request ends with the status.
    Fatal(Nak, Option<(ReceiveEntry, WcStatus)>),
}

const INVALID: Refusal = Refusal::Fatal(Nak::InvalidRequest, None);
const NO_ACCESS: Refusal = Refusal::Fatal(Nak::RemoteAccess, None);

/// A request packet, taken apart.
pub(super) struct RequestPacket<'a> {
    psn: Psn,
    kind: RequestKind,
    position: Position,
    solicited: bool,
    immediate: Option<u32>,
    extension: Extension,
    payload: &'a [u8],
}

impl RcQueuePair {
    /// Takes a request packet.
    pub(super) fn handle_request(&mut self, parts: &mut AdapterParts<'_>, packet: &Packet<'_>) {
        let psn = packet.bth().psn;
        let ahead = self.responder.distance_of(psn, parts);
        if ahead > 0 {
            self.responder.report_gap(parts);
            return;
        }
        if ahead < 0 {
            self.handle_duplicate(parts, packet);
            return;
        }
        let Some(request) = RequestPacket::new(packet) else {
            return;
        };
        if self.state() == QpState::Rtr && !self.responder.is_established {
            self.responder.is_established = true;
            self.report_event(parts, AsyncEvent::CommEst);
        }
        self.responder.has_nacked = false;
        match self.execute_request(parts, &request) {
            Ok(()) if packet.bth().ack_request && !request.kind.returns_data() => {
                let credits = self.responder.credit_code(parts);
                self.responder.acknowledge(psn, Syndrome::Ack(credits));
            }
            Ok(()) => {}
            Err(Refusal::NotReady) => {
                self.responder.has_nacked = true;
                let timer = Syndrome::RnrNak(self.attributes.min_rnr_timer);
                self.responder.acknowledge(psn, timer);
                if parts.has_defect(Defect::RnrAdvances) {
                    self.responder.expected = psn.plus(1);
                }
            }
            Err(Refusal::Fatal(nak, receive)) => self.refuse_request(parts, psn, nak, receive),
        }
    }

    /// Answers with an error, and ends the connection.
    pub(super) fn refuse_request(
        &mut self,
        parts: &mut AdapterParts<'_>,
        psn: Psn,
        nak: Nak,
        receive: Option<(ReceiveEntry, WcStatus)>,
    ) {
        let held = match self.responder.message.take() {
            Some(IncomingMessage::Send { receive, .. }) => Some((receive, WcStatus::RemInvReqErr)),
            _ => None,
        };
        if let Some((entry, status)) = receive.or(held) {
            self.complete_receive(parts, &entry, Err(status), false);
        }
        self.responder.acknowledge(psn, Syndrome::Nak(nak));
        let event = if nak == Nak::RemoteAccess {
            AsyncEvent::QpAccessErr
        } else {
            AsyncEvent::QpReqErr
        };
        self.report_event(parts, event);
        if parts.has_defect(Defect::NakWithoutError) {
            return;
        }
        let responses = std::mem::take(&mut self.responder.responses);
        self.enter_error(parts);
        // What was executed is still answered, and the error after it.
        self.responder.responses = responses;
    }

    fn execute_request(
        &mut self,
        parts: &mut AdapterParts<'_>,
        request: &RequestPacket<'_>,
    ) -> Result<(), Refusal> {
        self.responder.check_sequence(request)?;
        // No memory here can be invalidated by a sender.
        if matches!(request.extension, Extension::Ieth(_)) {
            return Err(INVALID);
        }
        let needed = match request.kind {
            RequestKind::Send => Access::NONE,
            RequestKind::Write => Access::REMOTE_WRITE,
            RequestKind::Read => Access::REMOTE_READ,
            RequestKind::CompareSwap | RequestKind::FetchAdd => Access::REMOTE_ATOMIC,
        };
        if !self.attributes.qp_access_flags.contains(needed) {
            return Err(INVALID);
        }
        self.check_resources(request)?;
        match request.kind {
            RequestKind::Send => self.execute_send(parts, request),
            RequestKind::Write => self.execute_write(parts, request),
            RequestKind::Read => self.execute_read(parts, request),
            RequestKind::CompareSwap | RequestKind::FetchAdd => self.execute_atomic(parts, request),
        }
    }

    fn check_resources(&self, request: &RequestPacket<'_>) -> Result<(), Refusal> {
        if request.kind.returns_data() {
            let most = usize::from(self.attributes.max_dest_rd_atomic);
            if self.responder.unanswered_reads() >= most {
                return Err(INVALID);
            }
            return Ok(());
        }
        let begins = matches!(request.position, Position::First | Position::Only);
        let takes_receive = match request.kind {
            RequestKind::Send => begins,
            _ => request.immediate.is_some(),
        };
        if takes_receive && self.responder.receives.is_empty() {
            return Err(Refusal::NotReady);
        }
        Ok(())
    }

    /// Checks the payload of a packet against the path MTU. IBA 9.7.2.4.
    fn check_length(&self, request: &RequestPacket<'_>) -> Result<(), Refusal> {
        let (length, mtu) = (request.payload.len(), self.mtu() as usize);
        let fits = match request.position {
            Position::First | Position::Middle => length == mtu,
            Position::Last => (1..=mtu).contains(&length),
            Position::Only => length <= mtu,
        };
        if fits { Ok(()) } else { Err(INVALID) }
    }

    fn execute_send(
        &mut self,
        parts: &mut AdapterParts<'_>,
        request: &RequestPacket<'_>,
    ) -> Result<(), Refusal> {
        self.check_length(request)?;
        let (receive, received) = match self.responder.message.take() {
            Some(IncomingMessage::Send { receive, received }) => (receive, received),
            _ => match self.responder.receives.pop_front() {
                Some(receive) => (receive, 0),
                None => return Err(Refusal::NotReady),
            },
        };
        let length = received + request.payload.len() as u64;
        if length > receive.data.byte_count() || length > u64::from(parts.settings.max_message) {
            let receive = Some((receive, WcStatus::LocLenErr));
            return Err(Refusal::Fatal(Nak::InvalidRequest, receive));
        }
        let sges = receive.data.sges();
        let scattered = parts
            .regions
            .scatter_bytes(sges, self.init.pd, received, request.payload);
        if scattered.is_err() {
            let receive = Some((receive, WcStatus::LocProtErr));
            return Err(Refusal::Fatal(Nak::RemoteOperational, receive));
        }
        if request.ends_message() {
            let bytes = u32::try_from(length).unwrap_or(u32::MAX);
            let done = Ok((WcOpcode::Recv, bytes, request.immediate));
            self.complete_receive(parts, &receive, done, request.solicited);
        } else {
            self.responder.message = Some(IncomingMessage::Send {
                receive,
                received: length,
            });
        }
        self.advance_expected(request, 1);
        Ok(())
    }

    fn execute_write(
        &mut self,
        parts: &mut AdapterParts<'_>,
        request: &RequestPacket<'_>,
    ) -> Result<(), Refusal> {
        self.check_length(request)?;
        let (rest, length) = match (&self.responder.message, request.reth()) {
            (Some(IncomingMessage::Write { rest, length }), _) => (*rest, *length),
            (_, Some(reth)) => (reth, reth.length),
            _ => return Err(INVALID),
        };
        let payload = u32::try_from(request.payload.len()).map_err(|_| INVALID)?;
        let fits = if request.ends_message() {
            payload == rest.length
        } else {
            payload < rest.length
        };
        if !fits || length > parts.settings.max_message {
            return Err(INVALID);
        }
        let (rights, pd) = (Access::REMOTE_WRITE, self.init.pd);
        let place = (rest.address, u64::from(rest.length));
        let checked = parts.regions.check_remote(rest.rkey, pd, place, rights);
        checked.map_err(|_| NO_ACCESS)?;
        let place = (rest.address, request.payload.len());
        let memory = parts.regions.remote_mut(rest.rkey, pd, place, rights);
        memory
            .map_err(|_| NO_ACCESS)?
            .copy_from_slice(request.payload);
        self.responder.message = None;
        if !request.ends_message() {
            let rest = transmit::behind(rest, payload);
            self.responder.message = Some(IncomingMessage::Write { rest, length });
        } else if let Some(data) = request.immediate
            && let Some(receive) = self.responder.receives.pop_front()
        {
            let done = Ok((WcOpcode::RecvRdmaWithImm, length, Some(data)));
            self.complete_receive(parts, &receive, done, request.solicited);
        }
        self.advance_expected(request, 1);
        Ok(())
    }

    fn execute_read(
        &mut self,
        parts: &mut AdapterParts<'_>,
        request: &RequestPacket<'_>,
    ) -> Result<(), Refusal> {
        let reth = request
            .reth()
            .filter(|reth| reth.length <= parts.settings.max_message);
        let reth = reth.ok_or(INVALID)?;
        let (place, pd) = ((reth.address, u64::from(reth.length)), self.init.pd);
        let checked = parts
            .regions
            .check_remote(reth.rkey, pd, place, Access::REMOTE_READ);
        checked.map_err(|_| NO_ACCESS)?;
        let count = reth.length.div_ceil(self.mtu()).max(1);
        self.advance_expected(request, count);
        let (psn, msn) = (request.psn, self.responder.msn);
        let saved = SavedRequest::Read {
            psn,
            count,
            reth,
            msn,
        };
        self.responder
            .save(saved, self.attributes.max_dest_rd_atomic);
        self.responder.queue_data(psn, reth, msn);
        Ok(())
    }

    fn execute_atomic(
        &mut self,
        parts: &mut AdapterParts<'_>,
        request: &RequestPacket<'_>,
    ) -> Result<(), Refusal> {
        let Extension::AtomicEth(atomic) = request.extension else {
            return Err(INVALID);
        };
        let original = self.execute_atomic_on_memory(parts, request.kind, atomic)?;
        self.advance_expected(request, 1);
        let (psn, msn) = (request.psn, self.responder.msn);
        let saved = SavedRequest::Atomic { psn, original, msn };
        self.responder
            .save(saved, self.attributes.max_dest_rd_atomic);
        self.responder.queue_value(psn, original, msn);
        Ok(())
    }

    /// Executes an atomic operation, on a value in the byte order of the host; returns the
    /// original value.
    pub(super) fn execute_atomic_on_memory(
        &self,
        parts: &mut AdapterParts<'_>,
        kind: RequestKind,
        atomic: AtomicEth,
    ) -> Result<u64, Refusal> {
        if !atomic.address.is_multiple_of(8) {
            return Err(INVALID);
        }
        let (rights, place) = (Access::REMOTE_ATOMIC, (atomic.address, 8));
        let memory = parts
            .regions
            .remote_mut(atomic.rkey, self.init.pd, place, rights);
        let memory = memory.map_err(|_| NO_ACCESS)?;
        let mut bytes = [0; 8];
        bytes.copy_from_slice(memory);
        let original = u64::from_ne_bytes(bytes);
        let value = match kind {
            RequestKind::FetchAdd => original.wrapping_add(atomic.swap_or_add),
            _ if original == atomic.compare => atomic.swap_or_add,
            _ => original,
        };
        memory.copy_from_slice(&value.to_ne_bytes());
        if parts.has_defect(Defect::AtomicReturnsNew) {
            return Ok(value);
        }
        Ok(original)
    }

    /// Notes that a request packet was executed, which takes `count` packet sequence numbers.
    fn advance_expected(&mut self, request: &RequestPacket<'_>, count: u32) {
        self.responder.expected = request.psn.plus(count);
        if request.ends_message() {
            self.responder.msn = (self.responder.msn + 1) % Psn::MODULUS;
        }
    }

    /// Ends a receive: with opcode, length and immediate data, or with an error.
    pub(super) fn complete_receive(
        &self,
        parts: &mut AdapterParts<'_>,
        receive: &ReceiveEntry,
        end: Result<(WcOpcode, u32, Option<u32>), WcStatus>,
        solicited: bool,
    ) {
        let completion = WorkCompletion {
            wr_id: receive.wr_id,
            status: end.err().unwrap_or(WcStatus::Success),
            opcode: end.ok().map(|(opcode, ..)| opcode),
            byte_len: end.map_or(0, |(_, length, _)| length),
            imm_data: end.ok().and_then(|(.., immediate)| immediate),
            qp_num: self.handle.qp_num,
            src_qp: None,
            vendor_err: 0,
        };
        let solicited = solicited || end.is_err();
        parts.add_completion(self.init.recv_cq, completion, solicited, (0, 1));
    }
}

impl Responder {
    /// Returns the distance of a packet from the expected one, in packets.
    fn distance_of(&self, psn: Psn, parts: &AdapterParts<'_>) -> i32 {
        if parts.has_defect(Defect::PsnWithoutWrap) {
            return psn.get() as i32 - self.expected.get() as i32;
        }
        if parts.has_defect(Defect::GapAccepted) && psn.ahead_of(self.expected) > 0 {
            return 0;
        }
        psn.ahead_of(self.expected)
    }

    /// Handles a packet behind a missing one: reports the gap once, until the missing packet comes.
    fn report_gap(&mut self, parts: &AdapterParts<'_>) {
        let mut says_so = !self.has_nacked;
        if parts.has_defect(Defect::NakRepeated) {
            says_so = true;
        }
        if says_so {
            self.has_nacked = true;
            let expected = self.expected;
            let syndrome = Syndrome::Nak(Nak::SequenceError);
            self.acknowledge(expected, syndrome);
        }
    }

    /// Returns the credit code of acknowledgements.
    pub(super) fn credit_code(&self, parts: &AdapterParts<'_>) -> u8 {
        if !parts.settings.credits {
            return Syndrome::NO_CREDITS;
        }
        Syndrome::credit_code(self.receives.len())
    }

    /// Checks that the packet continues the message in progress, or begins one.
    fn check_sequence(&self, request: &RequestPacket<'_>) -> Result<(), Refusal> {
        let continues = matches!(request.position, Position::Middle | Position::Last);
        let fits = match (&self.message, continues) {
            (None, false) => true,
            (Some(IncomingMessage::Send { .. }), true) => request.kind == RequestKind::Send,
            (Some(IncomingMessage::Write { .. }), true) => request.kind == RequestKind::Write,
            _ => false,
        };
        if fits { Ok(()) } else { Err(INVALID) }
    }
}

impl<'a> RequestPacket<'a> {
    /// Parses a request; `None` if the packet is no request of a reliable connection.
    fn new(packet: &Packet<'a>) -> Option<Self> {
        let bth = packet.bth();
        let (kind, position) = bth.opcode.request()?;
        let extension = *packet.extension();
        let immediate = match extension {
            Extension::Immediate(data) | Extension::RethImmediate(_, data) => Some(data),
            _ => None,
        };
        Some(Self {
            psn: bth.psn,
            kind,
            position,
            solicited: bth.solicited,
            immediate,
            extension,
            payload: packet.payload(),
        })
    }

    const fn ends_message(&self) -> bool {
        matches!(self.position, Position::Last | Position::Only)
    }

    const fn reth(&self) -> Option<Reth> {
        match self.extension {
            Extension::Reth(reth) | Extension::RethImmediate(reth, _) => Some(reth),
            _ => None,
        }
    }
}
