//! Stopping rule of a point: replications end at a mean with a relative half-width γ.
//!
//! A mean is precise enough if the half-width is at most γ/(1+γ) times the absolute mean, so that
//! the error relative to the true mean is at most γ (Law, Simulation Modeling and Analysis, 9.4.1).
//! The rule examines the mean only at n = 10, 15, 20, 30, 40, 60, 80, 120…: examined after each
//! value from the third on, a nominal 95 % interval would contain the mean in 88 % of the cases.

use super::Summary;

/// The rule that ends the replications of a point.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct StoppingRule {
    /// Half-width relative to the mean, γ > 0.
    pub precision: f64,
    /// Confidence of the interval, in (0, 1).
    pub confidence: f64,
    /// Number of values before the first examination; at least 3.
    pub min: usize,
    /// Number of values that end the point in any case.
    pub max: usize,
}

/// The decision about the replications of one point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StoppingDecision {
    /// More values are needed, up to this number in all.
    Continue(usize),
    /// All that were asked for are there.
    Reached,
    /// The largest permitted number is there, and some mean is not precise enough: "not reached".
    NotReached,
}

impl StoppingRule {
    /// Decides by the values of each measure of one point, of which each has one per replication.
    pub fn decide_progress(&self, n: usize, measures: &[&[f64]]) -> StoppingDecision {
        let examined = self.examination(n);
        if n < examined {
            return StoppingDecision::Continue(examined);
        }
        let bound = self.precision / (1.0 + self.precision);
        let precise = measures.iter().all(|values| {
            Summary::new(values, self.confidence)
                .and_then(|summary| summary.relative_half_width())
                .is_some_and(|width| width <= bound)
        });
        if precise {
            StoppingDecision::Reached
        } else if n >= self.max {
            StoppingDecision::NotReached
        } else {
            StoppingDecision::Continue(self.examination(n + 1))
        }
    }

    /// Returns the first number of values from `n` on at which the rule is examined.
    fn examination(&self, n: usize) -> usize {
        // 10, 15, then twice the number before the last one: 20, 30, 40, 60, 80…
        let (mut now, mut next) = (10, 15);
        while now < n.max(self.min) {
            (now, next) = (next, 2 * now);
        }
        // A minimum between two of them is examined itself.
        let now = if n <= self.min { self.min } else { now };
        now.min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULE: StoppingRule = StoppingRule {
        precision: 0.05,
        confidence: 0.95,
        min: 10,
        max: 70,
    };

    #[test]
    fn it_is_examined_at_growing_numbers() {
        let mut numbers = vec![RULE.examination(0)];
        while *numbers.last().expect("one") < 70 {
            numbers.push(RULE.examination(numbers.last().expect("one") + 1));
        }
        assert_eq!(numbers, [10, 15, 20, 30, 40, 60, 70]);
        let late = StoppingRule { min: 25, ..RULE };
        assert_eq!((late.examination(0), late.examination(26)), (25, 30));
    }

    #[test]
    fn precise_means_end_and_others_go_to_the_maximum() {
        let same = vec![2.0; 70];
        let spread: Vec<f64> = (0..70_u32).map(|at| f64::from(at % 2)).collect();
        assert_eq!(
            RULE.decide_progress(9, &[&same[..9]]),
            StoppingDecision::Continue(10)
        );
        assert_eq!(
            RULE.decide_progress(10, &[&same[..10]]),
            StoppingDecision::Reached
        );
        let both = |n: usize| RULE.decide_progress(n, &[&same[..n], &spread[..n]]);
        assert_eq!(both(10), StoppingDecision::Continue(15));
        assert_eq!(both(60), StoppingDecision::Continue(70));
        assert_eq!(both(70), StoppingDecision::NotReached);
    }

    #[test]
    fn the_bound_is_relative_to_the_true_mean() {
        // n = 10, deviations ±d: the half-width is 2.262 d / √9.
        let values = |deviation: f64| -> Vec<f64> {
            (0..10)
                .map(|at| 1.0 + if at % 2 == 0 { deviation } else { -deviation })
                .collect()
        };
        let bound = 0.05 / 1.05 * 3.0 / 2.2622;
        let progress = |deviation| RULE.decide_progress(10, &[&values(deviation)]);
        assert_eq!(progress(0.999 * bound), StoppingDecision::Reached);
        assert_eq!(progress(1.001 * bound), StoppingDecision::Continue(15));
    }
}
