//! One-sided communication (MPI 5.0, chapter 12): windows of memory that other ranks read and
//! write.
//!
//! All ranks of a communicator make a [`Window`] together. Accesses are packets that the protocol
//! engine of the target handles on arrival, independent of the program of the target
//! (`protocol/engine/rma.rs`). All packets from one rank to another keep their order, so accesses
//! of one origin to one target are done in the order of the calls; MPI promises this order for
//! accumulates only.
//!
//! On adapters puts and gets are RDMA: the memory of a window is registered (`memory.rs`), and the
//! channel accesses the memory of the target. Puts and gets keep the order of the calls among
//! themselves and before later packets, but not behind accumulates that the target has not handled.
//!
//! *Not modelled*: atomic operations of adapters: read-modify-writes are messages. Calls cost the
//! origin no overhead of [`Settings::overheads`](crate::Settings::overheads), and reductions cost
//! the target no time.

mod access;
mod access_log;
mod accumulate;
mod epochs;
mod error;
mod layout;
mod memory;
mod synchronisation;
mod window;

pub use access_log::Conflict;
pub(crate) use access_log::{Access, AccessKind, AccessLog, SyncMode};
pub(crate) use accumulate::op_from_code;
pub(crate) use channel::AccumulateOp;
pub use channel::{NoncontiguousCall, RegisteredMemory, RmaCall};
pub use error::WindowError;
pub use layout::TargetPlace;
pub(crate) use layout::{Segment, bounds, read, split_parts, total};
pub use memory::ProgramMemory;
pub(crate) use memory::{RemoteWindow, WindowMemory};
pub use synchronisation::FenceAssertions;
pub use window::{OneSided, Window};
