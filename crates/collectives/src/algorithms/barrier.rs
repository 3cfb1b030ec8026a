//! Barriers: all messages are empty.

use crate::Algorithm;

pub(super) mod all_to_all;
pub(super) mod dissemination;
mod double_ring;
mod linear;
mod recursive_doubling;
mod tree;
mod two_level;
mod two_proc;

pub(crate) const ALL: &[&Algorithm] = &[
    &dissemination::DISSEMINATION,
    &linear::LINEAR,
    &all_to_all::ALL_TO_ALL,
    &double_ring::DOUBLE_RING,
    &recursive_doubling::RECURSIVE_DOUBLING,
    &tree::TREE,
    &two_proc::TWO_PROC,
    &two_level::TWO_LEVEL,
];
