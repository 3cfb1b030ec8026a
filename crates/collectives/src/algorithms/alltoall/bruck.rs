//! Alltoall by Bruck's algorithm: blocks are in the order of their distance; at distances m = 1, 2,
//! 4, … blocks with bit m in their distance go to the rank m above, in one message.
//!
//! Source: J. Bruck, C.-T. Ho, S. Kipnis, E. Upfal, D. Weathersby, "Efficient Algorithms for
//! All-to-All Communications in Multiport Message-Passing Systems", IEEE Transactions on Parallel
//! and Distributed Systems 8(11), 1997.

use super::{into, out};
use crate::partners::{log2_ceil, with_bit};
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static BRUCK: Algorithm = Algorithm {
    name: "bruck",
    collectives: &[Collective::Alltoall],
    about: "to the rank m above, from the rank m below, m = 1, 2, 4, …: half of all blocks",
    time: "L (α + p n / 2 β)",
    temp_buffers: 2,
    temp: |call| u64::from(call.size + call.size / 2 * 2) * call.bytes,
    rounds: |call| 2 + log2_ceil(call.size),
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let bytes = call.bytes;
    let blocks =
        |first: u32, count: u32| Part::temp(u64::from(first) * bytes, u64::from(count) * bytes);
    if round == 0 {
        for distance in 0..call.size {
            steps.copy(out(call, call.rank_above(distance)), blocks(distance, 1));
        }
    } else if round > log2_ceil(call.size) {
        for distance in 0..call.size {
            steps.copy(blocks(distance, 1), into(call, call.rank_below(distance)));
        }
    } else {
        let bit = 1 << (round - 1);
        let moving = || (0..call.size).filter(move |distance| distance & bit != 0);
        // Libraries pack with a datatype.
        steps.build_datatype();
        let [packed, arrived] = [call.size, call.size + call.size / 2];
        for (place, distance) in (packed..).zip(moving()) {
            steps.copy(blocks(distance, 1), blocks(place, 1));
        }
        let count = with_bit(call.size, bit);
        let (above, below) = (call.rank_above(bit), call.rank_below(bit));
        steps.exchange(above, blocks(packed, count), below, blocks(arrived, count));
        for (place, distance) in (arrived..).zip(moving()) {
            steps.copy(blocks(place, 1), blocks(distance, 1));
        }
    }
}
