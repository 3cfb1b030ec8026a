//! The layer of the freedoms of MPI: random small programs, and all outcomes of them.
//!
//! [`enumerate_outcomes()`] finds every outcome that MPI 5.0 permits for a program. The enumerator
//! has no code of the message layer or the model checker. [`FreedomLayer`] explores the same
//! program with the checker, and compares outcomes and deadlocks. *Not modelled*: time, errors,
//! ready sends, derived datatypes.

mod answers;
mod compare;
mod enumerate;
mod export;
mod family;
mod generate;
mod interpreter;
mod program;
mod state;
mod windows;

pub use compare::{Effort, FreedomLayer};
pub use enumerate::{Outcomes, StatedBounds, enumerate_outcomes};
pub use export::c_program;
pub use family::Family;
pub use program::{
    Accepts, Access, Answer, Answers, Communicator, FreedomOp, FreedomProgram, Operation,
    RankedCall, SendMode, SentMessage, Stripes,
};
