//! Linear scatter with non-blocking sends: the root starts the sends to all others in the order of
//! the ranks.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_scatter.c`, linear with non-blocking sends.

use super::{LINEAR_KINDS, own, root_block};
use crate::{Algorithm, Call, Steps};

pub(crate) static LINEAR_NB: Algorithm = Algorithm {
    name: "linear_nb",
    collectives: LINEAR_KINDS,
    about: "the root starts the sends to all others at once",
    time: "α + (p − 1) n β",
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    if !call.is_root() {
        return steps.recv(call.root, own(call));
    }
    steps.copy(root_block(call, call.rank), own(call));
    for peer in (0..call.size).filter(|peer| *peer != call.rank) {
        steps.isend(peer, root_block(call, peer));
    }
    steps.wait_all();
}
