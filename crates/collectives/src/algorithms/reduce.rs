//! Reductions to a root: the area `Recv` has the contribution; then, at the root, the result.

use crate::Algorithm;

mod binomial;
mod halving;
mod in_order_binary;
mod knomial;
mod linear;
pub(super) mod linear_nb;
mod preposted_chain;
mod segmented_tree;
mod two_level;

pub(crate) const ALL: &[&Algorithm] = &[
    &linear::LINEAR,
    &linear_nb::LINEAR_NB,
    &binomial::BINOMIAL,
    &segmented_tree::BINOMIAL,
    &knomial::KNOMIAL,
    &segmented_tree::PIPELINE,
    &segmented_tree::CHAIN,
    &segmented_tree::BINARY,
    &in_order_binary::IN_ORDER_BINARY,
    &halving::RABENSEIFNER,
    &halving::RABENSEIFNER_PADDED,
    &halving::RABENSEIFNER_HALVES,
    &halving::RABENSEIFNER_PAIRS,
    &preposted_chain::PREPOSTED_CHAIN,
    &two_level::TWO_LEVEL,
    &two_level::TWO_LEVEL_PIPELINED,
];
