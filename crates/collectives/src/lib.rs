//! Schedules of collective operations, as pure functions.
//!
//! An [`Algorithm`] gives the steps of one rank, round by round: sends, receives, copies and
//! reductions of parts of the buffers of the rank ([`Steps`]). A round depends only on the
//! [`Call`], the lane (most schedules have one) and the number of the round, so a running
//! collective needs no state but two counters for each lane. The message layer executes this
//! function, `simrun collectives explain` lists its steps, and tests need no device.
//!
//! *Not decided here*: how a message travels, and which operation a reduction applies. A schedule
//! knows lengths, but no contents.

#![warn(clippy::missing_errors_doc)]

mod algorithm;
mod algorithms;
pub mod aliases;
mod call;
mod explain;
mod levels;
mod messages;
mod nodes;
pub mod partners;
mod parts;
mod pipeline;
mod segments;
mod selector;
mod setup;
mod steps;
pub mod trees;
mod tuning_file;

pub use algorithm::{Algorithm, QUADRATIC_RANKS_MAX, Requirement};
pub use algorithms::{
    ALGORITHMS, DISSEMINATION, NEIGHBORS, SENDRECV_REPLACE, find, independent, named,
};
pub use call::{Block, Blocks, Call, Collective, Neighbors};
pub use explain::{Explanation, MessageCounts, Reason, explain};
pub use levels::{Group, Level, Plan, Plans};
pub use messages::{ScheduleMessage, messages};
pub use nodes::Nodes;
pub use selector::{
    Choice, Estimate, Facts, Grounds, SelectedEstimate, SelectedRow, Selection, Selector, Unsuited,
};
pub use setup::node_setup;
pub use steps::{Area, Operand, Part, Slot, Steps};
pub use tuning_file::{TunedLibrary, TunedRow};
