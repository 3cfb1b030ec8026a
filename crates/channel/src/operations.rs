//! The operations of a rank, as a model checker notes them, with the ends of sends.
//!
//! *Not decided here*: whether a wait can be stuck; see the package `fabric`.

use crate::Envelope;

/// The end of a send (MPI 5.0, 3.4).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SendEnd {
    /// At once: the message is buffered.
    Buffered,
    /// At once, or with the post of the receive: MPI permits both.
    Standard,
    /// At once: the message is in an attached buffer. A call that empties the buffer may wait for
    /// the post of the receive (MPI 5.0, 3.6).
    Attached,
    /// With the post of the receive.
    Synchronous,
}

/// A call that all ranks of a communicator make: the context, the world rank of the rank 0 of the
/// communicator, and the number among the calls of the communicator.
pub type CollectivePlace = (u32, u32, u32);

/// An operation that a rank begins.
#[derive(Clone, Copy, Debug)]
pub enum NotedOperation {
    /// A send to a rank.
    Send {
        /// The rank that receives.
        destination: u32,
        /// The envelope of the message.
        envelope: Envelope,
        /// The end of the send.
        end: SendEnd,
    },
    /// A receive.
    Receive {
        /// The context.
        context: u32,
        /// The source; `None` for every rank.
        source: Option<u32>,
        /// The tag; `None` for every tag.
        tag: Option<u32>,
    },
    /// A call that all ranks of a communicator make. The wait for the call is one for the
    /// receives of the rank; MPI permits to wait for the calls of all ranks, too (MPI 5.0, 6.14
    /// and 7.4.2).
    Collective {
        /// The name of the call.
        name: &'static str,
        /// The place of the call.
        place: CollectivePlace,
        /// Number of ranks of the communicator.
        ranks: u32,
    },
    /// A call of one-sided communication that begins or ends an epoch. The call waits for the
    /// receives that are parts of the call that has begun the epoch: of posts, or of a lock.
    Epoch {
        /// The name of the call.
        name: &'static str,
        /// The note of the call that has begun the epoch, if another one has.
        start: Option<u32>,
        /// True if MPI permits the call to continue without waiting (MPI 5.0, 12.5).
        is_optional: bool,
    },
}
