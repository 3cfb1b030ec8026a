//! Broadcast along a binary heap from rank 0 with posted receives and blocking sends.
//!
//! Source: SimGrid 4.1, `src/smpi/colls/bcast/bcast-SMP-binary.cpp`, with one rank on each
//! node.

use super::preposted::Preposted;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static PREPOSTED_HEAP_BLOCKING: Algorithm = Algorithm {
    name: "preposted_heap_blocking",
    collectives: &[Collective::Bcast],
    about: "binary heap from rank 0, receives posted at first, blocking sends",
    time: "2 (k + L − 2) (α + S β) with k segments of S bytes",
    rounds: Preposted::rounds,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let along = Preposted {
        tree: Tree::Heap,
        is_blocking: true,
    };
    along.round(call, round, steps);
}
