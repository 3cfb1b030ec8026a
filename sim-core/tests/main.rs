//! The tests of the kernel, in one executable.

mod activities;
mod actors;
mod chooser;
mod combinators;
mod common;
mod deadlock;
mod determinism;
mod hand_on;
mod hosts;
mod kill;
mod mailboxes;
mod outcomes;
mod own_wakers;
mod polling;
mod program;
mod suspend;
mod synchronisation;
mod time_and_order;
mod untimed;
