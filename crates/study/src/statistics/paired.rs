//! Comparison of two configurations that ran with the same seeds.
//!
//! Common random numbers: the value of a seed in one configuration is compared with the value of
//! the same seed in the other. The result is the ratio of the geometric means with Student's
//! interval of the differences of logarithms.

use std::fmt;

use serde::Serialize;

use super::{Interval, count, student};

/// A configuration relative to another one.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct PairedComparison {
    /// Number of pairs.
    pub n: usize,
    /// Geometric mean of the ratios, other to base.
    pub ratio: f64,
    /// Interval of the ratio; none below 3 pairs.
    pub interval: Option<Interval>,
    /// Two-sided p-value of equal configurations; none below 3 pairs.
    pub p_value: Option<f64>,
}

/// Reason why values cannot be compared.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum PairError {
    /// The numbers of values differ.
    Lengths(usize, usize),
    /// There is no pair.
    Empty,
    /// A value is not above 0, so it has no logarithm.
    NotPositive(f64),
}

impl fmt::Display for PairError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lengths(base, other) => write!(
                f,
                "{base} values and {other} values: expected one of each seed in both configurations"
            ),
            Self::Empty => {
                f.write_str("no values: expected at least one seed in both configurations")
            }
            Self::NotPositive(value) => {
                write!(
                    f,
                    "value {value}: expected values above 0, since ratios are compared"
                )
            }
        }
    }
}

impl std::error::Error for PairError {}

impl PairedComparison {
    /// Compares the values of the same seeds in the same order, at a `confidence` in (0, 1).
    pub fn new(base: &[f64], other: &[f64], confidence: f64) -> Result<Self, PairError> {
        if base.len() != other.len() {
            return Err(PairError::Lengths(base.len(), other.len()));
        }
        let positive = |value: f64| value.is_finite() && value > 0.0;
        if let Some(bad) = base.iter().chain(other).find(|value| !positive(**value)) {
            return Err(PairError::NotPositive(*bad));
        }
        let pairs = base.iter().zip(other);
        let logarithms: Vec<f64> = pairs.map(|(base, other)| libm::log(other / base)).collect();
        let n = logarithms.len();
        if n == 0 {
            return Err(PairError::Empty);
        }
        let mean = logarithms.iter().sum::<f64>() / count(n);
        let ratio = libm::exp(mean);
        if n < 3 {
            return Ok(Self {
                n,
                ratio,
                interval: None,
                p_value: None,
            });
        }
        let squares = logarithms
            .iter()
            .map(|value| (value - mean) * (value - mean));
        let error = (squares.sum::<f64>() / (count(n - 1) * count(n))).sqrt();
        let half = student::critical_value(confidence, n - 1) * error;
        let p_value = if mean == 0.0 {
            1.0
        } else {
            // Without variation the quotient is infinite, and the p-value is 0.
            1.0 - student::central_probability(mean.abs() / error, n - 1)
        };
        Ok(Self {
            n,
            ratio,
            interval: Some(Interval {
                low: libm::exp(mean - half),
                high: libm::exp(mean + half),
            }),
            p_value: Some(p_value),
        })
    }
}

/// Corrects the p-values of several comparisons after Holm (Scandinavian Journal of Statistics 6,
/// 1979): corrected p-values below α are together significant at the level α. The order is kept.
///
/// ```
/// assert_eq!(study::statistics::holm(&[0.04, 0.01, 0.03]), [0.06, 0.03, 0.06]);
/// ```
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut corrected = vec![0.0; p_values.len()];
    let mut largest: f64 = 0.0;
    for (place, at) in order.iter().enumerate() {
        let factor = count(p_values.len() - place);
        largest = largest.max((factor * p_values[*at]).min(1.0));
        corrected[*at] = largest;
    }
    corrected
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_common_factor_is_found_exactly() {
        let base = [1.0, 2.0, 4.0, 8.0];
        let other = base.map(|value| 2.0 * value);
        let found = PairedComparison::new(&base, &other, 0.95).expect("pairs");
        let interval = found.interval.expect("four pairs");
        assert!((found.ratio - 2.0).abs() < 1e-15);
        assert!((interval.low - 2.0).abs() < 1e-15 && (interval.high - 2.0).abs() < 1e-15);
        assert_eq!(found.p_value, Some(0.0));
    }

    #[test]
    fn differences_of_logarithms_have_students_interval() {
        // Logarithms of the ratios 0, 1, 2: mean 1, standard error 1/√3, t = √3.
        let other = [0.0, 1.0, 2.0].map(libm::exp);
        let found = PairedComparison::new(&[1.0; 3], &other, 0.95).expect("pairs");
        let half = 4.302_652_729_911_275 / 3_f64.sqrt();
        let interval = found.interval.expect("three pairs");
        assert!((libm::log(interval.low) - (1.0 - half)).abs() < 1e-9);
        assert!((libm::log(interval.high) - (1.0 + half)).abs() < 1e-9);
        // Two degrees of freedom: 1 - t / √(2 + t²) = 1 - √(3/5).
        let p_value = found.p_value.expect("three pairs");
        assert!((p_value - (1.0 - 0.6_f64.sqrt())).abs() < 1e-12);
    }

    #[test]
    fn equal_configurations_and_few_pairs() {
        let same = PairedComparison::new(&[1.0, 2.0, 3.0], &[1.0, 2.0, 3.0], 0.95).expect("pairs");
        assert_eq!((same.ratio, same.p_value), (1.0, Some(1.0)));
        let two = PairedComparison::new(&[1.0, 2.0], &[2.0, 4.0], 0.95).expect("pairs");
        assert_eq!((two.interval, two.p_value), (None, None));
    }

    #[test]
    fn what_has_no_ratio_is_refused() {
        let message = |base: &[f64], other: &[f64]| {
            let error = PairedComparison::new(base, other, 0.95).expect_err("refused");
            error.to_string()
        };
        assert!(message(&[1.0], &[]).starts_with("1 values and 0 values: expected"));
        assert!(message(&[1.0, 0.0], &[1.0, 1.0]).starts_with("value 0: expected"));
        assert!(message(&[], &[]).starts_with("no values: expected"));
    }

    #[test]
    fn holm_keeps_the_order_of_the_p_values() {
        assert_eq!(holm(&[0.5, 0.9]), [1.0, 1.0]);
        assert_eq!(holm(&[]), [0.0; 0]);
    }
}
