//! A factor that depends on the size of a transfer: one number for all sizes, or a step function.
//!
//! The factor of a size is the value of the greatest threshold *strictly below* the size; sizes up
//! to the first threshold have the factor 1. With the thresholds 0 and 257 a transfer of 0 bytes
//! has the factor 1, of 257 bytes the first value of the table, and of 258 bytes the second value.
//!
//! Source: SimGrid's `network/latency-factor` and `network/bandwidth-factor` tables have the same
//! meaning.

use serde::ser::{SerializeSeq, Serializer};
use serde::{Deserialize, Serialize};

use crate::units::Size;

/// A factor by size.
#[derive(Clone, PartialEq, Debug)]
pub enum Factors {
    /// The same for all sizes.
    Same(f64),
    /// By size; the thresholds grow.
    Steps(Vec<FactorStep>),
}

/// A step of [`Factors`]: the factor of all sizes above a threshold, up to the next one.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct FactorStep {
    /// The largest size that does not have this factor yet.
    pub above: Size,
    /// The factor: above 0; a latency factor may also be 0.
    pub factor: f64,
}

impl Factors {
    /// The factor of 1, which has no effect.
    pub const ONE: Self = Self::Same(1.0);

    /// The factor for a transfer of `bytes`.
    #[must_use]
    pub fn factor_for(&self, bytes: f64) -> f64 {
        match self {
            Self::Same(factor) => *factor,
            Self::Steps(steps) => {
                let after = steps.partition_point(|step| (step.above.bytes() as f64) < bytes);
                after.checked_sub(1).map_or(1.0, |at| steps[at].factor)
            }
        }
    }

    /// The steps given as (threshold in bytes, factor).
    pub(crate) fn steps(table: &[(u32, f64)]) -> Self {
        let step = |(above, factor): &(u32, f64)| FactorStep {
            above: format!("{above}B").parse().expect("a size"),
            factor: *factor,
        };
        Self::Steps(table.iter().map(step).collect())
    }
}

impl Serialize for Factors {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Same(factor) => serializer.serialize_f64(*factor),
            Self::Steps(steps) => {
                let mut list = serializer.serialize_seq(Some(steps.len()))?;
                for step in steps {
                    list.serialize_element(step)?;
                }
                list.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_threshold_belongs_to_the_step_below_it() {
        let factors = Factors::steps(&[(0, 2.0), (257, 3.0), (732, 4.0)]);
        let found =
            [0.0, 1.0, 257.0, 258.0, 732.0, 733.0, 1e18].map(|bytes| factors.factor_for(bytes));
        assert_eq!(found, [1.0, 2.0, 2.0, 3.0, 3.0, 4.0, 4.0]);
        assert_eq!(Factors::Same(13.01).factor_for(0.0), 13.01);
    }
}
