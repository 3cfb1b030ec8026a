//! Pictures of platforms and of measurements, for people.
//!
//! This crate draws and never simulates.

mod canvas;
mod curves;
mod layout;
mod topology;

pub use canvas::PlotError;
pub use curves::{Curve, Curves, growth, plot_curves};
pub use topology::plot_topology;
