//! A queue pair of the service *reliable connection*: requester and responder, without I/O and
//! without a clock. IBA 9.7, 9.9 and 10.3.
//!
//! Events are calls, each with the time of the event in picoseconds: a posted request, a packet, a
//! timeout. Packets leave by [`RcQueuePair::next_packet`], and completions are added to the
//! completion queues of the adapter. Each kind of event has a file: `transmit` (packets of
//! requests), `acknowledge` (responses), `retry` (negative acknowledgements and timeouts),
//! `receive` (requests in order), `duplicate` (requests seen before), `respond` (packets of
//! responses), `flush` (changes of state).
//!
//! *Not modelled*: path migration, reliable datagrams, shared receive queues, checks of the source
//! address (a packet belongs to the queue pair that the packet names).

mod acknowledge;
mod datagram;
mod defect;
mod duplicate;
mod flush;
mod receive;
mod receive_queue;
mod respond;
mod retry;
mod send_queue;
mod service;
mod settings;
pub(crate) mod transitions;
mod transmit;

pub(crate) use datagram::DatagramQueuePair;
#[cfg_attr(
    not(feature = "seeded-defects"),
    expect(unreachable_pub, reason = "only tests can name it")
)]
pub use defect::Defect;
pub(crate) use service::AnyQueuePair;
pub use settings::SoftAdapterSettings;

use crate::adapter::AdapterParts;
use crate::wire::{Bth, Extension, Packet};
use crate::{
    AddressVector, AsyncEvent, Mtu, Payload, QpAttributes, QpCapabilities, QpInitAttributes,
    QpState, QueuePair, RecvRequest, SendRequest, VerbsError, WcOpcode, WcStatus, WorkCompletion,
};
use receive_queue::{ReceiveEntry, Responder};
use send_queue::{RequestData, SendEntry, SendQueue};

/// A packet that leaves a queue pair. The payload is in the buffer of the caller.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Transmit {
    /// The number of the sending queue pair.
    pub source_qp: u32,
    /// The address of the receiver.
    pub address: AddressVector,
    /// The base transport header.
    pub bth: Bth,
    /// The extended headers.
    pub extension: Extension,
    /// True if the payload was read from registered memory, and did not come inline.
    pub reads_memory: bool,
}

/// A queue pair.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) struct RcQueuePair {
    pub(crate) handle: QueuePair,
    pub(crate) init: QpInitAttributes,
    pub(crate) attributes: QpAttributes,
    pub(crate) address: Option<AddressVector>,
    send: SendQueue,
    responder: Responder,
}

impl RcQueuePair {
    pub(crate) fn new(handle: QueuePair, init: QpInitAttributes) -> Self {
        Self {
            handle,
            init,
            attributes: QpAttributes::reset(init.cap),
            address: None,
            send: SendQueue::default(),
            responder: Responder::default(),
        }
    }

    /// Returns the bytes of a full packet.
    fn mtu(&self) -> u32 {
        self.attributes.path_mtu.unwrap_or(Mtu::Mtu256).bytes()
    }

    const fn state(&self) -> QpState {
        self.attributes.qp_state
    }

    /// Takes a send request.
    ///
    /// # Errors
    /// [`VerbsError`] if the state permits none, the queue is full, or the request is beyond the
    /// capabilities of the queue pair.
    pub(crate) fn post_send(
        &mut self,
        parts: &mut AdapterParts<'_>,
        request: &SendRequest<'_>,
    ) -> Result<(), VerbsError> {
        let state = self.state();
        if !matches!(state, QpState::Rts | QpState::Sqd | QpState::Err) {
            return invalid(format!("a queue pair in {state} takes no send request"));
        }
        let cap = self.init.cap;
        if self.send.used >= cap.max_send_wr {
            return Err(VerbsError::NoRoom { what: "send queue" });
        }
        check_payload(request, &cap)?;
        self.send.used += 1;
        self.send.entries.push_back(SendEntry {
            wr_id: request.wr_id,
            operation: request.operation,
            flags: request.flags,
            data: match request.payload {
                Payload::Sges(sges) => RequestData::from_sges(sges),
                Payload::Inline(bytes) => RequestData::Inline(bytes.into()),
            },
            length: 0,
            known_at: parts.now + parts.settings.doorbell_delay,
            first_psn: crate::Psn::default(),
            psn_count: 0,
            responses: 0,
            failure: None,
        });
        if state == QpState::Err {
            self.flush_requests(parts);
        }
        Ok(())
    }

    /// Makes room for receive requests, within the capabilities of the queue pair.
    pub(crate) fn reserve_receives(&mut self, more: usize) {
        let places = self
            .init
            .cap
            .max_recv_wr
            .saturating_sub(self.responder.used);
        self.responder.receives.reserve(more.min(places as usize));
    }

    /// Takes a receive request.
    ///
    /// # Errors
    /// As [`post_send`](Self::post_send).
    pub(crate) fn post_recv(
        &mut self,
        parts: &mut AdapterParts<'_>,
        request: &RecvRequest<'_>,
    ) -> Result<(), VerbsError> {
        let state = self.state();
        if state == QpState::Reset {
            return invalid(format!("a queue pair in {state} takes no receive request"));
        }
        let cap = self.init.cap;
        if self.responder.used >= cap.max_recv_wr {
            return Err(VerbsError::NoRoom {
                what: "receive queue",
            });
        }
        check_sges("max_recv_sge", request.sges.len(), cap.max_recv_sge)?;
        self.responder.used += 1;
        self.responder.receives.push_back(ReceiveEntry {
            wr_id: request.wr_id,
            data: RequestData::from_sges(request.sges),
        });
        if state == QpState::Err {
            self.flush_requests(parts);
        }
        Ok(())
    }

    /// Notes that completions were polled that free places of the queues.
    pub(crate) const fn free_places(&mut self, sends: u32, receives: u32) {
        self.send.used = self.send.used.saturating_sub(sends);
        self.responder.used = self.responder.used.saturating_sub(receives);
    }

    /// Takes a packet that names this queue pair.
    pub(crate) fn handle_packet(&mut self, parts: &mut AdapterParts<'_>, packet: &Packet<'_>) {
        let opcode = packet.bth().opcode;
        if !opcode.is_rc() {
            return;
        }
        if opcode.is_response() {
            if matches!(self.state(), QpState::Rts | QpState::Sqd) {
                self.handle_response(parts, packet);
            }
        } else if matches!(self.state(), QpState::Rtr | QpState::Rts | QpState::Sqd) {
            self.handle_request(parts, packet);
        }
    }

    /// Returns the next packet that can leave now, responses first, and appends the payload to
    /// `payload`.
    pub(crate) fn next_packet(
        &mut self,
        parts: &mut AdapterParts<'_>,
        payload: &mut Vec<u8>,
    ) -> Option<Transmit> {
        let (bth, extension, is_inline) = match self.next_response(parts, payload) {
            Some((bth, extension)) => (bth, extension, false),
            None => self.next_request(parts, payload)?,
        };
        Some(Transmit {
            reads_memory: !is_inline && !payload.is_empty(),
            source_qp: self.handle.qp_num,
            address: self.address?,
            bth,
            extension,
        })
    }

    /// Returns the time of the next timeout, in picoseconds.
    pub(crate) fn next_timeout(&self, now: u64) -> Option<u64> {
        if !matches!(self.state(), QpState::Rts | QpState::Sqd) {
            return None;
        }
        let waiting = self.send.entries.get(self.send.cursor.entry);
        let known_at = waiting
            .map(|entry| entry.known_at)
            .filter(|known_at| *known_at > now);
        let retry = self.send.rnr_until.or(self.send.deadline);
        earlier(known_at, retry)
    }

    /// Ends the oldest send request.
    fn complete_oldest_send(&mut self, parts: &mut AdapterParts<'_>, status: WcStatus) {
        let Some(entry) = self.send.pop() else {
            return;
        };
        let is_told = entry.flags.signaled || self.init.sq_sig_all || !status.is_success();
        if !is_told {
            self.send.unsignaled += 1;
            return;
        }
        let sends = self.send.unsignaled + 1;
        self.send.unsignaled = 0;
        let is_read = entry.operation.returns_data();
        let completion = WorkCompletion {
            wr_id: entry.wr_id,
            status,
            opcode: status
                .is_success()
                .then(|| WcOpcode::of_send(&entry.operation)),
            byte_len: if is_read && status.is_success() {
                entry.length
            } else {
                0
            },
            imm_data: None,
            qp_num: self.handle.qp_num,
            src_qp: None,
            vendor_err: 0,
        };
        let solicited = !status.is_success();
        parts.add_completion(self.init.send_cq, completion, solicited, (sends, 0));
    }

    /// Returns the bytes that the queue pair has allocated, besides lists of a work request.
    #[cfg(test)]
    pub(crate) fn allocated(&self) -> usize {
        self.send.entries.capacity() * size_of::<SendEntry>() + self.responder.allocated()
    }

    /// Sets the number of messages that the responder has completed.
    #[cfg(test)]
    pub(crate) const fn set_message_number(&mut self, number: u32) {
        self.responder.msn = number;
    }

    fn report_event(&self, parts: &mut AdapterParts<'_>, event: fn(QueuePair) -> AsyncEvent) {
        parts.events.push_back(event(self.handle));
    }
}

/// Returns the earlier of two times that may not be set.
pub(crate) fn earlier(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

fn invalid<T>(why: String) -> Result<T, VerbsError> {
    Err(VerbsError::Invalid { why })
}

fn check_sges(name: &str, found: usize, most: u32) -> Result<(), VerbsError> {
    if found > most as usize {
        return invalid(format!(
            "{found} scatter/gather entries, {name} of the queue pair is {most}"
        ));
    }
    Ok(())
}

fn check_payload(request: &SendRequest<'_>, cap: &QpCapabilities) -> Result<(), VerbsError> {
    match request.payload {
        Payload::Sges(sges) => check_sges("max_send_sge", sges.len(), cap.max_send_sge),
        Payload::Inline(_) if request.operation.returns_data() => {
            invalid("a read or atomic operation takes no inline data".to_owned())
        }
        Payload::Inline(bytes) if bytes.len() > cap.max_inline_data as usize => invalid(format!(
            "{} bytes inline, max_inline_data of the queue pair is {}",
            bytes.len(),
            cap.max_inline_data
        )),
        Payload::Inline(_) => Ok(()),
    }
}
