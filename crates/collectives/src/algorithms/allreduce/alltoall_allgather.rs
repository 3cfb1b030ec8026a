//! Allreduce as an alltoall of blocks, a local reduction and an allgather, both by any algorithm.
//! Blocks are equal; padding fills the last ones where elements do not fit evenly.
//!
//! Source: SMPI, `allreduce-rab2.cpp`.

use crate::parts::Places;
use crate::{Algorithm, Area, Call, Collective, Operand, Part, Steps};

pub(crate) static ALLTOALL_ALLGATHER: Algorithm = Algorithm {
    name: "alltoall_allgather",
    collectives: &[Collective::Allreduce],
    about: "an alltoall of blocks, a local reduction, an allgather",
    time: "alltoall + n (p − 1) / p γ + allgather",
    ordered: true,
    parts: &[Collective::Alltoall, Collective::Allgather],
    temp: |call| {
        let alltoall = (call.part_algorithm(0).temp)(&alltoall_call(call));
        let allgather = (call.part_algorithm(1).temp)(&allgather_call(call));
        2 * padded_bytes(call) + alltoall.max(allgather)
    },
    rounds: |call| {
        let alltoall = (call.part_algorithm(0).rounds)(&alltoall_call(call));
        let allgather = (call.part_algorithm(1).rounds)(&allgather_call(call));
        3 + alltoall + allgather
    },
    round,
    ..Algorithm::BASE
};

/// Returns the bytes of a block. As in SMPI, there is an element for each rank in each block if the
/// contribution has fewer elements than there are ranks.
pub(crate) const fn block_bytes(call: &Call) -> u64 {
    let (size, count) = (call.size as u64, call.count());
    let elements = if count.is_multiple_of(size) {
        count / size
    } else if count < size {
        size
    } else {
        (count + size) / size
    };
    elements * call.element
}

const fn padded_bytes(call: &Call) -> u64 {
    block_bytes(call) * call.size as u64
}

fn alltoall_call(call: &Call) -> Call {
    call.inner(Collective::Alltoall, block_bytes(call))
}

fn allgather_call(call: &Call) -> Call {
    call.inner(Collective::Allgather, block_bytes(call))
}

/// Copies the contribution to the beginning of `Temp`, and repeats the copy up to `whole` bytes.
pub(super) fn pad(call: &Call, whole: u64, steps: &mut dyn Steps) {
    let mut filled = call.bytes;
    steps.copy(Part::recv(0, filled), Part::temp(0, filled));
    while 0 < filled && filled < whole {
        let more = filled.min(whole - filled);
        steps.copy(Part::temp(0, more), Part::temp(filled, more));
        filled += more;
    }
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let (whole, block) = (padded_bytes(call), block_bytes(call));
    let (first, second) = (alltoall_call(call), allgather_call(call));
    let exchanging = (call.part_algorithm(0).rounds)(&first);
    let gathering = (call.part_algorithm(1).rounds)(&second);
    let places = |send, recv| Places {
        send: (Area::Temp, send),
        recv: (Area::Temp, recv),
        temp: 2 * whole,
    };
    if round == 0 {
        pad(call, whole, steps);
    } else if round <= exchanging {
        places(0, whole).run(call.part_algorithm(0), &first, round - 1, steps);
    } else if round == exchanging + 1 {
        let own = Part::temp(whole, block);
        for rank in 1..u64::from(call.size) {
            let operand = Part::temp(whole + rank * block, block);
            steps.reduce(operand, own, Operand::Right);
        }
    } else if round < exchanging + gathering + 2 {
        let round = round - exchanging - 2;
        places(whole, 0).run(call.part_algorithm(1), &second, round, steps);
    } else {
        steps.copy(Part::temp(0, call.bytes), Part::recv(0, call.bytes));
    }
}
