//! The send queue of a queue pair: posted requests, their sent and acknowledged packets, and the
//! retry counters. IBA 9.7.2 and 9.9.2.
//!
//! *Decided here*: the packet sequence numbers of a request, assigned when the request starts.

use std::collections::VecDeque;

use super::SoftAdapterSettings;
use crate::{Operation, Psn, SendFlags, Sge, WcStatus};

/// The data of a send request: entries of registered memory, or bytes copied by the post.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum RequestData {
    /// The usual list.
    Sge(Sge),
    Sges(Box<[Sge]>),
    Inline(Box<[u8]>),
}

impl RequestData {
    pub(super) fn from_sges(sges: &[Sge]) -> Self {
        match sges {
            [sge] => Self::Sge(*sge),
            sges => Self::Sges(sges.into()),
        }
    }

    pub(super) fn sges(&self) -> &[Sge] {
        match self {
            Self::Sge(sge) => std::slice::from_ref(sge),
            Self::Sges(sges) => sges,
            Self::Inline(_) => &[],
        }
    }

    /// Returns the number of bytes.
    pub(super) fn byte_count(&self) -> u64 {
        match self {
            Self::Inline(bytes) => bytes.len() as u64,
            other => other.sges().iter().map(|sge| u64::from(sge.length)).sum(),
        }
    }
}

/// A posted send request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct SendEntry {
    pub(super) wr_id: u64,
    pub(super) operation: Operation,
    pub(super) flags: SendFlags,
    pub(super) data: RequestData,
    /// Number of bytes, set when the request starts.
    pub(super) length: u32,
    /// The time at which the adapter knows the request, in picoseconds.
    pub(super) known_at: u64,
    /// The sequence number of the first packet, set when the request starts.
    pub(super) first_psn: Psn,
    /// Packet sequence numbers that the request takes; 0 before it starts.
    pub(super) psn_count: u32,
    /// Packets of the response to a read that have come.
    pub(super) responses: u32,
    /// The error with which the request ends when all earlier requests have completed.
    pub(super) failure: Option<WcStatus>,
}

impl SendEntry {
    pub(super) const fn has_started(&self) -> bool {
        self.psn_count > 0
    }

    /// Returns the sequence number after the last packet of the request.
    pub(super) const fn end_psn(&self) -> Psn {
        self.first_psn.plus(self.psn_count)
    }
}

/// The requester's place: the next packet to send.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Cursor {
    /// Position in the queue.
    pub(super) entry: usize,
    /// Packets of that request that need not be sent.
    pub(super) packet: u32,
}

/// The send queue and the requester's state.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct SendQueue {
    /// Requests that have not completed, oldest first.
    pub(super) entries: VecDeque<SendEntry>,
    /// Occupied places, including completed requests whose completion was not polled.
    pub(super) used: u32,
    /// Requests that completed without a completion and still take their places.
    pub(super) unsignaled: u32,
    pub(super) cursor: Cursor,
    /// The oldest packet that is not acknowledged.
    pub(super) unacked: Psn,
    /// The number behind the newest packet that was ever sent.
    pub(super) sent_end: Psn,
    /// The number of the next request's first packet.
    pub(super) next_psn: Psn,
    /// Reads and atomics that started and have not completed.
    pub(super) reads: u32,
    /// Packets since the last one that asked for an acknowledgement.
    pub(super) since_ack_request: u32,
    /// The time at which unacknowledged packets are sent again, in picoseconds.
    pub(super) deadline: Option<u64>,
    /// The time until which a receiver that is not ready asked to wait, in picoseconds.
    pub(super) rnr_until: Option<u64>,
    pub(super) retries_left: u8,
    pub(super) rnr_retries_left: u8,
    /// Packet from which requests are sent again: later responses that skip it have no effect.
    pub(super) resent_from: Option<Psn>,
    /// Requests to finish before the queue is drained.
    pub(super) draining: usize,
    /// The end of draining is to be reported.
    pub(super) reports_drained: bool,
    /// Messages that started, modulo 2^24 (SSN, IBA 9.7.7.2.5).
    pub(super) started_messages: u32,
    /// The newest message that the responder's credits permit to start; `None` without credits.
    pub(super) limit_message: Option<u32>,
}

impl SendQueue {
    /// Returns true if a packet was sent that is not acknowledged.
    pub(super) fn has_unacked(&self) -> bool {
        self.unacked != self.sent_end
    }

    /// Notes that all packets before `psn` are acknowledged.
    pub(super) fn advance_unacked(&mut self, psn: Psn) {
        if psn.ahead_of(self.unacked) > 0 {
            self.unacked = psn;
            self.resent_from = None;
        }
        if let Some(entry) = self.entries.get(self.cursor.entry)
            && entry.has_started()
            && !entry.operation.returns_data()
        {
            let done = self.unacked.ahead_of(entry.first_psn);
            let done = u32::try_from(done).unwrap_or(0).min(entry.psn_count);
            self.cursor.packet = self.cursor.packet.max(done);
            if self.cursor.packet == entry.psn_count {
                self.cursor = Cursor {
                    entry: self.cursor.entry + 1,
                    packet: 0,
                };
            }
        }
    }

    /// Removes the oldest request.
    pub(super) fn pop(&mut self) -> Option<SendEntry> {
        let entry = self.entries.pop_front()?;
        self.draining = self.draining.saturating_sub(1);
        if entry.has_started() && entry.operation.returns_data() {
            self.reads -= 1;
        }
        match self.cursor.entry.checked_sub(1) {
            Some(before) => self.cursor.entry = before,
            None => self.cursor.packet = 0,
        }
        Some(entry)
    }

    /// Sends again from the oldest packet that is not acknowledged.
    pub(super) fn go_back(&mut self) {
        let unacked = self.unacked;
        let entries = self.entries.iter();
        let started = entries.take_while(|entry| entry.has_started());
        let mut cursor = Cursor::default();
        for entry in started {
            let done = unacked.ahead_of(entry.first_psn);
            if done < i32::try_from(entry.psn_count).unwrap_or(i32::MAX) {
                if !entry.operation.returns_data() {
                    cursor.packet = u32::try_from(done).unwrap_or(0);
                }
                break;
            }
            cursor.entry += 1;
        }
        self.cursor = cursor;
        self.deadline = None;
        self.since_ack_request = 0;
        self.resent_from = Some(unacked);
    }

    /// Returns true if the packet `psn` must ask for an acknowledgement: enough packets have left
    /// since the last packet that asked, or the window ends.
    pub(super) fn must_request_ack(&self, psn: Psn, settings: &SoftAdapterSettings) -> bool {
        self.since_ack_request + 1 >= settings.ack_every
            || !is_in_window(self, psn.plus(1), settings)
    }

    /// Returns true if the requests of a draining queue are finished.
    pub(super) const fn is_drained(&self) -> bool {
        self.draining == 0
    }
}

/// Returns the number of packet sequence numbers of a request: one for each packet of the message
/// or, for a read, of the response. IBA 9.7.2.
pub(super) fn psn_count(operation: &Operation, length: u32, mtu: u32) -> u32 {
    match operation {
        Operation::AtomicCmpAndSwp { .. } | Operation::AtomicFetchAndAdd { .. } => 1,
        _ => length.div_ceil(mtu).max(1),
    }
}

/// Returns true if the window lets the packet `psn` leave.
pub(super) fn is_in_window(queue: &SendQueue, psn: Psn, settings: &SoftAdapterSettings) -> bool {
    let ahead = psn.ahead_of(queue.unacked);
    u32::try_from(ahead).is_ok_and(|ahead| ahead < settings.window)
}
