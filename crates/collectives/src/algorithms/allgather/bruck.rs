//! Allgather by Bruck's algorithm: at distances m = 1, 2, 4, … each rank sends all its blocks to
//! the rank m below it, and receives from the rank m above it.
//!
//! Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient Algorithms for
//! All-to-All Communications in Multiport Message-Passing Systems", IEEE Transactions on Parallel
//! and Distributed Systems 8(11), 1997.

use super::{block, contribution};
use crate::call::consecutive_blocks;
use crate::partners::log2_ceil;
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static BRUCK: Algorithm = Algorithm {
    name: "bruck",
    collectives: &[Collective::Allgather, Collective::Allgatherv],
    about: "to the rank m below, from the rank m above, m = 1, 2, 4, …: all blocks",
    time: "L α + (p − 1) n β",
    temp: Call::recv_total,
    rounds: |call| 2 + log2_ceil(call.size),
    round,
    ..Algorithm::BASE
};

/// Returns the place in `Temp` of `count` blocks, beginning with the block of the rank `first`
/// above this rank. The own block is first, then come blocks of higher ranks, then of lower ranks.
fn temp_blocks(call: &Call, first: u32, count: u32) -> Part {
    let length = |first: u32, count: u32| {
        let start = u64::from(call.rank) + u64::from(first);
        let size = u64::from(call.size);
        let end = start + u64::from(count);
        let within = |from: u64, to: u64| {
            let [from, to] = [from, to].map(|rank| u32::try_from(rank).unwrap_or(u32::MAX));
            call.recv_range(from..to).length
        };
        if end <= size {
            within(start, end)
        } else if start >= size {
            within(start - size, end - size)
        } else {
            within(start, size) + within(0, end - size)
        }
    };
    Part::temp(length(0, first), length(first, count))
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        steps.copy(contribution(call), temp_blocks(call, 0, 1));
    } else if round > log2_ceil(call.size) {
        copy_out(call, steps);
    } else {
        let distance = 1 << (round - 1);
        let count = distance.min(call.size - distance);
        let (out, into) = (
            temp_blocks(call, 0, count),
            temp_blocks(call, distance, count),
        );
        steps.exchange(
            call.rank_below(distance),
            out,
            call.rank_above(distance),
            into,
        );
    }
}

fn copy_out(call: &Call, steps: &mut dyn Steps) {
    if call.blocks.is_some() {
        let ranks = || (0..call.size).map(|distance| call.rank_above(distance));
        let places = consecutive_blocks(ranks().map(|rank| call.recv_block(rank).length));
        for (rank, place) in ranks().zip(places) {
            steps.copy(Part::temp(place.offset, place.length), block(call, rank));
        }
        return;
    }
    let higher = call.size - call.rank;
    let place = call.recv_range(call.rank..call.size);
    steps.copy(
        temp_blocks(call, 0, higher),
        Part::recv(place.offset, place.length),
    );
    let lower = temp_blocks(call, higher, call.rank);
    steps.copy(lower, Part::recv(0, lower.length));
}
