//! Broadcast along a binary heap from rank 0 with the receives of all segments posted at first.
//!
//! Source: SimGrid 4.1, `src/smpi/colls/bcast/bcast-NTSB.cpp`.

use super::preposted::Preposted;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static PREPOSTED_HEAP: Algorithm = Algorithm {
    name: "preposted_heap",
    collectives: &[Collective::Bcast],
    about: "binary heap from rank 0, receives of all segments posted at first",
    time: "2 (k + L − 2) (α + S β) with k segments of S bytes",
    rounds: Preposted::rounds,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let along = Preposted {
        tree: Tree::Heap,
        is_blocking: false,
    };
    along.round(call, round, steps);
}
