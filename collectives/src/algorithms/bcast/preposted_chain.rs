//! Broadcast along one chain from rank 0 with the receives of all segments posted at first.
//!
//! Source: SimGrid 4.1, `src/smpi/colls/bcast/bcast-NTSL.cpp`.

use super::preposted::Preposted;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static PREPOSTED_CHAIN: Algorithm = Algorithm {
    name: "preposted_chain",
    collectives: &[Collective::Bcast],
    about: "one chain from rank 0, receives of all segments posted at first",
    time: "(k + p − 2) (α + S β) with k segments of S bytes",
    rounds: Preposted::rounds,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let along = Preposted {
        tree: Tree::Chains(1),
        is_blocking: false,
    };
    along.round(call, round, steps);
}
