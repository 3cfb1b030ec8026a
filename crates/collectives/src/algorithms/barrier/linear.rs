//! Linear barrier: rank 0 receives from all others, then sends to all.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_barrier.c`, basic linear.

use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static LINEAR: Algorithm = Algorithm {
    name: "linear",
    collectives: &[Collective::Barrier],
    about: "all to rank 0, then rank 0 to all",
    time: "2 (p − 1) α",
    rounds: |_| 2,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    match (call.rank, round) {
        (0, 0) => {
            for peer in 1..call.size {
                steps.irecv(peer, Part::EMPTY);
            }
            steps.wait_all();
        }
        (0, _) => {
            for peer in 1..call.size {
                steps.isend(peer, Part::EMPTY);
            }
            steps.wait_all();
        }
        (_, 0) => steps.send(0, Part::EMPTY),
        (_, _) => steps.recv(0, Part::EMPTY),
    }
}
