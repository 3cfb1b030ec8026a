//! Programs that were measured in the blocks between the ping-pongs, and the times that the
//! calibrated platform predicts for these programs.
//!
//! The programs are never fitted. Programs and fitted kernels were measured in the same blocks,
//! which separates two questions. The first is whether the shape of the model is right; this module
//! answers it. The second is whether the machine has the same speed when a program runs later;
//! `compare` answers it by its reference blocks.
//!
//! *Not predicted*: sizes beyond four times the largest size of the fit.

use crate::bands::ErrorBands;
use crate::error_summary::{ErrorSummary, Prediction};
use crate::measure::simulated_times;
use crate::sample::Kernel;
use crate::sampling::SizeSummary;
use crate::self_check::{SimulationFailed, parse_platform};

/// One program, measured and predicted.
#[derive(Clone, PartialEq, Debug)]
pub struct Program {
    /// Measured kernel.
    pub kernel: Kernel,
    /// Measured times, by size.
    pub summaries: Vec<SizeSummary>,
    /// Predicted times of the same sizes.
    pub predictions: Vec<Prediction>,
}

/// Measured times of the programs, by kernel.
pub(crate) type Measured = Vec<(Kernel, Vec<SizeSummary>)>;

impl Program {
    /// Returns the number of ranks of a kernel that is a whole program; `None` for kernels between
    /// two ranks and for fitted kernels.
    pub const fn rank_count(kernel: Kernel) -> Option<u32> {
        match kernel {
            Kernel::Ring(ranks) => Some(ranks),
            _ => None,
        }
    }

    /// Simulates a program on the platform that `platform` writes for this many hosts.
    pub(crate) fn predict(
        (kernel, summaries): (Kernel, Vec<SizeSummary>),
        bands: &ErrorBands,
        platform: impl Fn(u32) -> String,
    ) -> Result<Self, SimulationFailed> {
        let ranks = Self::rank_count(kernel).unwrap_or(2);
        let mut summaries = summaries;
        summaries.retain(|one| bands.reaches(one.point.size));
        let wanted: Vec<(Kernel, u64)> = summaries
            .iter()
            .map(|one| (kernel, one.point.size))
            .collect();
        let times = simulated_times(&parse_platform(&platform(ranks))?, ranks, &wanted, None)?;
        let predictions = summaries
            .iter()
            .zip(times)
            .map(|(one, predicted_s)| Prediction {
                size: one.point.size,
                predicted_s,
                measured_s: one.point.time_s,
            });
        Ok(Self {
            kernel,
            predictions: predictions.collect(),
            summaries,
        })
    }

    /// Returns the median, p90 and worst of the errors; `None` without predictions.
    pub fn errors(&self) -> Option<ErrorSummary> {
        ErrorSummary::new(&self.predictions)
    }

    /// Returns the name of the program for readers.
    pub fn name(&self) -> String {
        Self::rank_count(self.kernel).map_or_else(
            || self.kernel.to_string(),
            |ranks| format!("Ring of {ranks}"),
        )
    }

    /// One sentence made from the figures.
    pub fn verdict(&self) -> String {
        self.errors().map_or_else(
            || format!("{}: nothing could be predicted.", self.name()),
            |errors| {
                format!(
                    "{} at {} sizes, never fitted: median error {:.1} %, p90 {:.1} %, worst {:.1} % at {} B, bias {:+.1} %.",
                    self.name(),
                    errors.count,
                    100.0 * errors.median,
                    100.0 * errors.p90,
                    100.0 * errors.worst,
                    errors.worst_at,
                    100.0 * errors.bias
                )
            },
        )
    }
}
