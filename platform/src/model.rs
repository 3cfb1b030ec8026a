//! The models that say how long work takes, one file each.
//!
//! All implement [`sim_core::Resource`]. One engine (`fluid`) runs all fluid models; a model is a set of its
//! [`NetworkParameters`], in the file of its name. Sharing is the business of [`maxmin`].

mod agenda;
mod cm02;
mod constant;
mod factors;
mod flow;
mod fluid;
mod ib;
mod loggops;
mod lv08;
mod overhead;
mod parameters;
pub mod profile;
mod raw;
mod smpi;

use std::sync::Arc;

use sim_core::Resource;

pub use cm02::CROSSTRAFFIC;
pub use factors::{FactorStep, Factors};
pub use fluid::FlowModel;
pub use loggops::LogGops;
pub use overhead::{OverheadSection, Overheads};
pub use parameters::{
    Compat, FluidParameters, IbPenaltyFactors, Loopback, NetworkModel, NetworkParameters,
};

use crate::Platform;

/// The model that the platform file asks for in `[network] model`.
#[must_use]
pub fn model(platform: Arc<Platform>) -> Box<dyn Resource> {
    Box::new(FlowModel::new(platform))
}
