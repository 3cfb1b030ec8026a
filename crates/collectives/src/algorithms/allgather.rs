//! Gathering to all ranks: the area `Send` has the contribution, the area `Recv` gets all blocks.
//!
//! Algorithms that send several blocks in one message collect them where they follow one another in
//! the order of the ranks: in `Recv`, or in `Temp` if the blocks of the result may have gaps.

use std::ops::Range;

use crate::{Algorithm, Area, Call, Part, Steps};

mod bruck;
mod gather_bcast;
pub(super) mod linear;
mod mesh;
mod neighbor_exchange;
mod pipelined_ring;
mod recursive_doubling;
mod recursive_halving;
mod ring;
mod shift;
mod two_level;

pub(crate) const ALL: &[&Algorithm] = &[
    &linear::LINEAR,
    &linear::SPREAD,
    &ring::RING,
    &ring::NON_BLOCKING_RING,
    &ring::FORWARDING_RING,
    &ring::OVERLAPPED_RING,
    &pipelined_ring::PIPELINED_RING,
    &shift::SHIFT,
    &recursive_doubling::RECURSIVE_DOUBLING,
    &bruck::BRUCK,
    &neighbor_exchange::NEIGHBOR_EXCHANGE,
    &shift::PAIR,
    &recursive_halving::RECURSIVE_HALVING,
    &gather_bcast::GATHER_BCAST,
    &gather_bcast::GATHERV_BCAST,
    &mesh::MESH,
    &mesh::SQUARE_MESH,
    &two_level::TWO_LEVEL,
];

/// Returns the block of a rank in the result.
fn block(call: &Call, rank: u32) -> Part {
    let block = call.recv_block(rank);
    Part::recv(block.offset, block.length)
}

/// Returns the contribution of the calling rank.
fn contribution(call: &Call) -> Part {
    Part::send(0, call.recv_block(call.rank).length)
}

/// Copies the contribution to the place of this rank in the result.
fn copy_own(call: &Call, steps: &mut dyn Steps) {
    steps.copy(contribution(call), block(call, call.rank));
}

/// Returns the bytes of `Temp` that [`gathered`] needs.
fn gathered_temp(call: &Call) -> u64 {
    call.blocks.as_ref().map_or(0, |_| call.recv_total())
}

/// Returns the place of the blocks of consecutive ranks while they are collected.
fn gathered(call: &Call, ranks: Range<u32>) -> Part {
    let place = call.recv_range(ranks);
    let area = if call.blocks.is_some() {
        Area::Temp
    } else {
        Area::Recv
    };
    Part {
        area,
        offset: place.offset,
        length: place.length,
    }
}

/// Copies the contribution to the place where blocks are collected.
fn collect_own(call: &Call, steps: &mut dyn Steps) {
    steps.copy(contribution(call), gathered(call, call.rank..call.rank + 1));
}

/// Copies all blocks from the place where they have been collected to the result.
fn spread_out(call: &Call, steps: &mut dyn Steps) {
    if call.blocks.is_some() {
        for (rank, place) in (0..).zip(call.recv_packed()) {
            steps.copy(Part::temp(place.offset, place.length), block(call, rank));
        }
    }
}
