//! The seam between the message layer and the carrier of its packets: one rank's view of a device
//! and its world.
//!
//! A channel takes packets and hands out events; a channel never blocks and never calls back. All
//! work that takes time ends as an [`ChannelEvent`] with the token of the start of the work. A
//! channel decides no protocol and does not know tags.
//!
//! Ordering guarantee: packets with an envelope or of a socket ([`PacketHeader::is_ordered`]) from
//! one rank to another are delivered in the order in which they were posted. Between different
//! pairs there is no order at all: a message relayed by a third rank may overtake a direct one.
//!
//! Delivery guarantee: every posted packet arrives once and unchanged, unless the channel reports
//! that the peer is lost. A layer below may lose, repeat and reorder packets: then acknowledgements
//! and retransmission belong to the channel, as in a reliable connection of InfiniBand, and not to
//! the protocols here (M-7). `crates/mpi/tests/unreliable.rs` has such a channel.
//!
//! Units: seconds, flop, bytes.

use std::fmt;
use std::rc::Rc;
use std::task::Waker;

use observe::{Observer, SourceLocation};
use rdma::{MemoryRegion, RegionMemory, Verbs};

mod buffer;
mod element;
mod envelope;
mod event;
mod exploration;
mod failure;
mod fresh_memory;
mod operations;
mod packet;
mod parameters;
mod placement;
mod rma_call;
mod scalar;
mod statistics;

pub use buffer::Buffer;
pub use element::{Element, TypeSignature};
pub use envelope::{Envelope, PARTITION_TAG};
pub use event::{ChannelEvent, Interest};
pub use exploration::{
    COLLECTIVE, CausalityHooks, ExplorationFact, ExplorationHooks, PacketOrigin, RunNotes,
    SendCause, is_of_collectives,
};
pub use failure::Failure;
pub use fresh_memory::FreshMemory;
pub use operations::{CollectivePlace, NotedOperation, SendEnd};
pub use packet::{ConnectionControl, CreditReturn, Packet, PacketHeader};
pub use parameters::{CollectiveWaits, PostingCost, Settings};
pub use placement::Placement;
pub use rma_call::{AccumulateOp, NoncontiguousCall, RmaCall};
pub use scalar::{PartialElement, Scalar};
pub use settings::{
    ConnectionSettings, LibrarySettings, Limits, MemorySettings, Overheads, TransportMode,
};
pub use statistics::{ConnectionCounts, ConnectionStatistics, PeerHistory};

/// Number of a send, a timer or a computation, chosen by the message layer; the channel reports the
/// end with this number.
pub type Token = u32;

/// Severity of a line of the log.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Level {
    /// An error.
    Error,
    /// A warning: check the result.
    Warn,
    /// A milestone.
    Info,
    /// Details, to debug the program.
    Debug,
    /// Everything.
    Trace,
}

/// One rank's view of a device: packets out, events in.
///
/// Optional abilities of devices are separate traits; the default methods of these traits do
/// nothing.
pub trait Channel: RankHost + RemoteMemory + ConnectionLifecycle + ExplorationHooks {
    /// Returns the number of this rank, from 0.
    fn rank(&self) -> u32;

    /// Returns the number of ranks.
    fn size(&self) -> u32;

    /// Returns the parameters of the message layer.
    fn settings(&self) -> &Settings;

    /// Returns the largest payload of a packet, in bytes.
    fn max_packet(&self) -> u64;

    /// Sends a packet to a rank.
    fn post(&self, peer: u32, packet: Packet);

    /// Pulls a detached message from the sending rank to this rank: a packet with the data of the
    /// message.
    fn pull(&self, source: u32, packet: Packet);

    /// Returns the next event, if there is one.
    fn poll_event(&self) -> Option<ChannelEvent>;

    /// Returns true if [`poll_event`](Self::poll_event) certainly has no event.
    fn is_quiet(&self) -> bool {
        false
    }

    /// Reports that the rank has no work until the next event, which wakes `waker`; `None` if the
    /// rank is parked already, and has handled its events without being able to continue.
    ///
    /// Several calls before this event are allowed. The event then wakes all wakers, because the
    /// event may concern any of them; the rank wakes for any of its `interest`s.
    fn park(&self, waker: Option<&Waker>, interest: Interest);

    /// Returns the messages to this rank that had not arrived when the run ended: their envelopes
    /// and lengths in bytes.
    fn undelivered(&self) -> Vec<(Envelope, u64)> {
        Vec::new()
    }
}

/// The reason for which a rank ends the whole run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AbortReason {
    /// The program asks for the end, with this code.
    Program(i32),
    /// The unreceived messages of this rank take more memory than the limit. The call of
    /// [`RankHost::abort`] unwinds; a channel with ranks in several processes ignores the
    /// limit.
    Unreceived {
        /// The limit in bytes, which includes the message of the call.
        bytes: u64,
        /// The call that sent the last message.
        location: SourceLocation,
    },
}

/// The host of a rank: clock, processor and output.
pub trait RankHost {
    /// Returns the time in seconds since an arbitrary moment, the same for all ranks.
    fn now(&self) -> f64;

    /// Tells [`ChannelEvent::Elapsed`] after `seconds`.
    fn timer(&self, seconds: f64, token: Token);

    /// Tells [`ChannelEvent::Elapsed`] after `flops` flop on this host.
    fn compute(&self, flops: f64, token: Token);

    /// Returns the name of the host.
    fn host_name(&self) -> String;

    /// Prints a line of the program's own output.
    fn print(&self, text: fmt::Arguments<'_>);

    /// Writes a line to the log, unless the level is filtered out.
    fn log(&self, level: Level, text: fmt::Arguments<'_>);

    /// Ends the whole run.
    fn abort(&self, reason: AbortReason);

    /// Returns the observer of the run, if there is one. Called once, at the start of the rank.
    fn observer(&self) -> Option<Rc<dyn Observer>> {
        None
    }
}

/// Memory that is registered at the adapter of a channel, with the adapter.
#[derive(Clone, Debug)]
pub struct RegisteredMemory {
    /// The adapter that owns the memory.
    pub verbs: Rc<dyn Verbs>,
    /// The memory, which other ranks may read and write.
    pub region: MemoryRegion,
}

/// Memory of one rank that a device of another may read or write. Used where
/// [limits](crate::Limits) are set.
pub trait RemoteMemory {
    /// Announces `message`, just before its [`PacketHeader::Rts`] is posted to `peer`.
    ///
    /// The channel may let the peer fetch the message and report [`ChannelEvent::Taken`] instead of
    /// the CTS, until the data are posted, the message is given back, or the rank is lost.
    fn offer(&self, peer: u32, send: Token, message: &Buffer) {
        let _ = (peer, send, message);
    }

    /// Announces a receive of `length` bytes, just before its [`PacketHeader::Cts`] is posted to
    /// `peer`.
    ///
    /// The channel may provide memory for the message; or fetch the message, report
    /// [`ChannelEvent::Fetched`], and let the channel of the sender report [`ChannelEvent::Taken`].
    fn expect_message(&self, peer: u32, send: Token, receive: Token, length: u64) {
        let _ = (peer, send, receive, length);
    }

    /// Takes the unneeded memory of a receive: the memory of the arrived message has replaced this
    /// memory. A channel that provides memory may use it again.
    fn recycle_memory(&self, memory: Vec<u8>) {
        drop(memory);
    }

    /// Registers the memory of a window: the channel of another rank then takes packets of
    /// [`RmaCall::Write`] and [`RmaCall::Read`] for this memory. Called if
    /// [`Settings::registers_windows`] is set.
    ///
    /// # Errors
    /// Returns the memory if the registration fails: then accesses to the memory are messages.
    fn register_memory(&self, memory: RegionMemory) -> Result<RegisteredMemory, RegionMemory> {
        Err(memory)
    }

    /// Returns the rank's adapter; `None` if the channel has none.
    fn adapter(&self) -> Option<Rc<dyn Verbs>> {
        None
    }

    /// Tells [`ChannelEvent::Elapsed`] when a completion or a packet may have arrived at the
    /// adapter.
    fn watch_adapter(&self, token: Token) {
        let _ = token;
    }
}

/// Connections between ranks, where they have to be made.
pub trait ConnectionLifecycle {
    /// Connects the rank, if this must precede the program; true when done.
    fn open_connections(&self) -> bool {
        true
    }

    /// Ends all connections; true when done. Called at each event, when all sends are over.
    fn close_connections(&self) -> bool {
        true
    }

    /// Reports that the rank has ended, except for unreceived messages stored at this rank and
    /// receives without a message that the program no longer waits for. If no other rank continues
    /// either, the run is over. Returns false if the rank must not wait.
    fn finalize_wait(&self) -> bool {
        false
    }

    /// Says that the rank takes no packets any more: the requests of others to connect are
    /// [returned](ChannelEvent::Undeliverable).
    fn shut(&self) {}

    /// Returns the statistics of the connections; `None` if there are none to be made.
    fn connection_statistics(&self) -> Option<ConnectionStatistics> {
        None
    }
}

/// Operations that a rank waits for, in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Waiting {
    /// The operation and the arguments.
    pub operation: String,
    /// The line of the program, as `file:line`.
    pub location: String,
    /// The ranks that could end the wait; empty if any could.
    pub ranks: Vec<u32>,
}

/// A read of a window with the result.
#[derive(Clone, Debug)]
pub struct WindowRead {
    /// The rank with the memory.
    pub target: u32,
    /// The context of the window.
    pub window: u32,
    /// The first byte in the window.
    pub offset: u64,
    /// The bytes that were read.
    pub result: Buffer,
}

/// The protocols of a rank; the device of the rank drives them.
pub trait RankProtocols {
    /// Handles `first`, and then the events of the channel, while the rank is parked. Returns true
    /// if the rank can continue now.
    ///
    /// A device calls this method, or wakes the rank, which then does the same.
    fn handle_parked_events(&self, first: Option<ChannelEvent>) -> bool;

    /// Returns the operations that the rank waits for; `None` if the rank does not wait.
    fn waiting(&self) -> Option<Waiting>;

    /// Returns true if the rank waits only because a model checker has picked an answer that
    /// another run gets, too.
    fn is_covered(&self) -> bool;

    /// Returns the read of a window that the rank repeats without end, under a model checker.
    fn endless_read(&self) -> Option<WindowRead>;

    /// Returns true if a read of a window of this rank has the same result now.
    fn has_result(&self, read: &WindowRead) -> bool;

    /// Returns the operations that the rank left unfinished, in words.
    fn leftovers(&self) -> Vec<String>;

    /// Returns the objects that the rank has made and never freed, in words.
    fn leaks(&self) -> Vec<String>;
}
