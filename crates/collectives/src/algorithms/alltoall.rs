//! Exchanges of blocks between all ranks: the areas `Send` and `Recv` have a block for each rank.

use crate::{Algorithm, Call, Part, Steps};

mod barriers;
mod bruck;
pub(super) mod linear;
mod mesh;
mod pairwise;
mod recursive_doubling;
mod scattered;
pub(super) mod sendrecv_replace;

pub(crate) const ALL: &[&Algorithm] = &[
    &linear::LINEAR,
    &linear::LINEAR_BY_RANK,
    &linear::LINEAR_NONEMPTY,
    &linear::LINEAR_SYNC,
    &scattered::SCATTERED,
    &pairwise::PAIRWISE,
    &pairwise::PAIR,
    &pairwise::SHIFT,
    &pairwise::TWO_PROC,
    &bruck::BRUCK,
    &sendrecv_replace::SENDRECV_REPLACE,
    &recursive_doubling::RECURSIVE_DOUBLING,
    &mesh::MESH,
    &mesh::SQUARE_MESH,
    &barriers::PAIR_ONE_BARRIER,
    &barriers::PAIR_BARRIERS,
    &barriers::PAIR_LIGHT_BARRIER,
    &barriers::SHIFT_ONE_BARRIER,
    &barriers::SHIFT_BARRIERS,
    &barriers::SHIFT_LIGHT_BARRIER,
];

/// Returns the block for a rank.
fn out(call: &Call, rank: u32) -> Part {
    let block = call.send_block(rank);
    Part::send(block.offset, block.length)
}

/// Returns the block of a rank.
fn into(call: &Call, rank: u32) -> Part {
    let block = call.recv_block(rank);
    Part::recv(block.offset, block.length)
}

/// Copies the block of the calling rank for itself.
fn copy_own(call: &Call, steps: &mut dyn Steps) {
    steps.copy(out(call, call.rank), into(call, call.rank));
}
