//! One connection: a queue pair, its receives, waiting jobs and posted requests.
//!
//! A request on the send queue keeps its place until a signalled request at or after it has
//! completed. So the link counts places, and a job that finds no place waits, in order. Requests
//! complete in order: a completion also ends all earlier requests.

use std::collections::VecDeque;

use rdma::{Endpoint, MemoryRegion, QueuePair};

use super::registrations::SendOrigin;
use crate::wire::{FrameHeaderBytes, Memory};
use channel::{Buffer, Token};

/// Number of a connection, chosen by the caller of the device. A number may be used again after
/// [`close_link`](super::Device::close_link).
pub type LinkId = u32;

/// Where a link stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum LinkStage {
    /// Receives are posted; the other side is not known.
    Prepared,
    /// Connected, but the other side may not be connected: no packet is sent before a packet has
    /// come.
    Listening,
    /// In use.
    Open,
}

/// A work request that waits to be posted.
#[derive(Debug)]
pub(crate) enum PendingPost {
    /// A frame, into a receive of the other side.
    Frame {
        head: FrameHeaderBytes,
        payload: Buffer,
        /// Token to report when the frame has left.
        notify: Option<Token>,
        /// The end of the frame matters, also without a token.
        is_signaled: bool,
    },
    /// A message or a put, from its memory to the place that the other side has named.
    Write {
        source: WriteSource,
        length: u64,
        /// So much has been posted.
        posted: u64,
        place: Memory,
        /// The receive of a message, which the other side gets to know.
        receive: Option<Token>,
        notify: Option<Token>,
        /// The head of a frame that follows, if there is more to tell than that the message is
        /// there.
        head: Option<FrameHeaderBytes>,
    },
    /// A message or a get, from the place that the other side has named.
    Read {
        landing: MemoryRegion,
        length: u64,
        /// So much has been posted.
        posted: u64,
        place: Memory,
        receive: Token,
    },
}

/// The memory with the bytes of a write.
#[derive(Debug)]
pub(crate) enum WriteSource {
    /// In memory that the adapter reads.
    Region(SendOrigin, MemoryRegion),
    /// In a buffer that the adapter takes with the request.
    Inline(Buffer),
}

/// Action on the completion of a request.
#[derive(Debug)]
pub(crate) enum Then {
    /// No action.
    Nothing,
    /// A packet buffer is free.
    Buffer(u32, Option<Token>),
    /// A message has left.
    Written(SendOrigin, Option<Token>),
    /// A message has been fetched for this receive.
    Read(Token),
}

/// A connection.
#[derive(Debug)]
pub(crate) struct PeerLink {
    pub(crate) peer: u32,
    pub(crate) qp: QueuePair,
    /// Index of the completion queue.
    pub(crate) shared: usize,
    pub(crate) endpoint: Endpoint,
    /// Memory of the receives.
    pub(crate) receives: MemoryRegion,
    pub(crate) stage: LinkStage,
    pub(crate) max_inline: u32,
    pub(crate) pending: VecDeque<PendingPost>,
    /// The requests on the send queue, oldest first.
    pub(crate) posted: VecDeque<Then>,
    /// The number of the oldest.
    pub(crate) oldest: u64,
    /// Gets on the send queue: later requests must not change the memory that the gets read.
    pub(crate) gets: u32,
    /// Requests since the last one that was signalled.
    pub(crate) unsignaled: u32,
    /// The connection ends when no job and no request is left.
    pub(crate) is_closing: bool,
}

impl PeerLink {
    /// Returns true if everything that was to be sent has arrived.
    pub(crate) fn is_drained(&self) -> bool {
        self.pending.is_empty() && self.posted.is_empty()
    }
}
