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
    temp: |call| temp(call, call.bytes),
    rounds: |call| rounds(call, call.bytes),
    round: |call, round, steps| make(call, call.bytes, round, steps),
    ..Algorithm::BASE
};

/// Returns the memory of a reduction of `bytes` bytes.
pub(super) fn temp(call: &Call, bytes: u64) -> u64 {
    let [reduce, bcast] = both(call, bytes);
    (call.part(0).temp)(&reduce).max((call.part(1).temp)(&bcast))
}

/// Returns the number of rounds of a reduction of `bytes` bytes.
pub(super) fn rounds(call: &Call, bytes: u64) -> u32 {
    let [reduce, bcast] = both(call, bytes);
    (call.part(0).rounds)(&reduce) + (call.part(1).rounds)(&bcast)
}

/// Makes the steps of a round of a reduction of `bytes` bytes.
pub(super) fn make(call: &Call, bytes: u64, round: u32, steps: &mut dyn Steps) {
    let [reduce, bcast] = both(call, bytes);
    let reducing = (call.part(0).rounds)(&reduce);
    let places = Places::behind(0);
    match round.checked_sub(reducing) {
        None => places.run(call.part(0), &reduce, round, steps),
        Some(round) => places.run(call.part(1), &bcast, round, steps),
    }
}

fn both(call: &Call, bytes: u64) -> [Call; 2] {
    [Collective::Reduce, Collective::Bcast].map(|kind| call.inner(kind, bytes))
}
