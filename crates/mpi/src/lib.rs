//! Message passing in the sense of MPI, as an asynchronous Rust API over any channel.
//!
//! A program is an `async fn` that takes the world communicator:
//!
//! ```no_run
//! use mpi::prelude::*;
//!
//! async fn ring(world: Comm) -> Result<()> {
//!     let (rank, size) = (world.rank(), world.size());
//!     let mut token = world.buffer(1024);
//!     if rank == 0 {
//!         world.send(&token, 1 % size, 0).await?;
//!     }
//!     world.recv(&mut token, (rank + size - 1) % size, 0).await?;
//!     if rank != 0 {
//!         world.send(&token, (rank + 1) % size, 0).await?;
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # Layers
//!
//! 1. The API (`api`, `collectives`, `rma`): [`Comm`], with a trait for each group of calls beside
//!    point to point (all in [`prelude`]), [`Group`], [`Request`], [`Message`], [`waitall`] and
//!    similar functions, [`Window`].
//! 2. Matching: which receive gets which message.
//! 3. The protocols: eager and rendezvous, without I/O and without a clock. If [`Limits`] are set,
//!    every packet goes through the tables of [`machine`]: packet buffers, credits, bounded memory
//!    for unexpected messages.
//! 4. [`Channel`]: the interface to a device. This crate does not depend on the simulator; a
//!    simulated network, sockets and adapters all implement the same trait.
//!
//! # What is defined
//!
//! * *Order*: if a receive matches two messages of one rank, the messages are received in the order
//!   in which they were sent (non-overtaking). Between different senders there is no order.
//! * *Eager or rendezvous*: a send below the threshold is over at once. From the threshold on, a
//!   send is over when a receive has matched the message and the data have left. Two ranks that
//!   both send first and receive then finish in the first case and deadlock in the second. An eager
//!   message leaves at once or, above a second threshold, when a receive has matched it
//!   ([`Settings::async_small_threshold`]); in that case its sender does not end before.
//! * *Costs of calls* ([`OverheadTable`]): a blocking call takes longer by the cost. A nonblocking
//!   call returns at once, but the next action of the rank, also reading the time, happens after
//!   the cost.
//! * *Progress*: protocols advance also while a rank computes or sleeps.
//! * *The end of a rank*: when the program returns `Ok`, the rank continues until its own sends are
//!   over (`MPI_Finalize`). A receive request that never got a message and a message that no rank
//!   received are warnings. An `Err` or a panic ends the run as a failure of that rank, and so does
//!   [`Comm::abort`].
//! * *Tests*: the first failed [`Request::test`] or [`Comm::iprobe`] returns at once. A repetition
//!   without another operation or event in between suspends the rank until its next event. A loop
//!   of tests thus ends at the right date, costs no time, and is reported if no event can end it.
//! * *Dropped requests*: see [`Request`].
//!
//! *Not modelled* here: the time that a message travels. The channel models this time.

#![warn(clippy::missing_errors_doc)]

mod api;

mod collectives;
pub mod connection;
mod matching;
pub mod prelude;
mod protocol;
mod rma;

pub use ::channel;
pub use ::channel::{
    Buffer, Channel, ConnectionStatistics, Element, Envelope, Level, PartialElement, Placement,
    PostingCost, Scalar, Settings, TypeSignature, Waiting,
};
pub use ::collectives::{Collective, Selector};
pub use api::attributes::{Attributes, ErrorHandler, Keyval};
pub use api::comm::{Comm, Recv, Send};
pub use api::communicators::CommunicatorManagement;
pub use api::datatype::Datatype;
pub use api::element_mismatch::ElementMismatch;
pub use api::error::{Error, ErrorClass, Result};
pub use api::group::{Comparison, Group};
pub use api::intercomm::InterComm;
pub use api::matched_probe::Message;
pub use api::modes::{SendMode, SendModes};
pub use api::op::{Integer, Number, Op};
pub use api::persistent::{PersistentRequests, start_all};
pub use api::region::Region;
pub use api::request::{
    Completion, FreedRequest, Request, Wait, WaitAll, waitall, waitall_results, waitany,
    waitany_result,
};
pub use api::several::{
    Completed, testall, testall_results, testany, testany_result, testsome, waitsome,
};
pub use api::time::TimeControl;
pub use api::topology::{Cartesian, Graph, Topologies, dims_create};
pub use api::view::DatatypeMessages;
pub use collectives::{
    Blocks, CallComparison, CallLog, CallRecord, CollectiveCall, CollectiveOperations, InterRoot,
    Mismatch, MissingProperty, announce_call, is_persistent_start,
};
pub use matching::envelope::{ANY_SOURCE, ANY_TAG, PROC_NULL, Pattern, Source, TAG_UB, Tag};
pub use observe::{NativeLocation, SourceLocation, set_native_caller};
#[cfg(feature = "seeded-defects")]
pub use protocol::defect::{ProtocolDefect, with_protocol_defect};
pub use protocol::engine::Status;
pub use protocol::flow_control::{ConnectionReport, FlowReport, Taken};
pub use protocol::process::{Call, Process, count_operations};
pub use protocol::{exploration, machine, table};
pub use rma::{
    Conflict, FenceAssertions, NoncontiguousCall, OneSided, ProgramMemory, RegisteredMemory,
    RmaCall, TargetPlace, Window, WindowError,
};
pub use settings::{
    AtLimit, ConnectionMode, ConnectionSettings, Limits, OverheadSection, OverheadTable, Overheads,
    TransportMode,
};
