//! Broadcast along a complete binary tree, in segments.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_bcast.c`, binary tree.

use super::segmented_tree;
use crate::segments::Segments;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static BINARY: Algorithm = Algorithm {
    name: "binary",
    collectives: &[Collective::Bcast],
    about: "complete binary tree, in segments",
    time: "2 (k + L − 2) (α + S β) with k segments of S bytes",
    rounds: |call| segments(call).count(),
    round,
    ..Algorithm::BASE
};

fn segments(call: &Call) -> Segments {
    Segments::of(call, 0)
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    segmented_tree::round(Tree::Levels(2), segments(call), call, round, steps);
}
