//! Allgather by pairs: in round i each rank exchanges contributions with the rank `r xor i`.
//!
//! Source: A. Faraj, X. Yuan, "Automatic Generation and Tuning of MPI Collective Communication
//! Routines", ICS 2005.

use super::{block, contribution, copy_own};
use crate::{Algorithm, Call, Collective, Requirement, Steps};

pub(crate) static PAIR: Algorithm = Algorithm {
    name: "pair",
    quadratic: true,
    collectives: &[Collective::Allgather, Collective::Allgatherv],
    about: "with the rank r xor i, own block in each round",
    time: "(p − 1) (α + n β)",
    needs: Requirement::PowerOfTwo,
    fallback: "shift",
    rounds: |call| call.size,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return copy_own(call, steps);
    }
    let peer = call.rank ^ round;
    steps.exchange(peer, contribution(call), peer, block(call, peer));
}
