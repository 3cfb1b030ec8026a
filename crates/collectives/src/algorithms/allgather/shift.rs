//! Allgather with one exchange of contributions in each round. By shifts: in round i each rank
//! sends to the rank i above it and receives from the rank i below it. By pairs: in round i each
//! rank exchanges with the rank `r xor i`.
//!
//! SMPI calls the shifts `ring`, and uses them where MPICH uses the ring.
//!
//! Source: A. Faraj, X. Yuan, "Automatic Generation and Tuning of MPI Collective Communication
//! Routines", ICS 2005.

use super::{block, contribution, copy_own};
use crate::{Algorithm, Call, Collective, Requirement, Steps};

pub(crate) static SHIFT: Algorithm = Algorithm {
    name: "shift",
    quadratic: true,
    collectives: &[Collective::Allgather, Collective::Allgatherv],
    about: "to the rank i above, from the rank i below, own block in each round",
    time: "(p − 1) (α + n β)",
    rounds: |call| call.size,
    round: |call, round, steps| {
        exchange_contribution(call, call.rank_above(round), call.rank_below(round), steps);
    },
    ..Algorithm::BASE
};

pub(crate) static PAIR: Algorithm = Algorithm {
    name: "pair",
    quadratic: true,
    about: "with the rank r xor i, own block in each round",
    needs: Requirement::PowerOfTwo,
    fallback: "shift",
    round: |call, round, steps| {
        exchange_contribution(call, call.rank ^ round, call.rank ^ round, steps);
    },
    ..SHIFT
};

/// Sends the contribution and receives another one; the first round is the copy of the own one.
fn exchange_contribution(call: &Call, to: u32, from: u32, steps: &mut dyn Steps) {
    if to == call.rank {
        copy_own(call, steps);
    } else {
        steps.exchange(to, contribution(call), from, block(call, from));
    }
}
