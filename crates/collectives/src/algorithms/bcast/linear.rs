//! Linear broadcast: the root starts sends to all others.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/basic/coll_basic_bcast.c`, linear.

use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static LINEAR: Algorithm = Algorithm {
    name: "linear",
    collectives: &[Collective::Bcast],
    about: "the root sends to all others at once",
    time: "(p − 1) (α + n β)",
    round,
    ..Algorithm::BASE
};

pub(super) fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    let all = Part::recv(0, call.bytes);
    if call.is_root() {
        for peer in (0..call.size).filter(|peer| *peer != call.rank) {
            steps.isend(peer, all);
        }
        steps.wait_all();
    } else {
        steps.recv(call.root, all);
    }
}
