//! The models that say how long work takes, one file each.
//!
//! All implement [`sim_core::Resource`]. What they have in common is here: activities that share capacities
//! (`usage`), and the dates at which something happens (`agenda`).

mod agenda;
mod flow;
mod usage;

pub use flow::FlowModel;
