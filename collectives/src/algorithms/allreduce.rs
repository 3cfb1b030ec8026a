//! Reductions to all ranks: the area `Recv` has the contribution, then the result.

use crate::Algorithm;

mod recursive_doubling;

pub(crate) const ALL: &[&Algorithm] = &[&recursive_doubling::RECURSIVE_DOUBLING];
