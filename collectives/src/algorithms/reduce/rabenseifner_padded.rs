//! Rabenseifner's reduction for all lengths: a contribution with fewer elements than there are
//! ranks is sent as one element for each rank.
//!
//! Source: SimGrid 4.1, `src/smpi/colls/reduce/reduce-scatter-gather.cpp`.

use super::halving::{Cut, Halving};
use crate::{Algorithm, Collective};

pub(crate) static RABENSEIFNER_PADDED: Algorithm = Algorithm {
    name: "rabenseifner_padded",
    collectives: &[Collective::Reduce],
    about: "as rabenseifner, with short messages made longer",
    time: "2 L α + 2 n (p − 1) / p β + n (p − 1) / p γ",
    ordered: true,
    temp: |call| HALVING.temp(call),
    rounds: Halving::rounds,
    round: |call, round, steps| HALVING.round(call, round, steps),
    ..Algorithm::BASE
};

const HALVING: Halving = Halving {
    cut: Cut::Blocks,
    is_padded: true,
};
