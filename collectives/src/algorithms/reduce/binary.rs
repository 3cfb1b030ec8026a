//! Reduction along a complete binary tree, in segments.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_reduce.c`, binary tree.

use super::segmented_tree::SegmentedTree;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective};

pub(crate) static BINARY: Algorithm = Algorithm {
    name: "binary",
    collectives: &[Collective::Reduce],
    about: "complete binary tree, in segments",
    time: "2 (k + L − 2) (α + S β) + L S γ with k segments of S bytes",
    temp: |call| tree(call).temp(call),
    rounds: |call| tree(call).rounds(call),
    round: |call, round, steps| tree(call).round(call, round, steps),
    ..Algorithm::BASE
};

fn tree(call: &Call) -> SegmentedTree {
    SegmentedTree::new(Tree::Levels(2), call, 0)
}
