//! The layer of verbs: random work requests on queue pairs of reliable connections.
//!
//! [`VerbsLayer`] executes a program on two simulated adapters, with and without faults of the
//! network and with other settings, and on the adapters that an executable adds, and compares the
//! observations with a sequential [model]. Each side of each connection has separate memory, so
//! that the order between connections and between directions has no effect. *Not modelled*:
//! datagrams, shared queues, changes of state by the program, completions of one queue for several
//! queue pairs.
//!
//! [model]: VerbsLayer

mod compare;
mod execution;
mod export;
mod generate;
mod layout;
mod model;
mod network;
mod program;

pub use compare::{VerbsAdapter, VerbsLayer};
pub use execution::{ExecutionError, Session};
pub use export::c_source;
pub use model::{CompletionRecord, Observation, SideObservation};
pub use program::{
    Connection, PacketFault, PacketFaultKind, Receive, Request, RequestFault, RequestKind, Round,
    TargetAccess, VerbsProgram,
};
