//! Measurements of real networks, models fitted to them, and how well the models predict what was not used in the fit.
//!
//! * [`read`]: a file of measurements → samples in blocks, or a table.
//! * [`summarise`]: samples → points.
//! * [`fit`]: points → a piecewise linear curve with its breaks.
//! * [`refine`]: which sizes to measure too, where the fit jumps.
//! * [`fit_line`] and [`Interpolation`]: what the fit is compared with.
//!
//! Times are in seconds, sizes in bytes of payload, errors relative: 0.02 is 2 %.

mod error_summary;
mod fit;
mod interpolation;
mod point;
mod quantile;
mod read;
mod refine;
mod sample;
mod sampling;

pub use error_summary::{ErrorSummary, Prediction};
pub use fit::{Break, BreakKind, Fit, FitError, Line, Rules, Segment, fit, fit_line, rough_noise};
pub use interpolation::Interpolation;
pub use point::Point;
pub use quantile::{median, quantile};
pub use read::{BadLine, ReadError, read, read_file};
pub use refine::{Refined, refine};
pub use sample::{Block, Kernel, Measurements, Set, Table};
pub use sampling::{SizeSummary, Statistic, summarise};
