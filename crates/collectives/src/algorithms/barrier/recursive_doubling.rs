//! Barrier by recursive doubling: partners at distances 1, 2, 4, … exchange messages.
//!
//! If the number of ranks is no power of two, the ranks from the power of two on send to a partner
//! before, and receive from the partner afterwards.
//!
//! Sources: Open MPI 4.1, `ompi/mca/coll/base/coll_base_barrier.c`, recursive doubling; MVAPICH2
//! 1.9, pairwise barrier.

use crate::partners::{Fold, power_of_two_below};
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static RECURSIVE_DOUBLING: Algorithm = Algorithm {
    name: "recursive_doubling",
    collectives: &[Collective::Barrier],
    about: "partners at distances 1, 2, 4, … exchange messages",
    time: "L α",
    rounds: |call| 2 + power_of_two_below(call.size).ilog2(),
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let last = power_of_two_below(call.size).ilog2() + 1;
    let role = Fold::High.role(call.rank, call.size);
    match (role.core, role.partner) {
        // A rank that sits out has its receive posted from the beginning.
        (None, Some(partner)) if round == 0 => {
            steps.exchange(partner, Part::EMPTY, partner, Part::EMPTY);
        }
        (Some(_), Some(partner)) if round == 0 => steps.recv(partner, Part::EMPTY),
        (Some(_), Some(partner)) if round == last => steps.send(partner, Part::EMPTY),
        (Some(core), _) if (1..last).contains(&round) => {
            let partner = core ^ (1 << (round - 1));
            steps.exchange(partner, Part::EMPTY, partner, Part::EMPTY);
        }
        _ => {}
    }
}
