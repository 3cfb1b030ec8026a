//! Allgather by shifts: in round i each rank sends its contribution to the rank i above it and
//! receives that of the rank i below it.
//!
//! SMPI calls it `ring`, and uses it where MPICH uses the ring.
//!
//! Source: A. Faraj, X. Yuan, "Automatic Generation and Tuning of MPI Collective Communication
//! Routines", ICS 2005.

use super::{block, contribution, copy_own};
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static SHIFT: Algorithm = Algorithm {
    name: "shift",
    quadratic: true,
    collectives: &[Collective::Allgather, Collective::Allgatherv],
    about: "to the rank i above, from the rank i below, own block in each round",
    time: "(p − 1) (α + n β)",
    rounds: |call| call.size,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return copy_own(call, steps);
    }
    let source = call.below(round);
    steps.exchange(
        call.above(round),
        contribution(call),
        source,
        block(call, source),
    );
}
