//! The receive queue and the responder's state: the message in progress, the queued responses, and
//! the requests that are saved for duplicates. IBA 9.7.4 and 9.7.5.

use std::collections::VecDeque;

use super::send_queue::RequestData;
use crate::Psn;
use crate::wire::{Reth, Syndrome};

/// A posted receive request.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct ReceiveEntry {
    pub(super) wr_id: u64,
    pub(super) data: RequestData,
}

/// A message of which more packets are expected.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum IncomingMessage {
    Send {
        receive: ReceiveEntry,
        /// Bytes that have come.
        received: u64,
    },
    Write {
        /// Address and length of the rest of the message.
        rest: Reth,
        /// Bytes of the whole message.
        length: u32,
    },
}

/// A queued response.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Response {
    Ack {
        psn: Psn,
        syndrome: Syndrome,
        msn: u32,
    },
    Atomic {
        psn: Psn,
        original: u64,
        msn: u32,
        is_repeat: bool,
    },
    Read {
        /// The number of the next packet.
        psn: Psn,
        /// Bytes that are still to be sent, and where they are.
        rest: Reth,
        is_first: bool,
        msn: u32,
        is_repeat: bool,
    },
}

/// A read or an atomic that was executed, kept for duplicates.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum SavedRequest {
    Read {
        psn: Psn,
        count: u32,
        reth: Reth,
        msn: u32,
    },
    Atomic {
        psn: Psn,
        original: u64,
        msn: u32,
    },
}

/// The receive queue and the responder's state.
#[derive(Clone, PartialEq, Eq, Hash, Default, Debug)]
pub(super) struct Responder {
    pub(super) receives: VecDeque<ReceiveEntry>,
    /// Occupied places, including completed receives whose completion was not polled.
    pub(super) used: u32,
    /// The number of the next request packet in order.
    pub(super) expected: Psn,
    /// Messages completed, modulo 2^24 (MSN).
    pub(super) msn: u32,
    pub(super) message: Option<IncomingMessage>,
    /// A negative acknowledgement for the expected packet was sent, and is not repeated.
    pub(super) has_nacked: bool,
    pub(super) responses: VecDeque<Response>,
    /// The last reads and atomics, at most `max_dest_rd_atomic`.
    pub(super) saved: VecDeque<SavedRequest>,
    /// A request has come, which is reported once.
    pub(super) is_established: bool,
}

impl Responder {
    /// Returns the bytes that the responder has allocated.
    #[cfg(test)]
    pub(super) fn allocated(&self) -> usize {
        self.receives.capacity() * size_of::<ReceiveEntry>()
            + self.responses.capacity() * size_of::<Response>()
            + self.saved.capacity() * size_of::<SavedRequest>()
    }

    /// Returns the number of reads and atomics whose response is not sent. Repeated responses do
    /// not count: the requester may have got the response already and sent the next request.
    pub(super) fn unanswered_reads(&self) -> usize {
        let waits = |response: &&Response| match **response {
            Response::Ack { .. } => false,
            Response::Atomic { is_repeat, .. } | Response::Read { is_repeat, .. } => !is_repeat,
        };
        self.responses.iter().filter(waits).count()
    }

    /// Queues a response once more, unless the same response is already queued.
    pub(super) fn repeat(&mut self, response: Response) {
        if !self.responses.contains(&response) {
            self.responses.push_back(response);
        }
    }

    /// Queues an acknowledgement. A positive one replaces a positive one directly before it.
    pub(super) fn acknowledge(&mut self, psn: Psn, syndrome: Syndrome) {
        let msn = self.msn;
        if let (
            Syndrome::Ack(_),
            Some(Response::Ack {
                syndrome: Syndrome::Ack(_),
                ..
            }),
        ) = (syndrome, self.responses.back())
        {
            self.responses.pop_back();
        }
        self.responses
            .push_back(Response::Ack { psn, syndrome, msn });
    }

    /// Queues the response of a read.
    pub(super) fn queue_data(&mut self, psn: Psn, rest: Reth, msn: u32) {
        self.responses.push_back(Response::Read {
            psn,
            rest,
            is_first: true,
            msn,
            is_repeat: false,
        });
    }

    /// Queues the response of an atomic operation.
    pub(super) fn queue_value(&mut self, psn: Psn, original: u64, msn: u32) {
        self.responses.push_back(Response::Atomic {
            psn,
            original,
            msn,
            is_repeat: false,
        });
    }

    /// Keeps a read or an atomic for duplicates.
    pub(super) fn save(&mut self, request: SavedRequest, most: u8) {
        while self.saved.len() >= usize::from(most).max(1) {
            self.saved.pop_front();
        }
        self.saved.push_back(request);
    }
}
