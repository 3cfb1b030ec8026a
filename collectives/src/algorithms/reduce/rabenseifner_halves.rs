//! Rabenseifner's reduction in its first form: halves of halves instead of equal blocks, and both
//! ranks of a pair reduce half of the elements before one sits out.
//!
//! Source: R. Rabenseifner, "A new optimized MPI reduce algorithm", 1997.

use super::halving::{Cut, Halving};
use crate::{Algorithm, Collective};

pub(crate) static RABENSEIFNER_HALVES: Algorithm = Algorithm {
    name: "rabenseifner_halves",
    collectives: &[Collective::Reduce],
    about: "reduce-scatter by recursive halving with halves of halves, then a binomial gather",
    time: "2 L α + 2 n (p − 1) / p β + n (p − 1) / p γ",
    ordered: true,
    temp: |call| HALVING.temp(call),
    rounds: Halving::rounds,
    round: |call, round, steps| HALVING.round(call, round, steps),
    ..Algorithm::BASE
};

const HALVING: Halving = Halving {
    cut: Cut::Halves,
    is_padded: false,
};
