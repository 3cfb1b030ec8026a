//! The largest factor on latencies for which a run takes less than a given time (the question of
//! LLAMP, Shen et al., arXiv 2404.14193).
//!
//! The critical path of one run predicts the factor: the time grows by the latency on the path,
//! times (factor − 1). The search begins at the prediction: if the path stays critical, two runs
//! confirm the factor. If another path becomes critical, the factor is lower: bisection finds it.

/// Number of runs at most.
const RUNS: u32 = 12;

/// Largest factor on latencies that is tried.
pub(super) const FACTOR_MAX: f64 = 1024.0;

/// Width of the interval in which the factor is known to be when the search ends, relative to the
/// factor less 1.
const WIDTH: f64 = 1e-4;

/// Returns the largest factor with a time below `limit`, in seconds; `None` if the factor is above
/// [`FACTOR_MAX`]. `predicted`: the factor that the critical path predicts.
pub(super) fn tolerance<E>(
    limit: f64,
    predicted: Option<f64>,
    time: impl Fn(f64) -> Result<f64, E>,
) -> Result<Option<f64>, E> {
    let predicted = predicted.filter(|factor| (1.0 + 1e-6..FACTOR_MAX).contains(factor));
    let (mut low, mut high) = (1.0, f64::INFINITY);
    // Of factors less 1: a little above the prediction, a little below, and then further away.
    let part = predicted.map_or(1.0, |factor| factor - 1.0);
    let (mut up, mut down) = (1.0 + WIDTH / 2.0, 1.0 - WIDTH / 2.0);
    for _ in 0..RUNS {
        let next = if high.is_infinite() {
            1.0 + part * up
        } else if predicted.is_some() && low == 1.0 && down > 0.0 {
            1.0 + part * down
        } else {
            f64::midpoint(low, high)
        };
        if time(next)? < limit {
            low = next;
            up *= 4.0;
        } else {
            if high.is_finite() {
                down = if down > 0.9 { 0.9 } else { 0.0 };
            }
            high = next;
        }
        if low >= FACTOR_MAX {
            return Ok(None);
        }
        if high.is_finite() && high - low <= WIDTH * (high - 1.0) {
            break;
        }
    }
    Ok((high.is_finite()).then_some(low))
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::{FACTOR_MAX, tolerance};

    /// Returns the factor, and the number of runs. The time is the maximum of some lines; a line is
    /// the time at factor 1 and the slope.
    fn found(lines: &[(f64, f64)], limit: f64, predicted: Option<f64>) -> (Option<f64>, u32) {
        let runs = Cell::new(0);
        let time = |factor: f64| {
            runs.set(runs.get() + 1);
            let times = lines
                .iter()
                .map(|(at_1, slope)| at_1 + slope * (factor - 1.0));
            Ok::<f64, ()>(times.fold(0.0, f64::max))
        };
        let factor = tolerance(limit, predicted, time).expect("it has no errors");
        (factor, runs.get())
    }

    #[test]
    fn a_right_prediction_takes_two_runs() {
        let (factor, runs) = found(&[(1.0, 0.5)], 1.01, Some(1.02));
        assert!(
            (factor.expect("it is below") - 1.02).abs() < 2e-6,
            "{factor:?}"
        );
        assert_eq!(runs, 2);
        let (factor, runs) = found(&[(1.0, 1e-4)], 1.05, Some(501.0));
        assert!(
            (factor.expect("it is below") - 501.0).abs() < 0.05,
            "{factor:?}"
        );
        assert_eq!(runs, 2);
    }

    #[test]
    fn a_path_that_becomes_critical_lowers_the_factor() {
        // From 1.01 on the second line is longer.
        let lines = [(1.0, 0.5), (0.99, 1.5)];
        let (factor, runs) = found(&lines, 1.05, Some(1.1));
        let expected = 1.0 + 0.06 / 1.5;
        assert!(
            (factor.expect("it is below") - expected).abs() < 1e-4,
            "{factor:?}"
        );
        assert!(runs <= 12, "{runs}");
    }

    #[test]
    fn a_prediction_that_is_too_low_is_corrected() {
        let (factor, runs) = found(&[(1.0, 0.5)], 1.05, Some(1.03));
        assert!(
            (factor.expect("it is below") - 1.1).abs() < 1e-3,
            "{factor:?}"
        );
        assert!(runs <= 12, "{runs}");
    }

    #[test]
    fn without_a_prediction_it_is_found_too() {
        let (factor, _) = found(&[(1.0, 0.5)], 1.01, None);
        assert!(
            (factor.expect("it is below") - 1.02).abs() < 1e-3,
            "{factor:?}"
        );
        let (factor, runs) = found(&[(1.0, 0.001)], 1.05, None);
        assert!(
            (factor.expect("it is below") - 51.0).abs() < 0.5,
            "{factor:?}"
        );
        assert!(runs <= 12, "{runs}");
    }

    #[test]
    fn a_factor_above_the_greatest_is_not_told() {
        let (factor, _) = found(&[(1.0, 0.0)], 1.01, None);
        assert_eq!(factor, None);
        let (factor, _) = found(&[(1.0, 1e-9)], 1.01, Some(2.0 * FACTOR_MAX));
        assert_eq!(factor, None);
    }
}
