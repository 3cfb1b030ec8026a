//! Allreduce as a reduction to rank 0 and a broadcast, both by any algorithm.
//!
//! Source: Open MPI, `coll_base_allreduce.c` (`nonoverlapping`); SMPI, `allreduce-redbcast.cpp`.

use crate::parts::Places;
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static REDUCE_BCAST: Algorithm = Algorithm {
    name: "reduce_bcast",
    collectives: &[Collective::Allreduce],
    about: "a reduction to rank 0, then a broadcast",
    time: "sum of both parts",
    ordered: true,
    parts: &[Collective::Reduce, Collective::Bcast],
    temp: |call| {
        let [reduce, bcast] = both(call);
        (call.part_algorithm(0).temp)(&reduce).max((call.part_algorithm(1).temp)(&bcast))
    },
    rounds: |call| {
        let [reduce, bcast] = both(call);
        (call.part_algorithm(0).rounds)(&reduce) + (call.part_algorithm(1).rounds)(&bcast)
    },
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let [reduce, bcast] = both(call);
    let reducing = (call.part_algorithm(0).rounds)(&reduce);
    let places = Places::behind(0);
    match round.checked_sub(reducing) {
        None => places.run(call.part_algorithm(0), &reduce, round, steps),
        Some(round) => places.run(call.part_algorithm(1), &bcast, round, steps),
    }
}

fn both(call: &Call) -> [Call; 2] {
    [Collective::Reduce, Collective::Bcast].map(|kind| call.inner(kind, call.bytes))
}
