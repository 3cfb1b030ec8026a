//! MPI programs in C and C++ as ranks: a program that is compiled against the standard ABI of MPI
//! 5.0 runs unchanged, in a simulation or under a model checker.
//!
//! Each rank is a future. A rank has a copy of the image of the program (`loader`) and a separate
//! stack, on which the program runs; an MPI function polls the futures of the crate `mpi` there and
//! switches back to the scheduler while they are pending (`bridge`). So a rank in C acts like the
//! same program in Rust: same timestamps, same digest.
//!
//! *Not modelled*: threads of a program; the time that a program computes between two calls, unless
//! this time is counted or measured ([`Compute`]). Only for x86-64 Linux with the GNU C library;
//! elsewhere each program is refused.

pub mod abi;

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod arguments;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod bridge;
pub mod command;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod datatypes;
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
mod elsewhere;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod errors;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod exports;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod handles;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod host;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod interposed;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod layouts;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod lines;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod loader;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod ops;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod program;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod recycling;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod state;
pub mod toolchain;

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
pub use bridge::{Bursts, Compute, Measured, RankFuture, Ranks, STACK, Timing};
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
pub use elf::{Kind, Refusal, Template};
#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
pub use elsewhere::{
    Bursts, CompiledProgram, Compute, Kind, Measured, RankFuture, Ranks, Refusal, STACK, Template,
    Timing, kind,
};
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
pub use loader::libraries::kind;
#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
pub use program::CompiledProgram;
