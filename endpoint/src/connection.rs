//! A connection of an endpoint: its stage, its queue pair and its buffers.

use std::collections::VecDeque;

use rdma::{Endpoint as QpEndpoint, MemoryRegion, QueuePair};

use crate::wire::Uri;

/// Identifier of a connection at one endpoint; never used again.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ConnectionId(pub(crate) u32);

/// Stage of a connection.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Stage {
    /// The request was sent; the answer is awaited.
    Connecting {
        /// The next transmission of the request.
        resend_at: u64,
        /// The end of the wait.
        deadline: Option<u64>,
    },
    /// A request was reported; the program has not decided.
    Requested,
    /// Accepted; the acknowledgement is awaited.
    Accepting {
        /// The next transmission of the answer.
        resend_at: u64,
        /// Transmissions that are left.
        left: u32,
    },
    /// In use.
    Open,
    /// Ended: operations fail.
    Broken,
}

/// A connection.
#[derive(Debug)]
pub(crate) struct Connection {
    pub(crate) peer: Uri,
    /// Context of the call that made it.
    pub(crate) context: u64,
    /// Its number at the peer.
    pub(crate) remote: u32,
    /// The datagram that is repeated.
    pub(crate) handshake: Vec<u8>,
    pub(crate) stage: Stage,
    /// The queue pair, of a reliable connection.
    pub(crate) pair: Option<Pair>,
}

/// The queue pair of a connection and its buffers.
#[derive(Debug)]
pub(crate) struct Pair {
    pub(crate) qp: QueuePair,
    pub(crate) local: QpEndpoint,
    /// Send buffers, then receive buffers.
    pub(crate) buffers: MemoryRegion,
    /// Send buffers that are free.
    pub(crate) free: Vec<u32>,
    /// Operations that are posted, in order, by their numbers.
    pub(crate) operations: VecDeque<(u64, Operation)>,
    /// The number of the next operation.
    pub(crate) next_operation: u64,
}

/// A send of the program.
#[derive(Clone, Debug)]
pub(crate) struct Operation {
    pub(crate) context: u64,
    /// The send buffer in use.
    pub(crate) buffer: u32,
}

impl Connection {
    pub(crate) const fn is_open(&self) -> bool {
        matches!(self.stage, Stage::Open)
    }

    /// Returns the time at which something is due.
    pub(crate) fn next_timeout(&self) -> Option<u64> {
        match self.stage {
            Stage::Connecting {
                resend_at,
                deadline,
            } => Some(deadline.map_or(resend_at, |end| end.min(resend_at))),
            Stage::Accepting { resend_at, .. } => Some(resend_at),
            Stage::Requested | Stage::Open | Stage::Broken => None,
        }
    }
}
