//! Broadcasts: the area `Recv` has the data, at first of the root alone.

use crate::Algorithm;

mod binary;
mod binomial;
mod binomial_doubling;
mod binomial_rank_0;
mod chain;
mod knomial;
pub(super) mod linear;
mod linear_segmented;
mod pipeline;
mod preposted;
mod preposted_chain;
mod preposted_heap;
mod preposted_heap_blocking;
mod scatter;
mod scatter_recursive_doubling_allgather;
mod scatter_ring_allgather;
mod segmented_tree;
mod split_binary;
mod two_level;

pub(crate) const ALL: &[&Algorithm] = &[
    &binomial::BINOMIAL,
    &binomial_doubling::BINOMIAL_DOUBLING,
    &binomial_rank_0::BINOMIAL_RANK_0,
    &knomial::KNOMIAL,
    &linear::LINEAR,
    &linear_segmented::LINEAR_SEGMENTED,
    &pipeline::PIPELINE,
    &chain::CHAIN,
    &binary::BINARY,
    &split_binary::SPLIT_BINARY,
    &scatter_ring_allgather::SCATTER_RING_ALLGATHER,
    &scatter_recursive_doubling_allgather::SCATTER_RECURSIVE_DOUBLING_ALLGATHER,
    &preposted_chain::PREPOSTED_CHAIN,
    &preposted_heap::PREPOSTED_HEAP,
    &preposted_heap_blocking::PREPOSTED_HEAP_BLOCKING,
    &two_level::TWO_LEVEL,
    &two_level::TWO_LEVEL_PIPELINED,
    &two_level::TWO_LEVEL_RANK_0,
];
