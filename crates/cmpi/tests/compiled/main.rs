//! MPI programs in C and C++ from their compiler to the end of their run: one file per promise.
//!
//! `simrun-compiled` runs in the root of the checkout, as `simrun` starts it. Searches and runs of
//! other commands are tested with those commands.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod checks;
mod ends;
mod images;
mod limits;
mod process;
mod programs;
mod support;
