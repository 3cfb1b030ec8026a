//! Alltoall in place: the pairs of ranks `i < j` exchange their blocks in lexicographic order, so
//! each rank meets the others in the order of their ranks.
//!
//! Sources: MPICH, `alltoall_intra_pairwise_sendrecv_replace.c`; Open MPI, `coll_base_alltoall.c`,
//! `mca_coll_base_alltoall_intra_basic_inplace`. Both keep a copy of the block that is sent. Newer
//! versions of Open MPI meet the ranks at growing distances on both sides instead.

use super::{copy_own, into, out};
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static SENDRECV_REPLACE: Algorithm = Algorithm {
    name: "sendrecv_replace",
    collectives: &[Collective::Alltoall],
    about: "with each rank in the order of the ranks, with memory for one block if in place",
    time: "(p − 1) (α + n β)",
    temp: |call| if call.in_place { call.bytes } else { 0 },
    rounds: |call| call.size,
    quadratic: true,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, peer: u32, steps: &mut dyn Steps) {
    if peer == call.rank {
        if !call.in_place {
            copy_own(call, steps);
        }
        return;
    }
    let (mut out, into) = (out(call, peer), into(call, peer));
    if call.in_place {
        out = Part::temp(0, call.bytes);
        steps.copy(into, out);
    }
    steps.exchange(peer, out, peer, into);
}
