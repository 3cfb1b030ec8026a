//! Allreduce along a ring: blocks pass through all ranks and are reduced on their way, then the
//! results pass through all ranks.
//!
//! Sources: P. Patarasuk, X. Yuan, "Bandwidth Optimal All-reduce Algorithms for Clusters of
//! Workstations", Journal of Parallel and Distributed Computing 69(2), 2009 (`ring_remainder`,
//! `ring_last`: SMPI, `allreduce-lr.cpp` and `allreduce-smp-rsag-lr.cpp` with one rank on each
//! node); Open MPI, `coll_base_allreduce.c` (`ring`).

use super::{elements, even_split};
use crate::levels::{Group, Level, ScheduleStage, Stages};
use crate::parts::Places;
use crate::{Algorithm, Area, Call, Collective, Operand, Part, Requirement, Slot, Steps};

pub(crate) static RING: Algorithm = Algorithm {
    name: "ring",
    quadratic: true,
    collectives: &[Collective::Allreduce],
    about: "ring; the first blocks are longer where elements do not fit evenly",
    time: "2 (p − 1) α + 2 n (p − 1) / p β + n (p − 1) / p γ",
    needs: Requirement::ElementPerRank,
    fallback: "recursive_doubling",
    temp_buffers: 2,
    temp: |call| 2 * longest_block(call),
    rounds: |call| 2 * call.size,
    round: |call, round, steps| {
        let block = |number| {
            let (first, count) = even_split(call.count(), call.size, number);
            elements(call, first, count)
        };
        if round < call.size {
            passing(call, round, longest_block(call), &block, steps);
        } else if round > call.size {
            gathering(call, round - call.size, 1, &block, steps);
        }
    },
    ..Algorithm::BASE
};

pub(crate) static RING_REMAINDER: Algorithm = Algorithm {
    name: "ring_remainder",
    quadratic: true,
    about: "ring of equal blocks, then an allreduce of the remaining elements",
    fallback: "reduce_bcast",
    levels: REMAINDER,
    temp: |call| equal(call, 0).length.max(remainder(call).temp()),
    lanes: |call| remainder(call).lanes(),
    rounds: |call| 2 * (call.size - 1) + remainder(call).rounds(),
    round: |call, round, steps| match round.checked_sub(2 * (call.size - 1)) {
        Some(round) => remainder(call).round(round, steps),
        None if steps.lane() > 0 => {}
        None => exchanging(call, round, &|number| equal(call, number), steps),
    },
    ..RING
};

/// The remaining elements are a call of their own, of which there is none if there are no such
/// elements.
const REMAINDER: &[Level] = &[Level::new(Group::All, Collective::Allreduce, rest_bytes)
    .adapted(|_, remaining| (remaining.bytes > 0).then_some(remaining))];

fn remainder(call: &Call) -> Stages<'_, 1> {
    let places = Places {
        recv: (Area::Recv, call.bytes - rest_bytes(call)),
        ..Places::behind(0)
    };
    Stages {
        call,
        levels: REMAINDER,
        stages: [ScheduleStage::Level(0, places)],
    }
}

pub(crate) static RING_LAST: Algorithm = Algorithm {
    name: "ring_last",
    quadratic: true,
    about: "ring; the last block has the remaining elements",
    needs: Requirement::None,
    fallback: "recursive_doubling",
    temp: |call| last_longest(call, call.size - 1).length,
    rounds: |call| 2 * (call.size - 1),
    round: |call, round, steps| {
        exchanging(call, round, &|number| last_longest(call, number), steps);
    },
    ..RING
};

fn longest_block(call: &Call) -> u64 {
    even_split(call.count(), call.size, 0).1 * call.element
}

/// Returns a block of the equal blocks, which all have the same number of elements.
fn equal(call: &Call, number: u32) -> Part {
    let length = call.count() / u64::from(call.size);
    elements(call, u64::from(number) * length, length)
}

/// Returns the bytes behind all equal blocks.
const fn rest_bytes(call: &Call) -> u64 {
    call.count() % call.size as u64 * call.element
}

/// Returns a block, of which the last one has the remaining elements.
fn last_longest(call: &Call, number: u32) -> Part {
    let mut block = equal(call, number);
    if number + 1 == call.size {
        block.length += rest_bytes(call);
    }
    block
}

/// Returns the block of a number of ranks below.
fn block_below(call: &Call, distance: u32, block: &dyn Fn(u32) -> Part) -> Part {
    block(call.rank_below(distance))
}

/// Makes a round of the reduction in which blocks begin at their own rank, and the next receive is
/// posted before the current block is reduced. There are as many rounds as ranks.
pub(super) fn passing(
    call: &Call,
    round: u32,
    buffer: u64,
    block: &dyn Fn(u32) -> Part,
    steps: &mut dyn Steps,
) {
    if call.size == 1 {
        return;
    }
    let slot = |round: u32| (round % 2) as Slot;
    let temp = |round: u32| {
        let offset = u64::from(round % 2) * buffer;
        Part::temp(offset, block_below(call, round + 1, block).length)
    };
    if round + 1 < call.size {
        steps.irecv_in(slot(round), call.rank_below(1), temp(round));
    }
    let current = block_below(call, round, block);
    if let Some(before) = round.checked_sub(1) {
        steps.wait(slot(before));
        steps.reduce(temp(before), current, Operand::Left);
    }
    if round + 1 < call.size {
        steps.send(call.rank_above(1), current);
    }
}

/// Makes a round (from 1 on) of the gathering: in the first round the rank sends the block of the
/// rank `start` above it.
pub(super) fn gathering(
    call: &Call,
    round: u32,
    start: u32,
    block: &dyn Fn(u32) -> Part,
    steps: &mut dyn Steps,
) {
    // Distances are below the rank `start` above.
    let at = |distance: u32| block(call.rank_below(distance + call.size - start));
    let (out, into) = (at(round - 1), at(round));
    steps.exchange(call.rank_above(1), out, call.rank_below(1), into);
}

/// Makes a round of exchanges in which blocks begin one rank above their own.
fn exchanging(call: &Call, round: u32, block: &dyn Fn(u32) -> Part, steps: &mut dyn Steps) {
    let exchanges = call.size - 1;
    if round >= exchanges {
        return gathering(call, round - exchanges + 1, 0, block, steps);
    }
    let out = block_below(call, round + 1, block);
    let own = block_below(call, round + 2, block);
    let temp = Part::temp(0, own.length);
    steps.exchange(call.rank_above(1), out, call.rank_below(1), temp);
    steps.reduce(temp, own, Operand::Left);
}
