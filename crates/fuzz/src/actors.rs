//! The layer of actors: random kernel programs, explored with and without reduction.
//!
//! [`ActorLayer`] compares the model checker with brute force, which runs each interleaving: both
//! must find the same ends, final states and classes of equivalent interleavings, and the checker
//! each class once. *Not modelled*: time; the order of steps is all that differs.

mod compare;
mod interpreter;
mod operations;
mod program;
mod wire;

pub use compare::ActorLayer;
pub use interpreter::start;
pub use operations::{Family, Op};
pub use program::{ActorProgram, Program, program, stepper};
pub use wire::two_hosts;
