//! Linear reduction: the root receives from the last rank to the first one, and reduces each
//! contribution with the result for the ranks above.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_reduce.c`, basic linear.

use crate::{Algorithm, Call, Collective, Operand, Part, Steps};

pub(crate) static LINEAR: Algorithm = Algorithm {
    name: "linear",
    collectives: &[Collective::Reduce],
    about: "the root receives from one rank after the other, the last one first",
    time: "(p − 1) (α + n (β + γ))",
    ordered: true,
    temp: |call| match call.is_root() {
        // The result for the ranks above the root, and a contribution.
        true if call.root + 2 < call.size => 2 * call.bytes,
        true if call.size > 1 => call.bytes,
        _ => 0,
    },
    rounds: |call| if call.is_root() { call.size } else { 1 },
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let own = Part::recv(0, call.bytes);
    if !call.is_root() {
        return steps.send(call.root, own);
    }
    let (upper, other) = (
        Part::temp(0, call.bytes),
        Part::temp(call.bytes, call.bytes),
    );
    let (last, peer) = (call.size - 1, call.size - 1 - round);
    if peer == call.rank {
        if peer < last {
            steps.reduce(upper, own, Operand::Right);
        }
    } else if peer == last {
        steps.recv(peer, upper);
    } else if peer > call.rank {
        steps.recv(peer, other);
        steps.reduce(other, upper, Operand::Left);
    } else {
        steps.recv(peer, upper);
        steps.reduce(upper, own, Operand::Left);
    }
}
