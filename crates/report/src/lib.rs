//! Pictures of platforms, of state machines, of explored runs and of measurements, for people.
//!
//! This crate draws and analyses, and never simulates. Without the features `pictures`, `analyses`
//! and `traces`, it has only the contents of pictures, [`Figure`]. A program does not link it: the
//! program passes a [`Timeline`] of the package `explore`, or its event log, to `simrun`.

#[cfg(feature = "analyses")]
pub mod analysis;
#[cfg(any(feature = "html", feature = "pictures"))]
mod axis;
#[cfg(feature = "pictures")]
mod canvas;
#[cfg(feature = "html")]
pub mod html;
#[cfg(any(feature = "html", feature = "pictures"))]
mod layout;
#[cfg(feature = "analyses")]
pub mod network;
#[cfg(feature = "pictures")]
mod scatter;
mod states;
#[cfg(feature = "pictures")]
mod timeline;
#[cfg(feature = "pictures")]
mod topology;
#[cfg(feature = "pictures")]
mod tornado;
#[cfg(feature = "traces")]
mod trace;

use explore::Timeline;
use serde::{Deserialize, Serialize};

pub use states::StateGraph;

#[cfg(feature = "pictures")]
pub use {
    canvas::PlotError,
    scatter::{Marker, Scatter, Series, plot_scatter, svg_of_scatter},
    topology::plot_topology,
    tornado::{Tornado, TornadoBar, plot_tornado},
};

#[cfg(any(feature = "html", feature = "pictures"))]
pub use axis::three_digits;

#[cfg(feature = "traces")]
pub use trace::{
    Contents, ParseTraceError, RankSet, TraceError, TraceFormat, TraceOptions, TraceSummary,
    TraceUnit, TraceWriter, write_trace,
};

/// The style sheet of all pages of HTML.
pub const STYLE: &str = include_str!("html/style.css");

impl Figure {
    /// Checks that all positions refer to existing entries: a figure may come from any program.
    pub fn check_positions(&self) -> Result<(), String> {
        let below = |name: &str, found: usize, count: usize| match found < count {
            true => Ok(()),
            false => Err(format!("{name} {found}: expected a number below {count}")),
        };
        match self {
            Self::Timeline(timeline) => {
                let lanes = timeline.lanes.len();
                for (position, step) in timeline.steps.iter().enumerate() {
                    below("lane", step.lane, lanes)?;
                    for &before in &step.after {
                        below("step before", before, position)?;
                    }
                }
                for end in &timeline.ends {
                    for &lane in end.waits_for.iter().chain([&end.lane]) {
                        below("lane", lane, lanes)?;
                    }
                }
                if let Some(lane) = timeline.fault.as_ref().and_then(|fault| fault.lane) {
                    below("lane", lane, lanes)?;
                }
            }
            Self::States(graph) => {
                for &(from, to, _) in &graph.transitions {
                    below("state", from.max(to), graph.states.len())?;
                }
            }
        }
        Ok(())
    }
}

/// The content of a picture, as one program passes the picture to another.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Figure {
    /// A happened-before diagram.
    Timeline(Timeline),
    /// A state machine.
    States(StateGraph),
}

#[cfg(feature = "pictures")]
impl Figure {
    /// Draws into the file at `path`: `.svg` or `.png`. A diagram has about `rows_max` rows.
    pub fn plot(&self, rows_max: usize, path: &std::path::Path) -> Result<(), PlotError> {
        match self {
            Self::Timeline(timeline) => timeline::plot_timeline(timeline, rows_max, path),
            Self::States(graph) => states::picture::plot_states(graph, path),
        }
    }

    /// Returns the text of an SVG picture. A diagram has about `rows_max` rows.
    pub fn svg(&self, rows_max: usize) -> Result<String, PlotError> {
        match self {
            Self::Timeline(timeline) => timeline::svg_of_timeline(timeline, rows_max),
            Self::States(graph) => states::picture::svg_of_states(graph),
        }
    }
}
