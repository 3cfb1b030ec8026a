//! Reduce-scatter in one round: each rank sends to every other rank the block of that rank, and
//! reduces the contributions to the own block when all have arrived.
//!
//! Source: SMPI, `colls::ireduce_scatter`.

use super::{contribution, result};
use crate::{Algorithm, Call, Collective, Operand, Part, Steps};

pub(crate) static LINEAR: Algorithm = Algorithm {
    name: "linear",
    quadratic: true,
    collectives: &[Collective::ReduceScatter, Collective::ReduceScatterBlock],
    about: "to and from each rank, all at once, then a local reduction",
    time: "(p − 1) (α + n (β + γ))",
    ordered: true,
    temp: |call| u64::from(call.size) * result(call).length,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    let result = result(call);
    let operand = |rank: u32| match rank == call.rank {
        true => contribution(call, rank),
        false => Part::temp(u64::from(rank) * result.length, result.length),
    };
    for other in (0..call.size).filter(|other| *other != call.rank) {
        steps.irecv(other, operand(other));
        steps.isend(other, contribution(call, other));
    }
    steps.wait_all();
    steps.copy(operand(0), result);
    for rank in 1..call.size {
        steps.reduce(operand(rank), result, Operand::Right);
    }
}
