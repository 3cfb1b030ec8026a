//! Broadcast along a binomial tree in which the nearest children are served first, in segments.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_bcast.c`, binomial.

use super::segmented_tree;
use crate::segments::Segments;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static BINOMIAL_DOUBLING: Algorithm = Algorithm {
    name: "binomial_doubling",
    collectives: &[Collective::Bcast],
    about: "binomial tree, the smallest distance first, in segments",
    time: "k L (α + S β) with k segments of S bytes",
    rounds: |call| segments(call).count(),
    round,
    ..Algorithm::BASE
};

fn segments(call: &Call) -> Segments {
    Segments::of(call, 0)
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    segmented_tree::round(Tree::Doubling, segments(call), call, round, steps);
}
