//! Barrier in one round: each rank sends a message to every other rank.
//!
//! Source: MPI 5.0, section 6.3: no rank leaves before all ranks have entered; here each rank
//! checks this alone. Libraries do not offer this algorithm because of the number of messages.

use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static ALL_TO_ALL: Algorithm = Algorithm {
    name: "all_to_all",
    quadratic: true,
    collectives: &[Collective::Barrier],
    about: "to and from each rank, all at once",
    time: "(p − 1) α",
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    for other in (0..call.size).filter(|other| *other != call.rank) {
        steps.irecv(other, Part::EMPTY);
        steps.isend(other, Part::EMPTY);
    }
    steps.wait_all();
}
