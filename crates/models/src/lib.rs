//! The models that say how long computations, transfers and disk accesses take on a [`Platform`].
//!
//! One engine, [`FlowModel`], runs all fluid network models: a model is a set of
//! [`NetworkParameters`](platform::NetworkParameters), on the page of its name. It also computes on
//! cores and reads and writes disks. Sharing is the business of [`maxmin`].
//!
//! Packets, switches and buffers are the business of [`packet`]. Messages of rank programs under
//! the model `loggops` have a device of their own in `fabric`.

mod agenda;
mod contention;
mod fluid;
pub mod packet;

use std::sync::Arc;

use fluid::NoisyModel;
use platform::{Noise, Platform};
use sim_core::Resource;

pub use fluid::FlowModel;

/// Returns the model that the platform file asks for in `[network] model`.
pub fn model(platform: Arc<Platform>) -> Box<dyn Resource> {
    Box::new(FlowModel::new(platform))
}

/// Adds the noise of its platform to a model on which nothing runs yet; its random streams are
/// those of `seed`.
pub fn with_noise(model: FlowModel, seed: u64) -> Box<dyn Resource> {
    if *model.platform().noise() == Noise::default() {
        return Box::new(model);
    }
    Box::new(NoisyModel::new(model, seed))
}
