//! Fits keys of a platform file to a table of ping-pong times: the times are simulated, and the
//! values of the keys are scaled until they agree with the table.
//!
//! *Decided here*: every second size of the table trains, beginning with the first, and the others
//! are held out. *Not decided here*: the method ([`fit_factors`]).

use std::collections::BTreeMap;
use std::sync::Arc;

use platform::Platform;

use crate::error_summary::Prediction;
use crate::key_factors::{KeyFactor, fit_factors};
use crate::measure::simulated_times;
use crate::quantile::median;
use crate::sample::{Kernel, Measurements};
use crate::self_check::SimulationFailed;

/// Factors of a platform's keys, and the errors of the platform with them.
#[derive(Clone, Debug)]
pub struct KeyFit {
    /// The platform with the fitted values.
    pub platform: Platform,
    /// The factor of each key, in the order of the keys.
    pub factors: Vec<KeyFactor>,
    /// Simulated and measured times of the sizes that were fitted.
    pub training: Vec<Prediction>,
    /// Simulated and measured times of the sizes that the fit has not seen.
    pub held_out: Vec<Prediction>,
}

/// The failure of a fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyFitError {
    /// There are fewer rows to train with than keys.
    TooFewRows {
        /// Rows to train with: sizes, or calls.
        rows: usize,
        /// Keys.
        keys: usize,
    },
    /// A key cannot be changed.
    Key(String),
    /// No time depends on these keys.
    Undetermined(String),
    /// A row cannot be simulated.
    Simulation(String),
}

impl std::fmt::Display for KeyFitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooFewRows { rows, keys } => write!(
                f,
                "{rows} rows to fit, and {keys} keys: expected at least as many rows"
            ),
            Self::Key(problem) => f.write_str(problem),
            Self::Undetermined(keys) => write!(
                f,
                "{keys}: expected a key that changes a time by 1 % or more when the value doubles"
            ),
            Self::Simulation(problem) => f.write_str(problem),
        }
    }
}

impl std::error::Error for KeyFitError {}

impl From<SimulationFailed> for KeyFitError {
    fn from(failed: SimulationFailed) -> Self {
        Self::Simulation(failed.to_string())
    }
}

/// Returns the predictions of the times of the rows.
fn predict_rows(platform: &Platform, rows: &[(u64, f64)]) -> Result<Vec<Prediction>, KeyFitError> {
    let wanted = rows.iter().map(|(size, _)| (Kernel::PingPong, *size));
    let wanted: Vec<(Kernel, u64)> = wanted.collect();
    let times = simulated_times(&Arc::new(platform.clone()), 2, &wanted, None)?;
    let prediction = |(predicted_s, &(size, measured_s))| Prediction {
        size,
        predicted_s,
        measured_s,
    };
    Ok(times.into_iter().zip(rows).map(prediction).collect())
}

/// Fits the values of `keys`, paths as in `--set`, to a table of ping-pong times.
pub fn fit_keys(
    platform: &Platform,
    keys: &[String],
    measurements: &Measurements,
) -> Result<KeyFit, KeyFitError> {
    let rows = size_times(measurements);
    let every_second =
        |first: usize| -> Vec<(u64, f64)> { rows.iter().skip(first).step_by(2).copied().collect() };
    let (training, held_out) = (every_second(0), every_second(1));
    if training.len() < keys.len() {
        let (rows, keys) = (training.len(), keys.len());
        return Err(KeyFitError::TooFewRows { rows, keys });
    }
    let residuals = |platform: &Platform| {
        let found = predict_rows(platform, &training)?.into_iter();
        Ok(found
            .map(|one| libm::log(one.predicted_s / one.measured_s))
            .collect())
    };
    let (platform, factors) = fit_factors(platform, keys, &residuals)?;
    Ok(KeyFit {
        training: predict_rows(&platform, &training)?,
        held_out: predict_rows(&platform, &held_out)?,
        platform,
        factors,
    })
}

/// Returns sizes and seconds, sizes growing: of samples the medians of the ping-pongs.
fn size_times(measurements: &Measurements) -> Vec<(u64, f64)> {
    let blocks = match measurements {
        Measurements::Table(table) => return table.rows.clone(),
        Measurements::Samples(blocks) => blocks,
    };
    let mut times: BTreeMap<u64, Vec<f64>> = BTreeMap::new();
    for block in blocks
        .iter()
        .filter(|block| block.kernel == Kernel::PingPong)
    {
        times.entry(block.size).or_default().extend(&block.times_s);
    }
    let medians = times.into_iter();
    let medians = medians.filter_map(|(size, times)| Some((size, median(&times)?)));
    medians.collect()
}
