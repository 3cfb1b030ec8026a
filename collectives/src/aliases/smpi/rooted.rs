//! Barriers and operations with a root.

use crate::Collective::{Barrier, Bcast};
use crate::aliases::Alias;

pub(super) const ALL: &[Alias] = &[
    Alias::plain(Barrier, "ompi_bruck", "dissemination"),
    Alias::plain(Bcast, "binomial_tree", "binomial"),
];
