//! Alltoall with one partner in each round: the rank `r xor i`, or the ranks i above and below.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
//! Operations in MPICH", International Journal of High Performance Computing Applications 19(1),
//! 2005.

use super::{copy_own, into, out};
use crate::{Algorithm, Call, Collective, Requirement, Steps};

pub(crate) static PAIRWISE: Algorithm = Algorithm {
    name: "pairwise",
    quadratic: true,
    collectives: &[
        Collective::Alltoall,
        Collective::Alltoallv,
        Collective::Alltoallw,
    ],
    about: "pair if the number of ranks is a power of two, else shift",
    time: "(p − 1) (α + n β)",
    rounds: |call| call.size,
    round: |call, round, steps| {
        if call.size.is_power_of_two() {
            pair(call, round, steps);
        } else {
            shift(call, round, steps);
        }
    },
    ..Algorithm::BASE
};

pub(crate) static PAIR: Algorithm = Algorithm {
    name: "pair",
    quadratic: true,
    about: "with the rank r xor i in each round",
    needs: Requirement::PowerOfTwo,
    fallback: "shift",
    round: pair,
    ..PAIRWISE
};

pub(crate) static SHIFT: Algorithm = Algorithm {
    name: "shift",
    quadratic: true,
    about: "to the rank i above, from the rank i below in each round",
    round: shift,
    ..PAIRWISE
};

pub(crate) static TWO_PROC: Algorithm = Algorithm {
    name: "two_proc",
    quadratic: true,
    about: "one exchange, of two ranks only",
    time: "α + n β",
    needs: Requirement::TwoRanks,
    fallback: "linear",
    ..PAIR
};

pub(super) fn pair(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return copy_own(call, steps);
    }
    let peer = call.rank ^ round;
    steps.exchange(peer, out(call, peer), peer, into(call, peer));
}

pub(super) fn shift(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return copy_own(call, steps);
    }
    let (above, below) = (call.rank_above(round), call.rank_below(round));
    steps.exchange(above, out(call, above), below, into(call, below));
}
