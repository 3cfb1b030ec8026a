//! Broadcast by a scatter and an allgather: blocks are scattered along a binomial tree, then
//! partners at distances 1, 2, 4, … exchange all blocks that they have.
//!
//! If the number of ranks is no power of two, some ranks of a group of 2^k have no partner in the
//! next group; ranks with a partner pass the received blocks on to these ranks.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
//! Operations in MPICH", International Journal of High Performance Computing Applications 19(1),
//! 2005.

use super::scatter::{self, block_range};
use crate::partners::log2_ceil;
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static SCATTER_RECURSIVE_DOUBLING_ALLGATHER: Algorithm = Algorithm {
    name: "scatter_recursive_doubling_allgather",
    collectives: &[Collective::Bcast],
    about: "binomial scatter of blocks, then an allgather by recursive doubling",
    time: "2 L α + 2 n (p − 1) / p β",
    rounds: |call| match call.bytes {
        0 => 0,
        _ => 1 + log2_ceil(call.size),
    },
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return scatter::round(call, steps);
    }
    let (rank, size, bits) = (call.relative(), call.size, round - 1);
    let width = 1 << bits;
    // All blocks of a group of `width` ranks, as far as there are ranks.
    let group = |rank: u32| {
        let first = rank >> bits << bits;
        block_range(call, first.min(size), (first + width).min(size))
    };
    let other = rank ^ width;
    if other < size {
        let partner = call.absolute(other);
        steps.exchange(partner, group(rank), partner, group(other));
    }
    let (own, next) = (rank >> bits << bits, other >> bits << bits);
    // Number of ranks of the next group, if it lacks some.
    if next < own || next + width <= size || next >= size {
        return;
    }
    let complete = size - next;
    for bit in (0..bits).rev() {
        let (first, to) = (rank >> (bit + 1) << (bit + 1), rank ^ (1 << bit));
        let has = |rank| rank < first + complete;
        if to > rank && has(rank) && !has(to) {
            steps.send(call.absolute(to), group(next));
        } else if to < rank && has(to) && !has(rank) {
            steps.recv(call.absolute(to), group(next));
        }
    }
}
