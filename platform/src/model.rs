//! The models that say how long work takes, one file each.
//!
//! All implement [`sim_core::Resource`]. What they have in common is here: activities that share capacities
//! (`usage`), and the dates at which something happens (`agenda`).

mod agenda;
mod flow;
mod usage;

use std::sync::Arc;

use sim_core::Resource;

pub use flow::FlowModel;

use crate::{NetworkModel, Platform};

/// The model that the platform file asks for in `[network] model`.
#[must_use]
pub fn model(platform: Arc<Platform>) -> Box<dyn Resource> {
    match platform.network_model() {
        NetworkModel::Flow => Box::new(FlowModel::new(platform)),
    }
}
