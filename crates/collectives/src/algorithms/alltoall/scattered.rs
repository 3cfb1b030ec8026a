//! Alltoall in batches of receives and sends that are waited for together.
//!
//! Source: MPICH, `MPIR_Alltoall_intra_scattered`, after T. Ladd, with batches of 32; SMPI and
//! MVAPICH2 have batches of 4.

use super::{copy_own, into, out};
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static SCATTERED: Algorithm = Algorithm {
    name: "scattered",
    quadratic: true,
    collectives: &[
        Collective::Alltoall,
        Collective::Alltoallv,
        Collective::Alltoallw,
    ],
    about: "batches of receives from the ranks above and of sends to the ranks below",
    time: "(p − 1) (α + n β)",
    rounds: |call| call.size.div_ceil(batch(call)),
    round,
    ..Algorithm::BASE
};

const fn batch(call: &Call) -> u32 {
    if call.radix == 0 { 32 } else { call.radix }
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let first = round * batch(call);
    let end = first.saturating_add(batch(call)).min(call.size);
    if first == 0 {
        copy_own(call, steps);
    }
    for distance in first.max(1)..end {
        let peer = call.rank_above(distance);
        steps.irecv(peer, into(call, peer));
    }
    for distance in first.max(1)..end {
        let peer = call.rank_below(distance);
        steps.isend(peer, out(call, peer));
    }
    steps.wait_all();
}
