//! Scatter of a broadcast: block v of the data goes to rank v, along a binomial tree.
//!
//! Ranks are relative to the root. All blocks have ⌈n/p⌉ bytes but the last ones, which are shorter
//! or empty; empty subtrees get no message.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
//! Operations in MPICH", International Journal of High Performance Computing Applications 19(1),
//! 2005.

use crate::trees::Tree;
use crate::{Call, Part, Steps};

/// Returns the bytes of the blocks of ranks from `first` to before `end`.
pub(super) fn block_range(call: &Call, first: u32, end: u32) -> Part {
    let block = call.bytes.div_ceil(u64::from(call.size));
    let byte = |rank: u32| (u64::from(rank) * block).min(call.bytes);
    Part::recv(byte(first), byte(end) - byte(first))
}

/// Makes the steps of the scatter, which is one round.
pub(super) fn round(call: &Call, steps: &mut dyn Steps) {
    let (rank, size) = (call.relative(), call.size);
    let below = |rank| block_range(call, rank, rank + Tree::subtree(rank, size));
    if let Some(parent) = Tree::Halving.parent(rank, size)
        && below(rank).length > 0
    {
        steps.recv(call.absolute(parent), below(rank));
    }
    for child in Tree::Halving.children(rank, size) {
        if below(child).length > 0 {
            steps.send(call.absolute(child), below(child));
        }
    }
}
