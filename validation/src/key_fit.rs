//! Fits keys of a platform file to a table of ping-pong times: the times are simulated, and the
//! values of the keys are scaled until they agree with the table.
//!
//! *Decided here*: every second size of the table trains, beginning with the first, and the others
//! are held out; the sum of the squares of ln(simulated / measured) is minimised by the method of
//! Levenberg (1944), with derivatives by differences of 1 %. The logarithms of
//! the factors are the unknowns, so a value keeps its sign, and one that is 0 stays 0.
//!
//! *Not modelled*: whether the table determines each key. Two keys whose costs always add up, such
//! as `doorbell` and `completion`, fit equally well in any division between them; only one of the
//! two should be fitted. A key without effect keeps its value.

use std::collections::BTreeMap;
use std::sync::Arc;

use platform::{Override, Platform};

use crate::error_summary::Prediction;
use crate::fit::solve;
use crate::measure::simulated_times;
use crate::quantile::median;
use crate::sample::{Kernel, Measurements};
use crate::self_check::SimulationFailed;

/// Most steps of the minimisation; published tables take about ten.
const STEPS_MAX: u32 = 50;

/// The minimisation ends when a step improves the sum of squares by a smaller part.
const IMPROVEMENT_MIN: f64 = 1e-6;

/// The largest logarithm of a factor: 1000.
const LOGARITHM_MAX: f64 = 6.907_755;

/// The difference of the logarithm of a factor for derivatives: 1 %, above the picoseconds to which
/// dates of packets are rounded.
const DIFFERENCE: f64 = 0.01;

/// Factors of a platform's keys, and the errors of the platform with them.
#[derive(Clone, Debug)]
pub struct KeyFit {
    /// The platform with the fitted values.
    pub platform: Platform,
    /// The factor of each key, in the order of the keys.
    pub factors: Vec<f64>,
    /// Simulated and measured times of the sizes that were fitted.
    pub training: Vec<Prediction>,
    /// Simulated and measured times of the sizes that the fit has not seen.
    pub held_out: Vec<Prediction>,
}

/// The failure of a fit.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum KeyFitError {
    /// There are fewer sizes to train with than keys.
    TooFewSizes {
        /// Sizes to train with.
        sizes: usize,
        /// Keys.
        keys: usize,
    },
    /// A key cannot be changed.
    Key(String),
    /// The times depend on no key.
    Undetermined,
    /// The ping-pong cannot be simulated.
    Simulation(SimulationFailed),
}

impl std::fmt::Display for KeyFitError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::TooFewSizes { sizes, keys } => write!(
                f,
                "{sizes} sizes to fit, every second one of the table, and {keys} keys: expected at least as many sizes"
            ),
            Self::Key(problem) => f.write_str(problem),
            Self::Undetermined => f.write_str(
                "the times of ping-pongs depend on none of the keys: expected keys that change them",
            ),
            Self::Simulation(failed) => failed.fmt(f),
        }
    }
}

impl std::error::Error for KeyFitError {}

impl From<SimulationFailed> for KeyFitError {
    fn from(failed: SimulationFailed) -> Self {
        Self::Simulation(failed)
    }
}

/// A platform whose keys are scaled.
struct Scaled<'a> {
    platform: &'a Platform,
    keys: &'a [String],
}

impl Scaled<'_> {
    /// Returns the platform with factors, given as logarithms.
    fn with(&self, logarithms: &[f64]) -> Result<Platform, KeyFitError> {
        let factors = self.keys.iter().zip(logarithms);
        let changes: Result<Vec<Override>, _> = factors
            .map(|(key, logarithm)| format!("{key}*={}", libm::exp(*logarithm)).parse())
            .collect();
        let changes = changes.map_err(|error| KeyFitError::Key(format!("{error}")))?;
        let changed = self.platform.clone().with("the platform", &changes);
        changed.map_err(|error| KeyFitError::Key(error.to_string()))
    }

    /// Returns the simulated times of the rows, in seconds.
    fn times(&self, logarithms: &[f64], rows: &[(u64, f64)]) -> Result<Vec<f64>, KeyFitError> {
        let platform = Arc::new(self.with(logarithms)?);
        let wanted: Vec<(Kernel, u64)> = rows
            .iter()
            .map(|(size, _)| (Kernel::PingPong, *size))
            .collect();
        Ok(simulated_times(&platform, 2, &wanted, None)?)
    }

    /// Returns ln(simulated / measured) of each row.
    fn residuals(&self, logarithms: &[f64], rows: &[(u64, f64)]) -> Result<Vec<f64>, KeyFitError> {
        let times = self.times(logarithms, rows)?;
        let pairs = times.iter().zip(rows);
        Ok(pairs
            .map(|(time, (_, measured))| libm::log(time / measured))
            .collect())
    }

    fn predictions(
        &self,
        logarithms: &[f64],
        rows: &[(u64, f64)],
    ) -> Result<Vec<Prediction>, KeyFitError> {
        let times = self.times(logarithms, rows)?;
        let prediction = |(predicted_s, &(size, measured_s))| Prediction {
            size,
            predicted_s,
            measured_s,
        };
        Ok(times.into_iter().zip(rows).map(prediction).collect())
    }
}

fn sum_of_squares(residuals: &[f64]) -> f64 {
    residuals.iter().map(|residual| residual * residual).sum()
}

/// Fits the values of `keys`, paths as in `--set`, to a table of ping-pong times.
pub fn fit_keys(
    platform: &Platform,
    keys: &[String],
    measurements: &Measurements,
) -> Result<KeyFit, KeyFitError> {
    let rows = rows(measurements);
    let every_second =
        |first: usize| -> Vec<(u64, f64)> { rows.iter().skip(first).step_by(2).copied().collect() };
    let (training, held_out) = (every_second(0), every_second(1));
    if training.len() < keys.len() {
        let (sizes, keys) = (training.len(), keys.len());
        return Err(KeyFitError::TooFewSizes { sizes, keys });
    }
    let scaled = Scaled { platform, keys };
    let logarithms = minimise(&scaled, &training)?;
    Ok(KeyFit {
        platform: scaled.with(&logarithms)?,
        factors: logarithms.iter().map(|one| libm::exp(*one)).collect(),
        training: scaled.predictions(&logarithms, &training)?,
        held_out: scaled.predictions(&logarithms, &held_out)?,
    })
}

/// Returns sizes and seconds, sizes growing: of samples the medians of the ping-pongs.
fn rows(measurements: &Measurements) -> Vec<(u64, f64)> {
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

/// Returns the logarithms of the factors for which the sum of squares has a minimum.
fn minimise(scaled: &Scaled<'_>, rows: &[(u64, f64)]) -> Result<Vec<f64>, KeyFitError> {
    let mut at = vec![0.0; scaled.keys.len()];
    let mut residuals = scaled.residuals(&at, rows)?;
    let mut damping = 1e-3;
    for _ in 0..STEPS_MAX {
        let derivatives = derivatives(scaled, &at, rows, &residuals)?;
        let before = sum_of_squares(&residuals);
        // More damping, a shorter step, until the sum decreases.
        let improved = loop {
            let step = step(&derivatives, &residuals, damping).ok_or(KeyFitError::Undetermined)?;
            let next = at.iter().zip(&step);
            let next: Vec<f64> = next
                .map(|(at, step)| (at + step).clamp(-LOGARITHM_MAX, LOGARITHM_MAX))
                .collect();
            let found = scaled.residuals(&next, rows);
            if let Ok(found) = found
                && sum_of_squares(&found) < before
            {
                (at, residuals) = (next, found);
                damping /= 10.0;
                break true;
            }
            damping *= 10.0;
            if damping > 1e9 {
                break false;
            }
        };
        if !improved || sum_of_squares(&residuals) > before * (1.0 - IMPROVEMENT_MIN) {
            break;
        }
    }
    Ok(at)
}

/// Returns the derivatives of the residuals, by key.
fn derivatives(
    scaled: &Scaled<'_>,
    at: &[f64],
    rows: &[(u64, f64)],
    residuals: &[f64],
) -> Result<Vec<Vec<f64>>, KeyFitError> {
    let derivative = |key: usize| {
        let mut beside = at.to_vec();
        beside[key] += DIFFERENCE;
        let found = scaled.residuals(&beside, rows)?;
        let pairs = found.iter().zip(residuals);
        Ok(pairs
            .map(|(found, before)| (found - before) / DIFFERENCE)
            .collect())
    };
    (0..at.len()).map(derivative).collect()
}

/// Returns the damped step of Gauss and Newton; `None` if the derivatives do not determine it.
fn step(derivatives: &[Vec<f64>], residuals: &[f64], damping: f64) -> Option<Vec<f64>> {
    let product =
        |one: &[f64], other: &[f64]| -> f64 { one.iter().zip(other).map(|(a, b)| a * b).sum() };
    // The same for all keys: one on which the times hardly depend is not to take long steps.
    let largest = derivatives.iter().map(|one| product(one, one));
    let added = damping * largest.fold(0.0, f64::max);
    let rows = derivatives.iter().enumerate().map(|(number, one)| {
        let mut row: Vec<f64> = derivatives
            .iter()
            .map(|other| product(one, other))
            .collect();
        row[number] += added;
        row.push(-product(one, residuals));
        row
    });
    solve(rows.collect())
}
