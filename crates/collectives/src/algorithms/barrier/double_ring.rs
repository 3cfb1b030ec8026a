//! Double ring barrier: a message passes all ranks twice.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_barrier.c`, double ring.

use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static DOUBLE_RING: Algorithm = Algorithm {
    name: "double_ring",
    collectives: &[Collective::Barrier],
    about: "a message passes the ring of all ranks twice",
    time: "2 p α",
    rounds: |call| if call.size > 1 { 2 } else { 0 },
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    let (left, right) = (call.rank_below(1), call.rank_above(1));
    if call.rank == 0 {
        steps.send(right, Part::EMPTY);
        steps.recv(left, Part::EMPTY);
    } else {
        steps.recv(left, Part::EMPTY);
        steps.send(right, Part::EMPTY);
    }
}
