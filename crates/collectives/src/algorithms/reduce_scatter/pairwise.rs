//! Reduce-scatter by pairwise exchange: in round i each rank sends to the rank i above the block of
//! that rank, and reduces its own block from the rank i below.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
//! Operations in MPICH", International Journal of High Performance Computing Applications 19(1),
//! 2005.

use super::{contribution, result};
use crate::{Algorithm, Call, Collective, Operand, Part, Steps};

pub(crate) static PAIRWISE: Algorithm = Algorithm {
    name: "pairwise",
    quadratic: true,
    collectives: &[Collective::ReduceScatter, Collective::ReduceScatterBlock],
    about: "to the rank i above its block, from the rank i below the own block",
    time: "(p − 1) (α + n (β + γ))",
    fallback: "recursive_doubling",
    temp: |call| result(call).length,
    rounds: |call| call.size,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return steps.copy(contribution(call, call.rank), result(call));
    }
    let (above, below) = (call.rank_above(round), call.rank_below(round));
    let temp = Part::temp(0, result(call).length);
    steps.exchange(above, contribution(call, above), below, temp);
    let operand = if below < call.rank {
        Operand::Left
    } else {
        Operand::Right
    };
    steps.reduce(temp, result(call), operand);
}
