//! Number of replications of a point: fixed, or until the means are precise enough.
//!
//! The seeds of a point are 0, 1, 2… on all points: configurations are compared with common random
//! numbers. A point that drew no random number is run once.

use crate::statistics::{StoppingDecision, StoppingRule};

/// The rule for the number of replications.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Replication {
    /// A fixed number of seeds.
    Seeds {
        /// Number of seeds, at least 1.
        count: usize,
        /// Confidence of the intervals, in (0, 1).
        confidence: f64,
    },
    /// Until every measure has the precision.
    Precision(StoppingRule),
}

impl Replication {
    /// Returns the confidence of the intervals.
    pub const fn confidence(&self) -> f64 {
        match self {
            Self::Seeds { confidence, .. } => *confidence,
            Self::Precision(rule) => rule.confidence,
        }
    }

    /// Returns the largest number of replications of a point.
    pub const fn max(&self) -> usize {
        match self {
            Self::Seeds { count, .. } => *count,
            Self::Precision(rule) => rule.max,
        }
    }

    /// Decides after `n` replications of a point, from the values of each of the measures.
    ///
    /// `draws`: number of random numbers that the first replication drew, if known. With 0 draws,
    /// one replication is sufficient.
    pub fn decide_progress(
        &self,
        n: usize,
        draws: Option<u64>,
        measures: &[&[f64]],
    ) -> StoppingDecision {
        // The first replication tells if there is anything random.
        if n == 0 {
            return StoppingDecision::Continue(1);
        }
        if draws == Some(0) {
            return StoppingDecision::Reached;
        }
        match self {
            Self::Seeds { count, .. } if n < *count => StoppingDecision::Continue(*count),
            Self::Seeds { .. } => StoppingDecision::Reached,
            Self::Precision(rule) => rule.decide_progress(n, measures),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deterministic_points_run_once() {
        let seeds = Replication::Seeds {
            count: 10,
            confidence: 0.95,
        };
        assert_eq!(
            seeds.decide_progress(0, None, &[]),
            StoppingDecision::Continue(1)
        );
        assert_eq!(
            seeds.decide_progress(1, Some(0), &[]),
            StoppingDecision::Reached
        );
        assert_eq!(
            seeds.decide_progress(1, Some(3), &[]),
            StoppingDecision::Continue(10)
        );
        assert_eq!(
            seeds.decide_progress(1, None, &[]),
            StoppingDecision::Continue(10)
        );
        assert_eq!(
            seeds.decide_progress(10, Some(3), &[]),
            StoppingDecision::Reached
        );
    }
}
