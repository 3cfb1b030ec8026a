//! Parameters of message passing that a platform file can set.
//!
//! Each type is generic over the form of its sizes (`S`) and times (`T`). The message layer and the
//! simulated devices compute with numbers, in bytes and seconds; a platform file contains texts
//! with units. A method `map` converts texts into numbers. So `platform` and `mpi` share the names,
//! the defaults and the documentation of these parameters, but do not depend on each other.
//!
//! With the types in `mpi`, readers of platforms would link the protocols. With numbers alone, a
//! printed platform would show `12.5GBps` where the file has `100Gbps`.
//!
//! *Not decided here*: the protocols, which the package `mpi` documents, and the syntax and the
//! ranges of values in a file, which the package `platform` checks.

mod connection;
mod library;
mod limits;
mod loggops;
mod memory;
mod overhead;
mod transport;

pub use connection::{AtLimit, ConnectionMode, ConnectionSettings, DcEndpoints};
pub use library::{LibrarySettings, RendezvousMode, RendezvousSettings};
pub use limits::Limits;
pub use loggops::{LogGopsLoopback, LogGopsParameters};
pub use memory::{MMAP_THRESHOLD_MAX, MemorySettings, TRIM_THRESHOLD};
pub use overhead::{OverheadSection, OverheadTable, Overheads};
pub use transport::TransportMode;
