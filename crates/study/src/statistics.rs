//! Statistics of independent replications: one seed gives one value.
//!
//! * The interval of a mean is Student's ([`Summary::new`]).
//! * The interval of a quantile is made of order statistics ([`quantile_interval`]).
//! * Two configurations with the same seeds are compared in pairs ([`PairedComparison::new`]); of
//!   several comparisons, p-values are corrected after Holm ([`holm`]).
//! * [`StoppingRule`] decides after which replication a mean is precise enough.
//! * Values of one run have a warm-up and are correlated: [`SteadyState`] makes batch means of
//!   them.
//!
//! The functions are our own, on `libm`: the crate `statrs` uses the logarithms of the standard
//! library, which differ between machines. A bootstrap is no better: of five normal values each,
//! 85 % of the intervals of nominal 95 % contain the mean, and 95 % of Student's intervals.
//!
//! *Not modelled*: dependence between the values. Rare long values make every interval of a mean
//! too narrow: [`Summary::long_values`] warns of them.

mod order;
mod paired;
mod steady_state;
mod stopping;
mod student;
mod summary;

pub use order::{quantile, quantile_interval};
pub use paired::{PairError, PairedComparison, holm};
pub use steady_state::{SteadyState, SteadyStateError};
pub use stopping::{StoppingDecision, StoppingRule};
pub use summary::{FEW_BELOW, Interval, LongValues, Summary};

/// A count as a number to compute with.
#[expect(
    clippy::cast_precision_loss,
    reason = "counts of values are below 2^53"
)]
const fn count(n: usize) -> f64 {
    n as f64
}
