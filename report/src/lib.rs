//! Pictures of platforms, for people.
//!
//! This crate draws and never simulates.

mod canvas;
mod layout;
mod topology;

pub use canvas::PlotError;
pub use topology::plot_topology;
