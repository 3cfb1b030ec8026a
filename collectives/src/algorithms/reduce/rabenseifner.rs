//! Rabenseifner's reduction: a reduce-scatter of blocks by recursive halving, then a gather.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
//! Operations in MPICH", International Journal of High Performance Computing Applications 19(1),
//! 2005.

use super::halving::{Cut, Halving};
use crate::{Algorithm, Collective, Requirement};

pub(crate) static RABENSEIFNER: Algorithm = Algorithm {
    name: "rabenseifner",
    collectives: &[Collective::Reduce],
    about: "reduce-scatter by recursive halving, then a binomial gather",
    time: "2 L α + 2 n (p − 1) / p β + n (p − 1) / p γ",
    needs: Requirement::ElementPerPowerOfTwo,
    fallback: "binomial",
    ordered: true,
    temp: |call| HALVING.temp(call),
    rounds: Halving::rounds,
    round: |call, round, steps| HALVING.round(call, round, steps),
    ..Algorithm::BASE
};

const HALVING: Halving = Halving {
    cut: Cut::Blocks,
    is_padded: false,
};
