//! Scatter along a binomial tree, the smallest subtree first.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_scatter.c`, binomial.

use super::binomial_tree;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static BINOMIAL: Algorithm = Algorithm {
    name: "binomial",
    collectives: &[Collective::Scatter],
    about: "binomial tree, the smallest subtree first",
    time: "L α + (p − 1) n β",
    temp: binomial_tree::temp,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    binomial_tree::round(Tree::InOrder, call, steps);
}
