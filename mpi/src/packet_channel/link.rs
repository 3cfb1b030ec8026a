//! One connection: a queue pair, its receives, what waits to be posted and what has been posted.
//!
//! A request on the send queue keeps its place until one at or after it has completed *and* was signalled; so the link counts places, and what
//! finds none waits, in order. Requests complete in order: a completion says that all before it are over, too.

use std::collections::VecDeque;

use rdma::{Endpoint, MemoryRegion, QueuePair};

use super::registrations::Origin;
use crate::Buffer;
use crate::channel::Token;
use crate::wire::{Head, Memory};

/// A connection, as who drives the device calls it; numbers may be used again after [`close`](super::Device::close).
pub type LinkId = u32;

/// Where a link stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stage {
    /// Receives are posted; the other side is not known.
    Prepared,
    /// Connected, but whether the other side is, is not known: nothing is sent before something has come.
    Listening,
    /// In use.
    Open,
}

/// What waits to be posted.
#[derive(Debug)]
pub(super) enum Job {
    /// A frame, into a receive of the other side.
    Frame {
        head: Head,
        payload: Buffer,
        /// To be told when it has left.
        notify: Option<Token>,
        /// Its end matters, whoever is told.
        is_signaled: bool,
    },
    /// A message, from where it is to the place that the other side has named.
    Write {
        source: (Origin, MemoryRegion),
        length: u64,
        /// So much has been posted.
        posted: u64,
        place: Memory,
        receive: Token,
        notify: Option<Token>,
        /// The head of a frame that follows, if there is more to tell than that the message is there.
        head: Option<Head>,
    },
    /// A message, from the place that the other side has named.
    Read {
        landing: MemoryRegion,
        length: u64,
        /// So much has been posted.
        posted: u64,
        place: Memory,
        receive: Token,
    },
}

/// What is to be done when a request is over.
#[derive(Debug)]
pub(super) enum Then {
    /// Nothing.
    Nothing,
    /// A packet buffer is free.
    Buffer(u32, Option<Token>),
    /// A message has left.
    Written(Origin, Option<Token>),
    /// A message has been fetched for this receive.
    Read(Token),
}

/// A connection.
#[derive(Debug)]
pub(super) struct Link {
    pub(super) peer: u32,
    pub(super) qp: QueuePair,
    /// The completion queue that it uses.
    pub(super) shelf: usize,
    pub(super) endpoint: Endpoint,
    /// The memory of its receives.
    pub(super) receives: MemoryRegion,
    pub(super) stage: Stage,
    pub(super) max_inline: u32,
    pub(super) pending: VecDeque<Job>,
    /// The requests on the send queue, oldest first.
    pub(super) posted: VecDeque<Then>,
    /// The number of the oldest.
    pub(super) oldest: u64,
    /// Requests since the last one that was signalled.
    pub(super) unsignaled: u32,
    /// It ends when nothing is left to be sent.
    pub(super) is_closing: bool,
}

impl Link {
    /// Whether everything that is to be sent has arrived.
    pub(super) fn is_drained(&self) -> bool {
        self.pending.is_empty() && self.posted.is_empty()
    }
}
