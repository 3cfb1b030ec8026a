//! Broadcast along one chain of all ranks, in segments.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_bcast.c`, pipeline.

use super::segmented_tree;
use crate::segments::Segments;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static PIPELINE: Algorithm = Algorithm {
    name: "pipeline",
    collectives: &[Collective::Bcast],
    about: "one chain of all ranks, in segments of 128 KiB or as told",
    time: "(k + p − 2) (α + S β) with k segments of S bytes",
    rounds: |call| segments(call).count(),
    round,
    ..Algorithm::BASE
};

fn segments(call: &Call) -> Segments {
    Segments::of(call, 128 << 10)
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    segmented_tree::round(Tree::Chains(1), segments(call), call, round, steps);
}
