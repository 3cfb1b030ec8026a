//! Reduce-scatter by recursive halving with blocks in mirrored order: partners at distances
//! 1, 2, 4, … reduce halves of the blocks, which keeps the order of operands.
//!
//! Source: MPICH, `MPIR_Reduce_scatter_intra_noncommutative`.

use super::{contribution, result};
use crate::partners::{log2_ceil, mirror};
use crate::{Algorithm, Call, Collective, Operand, Part, Requirement, Steps};

pub(crate) static MIRROR: Algorithm = Algorithm {
    name: "mirror",
    collectives: &[Collective::ReduceScatter, Collective::ReduceScatterBlock],
    about: "partners at distances 1, 2, 4, … reduce halves of the blocks in mirrored order",
    time: "L α + (p − 1) n (β + γ)",
    needs: Requirement::EqualBlocksPowerOfTwo,
    fallback: "recursive_doubling",
    ordered: true,
    temp: |call| call.send_total() + call.send_total() / 2,
    rounds: |call| 2 + log2_ceil(call.size),
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let bits = log2_ceil(call.size);
    let blocks = |first: u32, count: u32| {
        Part::temp(u64::from(first) * call.bytes, u64::from(count) * call.bytes)
    };
    if round == 0 {
        for rank in 0..call.size {
            steps.copy(contribution(call, rank), blocks(mirror(rank, bits), 1));
        }
        return;
    }
    let place = mirror(call.rank, bits);
    if round > bits {
        return steps.copy(blocks(place, 1), result(call));
    }
    let count = call.size >> round;
    let half = |place: u32| blocks(place & !(count - 1), count);
    let (own, other) = (half(place), half(place ^ count));
    let peer = call.rank ^ (1 << (round - 1));
    let temp = Part::temp(call.send_total(), own.length);
    steps.exchange(peer, other, peer, temp);
    let operand = if peer < call.rank {
        Operand::Left
    } else {
        Operand::Right
    };
    steps.reduce(temp, own, operand);
}
