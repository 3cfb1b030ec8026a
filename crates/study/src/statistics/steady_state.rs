//! Steady state of one run: the end of the warm-up, and batch means.
//!
//! A program prints a value many times in one run. The first values belong to the warm-up, and
//! neighbouring values are correlated. So the values before the truncation point of MSER-5 are left
//! out, and the others divided into batches of equal length with nearly independent means.
//!
//! MSER-5 takes the means y of 5 values each, and leaves out the first d means for which the
//! squared standard error of the mean of the rest, Σ (y − ȳ)² ÷ (m − d)², is the smallest (K.
//! White, "An effective truncation heuristic for bias reduction in simulation output", Simulation
//! 69(6), 1997; means of 5: K. White, M. Cobb, S. Spratt, Winter Simulation Conference 2000).
//! Without a minimum in the first half, the run is too short. Batch means: A. Law, *Simulation
//! Modeling and Analysis*, 9.5.3.
//!
//! *Not modelled*: correlation between batches, and the part of a slow warm-up that the scatter of
//! the values hides. A user sees intervals that are too narrow where batches are shorter than the
//! memory of the program, and means that are off by about a standard error where the warm-up fades
//! away slowly.

use std::fmt;

use super::count;

/// Number of values of each mean that MSER-5 looks at.
const GROUP: usize = 5;

/// Values of a run after the warm-up.
#[derive(Clone, PartialEq, Debug)]
pub struct SteadyState {
    /// Number of values in the warm-up.
    pub warm_up: usize,
    /// Means of batches of equal length.
    pub batches: Vec<f64>,
}

/// Reason why values have no batch means.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SteadyStateError {
    /// The standard error falls as long as values are left out.
    NoMinimum {
        /// Number of all values.
        values: usize,
    },
    /// There are fewer values after the warm-up than batches.
    Few {
        /// Number of all values.
        values: usize,
        /// Number of values of the warm-up.
        warm_up: usize,
        /// Number of batches.
        batches: usize,
    },
}

impl fmt::Display for SteadyStateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoMinimum { values } => write!(
                f,
                "the warm-up takes half of {values} values or more (MSER-5): expected a longer run"
            ),
            Self::Few {
                values,
                warm_up,
                batches,
            } => write!(
                f,
                "{values} values, of which {warm_up} are warm-up: expected at least {batches} after it, one for each batch"
            ),
        }
    }
}

impl std::error::Error for SteadyStateError {}

impl SteadyState {
    /// Leaves out the warm-up of `values`, and makes a number of `batches`, at least 1, of the
    /// rest. Values that do not fill the batches are left out at the begin.
    pub fn new(values: &[f64], batches: usize) -> Result<Self, SteadyStateError> {
        let all = values.len();
        let warm_up = warm_up(values).ok_or(SteadyStateError::NoMinimum { values: all })?;
        let length = (all - warm_up).checked_div(batches).unwrap_or(0);
        if length == 0 {
            return Err(SteadyStateError::Few {
                values: all,
                warm_up,
                batches,
            });
        }
        let warm_up = all - batches * length;
        let means = values[warm_up..].chunks_exact(length).map(mean);
        Ok(Self {
            warm_up,
            batches: means.collect(),
        })
    }

    /// Returns the mean of all values after the warm-up.
    pub fn mean(&self) -> f64 {
        mean(&self.batches)
    }
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / count(values.len())
}

/// Returns the number of values before the truncation point of MSER-5; `None` if that is not in the
/// first half.
fn warm_up(values: &[f64]) -> Option<usize> {
    let groups: Vec<f64> = values.chunks_exact(GROUP).map(mean).collect();
    let half = groups.len() / 2;
    let (mut number, mut mean, mut squares) = (0, 0.0, 0.0);
    let mut best = (f64::INFINITY, 0);
    // From the end: mean and sum of squares of the rest grow by one value each time (Welford).
    for (at, value) in groups.iter().enumerate().rev() {
        number += 1;
        let before = value - mean;
        mean += before / count(number);
        squares += before * (value - mean);
        let error = squares / (count(number) * count(number));
        // Of equal ones the first: constant values have no warm-up.
        if at <= half && error <= best.0 {
            best = (error, at);
        }
    }
    (half == 0 || best.1 < half).then_some(GROUP * best.1)
}

#[cfg(test)]
mod tests {
    use sim_core::Stream;

    use super::*;
    use crate::statistics::Summary;

    /// Values with correlation 0.5 between neighbours and mean 1, after a warm-up that fades away
    /// with a factor of 0.9.
    fn values(stream: &mut Stream, length: usize, warm_up: f64) -> Vec<f64> {
        let (mut deviation, mut extra) = (stream.normal(), warm_up);
        let next = |_| {
            deviation = 0.5 * deviation + 0.75_f64.sqrt() * stream.normal();
            extra *= 0.9;
            1.0 + extra + 0.1 * deviation
        };
        (0..length).map(next).collect()
    }

    /// Share of intervals of 20 batch means of 1000 values that contain the mean, and the mean of
    /// the values after the warm-up, of 400 runs.
    fn coverage(warm_up: f64) -> (f64, f64) {
        let mut stream = Stream::new(1, "batches");
        let (mut covering, mut sum) = (0, 0.0);
        for _ in 0..400 {
            let values = values(&mut stream, 1000, warm_up);
            let steady = SteadyState::new(&values, 20).expect("enough values");
            let summary = Summary::new(&steady.batches, 0.95).expect("batches");
            let interval = summary.interval.expect("20 batches");
            covering += u32::from(interval.low <= 1.0 && 1.0 <= interval.high);
            sum += steady.mean();
        }
        (f64::from(covering) / 400.0, sum / 400.0)
    }

    #[test]
    fn intervals_of_batch_means_cover_the_mean() {
        // Nominal 0.95; 400 experiments have a standard deviation of 0.011, and batches of 50
        // values with this correlation lose less than 0.01.
        let (covering, mean) = coverage(0.0);
        assert!((0.905..0.985).contains(&covering), "{covering}");
        assert!((mean - 1.0).abs() < 2e-3, "{mean}");
        // The warm-up adds 0.045 to the mean of all values, eight times its standard error.
        let (covering, mean) = coverage(5.0);
        assert!((0.85..0.985).contains(&covering), "{covering} {mean}");
        assert!((mean - 1.0).abs() < 5e-3, "{mean}");
    }

    #[test]
    fn the_warm_up_ends_where_the_values_do_not_change_any_more() {
        let mut list = vec![9.0; 50];
        list.extend((0..450).map(|at| if at % 2 == 0 { 0.9 } else { 1.1 }));
        let steady = SteadyState::new(&list, 9).expect("enough values");
        assert_eq!(steady.warm_up, 50);
        assert!(steady.batches.iter().all(|mean| (mean - 1.0).abs() < 1e-12));
        // 450 values make 20 batches of 22, and 10 values more are left out.
        assert_eq!(SteadyState::new(&list, 20).map(|it| it.warm_up), Ok(60));
        let constant = SteadyState::new(&[3.0; 40], 4).expect("enough values");
        assert_eq!((constant.warm_up, constant.batches), (0, vec![3.0; 4]));
    }

    #[test]
    fn values_that_only_fall_or_are_few_have_no_steady_state() {
        let falling: Vec<f64> = (0..100).map(|at| f64::from(-at)).collect();
        let message = |values: &[f64]| {
            let error = SteadyState::new(values, 20).expect_err("refused");
            error.to_string()
        };
        let expected =
            "the warm-up takes half of 100 values or more (MSER-5): expected a longer run";
        assert_eq!(message(&falling), expected);
        let expected =
            "3 values, of which 0 are warm-up: expected at least 20 after it, one for each batch";
        assert_eq!(message(&[1.0; 3]), expected);
    }
}
