//! Linear scatter: the root sends to all others one after the other, in the order of the ranks.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_scatter.c`, basic linear.

use super::{LINEAR_KINDS, own, root_block};
use crate::{Algorithm, Call, Steps};

pub(crate) static LINEAR: Algorithm = Algorithm {
    name: "linear",
    collectives: LINEAR_KINDS,
    about: "the root sends to one rank after the other",
    time: "(p − 1) (α + n β)",
    rounds: |call| if call.is_root() { call.size } else { 1 },
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    if !call.is_root() {
        steps.recv(call.root, own(call));
    } else if round == call.rank {
        steps.copy(root_block(call, round), own(call));
    } else {
        steps.send(round, root_block(call, round));
    }
}
