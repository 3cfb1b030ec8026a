//! Quantiles of samples.
//!
//! The q-quantile of n sorted values is the value at q (n − 1), interpolated linearly between
//! neighbours, as most statistics programs do by default (Hyndman and Fan's type 7).

use crate::point::count;

/// The q-quantile of values in any order; `None` if there are none.
///
/// ```
/// assert_eq!(validation::quantile(&[4.0, 1.0, 3.0, 2.0], 0.5), Some(2.5));
/// ```
pub fn quantile(values: &[f64], q: f64) -> Option<f64> {
    let last = values.len().checked_sub(1)?;
    let (below, part) = quantile_position(last, q);
    let mut values = values.to_vec();
    // Sorting all costs several times as much, and blocks are drawn again thousands of times.
    let (_, low, rest) = values.select_nth_unstable_by(below, f64::total_cmp);
    let low = *low;
    let high = rest.iter().copied().min_by(f64::total_cmp).unwrap_or(low);
    Some(low + part * (high - low))
}

/// The q-quantile of sorted values; `None` if there are none.
pub(crate) fn of_sorted(sorted: &[f64], q: f64) -> Option<f64> {
    let last = sorted.len().checked_sub(1)?;
    let (below, part) = quantile_position(last, q);
    let above = sorted[(below + 1).min(last)];
    Some(sorted[below] + part * (above - sorted[below]))
}

/// The value below the q-quantile, and how far the quantile is on the way to the next.
fn quantile_position(last: usize, q: f64) -> (usize, f64) {
    let place = q.clamp(0.0, 1.0) * count(last);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "between 0 and the number of values"
    )]
    let below = place as usize;
    (below, place - count(below))
}

/// The median of values in any order; `None` if there are none.
pub fn median(values: &[f64]) -> Option<f64> {
    quantile(values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_middle_and_none() {
        let values = [10.0, 30.0, 20.0];
        assert_eq!(quantile(&values, 0.0), Some(10.0));
        assert_eq!(quantile(&values, 1.0), Some(30.0));
        assert_eq!(median(&values), Some(20.0));
        assert_eq!(quantile(&values, 0.25), Some(15.0));
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!(median(&[]), None);
    }
}
