//! Summary of the replications of one measure at one point.

use serde::Serialize;

use super::{count, quantile, student};

/// Number of values below which an interval of a mean is marked "few".
pub const FEW_BELOW: usize = 10;

/// Number of values below which a mean has no interval.
const INTERVAL_MIN: usize = 3;

/// Smallest number of values for which the largest value's share of the variance is meaningful: one
/// of three normal values has over half of the variance more often than not.
const SHARE_MIN: usize = 5;

/// An interval of confidence, both ends included.
#[derive(Clone, Copy, PartialEq, Debug, Serialize)]
pub struct Interval {
    /// Lower end.
    pub low: f64,
    /// Upper end.
    pub high: f64,
}

/// Reason why no interval of a mean can be trusted: a value much longer than the others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum LongValues {
    /// The largest value exceeds the median by more than 10 times the distance between the 10 % and
    /// the 90 % quantile.
    FarAway,
    /// The largest value alone has over half of the variance.
    MostOfVariance,
}

/// Mean, interval and quantiles of independent replications.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Summary {
    /// Number of values.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Student's interval of the mean; none below 3 values.
    pub interval: Option<Interval>,
    /// Smallest value.
    pub min: f64,
    /// Median.
    pub median: f64,
    /// 90 % quantile.
    pub q90: f64,
    /// Largest value.
    pub max: f64,
    /// Warning that the interval is too narrow, because of rare long values.
    pub long_values: Option<LongValues>,
}

impl Summary {
    /// Summarises finite values at a `confidence` in (0, 1); `None` if there are none.
    ///
    /// ```
    /// let summary = study::statistics::Summary::new(&[1.0, 2.0, 3.0], 0.95).expect("values");
    /// let interval = summary.interval.expect("three values");
    /// assert_eq!(summary.mean, 2.0);
    /// assert!((interval.high - 2.0 - 4.3027 / 3_f64.sqrt()).abs() < 1e-4);
    /// ```
    pub fn new(values: &[f64], confidence: f64) -> Option<Self> {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let n = sorted.len();
        let at = |q| quantile(&sorted, q);
        let (min, median, q90, max) = (at(0.0)?, at(0.5)?, at(0.9)?, at(1.0)?);
        // In ascending order, so that the order of the seeds cannot change the last digit.
        // The deviations from the minimum: of equal values, the mean is exactly that value.
        let mean = min + sorted.iter().map(|value| value - min).sum::<f64>() / count(n);
        let squares = |values: &[f64]| {
            let squares = values.iter().map(|value| (value - mean) * (value - mean));
            squares.sum::<f64>()
        };
        let squared = squares(&sorted);
        let interval = (n >= INTERVAL_MIN).then(|| {
            let error = (squared / (count(n - 1) * count(n))).sqrt();
            let half = student::critical_value(confidence, n - 1) * error;
            Interval {
                low: mean - half,
                high: mean + half,
            }
        });
        let spread = q90 - at(0.1)?;
        let long_values = if n >= INTERVAL_MIN && max > median + 10.0 * spread {
            Some(LongValues::FarAway)
        } else if n >= SHARE_MIN && squares(&[max]) > 0.5 * squared {
            Some(LongValues::MostOfVariance)
        } else {
            None
        };
        Some(Self {
            n,
            mean,
            interval,
            min,
            median,
            q90,
            max,
            long_values,
        })
    }

    /// Returns true if the interval is marked "few", because of fewer than 10 values.
    pub const fn few(&self) -> bool {
        self.interval.is_some() && self.n < FEW_BELOW
    }

    /// Returns half of the interval's width, relative to the mean; `None` without an interval or if
    /// the mean is 0.
    pub fn relative_half_width(&self) -> Option<f64> {
        let interval = self.interval?;
        let half = 0.5 * (interval.high - interval.low);
        if half == 0.0 {
            return Some(0.0);
        }
        (self.mean != 0.0).then(|| half / self.mean.abs())
    }
}

#[cfg(test)]
mod tests {
    use sim_core::Stream;

    use super::*;

    /// A standard normal value after Box and Muller.
    fn normal(stream: &mut Stream) -> f64 {
        let radius = (-2.0 * libm::log(1.0 - stream.uniform())).sqrt();
        radius * libm::cos(std::f64::consts::TAU * stream.uniform())
    }

    /// The part of 1000 nominal 95 % intervals of `n` values that contain the true mean.
    fn coverage(n: usize, truth: f64, mut draw: impl FnMut(&mut Stream) -> f64) -> f64 {
        let mut stream = Stream::new(11, "coverage");
        let inside = (0..1000).filter(|_| {
            let values: Vec<f64> = (0..n).map(|_| draw(&mut stream)).collect();
            let summary = Summary::new(&values, 0.95).expect("values");
            let interval = summary.interval.expect("an interval");
            interval.low <= truth && truth <= interval.high
        });
        count(inside.count()) / 1000.0
    }

    /// Compares with the table of coverage, measured independently with 1000 experiments a cell
    /// (Python's generator and separate quantiles). Both sides are random: the limit is four
    /// standard deviations of their difference.
    fn near(found: f64, expected: f64) {
        let deviation = (2.0 * expected * (1.0 - expected) / 1000.0).sqrt();
        assert!(
            (found - expected).abs() < 4.0 * deviation,
            "{found}, expected {expected}"
        );
    }

    #[test]
    fn coverage_is_that_of_the_reference() {
        for (n, normal_, half, one, tenfold) in [
            (5, 0.949, 0.912, 0.805, 0.197),
            (10, 0.959, 0.926, 0.834, 0.429),
            (30, 0.959, 0.921, 0.886, 0.794),
        ] {
            near(coverage(n, 1.0, |s| 1.0 + 0.1 * normal(s)), normal_);
            let lognormal = |sigma: f64| move |s: &mut Stream| libm::exp(sigma * normal(s));
            near(coverage(n, libm::exp(0.125), lognormal(0.5)), half);
            near(coverage(n, libm::exp(0.5), lognormal(1.0)), one);
            let rare = |s: &mut Stream| {
                let factor = if s.uniform() < 0.05 { 10.0 } else { 1.0 };
                factor * (1.0 + 0.01 * normal(s))
            };
            near(coverage(n, 1.45, rare), tenfold);
        }
    }

    #[test]
    fn few_values_have_no_interval_or_are_marked() {
        assert_eq!(Summary::new(&[], 0.95), None);
        let summary = |n: u32| {
            let values: Vec<f64> = (0..n).map(f64::from).collect();
            Summary::new(&values, 0.95).expect("values")
        };
        assert_eq!((summary(2).interval, summary(2).few()), (None, false));
        assert!(summary(9).few() && !summary(10).few());
    }

    #[test]
    fn equal_values_have_an_interval_without_width() {
        let summary = Summary::new(&[0.1; 7], 0.95).expect("values");
        assert_eq!(summary.mean, 0.1);
        assert_eq!(
            summary.interval,
            Some(Interval {
                low: 0.1,
                high: 0.1
            })
        );
        assert_eq!(summary.relative_half_width(), Some(0.0));
        assert_eq!(summary.long_values, None);
    }

    #[test]
    fn rare_long_values_are_noted() {
        let mut values: Vec<f64> = (0..30).map(|at| 1.0 + 0.01 * f64::from(at)).collect();
        let warning = |values: &[f64]| Summary::new(values, 0.95).expect("values").long_values;
        assert_eq!(warning(&values), None);
        values.push(10.0);
        assert_eq!(warning(&values), Some(LongValues::FarAway));
        values.pop();
        values.push(2.5);
        assert_eq!(warning(&values), Some(LongValues::MostOfVariance));
    }

    #[test]
    fn the_order_of_the_values_does_not_matter() {
        let ascending = [0.1, 0.2, 0.3, 1e9];
        let descending = [1e9, 0.3, 0.2, 0.1];
        assert_eq!(
            Summary::new(&ascending, 0.9),
            Summary::new(&descending, 0.9)
        );
    }
}
