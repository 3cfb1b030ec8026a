//! Allreduce by recursive halving of distance and data, then an allgather by any algorithm. Blocks
//! are equal; padding fills the last ones where elements do not fit evenly.
//!
//! Source: SMPI, `allreduce-rab1.cpp`.

use super::alltoall_allgather::pad;
use crate::partners::log2_ceil;
use crate::parts::Places;
use crate::{Algorithm, Area, Call, Collective, Operand, Part, Requirement, Steps};

pub(crate) static HALVING_ALLGATHER: Algorithm = Algorithm {
    name: "halving_allgather",
    collectives: &[Collective::Allreduce],
    about: "partners at distances p / 2, …, 2, 1 reduce halves, then an allgather",
    time: "L α + n (p − 1) / p (β + γ) + allgather",
    needs: Requirement::PowerOfTwo,
    fallback: "rabenseifner",
    parts: &[Collective::Allgather],
    temp: |call| 2 * padded_bytes(call) + (call.part_algorithm(0).temp)(&allgather_call(call)),
    rounds: |call| {
        2 + log2_ceil(call.size) + (call.part_algorithm(0).rounds)(&allgather_call(call))
    },
    round,
    ..Algorithm::BASE
};

/// Returns the bytes of a block.
const fn block_bytes(call: &Call) -> u64 {
    let size = call.size as u64;
    let elements = if call.count().is_multiple_of(size) {
        call.count() / size
    } else {
        (call.count() + size) / size
    };
    elements * call.element
}

const fn padded_bytes(call: &Call) -> u64 {
    block_bytes(call) * call.size as u64
}

fn allgather_call(call: &Call) -> Call {
    call.inner(Collective::Allgather, block_bytes(call))
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let bits = log2_ceil(call.size);
    // `Temp` has all data, with padding, and the operands that arrive.
    let (whole, block) = (padded_bytes(call), block_bytes(call));
    let own = u64::from(call.rank) * block;
    if round == 0 {
        return pad(call, whole, steps);
    }
    if round <= bits {
        let distance = call.size >> round;
        let peer = call.rank ^ distance;
        let half = |rank: u32| {
            let first = u64::from(rank & !(distance - 1)) * block;
            Part::temp(first, u64::from(distance) * block)
        };
        let temp = Part::temp(whole, half(call.rank).length);
        steps.exchange(peer, half(peer), peer, temp);
        return steps.reduce(temp, half(call.rank), Operand::Left);
    }
    let inner = allgather_call(call);
    let round = round - bits - 1;
    if round < (call.part_algorithm(0).rounds)(&inner) {
        if round == 0 {
            steps.copy(Part::temp(own, block), Part::temp(whole, block));
        }
        let places = Places {
            send: (Area::Temp, whole),
            recv: (Area::Temp, 0),
            temp: 2 * whole,
        };
        places.run(call.part_algorithm(0), &inner, round, steps);
    } else {
        steps.copy(Part::temp(0, call.bytes), Part::recv(0, call.bytes));
    }
}
