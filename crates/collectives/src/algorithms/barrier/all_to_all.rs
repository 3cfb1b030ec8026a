//! Barrier in one round: all ranks send to all others.
//!
//! Source: MPI 5.0, section 6.3: no rank leaves before all have entered, which here each rank finds
//! out alone. Libraries do not offer it, because of its messages.

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
