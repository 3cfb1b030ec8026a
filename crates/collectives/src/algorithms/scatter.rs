//! Scatters: the area `Send` has the blocks of all ranks at the root, `Recv` gets the own block.

use crate::{Algorithm, Call, Collective, Part};

mod binomial_tree;
mod linear;
pub(super) mod linear_nb;
mod two_level;

pub(crate) const ALL: &[&Algorithm] = &[
    &linear::LINEAR,
    &linear_nb::LINEAR_NB,
    &binomial_tree::BINOMIAL,
    &binomial_tree::BINOMIAL_HALVING,
    &two_level::TWO_LEVEL,
];

/// Operations of algorithms in which only the root needs to know the lengths of all blocks.
const LINEAR_KINDS: &[Collective] = &[Collective::Scatter, Collective::Scatterv];

/// Returns the own block of a rank.
fn own(call: &Call) -> Part {
    if call.is_root() {
        Part::recv(0, call.send_block(call.rank).length)
    } else {
        Part::recv(0, call.bytes)
    }
}

/// Returns the place of the block of a rank at the root.
fn root_block(call: &Call, rank: u32) -> Part {
    let block = call.send_block(rank);
    Part::send(block.offset, block.length)
}
