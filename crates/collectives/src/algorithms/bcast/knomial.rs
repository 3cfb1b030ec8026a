//! Broadcast along a k-nomial tree: each rank receives from its parent, then starts the sends to
//! the children of a level together, the largest subtrees first.
//!
//! Source: MVAPICH2 1.9, k-nomial broadcast within a node.

use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static KNOMIAL: Algorithm = Algorithm {
    name: "knomial",
    collectives: &[Collective::Bcast],
    about: "k-nomial tree of radix 4 or as told, a level at once",
    time: "⌈logK p⌉ (K − 1) (α + n β) with radix K",
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    let radix = if call.radix < 2 { 4 } else { call.radix };
    let (rank, size) = (call.relative(), call.size);
    let (tree, all) = (Tree::Knomial(radix), Part::recv(0, call.bytes));
    if let Some(parent) = tree.parent(rank, size) {
        steps.recv(call.absolute(parent), all);
    }
    let mut level = 0;
    for child in tree.children(rank, size) {
        // Distances ascend within a level.
        let distance = child - rank;
        if level != 0 && distance < level {
            steps.wait_all();
        }
        level = distance;
        steps.isend(call.absolute(child), all);
    }
    steps.wait_all();
}
