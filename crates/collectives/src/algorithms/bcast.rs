//! Broadcasts: the area `Recv` has the data, at first of the root alone.

use crate::Algorithm;

mod binomial;
mod binomial_rank_0;
mod knomial;
pub(super) mod linear;
mod linear_segmented;
mod preposted;
mod scatter;
mod scatter_recursive_doubling_allgather;
mod scatter_ring_allgather;
mod segmented_tree;
mod split_binary;
mod two_level;

pub(crate) const ALL: &[&Algorithm] = &[
    &binomial::BINOMIAL,
    &segmented_tree::BINOMIAL_DOUBLING,
    &binomial_rank_0::BINOMIAL_RANK_0,
    &knomial::KNOMIAL,
    &linear::LINEAR,
    &linear_segmented::LINEAR_SEGMENTED,
    &segmented_tree::PIPELINE,
    &segmented_tree::CHAIN,
    &segmented_tree::BINARY,
    &segmented_tree::KNOMIAL_SEGMENTED,
    &split_binary::SPLIT_BINARY,
    &scatter_ring_allgather::SCATTER_RING_ALLGATHER,
    &scatter_recursive_doubling_allgather::SCATTER_RECURSIVE_DOUBLING_ALLGATHER,
    &preposted::CHAIN,
    &preposted::HEAP,
    &preposted::HEAP_BLOCKING,
    &two_level::TWO_LEVEL,
    &two_level::TWO_LEVEL_PIPELINED,
    &two_level::TWO_LEVEL_RANK_0,
];
