//! The error bands of predictions: the error below which a given part of the predictions stays.
//!
//! A band uses the errors of sizes that were left out of the fit, per decade of size where there
//! are at least 20 errors, else of all sizes. No normal distribution is assumed. Beyond the largest
//! size of the fit the band grows as the square root of the size, which is a guess; beyond four
//! times the largest size there is no prediction.

use crate::error_summary::Prediction;
use crate::point::{bytes, count};
use crate::quantile::quantile;

/// The fewest errors of a decade.
const DECADE_MIN: usize = 20;
/// Multiple of the largest size of the fit beyond which there is no prediction.
pub(crate) const FARTHEST: u64 = 4;

/// Errors of a model at sizes that the fit has not used.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct ErrorBands {
    /// Decade of the size, and the absolute error.
    errors: Vec<(u32, f64)>,
    largest: u64,
}

fn decade(size: u64) -> u32 {
    size.max(1).ilog10()
}

impl ErrorBands {
    /// From predictions of sizes that were left out; `largest` is the largest size of the fit.
    pub fn new(predictions: &[Prediction], largest: u64) -> Self {
        let error = |one: &Prediction| (decade(one.size), one.error().abs());
        Self {
            errors: predictions.iter().map(error).collect(),
            largest,
        }
    }

    /// Returns the error below which a part `q` of the predictions at this size stays: 0.05 is ± 5
    /// %. 0 if no error is known.
    pub fn error_at(&self, size: u64, q: f64) -> f64 {
        let ours = |one: &&(u32, f64)| one.0 == decade(size);
        let near = self.errors.iter().filter(ours).count() >= DECADE_MIN;
        let chosen: Vec<f64> = self
            .errors
            .iter()
            .filter(|one| !near || ours(one))
            .map(|one| one.1)
            .collect();
        // One error more than all: with n of them, the q-quantile of the next one lies at q (n + 1)
        // / n.
        let n = count(chosen.len().max(1));
        let band = quantile(&chosen, (q * (n + 1.0) / n).min(1.0)).unwrap_or(0.0);
        let beyond = bytes(size) / bytes(self.largest.max(1));
        band * beyond.max(1.0).sqrt()
    }

    /// Returns true if anything is predicted at this size.
    pub const fn reaches(&self, size: u64) -> bool {
        size / FARTHEST <= self.largest
    }

    /// Returns the number of these predictions that stay in the band of `q`, and how many there
    /// are.
    pub fn coverage(&self, predictions: &[Prediction], q: f64) -> (usize, usize) {
        let inside = |one: &&Prediction| one.error().abs() <= self.error_at(one.size, q);
        (predictions.iter().filter(inside).count(), predictions.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn predictions(size: u64, number: u32, step: f64) -> Vec<Prediction> {
        let one = |at: u32| Prediction {
            size,
            predicted_s: 1.0 + step * f64::from(at),
            measured_s: 1.0,
        };
        (1..=number).map(one).collect()
    }

    #[test]
    fn a_decade_with_enough_errors_has_its_own_band() {
        let mut all = predictions(50, 20, 0.01);
        all.extend(predictions(5000, 5, 0.1));
        let bands = ErrorBands::new(&all, 10_000);
        assert!((bands.error_at(99, 0.5) - 0.105).abs() < 0.01);
        // Of all 25: 13 are at most 0.13.
        assert!(
            (bands.error_at(5000, 0.5) - 0.13).abs() < 0.011,
            "{}",
            bands.error_at(5000, 0.5)
        );
        assert!((bands.error_at(40_000, 0.5) / bands.error_at(5000, 0.5) - 2.0).abs() < 1e-9);
        assert!(bands.reaches(40_000) && !bands.reaches(40_004));
        let (inside, of) = bands.coverage(&all, 0.9);
        assert!(of == 25 && (20..=24).contains(&inside), "{inside}");
        assert_eq!(ErrorBands::default().error_at(8, 0.9), 0.0);
    }
}
