//! Reduction along one chain of all ranks, in segments.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_reduce.c`, pipeline.

use super::segmented_tree::SegmentedTree;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective};

pub(crate) static PIPELINE: Algorithm = Algorithm {
    name: "pipeline",
    collectives: &[Collective::Reduce],
    about: "one chain of all ranks, in segments of 64 KiB or as told",
    time: "(k + p − 2) (α + S β) + (p − 1) S γ with k segments of S bytes",
    temp: |call| tree(call).temp(call),
    rounds: |call| tree(call).rounds(call),
    round: |call, round, steps| tree(call).round(call, round, steps),
    ..Algorithm::BASE
};

fn tree(call: &Call) -> SegmentedTree {
    SegmentedTree::new(Tree::Chains(1), call, 64 << 10)
}
