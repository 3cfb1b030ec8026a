//! Gathers: the area `Send` has the own block, `Recv` gets the blocks of all ranks at the root.

use crate::{Algorithm, Call, Collective, Part};

mod binomial;
mod linear;
pub(super) mod linear_nb;
mod linear_sync;
pub(crate) mod two_level;

pub(crate) const ALL: &[&Algorithm] = &[
    &linear::LINEAR,
    &linear_nb::LINEAR_NB,
    &linear_sync::LINEAR_SYNC,
    &binomial::BINOMIAL,
    &two_level::TWO_LEVEL,
];

/// Operations of algorithms in which only the root needs to know the lengths of all blocks.
const LINEAR_KINDS: &[Collective] = &[Collective::Gather, Collective::Gatherv];

/// Returns the own block of a rank.
fn own(call: &Call) -> Part {
    if call.is_root() {
        Part::send(0, call.recv_block(call.rank).length)
    } else {
        Part::send(0, call.bytes)
    }
}

/// Returns the place of the block of a rank at the root.
fn root_block(call: &Call, rank: u32) -> Part {
    let block = call.recv_block(rank);
    Part::recv(block.offset, block.length)
}
