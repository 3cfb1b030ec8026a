//! Quantiles, and their intervals from order statistics.
//!
//! The quantile of n sorted values is the value at position q (n - 1), interpolated linearly
//! (Hyndman and Fan's type 7), as `NumPy` and R do by default. Its interval assumes no
//! distribution: the number of values below the true quantile is binomial.

use super::{Interval, count};

/// Returns the `q`-quantile of ascending values; `None` if there are none.
pub fn quantile(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let place = q.clamp(0.0, 1.0) * count(last);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of values"
    )]
    let below = place as usize;
    let above = sorted[(below + 1).min(last)];
    Some(sorted[below] + (place - count(below)) * (above - sorted[below]))
}

/// Returns an interval that contains the true `q`-quantile with at least the probability
/// `confidence`; `sorted` is ascending.
///
/// `None` if there are too few values: for the median at 95 %, below 6 values (the minimum and the
/// maximum of 5 values contain the median with 1 - 2/2^5 = 93.75 %).
pub fn quantile_interval(sorted: &[f64], q: f64, confidence: f64) -> Option<Interval> {
    let n = sorted.len();
    if n == 0 || !(q > 0.0 && q < 1.0) {
        return None;
    }
    // Each side may miss with half of the rest.
    let miss = (1.0 - confidence) / 2.0;
    let mut below = 0.0;
    let mut low = None;
    let mut high = None;
    for (k, value) in sorted.iter().enumerate() {
        // The probability of at most k values below the quantile.
        below += binomial(n, k, q);
        // The value of rank k + 1 is above the quantile with the probability of at most k below.
        if below <= miss {
            low = Some(*value);
        }
        // Rounding: 1 - 2^-6 and the like must not fail by an ulp.
        if high.is_none() && below >= 1.0 - miss - 1e-12 {
            high = Some(*value);
        }
    }
    Some(Interval {
        low: low?,
        high: high?,
    })
}

/// Returns the probability of `k` successes of probability `q` among `n`.
fn binomial(n: usize, k: usize, q: f64) -> f64 {
    let factorial = |n: usize| libm::lgamma(count(n) + 1.0);
    let ways = factorial(n) - factorial(k) - factorial(n - k);
    libm::exp(ways + count(k) * libm::log(q) + count(n - k) * libm::log1p(-q))
}

#[cfg(test)]
mod tests {
    use sim_core::Stream;

    use super::*;

    fn counted(n: u32) -> Vec<f64> {
        (1..=n).map(f64::from).collect()
    }

    fn ranks(n: u32, q: f64, confidence: f64) -> Option<(f64, f64)> {
        quantile_interval(&counted(n), q, confidence).map(|found| (found.low, found.high))
    }

    #[test]
    fn ranks_are_those_of_the_binomial_tables() {
        // Conover, Practical Nonparametric Statistics, 3.2: ranks for the median at 95 %.
        assert_eq!(ranks(5, 0.5, 0.95), None);
        assert_eq!(ranks(6, 0.5, 0.95), Some((1.0, 6.0)));
        assert_eq!(ranks(8, 0.5, 0.95), Some((1.0, 8.0)));
        assert_eq!(ranks(9, 0.5, 0.95), Some((2.0, 8.0)));
        assert_eq!(ranks(20, 0.5, 0.95), Some((6.0, 15.0)));
        assert_eq!(ranks(100, 0.5, 0.95), Some((40.0, 61.0)));
        assert_eq!(ranks(30, 0.99, 0.95), None);
        // No underflow: 0.1^1000 is no f64.
        assert!(ranks(1000, 0.9, 0.95).is_some_and(|(low, high)| low < 900.0 && 901.0 < high));
    }

    #[test]
    fn the_true_median_is_inside_as_often_as_stated() {
        let mut stream = Stream::new(3, "median");
        let inside = (0..2000).filter(|_| {
            let mut values: Vec<f64> = (0..20).map(|_| stream.uniform()).collect();
            values.sort_by(f64::total_cmp);
            quantile_interval(&values, 0.5, 0.95)
                .is_some_and(|found| found.low <= 0.5 && 0.5 <= found.high)
        });
        // 95.86 % exactly; four standard deviations are 1.8 %.
        let inside = count(inside.count()) / 2000.0;
        assert!((inside - 0.9586).abs() < 0.018, "{inside}");
    }

    #[test]
    fn quantiles_interpolate() {
        assert_eq!(quantile(&[], 0.5), None);
        assert_eq!(quantile(&[1.0, 2.0, 3.0, 4.0], 0.5), Some(2.5));
        assert_eq!(quantile(&[1.0, 2.0, 3.0], 1.0), Some(3.0));
    }
}
