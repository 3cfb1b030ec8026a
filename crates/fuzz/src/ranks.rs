//! The layer of message passing: random rank programs, executed on several devices.
//!
//! [`MpiLayer`] executes a program on each [`Device`] and compares the messages that the ranks have
//! received. Small programs are also model-checked: the checker must find each execution. *Not
//! modelled*: collective operations but the barrier, communicators, failures of ranks.

mod compare;
mod device;
mod export;
mod generate;
mod interpreter;
mod program;

pub use compare::MpiLayer;
pub use device::{Device, Execution, ExecutionEnd, devices};
pub use export::program_source;
pub use interpreter::{Received, parse_received, printing};
pub use program::{RankMessage, RankOp, RankProgram, SendForm};
