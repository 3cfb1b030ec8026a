//! Linear gather with non-blocking receives: the root posts the receives from all others in the
//! order of the ranks.
//!
//! Source: SimGrid 4.1, `src/smpi/mpi/smpi_nbc_impl.cpp`, gather.

use super::{LINEAR_KINDS, own, root_block};
use crate::{Algorithm, Call, Steps};

pub(crate) static LINEAR_NB: Algorithm = Algorithm {
    name: "linear_nb",
    collectives: LINEAR_KINDS,
    about: "the root posts the receives from all others at once",
    time: "α + (p − 1) n β",
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    if !call.is_root() {
        return steps.send(call.root, own(call));
    }
    steps.copy(own(call), root_block(call, call.rank));
    for peer in (0..call.size).filter(|peer| *peer != call.rank) {
        steps.irecv(peer, root_block(call, peer));
    }
    steps.wait_all();
}
