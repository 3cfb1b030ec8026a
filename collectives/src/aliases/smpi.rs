//! Names of SMPI (SimGrid 4.1, `--cfg=smpi/NAME`), with its thresholds and segment sizes.

use crate::aliases::Alias;

mod all;
mod nodes;
mod rooted;

pub(super) const ALL: &[&[Alias]] = &[rooted::ALL, nodes::ALL, all::ALL];
