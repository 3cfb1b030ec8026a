//! Reductions to all ranks: the area `Recv` has the contribution, then the result.

use crate::{Algorithm, Call, Part};

mod allgather_reduce;
pub(crate) mod alltoall_allgather;
mod binomial;
mod chunked_ring;
mod double_tree;
mod halving_allgather;
pub(super) mod linear;
mod rabenseifner;
mod rabenseifner_halves;
mod recursive_doubling;
mod reduce_bcast;
mod ring;
mod segmented_ring;
mod two_level;

pub(crate) const ALL: &[&Algorithm] = &[
    &reduce_bcast::REDUCE_BCAST,
    &binomial::BINOMIAL,
    &recursive_doubling::RECURSIVE_DOUBLING,
    &rabenseifner::RABENSEIFNER,
    &rabenseifner::RABENSEIFNER_EMPTY_BLOCKS,
    &rabenseifner_halves::RABENSEIFNER_HALVES,
    &ring::RING,
    &ring::RING_REMAINDER,
    &ring::RING_LAST,
    &segmented_ring::SEGMENTED_RING,
    &chunked_ring::CHUNKED_RING,
    &double_tree::DOUBLE_TREE,
    &halving_allgather::HALVING_ALLGATHER,
    &alltoall_allgather::ALLTOALL_ALLGATHER,
    &allgather_reduce::ALLGATHER_REDUCE,
    &linear::LINEAR,
    &two_level::TWO_LEVEL,
    &two_level::TWO_LEVEL_PIPELINED,
    &two_level::TWO_LEVEL_ALLREDUCE,
];

/// Returns elements of the result.
const fn elements(call: &Call, first: u64, count: u64) -> Part {
    Part::recv(first * call.element, count * call.element)
}

/// Returns the first element and the number of elements of a block, if the first blocks are one
/// element longer than the others where `count` is no multiple of `blocks`.
fn even_split(count: u64, blocks: u32, block: u32) -> (u64, u64) {
    let (blocks, block) = (u64::from(blocks), u64::from(block));
    let (length, longer) = (count / blocks, count % blocks);
    let first = block * length + block.min(longer);
    (first, length + u64::from(block < longer))
}
