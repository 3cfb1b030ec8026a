//! The protocols of a rank, without I/O and without a clock: eager and rendezvous sends, flow
//! control, the operations in progress and the events for which a blocked rank waits.
//!
//! *Not modelled*: the time that a packet travels; the [`Channel`](crate::Channel) knows this time.

pub(crate) mod defect;
pub(crate) mod engine;
pub mod exploration;
pub(crate) mod flow_control;
mod leftovers;
pub(crate) mod look;
pub mod machine;
pub(crate) mod process;
pub mod table;
pub(crate) mod waiting;
