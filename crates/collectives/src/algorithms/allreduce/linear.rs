//! Allreduce in one round: each rank sends its contribution to all other ranks, and reduces the
//! contributions of all ranks when all have arrived.
//!
//! Source: SMPI, `colls::iallreduce`.

use crate::{Algorithm, Call, Collective, Operand, Part, Steps};

pub(crate) static LINEAR: Algorithm = Algorithm {
    name: "linear",
    quadratic: true,
    collectives: &[Collective::Allreduce],
    about: "to and from each rank, all at once, then a local reduction",
    time: "(p − 1) (α + n (β + γ))",
    ordered: true,
    temp: |call| u64::from(call.size) * call.bytes,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    let result = Part::recv(0, call.bytes);
    let operand = |rank: u32| Part::temp(u64::from(rank) * call.bytes, call.bytes);
    for other in (0..call.size).filter(|other| *other != call.rank) {
        steps.irecv(other, operand(other));
        steps.isend(other, result);
    }
    steps.wait_all();
    for rank in call.rank + 1..call.size {
        steps.reduce(operand(rank), result, Operand::Right);
    }
    for rank in (0..call.rank).rev() {
        steps.reduce(operand(rank), result, Operand::Left);
    }
}
