//! Reduction along chains that end at the root, in segments.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_reduce.c`, chain.

use super::segmented_tree::SegmentedTree;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective};

pub(crate) static CHAIN: Algorithm = Algorithm {
    name: "chain",
    collectives: &[Collective::Reduce],
    about: "4 chains or as told, in segments",
    time: "(F k + (p − 1) / F − 1) (α + S β) + (p − 1) / F S γ with k segments of S bytes, F chains",
    temp: |call| tree(call).temp(call),
    rounds: |call| tree(call).rounds(call),
    round: |call, round, steps| tree(call).round(call, round, steps),
    ..Algorithm::BASE
};

fn tree(call: &Call) -> SegmentedTree {
    let chains = if call.radix == 0 { 4 } else { call.radix };
    SegmentedTree::new(Tree::Chains(chains), call, 0)
}
