//! Scatter along a binomial tree, the largest subtree first.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
//! Operations in MPICH", International Journal of High Performance Computing Applications 19(1),
//! 2005.

use super::binomial_tree;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static BINOMIAL_HALVING: Algorithm = Algorithm {
    name: "binomial_halving",
    collectives: &[Collective::Scatter],
    about: "binomial tree, the largest subtree first",
    time: "L α + (p − 1) n β",
    temp: binomial_tree::temp,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    binomial_tree::round(Tree::Halving, call, steps);
}
