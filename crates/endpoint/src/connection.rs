//! A connection of an endpoint: its stage, its queue pair, its buffers and its operations.

use std::collections::VecDeque;

use rdma::{Endpoint as QpEndpoint, MemoryRegion, QueuePair};

use crate::event::Status;
use crate::stage::{ConnectionStage, StageEvent};
use crate::wire::{Attribute, Uri};

/// Identifier of a connection at one endpoint; never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(pub(crate) u32);

/// Identifier of an operation at one endpoint.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct OperationId(pub(crate) u64);

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) attribute: Attribute,
    pub(crate) peer: Uri,
    /// Context of the call that created the connection.
    pub(crate) context: u64,
    /// Number of the connection at the peer.
    pub(crate) remote: u32,
    pub(crate) stage: ConnectionStage,
    /// The datagram that is repeated until an answer arrives.
    pub(crate) handshake: Option<Handshake>,
    pub(crate) keepalive: Option<Keepalive>,
    /// Time after which an operation has failed, in picoseconds.
    pub(crate) send_timeout: Option<u64>,
    /// The queue pair, of a reliable connection.
    pub(crate) pair: Option<Pair>,
}

/// A datagram that is repeated.
#[derive(Debug)]
pub(crate) struct Handshake {
    pub(crate) datagram: Vec<u8>,
    pub(crate) resend_at: u64,
    /// Transmissions that are left; `None` for no limit.
    pub(crate) left: Option<u32>,
    /// The end of the wait.
    pub(crate) deadline: Option<u64>,
}

/// Supervision of the peer.
#[derive(Debug)]
pub(crate) struct Keepalive {
    pub(crate) timeout: u64,
    /// The time at which the peer counts as lost.
    pub(crate) deadline: u64,
    /// The next ping.
    pub(crate) ping_at: u64,
}

/// The queue pair of a connection, and the buffers of the queue pair.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) qp: QueuePair,
    pub(crate) local: QpEndpoint,
    /// Send buffers.
    pub(crate) sends: MemoryRegion,
    /// Receive buffers.
    pub(crate) receives: MemoryRegion,
    /// Send buffers that are free.
    pub(crate) free: Vec<u32>,
    /// Receive buffers whose events have not been returned.
    pub(crate) borrowed: u32,
    /// Operations that are posted, in their order.
    pub(crate) operations: VecDeque<PostedOperation>,
    /// The next transfer to or from remote memory waits for all earlier ones.
    pub(crate) fences_next: bool,
    /// End of the operations that the adapter flushes.
    pub(crate) failure: Status,
}

/// An operation that is posted.
#[derive(Debug)]
pub(crate) struct PostedOperation {
    pub(crate) id: OperationId,
    pub(crate) context: u64,
    pub(crate) report: CompletionReport,
    /// The send buffer in use.
    pub(crate) buffer: Option<u32>,
    /// Memory of the program that is lent.
    pub(crate) lent: Option<MemoryRegion>,
    pub(crate) is_rma: bool,
    /// The time at which the operation counts as failed.
    pub(crate) deadline: Option<u64>,
}

/// Report of the end of an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CompletionReport {
    /// An event.
    Event,
    /// None.
    Silent,
    /// The result of [`Endpoint::blocking_status`](crate::Endpoint::blocking_status).
    Blocking,
}

impl Connection {
    pub(crate) const fn is_open(&self) -> bool {
        matches!(self.stage, ConnectionStage::Open)
    }

    /// Changes the stage; returns false if the event is ignored in this one.
    pub(crate) fn apply_event(&mut self, event: StageEvent) -> bool {
        let next = self.stage.after(event);
        self.stage = next.unwrap_or(self.stage);
        next.is_some()
    }

    /// Returns the time of the next timeout.
    pub(crate) fn next_timeout(&self) -> Option<u64> {
        let mut next = u64::MAX;
        if let Some(handshake) = &self.handshake
            && self.stage.is_half_open()
        {
            next = handshake.resend_at;
            next = next.min(handshake.deadline.unwrap_or(u64::MAX));
        }
        if let Some(keepalive) = &self.keepalive {
            next = next.min(keepalive.deadline).min(keepalive.ping_at);
        }
        let oldest = self.pair.as_ref().and_then(|pair| pair.operations.front());
        if let Some(deadline) = oldest.and_then(|operation| operation.deadline) {
            next = next.min(deadline);
        }
        (next != u64::MAX).then_some(next)
    }

    /// Records that the peer has sent a packet or a datagram.
    pub(crate) fn note_heard(&mut self, now: u64) {
        if let Some(keepalive) = &mut self.keepalive {
            keepalive.deadline = now + keepalive.timeout;
        }
    }
}
