//! Measurements of real networks, models fitted to the measurements, and the errors of the models
//! for data that the fit has not used.
//!
//! * [`read`]: a file of measurements → samples in blocks, or a table.
//! * [`summarise`]: samples → points.
//! * [`fit`]: points → a piecewise linear curve with its breaks.
//! * [`refine`]: additional sizes to measure, where the fit jumps.
//! * [`calibrate`]: all steps, with a platform file that was simulated to give the fit back, and
//!   warnings.
//! * [`write_report`]: the calibration on one page.
//! * [`Comparison`]: a program simulated and measured, and [`write_comparison`] for the page.
//! * [`fit_line`] and [`Interpolation`]: models that the fit is compared with.
//!
//! Times are in seconds, sizes in bytes of payload, errors relative: 0.02 is 2 %.

mod bands;
mod calibrate;
mod compare;
mod comparison_page;
mod confidence;
mod cross_check;
mod error_limit;
mod error_summary;
mod fit;
mod interpolation;
mod key_factors;
mod key_fit;
mod loggp;
mod measure;
mod metadata;
mod overheads;
mod page;
mod platform_file;
mod point;
mod programs;
mod quantile;
mod read;
mod refine;
mod report_page;
mod sample;
mod sampling;
mod self_check;
mod sharing;
mod states;
mod warning;
mod warnings;

pub use bands::ErrorBands;
pub use calibrate::{
    CalibrateError, CalibrateOptions, Calibration, MachineSpeed, MeasurementOrigin,
    MemoryBandwidth, ReferenceBlock, calibrate,
};
pub use compare::{
    Comparison, Figure, RoundTimes, add_run, common_factor, read_rounds, reference_times,
    rounds_as_csv,
};
pub use comparison_page::write_comparison;
pub use confidence::{BootstrapIntervals, Interval};
pub use cross_check::CrossCheck;
pub use error_limit::{ErrorLimit, missed_limits};
pub use error_summary::{ErrorSummary, Prediction};
pub use fit::{
    Break, BreakKind, Fit, FitError, FitOptions, Line, Segment, fit, fit_line, rough_noise,
};
pub use interpolation::Interpolation;
pub use key_factors::{KeyFactor, fit_factors};
pub use key_fit::{KeyFit, KeyFitError, fit_keys};
pub use loggp::LogGp;
pub use measure::{
    Effort, ElementType, IdleMode, KernelSelection, LoopTiming, MachineInfo, MeasureOptions, Plan,
    ReportProgress, Session, Task, TimedCall, measure, measure_simulated, samples_as_csv,
    simulated_times,
};
pub use metadata::SampleMetadata;
pub use overheads::{CallCosts, CostSegment, CostSplit};
pub use platform_file::{PlatformMetadata, Preset, RendezvousCost, loggops_file, platform_file};
pub use point::Point;
pub use programs::Program;
pub use quantile::{median, quantile};
pub use read::{LineError, ReadError, read};
pub use refine::{AdaptiveSampling, RefinedFit, refine};
pub use report_page::{calibration_as_json, pictures, text_digest, write_report};
pub use sample::{BenchmarkTable, Block, Kernel, Measurements, Set};
pub use sampling::{SizeSummary, Statistic, summarise};
pub use self_check::{SimulationFailed, simulated_ping_pong};
pub use sharing::Sharing;
pub use states::{SpeedInterval, States};
pub use warning::{Code, Warning};
