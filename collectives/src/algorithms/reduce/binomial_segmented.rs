//! Reduction along a binomial tree, in segments.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_reduce.c`, binomial.

use super::segmented_tree::SegmentedTree;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective};

pub(crate) static BINOMIAL_SEGMENTED: Algorithm = Algorithm {
    name: "binomial_segmented",
    collectives: &[Collective::Reduce],
    about: "binomial tree, the smallest subtree first, in segments",
    time: "k L (α + S β) + L S γ with k segments of S bytes",
    temp: |call| tree(call).temp(call),
    rounds: |call| tree(call).rounds(call),
    round: |call, round, steps| tree(call).round(call, round, steps),
    ..Algorithm::BASE
};

fn tree(call: &Call) -> SegmentedTree {
    SegmentedTree::new(Tree::InOrder, call, 0)
}
