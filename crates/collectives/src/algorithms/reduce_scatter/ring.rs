//! Reduce-scatter along a ring: blocks pass through all ranks, are reduced on their way, and end at
//! their own rank. The next receive is posted before the current block is reduced, in a copy of the
//! contribution.
//!
//! Source: Open MPI, `coll_base_reduce_scatter.c` (`ring`).

use super::{pack, packed, result};
use crate::{Algorithm, Area, Call, Collective, Operand, Part, Slot, Steps};

pub(crate) static RING: Algorithm = Algorithm {
    name: "ring",
    quadratic: true,
    collectives: &[Collective::ReduceScatter, Collective::ReduceScatterBlock],
    about: "blocks pass through all ranks and are reduced on their way",
    time: "(p − 1) (α + n (β + γ))",
    fallback: "recursive_doubling",
    temp: |call| call.send_total() + 2 * longest_block(call),
    rounds: |call| call.size,
    round,
    ..Algorithm::BASE
};

fn longest_block(call: &Call) -> u64 {
    if call.blocks.is_none() {
        return call.bytes;
    }
    let lengths = (0..call.size).map(|rank| call.send_block(rank).length);
    lengths.max().unwrap_or(0)
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let slot = |round: u32| (round % 2) as Slot;
    if round == 0 {
        pack(call, steps);
    }
    // The block that a rank passes on in a round has gone through the ranks below it.
    let block = call.rank_below(round + 1);
    let current = packed(call, Area::Temp, block..block + 1);
    let arriving = |round: u32| {
        let length = call.send_block(call.rank_below(round + 2)).length;
        let place = u64::from(round % 2) * longest_block(call);
        Part::temp(call.send_total() + place, length)
    };
    let is_last = round + 1 == call.size;
    if !is_last {
        steps.irecv_in(slot(round), call.rank_below(1), arriving(round));
    }
    if let Some(before) = round.checked_sub(1) {
        steps.wait(slot(before));
        steps.reduce(arriving(before), current, Operand::Left);
    }
    if is_last {
        steps.copy(current, result(call));
    } else {
        steps.send(call.rank_above(1), current);
    }
}
