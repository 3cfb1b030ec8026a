//! Reductions to a root: the area `Recv` has the contribution; then, at the root, the result.

use crate::Algorithm;

mod binary;
mod binomial;
mod binomial_segmented;
mod chain;
mod halving;
mod in_order_binary;
mod knomial;
mod linear;
pub(super) mod linear_nb;
mod pipeline;
mod preposted_chain;
mod rabenseifner;
mod rabenseifner_halves;
mod rabenseifner_padded;
mod segmented_tree;
mod two_level;

pub(crate) const ALL: &[&Algorithm] = &[
    &linear::LINEAR,
    &linear_nb::LINEAR_NB,
    &binomial::BINOMIAL,
    &binomial_segmented::BINOMIAL_SEGMENTED,
    &knomial::KNOMIAL,
    &pipeline::PIPELINE,
    &chain::CHAIN,
    &binary::BINARY,
    &in_order_binary::IN_ORDER_BINARY,
    &rabenseifner::RABENSEIFNER,
    &rabenseifner_padded::RABENSEIFNER_PADDED,
    &rabenseifner_halves::RABENSEIFNER_HALVES,
    &preposted_chain::PREPOSTED_CHAIN,
    &two_level::TWO_LEVEL,
    &two_level::TWO_LEVEL_PIPELINED,
];
