//! Linear gather: the root receives from all others one after the other, in the order of the ranks.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_gather.c`, basic linear.

use super::{LINEAR_KINDS, own, root_block};
use crate::{Algorithm, Call, Steps};

pub(crate) static LINEAR: Algorithm = Algorithm {
    name: "linear",
    collectives: LINEAR_KINDS,
    about: "the root receives from one rank after the other",
    time: "(p − 1) (α + n β)",
    rounds: |call| if call.is_root() { call.size } else { 1 },
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    if !call.is_root() {
        steps.send(call.root, own(call));
    } else if round == call.rank {
        steps.copy(own(call), root_block(call, round));
    } else {
        steps.recv(round, root_block(call, round));
    }
}
