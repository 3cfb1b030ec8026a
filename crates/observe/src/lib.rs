//! Events of a running message-passing program, and the event log that stores them.
//!
//! The message layer reports each event of a rank to its [`Observer`]. Simulated and real runs
//! implement the trait with their own clocks, so every analysis works on both. An observer returns
//! no value: observers cannot change the run.
//!
//! The *event log* ([`LogWriter`], [`LogReader`], [`BackwardReader`]) stores events as records of
//! 32 bytes in the order of execution, which is a topological order of happened-before. Timelines
//! and analyses are made from the log, forwards in one pass or backwards. Each rank of a real run
//! writes its own log; [`merge`] makes one log of them.
//!
//! A program writes the log and links no analysis: accumulators would make each program larger, and
//! real runs would have to send them. All records have one length, because slack is computed from
//! the end of the log. Perfetto's format has nanoseconds, and no identity of packets.
//!
//! # Identity of messages
//!
//! Events carry no message number. A packet is identified by its source, its destination, its
//! [`PacketKind`] and its key: packets with the same four values arrive in the order in which they
//! were posted (see the package `channel`). So observers change no byte of a message.
//!
//! *Not observed*: operations of actor programs, which are not ranks, and the work of a program
//! between its calls in real time.

mod backward;
mod event;
mod host_names;
mod log;
mod merge;
mod network;
mod numbering;
mod open;
mod record;
mod validity;

pub use backward::{BackwardEntry, BackwardReader};
pub use event::{
    CANCELLATION, CONNECTION, CREDITS, Observer, PacketKind, ProgramEvent, RankEvent, Resource,
    RunKind,
};
pub use host_names::HostNames;
pub use log::{LogEntry, LogReader, LogWriter};
pub use merge::{MergedLogs, merge};
pub use network::{IncidentPlace, Link, LinkParameter, LinkSharing, NetworkEvent, NetworkObserver};
pub use numbering::{LogEvent, NameId};
pub use open::EndedCall;
pub use record::RECORD_BYTES;
pub use source_location::{NativeLocation, SourceLocation, set_native_caller};
