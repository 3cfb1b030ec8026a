//! Allgather by recursive halving of the distance: after an exchange with the rank of the reversed
//! bits, partners at distances p / 2, …, 2, 1 exchange all that they have.
//!
//! Source: A. Faraj, X. Yuan, "Automatic Generation and Tuning of MPI Collective Communication
//! Routines", ICS 2005.

use super::{collect_own, contribution, gathered, gathered_temp, spread_out};
use crate::partners::{log2_ceil, mirror};
use crate::{Algorithm, Call, Collective, Requirement, Steps};

pub(crate) static RECURSIVE_HALVING: Algorithm = Algorithm {
    name: "recursive_halving",
    collectives: &[Collective::Allgather, Collective::Allgatherv],
    about: "with the rank of the reversed bits, then at distances p / 2, …, 2, 1: all blocks",
    time: "(L + 1) α + p n β",
    needs: Requirement::PowerOfTwo,
    fallback: "recursive_doubling",
    temp: gathered_temp,
    rounds: |call| 2 + log2_ceil(call.size),
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let bits = log2_ceil(call.size);
    let place = mirror(call.rank, bits);
    if round == 0 {
        if place == call.rank {
            return collect_own(call, steps);
        }
        let into = gathered(call, place..place + 1);
        return steps.exchange(place, contribution(call), place, into);
    }
    if round > bits {
        return spread_out(call, steps);
    }
    let count = 1 << (round - 1);
    let peer = call.rank ^ (call.size >> round);
    let own = place & !(count - 1);
    let other = own ^ count;
    let (out, into) = (
        gathered(call, own..own + count),
        gathered(call, other..other + count),
    );
    steps.exchange(peer, out, peer, into);
}
