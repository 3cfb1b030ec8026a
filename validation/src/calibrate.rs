//! The calibration: from measurements to a platform file that gives the fit back, with warnings.
//!
//! Samples of kernel `pp` (or `ppi`, if there are no `pp` samples) and set `train` are fitted; set
//! `validate` is predicted afterwards. Blocks measured at another speed of the machine are dropped
//! ([`States`]), and the times of each session are divided by its common factor to the first
//! session; both are reported. The costs of the calls of sender and receiver are split off where
//! they were measured ([`CostSplit`]). Jumps that may be chance become kinks.
//!
//! The platform file is simulated before it is returned: each kernel must give the fitted times
//! back, within 1 %, at every size.

mod input;
mod steps;

pub(crate) use steps::by_timing;

use std::collections::BTreeMap;
use std::fmt;

use crate::bands::ErrorBands;
use crate::confidence::BootstrapIntervals;
use crate::cross_check::CrossCheck;
use crate::error_summary::{ErrorSummary, Prediction};
use crate::fit::{Fit, FitError};
use crate::loggp::LogGp;
use crate::metadata::SampleMetadata;
use crate::overheads::{CallCosts, CostSplit};
use crate::platform_file::{Preset, RendezvousCost};
use crate::point::{Point, count};
use crate::programs::Program;
use crate::sample::{Kernel, Measurements};
use crate::sampling::{SizeSummary, Statistic};
use crate::self_check::SimulationFailed;
use crate::sharing::Sharing;
use crate::states::States;
use crate::warning::Warning;

/// Options.
#[derive(Clone, PartialEq, Debug)]
pub struct CalibrateOptions {
    /// Statistic that stands for all samples of a size.
    pub statistic: Statistic,
    /// The seed of drawing blocks again.
    pub seed: u64,
    /// Size in bytes from which messages use rendezvous, if known; otherwise the measurements
    /// decide.
    pub eager_threshold: Option<u64>,
    /// Further known thresholds: the first sizes of their new regimes.
    pub breaks: Vec<u64>,
    /// Number of hosts the platform gets.
    pub hosts: u32,
    /// Network model to calibrate.
    pub preset: Preset,
    /// Where the cost of a rendezvous is.
    pub handshake: RendezvousCost,
    /// True if points far from their line count less (Huber).
    pub robust: bool,
}

impl Default for CalibrateOptions {
    fn default() -> Self {
        Self {
            statistic: Statistic::P10,
            seed: 1,
            eager_threshold: None,
            breaks: Vec::new(),
            hosts: 2,
            preset: Preset::Flow,
            handshake: RendezvousCost::InTable,
            robust: false,
        }
    }
}

/// Why there is no calibration.
#[derive(Clone, PartialEq, Debug)]
pub enum CalibrateError {
    /// There are no ping-pongs to fit; names the kernels that were found.
    NoPingPong(String),
    /// The model needs samples of these kernels too.
    Needs(&'static str),
    /// The points cannot be fitted.
    Fit(FitError),
    /// The file that was written cannot be simulated.
    Simulation(SimulationFailed),
    /// A simulated kernel at this size differs from the fit by this part.
    SelfCheck(Kernel, u64, f64),
}

impl fmt::Display for CalibrateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPingPong(found) => {
                write!(f, "no training samples of kernel pp or ppi (found {found})")
            }
            Self::Needs(kernels) => {
                write!(f, "model loggops requires samples of kernels {kernels}")
            }
            Self::Fit(error) => error.fmt(f),
            Self::Simulation(error) => error.fmt(f),
            Self::SelfCheck(kernel, size, error) => write!(
                f,
                "W-SELF: simulated {kernel} at {size} B deviates from the fit by {:.2} % (limit 1 %)",
                100.0 * error
            ),
        }
    }
}

impl std::error::Error for CalibrateError {}

impl From<FitError> for CalibrateError {
    fn from(error: FitError) -> Self {
        Self::Fit(error)
    }
}

impl From<SimulationFailed> for CalibrateError {
    fn from(error: SimulationFailed) -> Self {
        Self::Simulation(error)
    }
}

/// A reference block: always the same block, to see whether the machine changes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ReferenceBlock {
    /// Number of the session.
    pub session: u32,
    /// The number of the block, in the order of time.
    pub number: u32,
    /// Bytes.
    pub size: u64,
    /// The median of the block divided by the median of all reference blocks of this size.
    pub relative: f64,
    /// True if the block was measured at the speed that is kept.
    pub kept: bool,
}

/// The origin of measurements: a file of samples or a table.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct MeasurementOrigin {
    /// Sentences for a reader.
    pub sources: Vec<String>,
    /// The digest of the text.
    pub digest: String,
    /// Facts that the file states about the measurements.
    pub metadata: SampleMetadata,
}

/// The speed of the machine during the measurements.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct MachineSpeed {
    /// Changes of speed, by session.
    pub states: Vec<States>,
    /// Sessions, and by which factor each was divided.
    pub sessions: Vec<(u32, f64)>,
    /// The reference blocks, in the order of time.
    pub references: Vec<ReferenceBlock>,
}

/// Measured speeds of the memory, in bytes/s.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MemoryBandwidth {
    /// Of a copy.
    pub copy: Option<f64>,
    /// Of a sum of doubles.
    pub reduce: Option<f64>,
}

/// A calibration with all results.
#[derive(Clone, PartialEq, Debug)]
pub struct Calibration {
    /// The origin of the measurements.
    pub origin: MeasurementOrigin,
    /// Fitted times, by size.
    pub points: Vec<Point>,
    /// The empty message, if measured. The fit leaves the empty message out, because a simulation
    /// has a separate parameter for empty messages.
    pub empty: Option<Point>,
    /// The fitted times with the statistics of their samples; empty for tables.
    pub summaries: Vec<SizeSummary>,
    /// The sizes that were held back.
    pub hidden: Vec<SizeSummary>,
    /// Some of the samples that were fitted: size in bytes, seconds.
    pub samples: Vec<(u64, f64)>,
    /// The other kernels.
    pub kernels: BTreeMap<Kernel, Vec<SizeSummary>>,
    /// The fit.
    pub fit: Fit,
    /// One line through the same points, for comparison.
    pub line: Fit,
    /// The costs of calls, as they were measured.
    pub calls: CallCosts,
    /// The fit, split into calls and network.
    pub split: CostSplit,
    /// The parameters of the model `loggops`, if that model was requested.
    pub loggp: Option<LogGp>,
    /// Size in bytes from which messages use rendezvous, if known.
    pub eager_threshold: Option<u64>,
    /// The speed of the memory.
    pub memory: MemoryBandwidth,
    /// Sharing of the network by messages.
    pub sharing: Vec<Sharing>,
    /// Confidence intervals of the parameters; `None` for tables.
    pub confidence: Option<BootstrapIntervals>,
    /// Predictions of sizes left out of the fit.
    pub cross_check: CrossCheck,
    /// The error bands of predictions.
    pub bands: ErrorBands,
    /// Predictions of the sizes of set `validate`.
    pub validation: Vec<Prediction>,
    /// Programs that were measured between the ping-pongs.
    pub programs: Vec<Program>,
    /// The speed of the machine during the measurements.
    pub speed: MachineSpeed,
    /// The largest difference between simulated kernels and the fit.
    pub self_check: f64,
    /// Form of the rendezvous in the file: in the tables where a simulation of the rendezvous is
    /// impossible.
    pub handshake: RendezvousCost,
    /// Warnings, the most severe first.
    pub warnings: Vec<Warning>,
    /// The text of the platform file.
    pub platform: String,
}

/// Calibrates from the measurements of `file`. The text of the file contains the metadata and is
/// the input of the digest.
pub fn calibrate(
    file: &str,
    text: &str,
    measurements: &Measurements,
    options: &CalibrateOptions,
) -> Result<Calibration, CalibrateError> {
    let input = input::Input::new(file, text, measurements, options)?;
    steps::finish_calibration(input, options)
}

impl Calibration {
    /// Returns the time of a message of `size` bytes, in seconds, by the model that was written;
    /// `None` beyond four times the largest size of the fit.
    pub fn predict(&self, size: u64) -> Option<f64> {
        let time = match &self.loggp {
            Some(model) => model.predict(size),
            None => self
                .empty
                .filter(|_| size == 0)
                .map_or_else(|| self.fit.predict(size), |empty| empty.time_s),
        };
        self.bands.reaches(size).then_some(time)
    }

    /// Returns the predictions that the errors are computed from: of the held-out sizes, or else of
    /// sizes left out of the fit in turn.
    pub fn predictions(&self) -> (&'static str, &[Prediction]) {
        if self.validation.is_empty() {
            ("cross-validation sizes", &self.cross_check.piecewise)
        } else {
            ("unseen sizes", &self.validation)
        }
    }

    /// Returns the median, p90 and worst of the errors; `None` without predictions.
    pub fn errors(&self) -> Option<ErrorSummary> {
        ErrorSummary::new(self.predictions().1)
    }

    /// One sentence made from the figures.
    pub fn verdict(&self) -> String {
        let (smallest, largest) = self.fit.range();
        let (what, _) = self.predictions();
        let errors = self.errors().map_or_else(
            || "Ping-pong: no predictions; too few sizes.".to_owned(),
            |errors| {
                format!(
                    "Ping-pong at {} {what}: median error {:.1} %, p90 {:.1} %, worst {:.1} % at {} B ({}).",
                    errors.count,
                    100.0 * errors.median,
                    100.0 * errors.p90,
                    100.0 * errors.worst,
                    errors.worst_at,
                    self.describe_place(errors.worst_at)
                )
            },
        );
        let processes = self.origin.metadata.whole_value("ranks").map_or_else(
            || "as many processes".to_owned(),
            |ranks| format!("{ranks} processes"),
        );
        let sessions = match self.speed.sessions.len() {
            0 | 1 => "this session".to_owned(),
            sessions => format!("these {sessions} sessions"),
        };
        let ends = [smallest, largest].map(|size| 100.0 * self.bands.error_at(size, 0.9));
        let band = if (ends[0] - ends[1]).abs() < 0.05 {
            format!("± {:.1} %", ends[1])
        } else {
            format!(
                "± {:.1} % (small messages) to ± {:.1} % (large ones)",
                ends[0], ends[1]
            )
        };
        format!(
            "{errors} Valid for {smallest} B to {largest} B, {processes}, {sessions}. 90 % band {band}."
        )
    }

    /// Describes where a size lies in the fit, which often explains a wrong prediction.
    pub fn describe_place(&self, size: u64) -> String {
        let (smallest, largest) = self.fit.range();
        if size < smallest || size > largest {
            return "beyond the sizes of the fit".to_owned();
        }
        let inside = |gap: (u64, u64)| gap.0 < size && size < gap.1;
        if let Some(place) = self.fit.breaks().iter().find(|place| inside(place.gap)) {
            return format!(
                "within the uncertainty of the breakpoint at {}",
                place.above
            );
        }
        let at = self.fit.segment_of(size);
        let before = at
            .checked_sub(1)
            .map(|before| self.fit.breaks()[before].above);
        match (before, self.fit.breaks().get(at).map(|place| place.above)) {
            (None, None) => "there are no breaks".to_owned(),
            (None, Some(after)) => format!("below the break at {after}"),
            (Some(before), None) => format!("above the break at {before}"),
            (Some(before), Some(after)) => {
                format!("between the breaks at {before} and {after}")
            }
        }
    }

    /// Returns the average number of samples of a size; 0 for tables.
    pub fn samples_per_size(&self) -> f64 {
        let samples: usize = self.summaries.iter().map(|summary| summary.samples).sum();
        count(samples) / count(self.points.len().max(1))
    }
}
