//! The models that compute the time of computations, transfers and disk accesses on a [`Platform`].
//!
//! One engine, [`FlowModel`], runs all fluid network models: a model is a set of
//! [`NetworkParameters`](platform::NetworkParameters), on the page of its name. The engine also
//! runs computations on cores and reads and writes of disks. Sharing is in [`maxmin`].
//!
//! Packets, switches and buffers are in [`packet`]. Messages of rank programs under the model
//! `loggops` have a separate device in `fabric`.

mod contention;
mod fluid;
pub mod packet;

use std::sync::Arc;

use platform::Platform;
use sim_core::Resource;

pub use fluid::FlowModel;

/// Returns the model that the platform file asks for in `[network] model`.
pub fn model(platform: Arc<Platform>) -> Box<dyn Resource> {
    Box::new(FlowModel::new(platform))
}
