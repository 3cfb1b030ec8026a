//! Allgather in one round: each rank sends its contribution to all other ranks.
//!
//! Sources: SMPI, `colls::iallgather` (`linear`); A. Faraj, X. Yuan, "Automatic Generation and
//! Tuning of MPI Collective Communication Routines", ICS 2005 (`spread`).

use super::{block, contribution, copy_own};
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static LINEAR: Algorithm = Algorithm {
    name: "linear",
    quadratic: true,
    collectives: &[Collective::Allgather, Collective::Allgatherv],
    about: "to and from each rank, in the order of the ranks",
    time: "(p − 1) (α + n β)",
    round: linear,
    ..Algorithm::BASE
};

pub(crate) static SPREAD: Algorithm = Algorithm {
    name: "spread",
    about: "from all, then to all, beginning with the next rank",
    round: spread,
    ..LINEAR
};

fn linear(call: &Call, _: u32, steps: &mut dyn Steps) {
    copy_own(call, steps);
    for other in (0..call.size).filter(|other| *other != call.rank) {
        steps.isend(other, contribution(call));
        steps.irecv(other, block(call, other));
    }
    steps.wait_all();
}

fn spread(call: &Call, _: u32, steps: &mut dyn Steps) {
    copy_own(call, steps);
    for distance in 1..call.size {
        let source = call.rank_above(distance);
        steps.irecv(source, block(call, source));
    }
    for distance in 1..call.size {
        steps.isend(call.rank_above(distance), contribution(call));
    }
    steps.wait_all();
}
