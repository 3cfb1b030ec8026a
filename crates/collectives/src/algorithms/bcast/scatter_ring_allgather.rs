//! Broadcast by a scatter and an allgather: blocks are scattered along a binomial tree, then pass
//! round the ring of all ranks.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
//! Operations in MPICH", International Journal of High Performance Computing Applications 19(1),
//! 2005.

use super::scatter::{self, block_range};
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static SCATTER_RING_ALLGATHER: Algorithm = Algorithm {
    name: "scatter_ring_allgather",
    quadratic: true,
    collectives: &[Collective::Bcast],
    about: "binomial scatter of blocks, then a ring allgather",
    time: "(L + p − 1) α + 2 n (p − 1) / p β",
    rounds: |call| call.size,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return scatter::round(call, steps);
    }
    // Numbers relative to the root of the blocks that leave and arrive.
    let (rank, size) = (u64::from(call.relative()), u64::from(call.size));
    let block = |back: u32| {
        let number = (rank + size - u64::from(back)) % size;
        let number = u32::try_from(number).unwrap_or(0);
        block_range(call, number, number + 1)
    };
    let (left, right) = (call.rank_below(1), call.rank_above(1));
    steps.exchange(right, block(round - 1), left, block(round));
}
