//! MPI programs in C and C++ from their compiler to the end of their run: one file per promise.
//!
//! `simrun-compiled` runs in the root of the checkout, as `simrun` starts this executable.
//! *Not here*: other commands of simrun with compiled programs (`compiled` in `crates/cli/tests`).

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod checks;
mod ends;
mod freedoms;
mod images;
mod limits;
mod openmp;
mod process;
mod programs;
mod spins;
mod support;
mod verdicts;
