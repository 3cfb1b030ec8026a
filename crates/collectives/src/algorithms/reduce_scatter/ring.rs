//! Reduce-scatter along a ring: blocks pass through all ranks, are reduced on their way, and end at
//! their own rank. The next receive is posted before the current block is reduced.
//!
//! Source: Open MPI, `coll_base_reduce_scatter.c` (`ring`).

use super::{contribution, result};
use crate::{Algorithm, Call, Collective, Operand, Part, Slot, Steps};

pub(crate) static RING: Algorithm = Algorithm {
    name: "ring",
    quadratic: true,
    collectives: &[Collective::ReduceScatter, Collective::ReduceScatterBlock],
    about: "blocks pass through all ranks and are reduced on their way",
    time: "(p − 1) (α + n (β + γ))",
    fallback: "recursive_doubling",
    temp: |call| 2 * longest(call),
    rounds: |call| call.size,
    round,
    ..Algorithm::BASE
};

fn longest(call: &Call) -> u64 {
    if call.blocks.is_none() {
        return call.bytes;
    }
    let lengths = (0..call.size).map(|rank| call.send_block(rank).length);
    lengths.max().unwrap_or(0)
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let slot = |round: u32| (round % 2) as Slot;
    // The block that a rank passes on in a round has gone through the ranks below it.
    let current = contribution(call, call.below(round + 1));
    let arriving = |round: u32| {
        let length = call.send_block(call.below(round + 2)).length;
        Part::temp(u64::from(round % 2) * longest(call), length)
    };
    if call.size == 1 {
        return steps.copy(current, result(call));
    }
    let is_last = round + 1 == call.size;
    if !is_last {
        steps.irecv_in(slot(round), call.below(1), arriving(round));
    }
    let mut out = current;
    if let Some(before) = round.checked_sub(1) {
        out = arriving(before);
        steps.wait(slot(before));
        steps.reduce(current, out, Operand::Right);
    }
    if is_last {
        steps.copy(out, result(call));
    } else {
        steps.send(call.above(1), out);
    }
}
