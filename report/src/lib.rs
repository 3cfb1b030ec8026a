//! Pictures of platforms, of state machines, of explored runs and of measurements, for people.
//!
//! This crate draws and never simulates.

mod canvas;
mod curves;
mod layout;
mod scatter;
mod states;
mod timeline;
mod topology;

pub use canvas::PlotError;
pub use curves::{Curve, Curves, growth, plot_curves};
pub use scatter::{Mark, Scatter, Series, plot_scatter, svg_of_scatter};
pub use states::{StateGraph, svg_of_states};
pub use timeline::{
    Timeline, TimelineEnd, TimelineStep, dot_of_timeline, plot_timeline, svg_of_timeline,
};
pub use topology::plot_topology;
