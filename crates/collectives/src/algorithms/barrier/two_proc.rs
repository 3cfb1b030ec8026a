//! Barrier of two ranks: they exchange messages.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_barrier.c`, two processes.

use crate::{Algorithm, Call, Collective, Part, Requirement, Steps};

pub(crate) static TWO_PROC: Algorithm = Algorithm {
    name: "two_proc",
    collectives: &[Collective::Barrier],
    about: "two ranks exchange messages",
    time: "α",
    needs: Requirement::TwoRanks,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    let other = call.rank_above(1);
    steps.exchange(other, Part::EMPTY, other, Part::EMPTY);
}
