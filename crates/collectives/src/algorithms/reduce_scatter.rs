//! Reductions with scattered result: the area `Send` has the contribution, a block for each rank;
//! the area `Recv` gets the own block of the result.

use std::ops::Range;

use crate::{Algorithm, Area, Call, Part, Steps};

mod butterfly;
pub(super) mod linear;
mod mirror;
mod pairwise;
mod recursive_doubling;
mod recursive_halving;
mod reduce_scatterv;
mod ring;

pub(crate) const ALL: &[&Algorithm] = &[
    &reduce_scatterv::REDUCE_SCATTERV,
    &recursive_halving::RECURSIVE_HALVING,
    &pairwise::PAIRWISE,
    &recursive_doubling::RECURSIVE_DOUBLING,
    &mirror::MIRROR,
    &ring::RING,
    &butterfly::BUTTERFLY,
    &linear::LINEAR,
];

/// Returns the block of a rank in the contribution.
fn contribution(call: &Call, rank: u32) -> Part {
    let block = call.send_block(rank);
    Part::send(block.offset, block.length)
}

/// Returns the block of the calling rank in the result.
fn result(call: &Call) -> Part {
    Part::recv(0, call.send_block(call.rank).length)
}

/// Returns the place of the blocks of consecutive ranks in an area where they follow one another.
fn packed(call: &Call, area: Area, ranks: Range<u32>) -> Part {
    let range = call.send_range(ranks);
    Part {
        area,
        offset: range.offset,
        length: range.length,
    }
}

/// Copies all blocks to the beginning of `Temp`, where they follow one another.
fn pack(call: &Call, steps: &mut dyn Steps) {
    if call.blocks.is_none() {
        let all = call.send_total();
        return steps.copy(Part::send(0, all), Part::temp(0, all));
    }
    for (rank, place) in (0..).zip(call.send_packed()) {
        let place = Part::temp(place.offset, place.length);
        steps.copy(contribution(call, rank), place);
    }
}
