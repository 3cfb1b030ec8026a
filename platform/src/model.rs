//! The models that say how long work takes, one file each.
//!
//! All implement [`sim_core::Resource`]. One engine (`fluid`) runs all fluid models; a model is a set of its
//! [`NetworkParameters`], in the file of its name. What they have in common is here: activities that share capacities
//! (`usage`), and the dates at which something happens (`agenda`).

mod agenda;
mod cm02;
mod constant;
mod factors;
mod flow;
mod fluid;
mod ib;
mod lv08;
mod parameters;
mod raw;
mod smpi;
mod usage;

use std::sync::Arc;

use sim_core::Resource;

pub(crate) use cm02::CROSSTRAFFIC;
pub use factors::{FactorStep, Factors};
pub use fluid::FlowModel;
pub use parameters::{
    Compat, FluidParameters, IbPenaltyFactors, Loopback, NetworkModel, NetworkParameters,
};

use crate::Platform;

/// The model that the platform file asks for in `[network] model`.
#[must_use]
pub fn model(platform: Arc<Platform>) -> Box<dyn Resource> {
    Box::new(FlowModel::new(platform))
}
