//! Allreduce as an allgather by any algorithm and a local reduction, for short contributions.
//!
//! Source: Open MPI, `coll_base_allreduce.c` (`allgather_reduce`).

use crate::parts::Places;
use crate::{Algorithm, Area, Call, Collective, Operand, Part, Steps};

pub(crate) static ALLGATHER_REDUCE: Algorithm = Algorithm {
    name: "allgather_reduce",
    collectives: &[Collective::Allreduce],
    about: "an allgather of all contributions, then a local reduction",
    time: "allgather + (p − 1) n γ",
    ordered: true,
    parts: &[Collective::Allgather],
    temp: |call| gathered_bytes(call) + (call.part_algorithm(0).temp)(&allgather_call(call)),
    rounds: |call| 1 + (call.part_algorithm(0).rounds)(&allgather_call(call)),
    round,
    ..Algorithm::BASE
};

const fn gathered_bytes(call: &Call) -> u64 {
    call.bytes * call.size as u64
}

fn allgather_call(call: &Call) -> Call {
    call.inner(Collective::Allgather, call.bytes)
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let inner = allgather_call(call);
    if round < (call.part_algorithm(0).rounds)(&inner) {
        let places = Places {
            send: (Area::Recv, 0),
            recv: (Area::Temp, 0),
            temp: gathered_bytes(call),
        };
        return places.run(call.part_algorithm(0), &inner, round, steps);
    }
    let result = Part::recv(0, call.bytes);
    steps.copy(Part::temp(0, call.bytes), result);
    for rank in 1..u64::from(call.size) {
        let operand = Part::temp(rank * call.bytes, call.bytes);
        steps.reduce(operand, result, Operand::Right);
    }
}
