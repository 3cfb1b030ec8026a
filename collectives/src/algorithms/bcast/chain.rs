//! Broadcast along chains that begin at the root, in segments.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_bcast.c`, chain.

use super::segmented_tree;
use crate::segments::Segments;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static CHAIN: Algorithm = Algorithm {
    name: "chain",
    collectives: &[Collective::Bcast],
    about: "4 chains or as told, in segments",
    time: "(F k + (p − 1) / F − 1) (α + S β) with k segments of S bytes, F chains",
    rounds: |call| segments(call).count(),
    round,
    ..Algorithm::BASE
};

fn segments(call: &Call) -> Segments {
    Segments::of(call, 0)
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    segmented_tree::round(
        Tree::Chains(chains(call)),
        segments(call),
        call,
        round,
        steps,
    );
}

/// Returns the number of chains.
const fn chains(call: &Call) -> u32 {
    if call.radix == 0 { 4 } else { call.radix }
}
