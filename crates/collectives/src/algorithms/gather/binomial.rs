//! Gather along a binomial tree: each rank receives the blocks of its subtrees, the smallest
//! subtree first, and sends these blocks and its own block to its parent.
//!
//! Ranks with children need memory for the blocks of their subtree. A root other than rank 0
//! receives the blocks in the order of relative ranks, and rotates them at the end.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_gather.c`, binomial.

use super::own;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static BINOMIAL: Algorithm = Algorithm {
    name: "binomial",
    collectives: &[Collective::Gather],
    about: "binomial tree, the smallest subtree first",
    time: "L α + (p − 1) n β",
    temp: |call| match call.relative() {
        0 if call.root == 0 => 0,
        rank => match Tree::subtree(rank, call.size) {
            1 if rank != 0 => 0,
            ranks => u64::from(ranks) * call.bytes,
        },
    },
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    let (rank, size, bytes) = (call.relative(), call.size, call.bytes);
    // Blocks of a range of ranks, the first one `first` ranks above this one.
    let blocks = |first: u32, ranks: u32| {
        let (offset, length) = (u64::from(first) * bytes, u64::from(ranks) * bytes);
        if call.is_root() && call.root == 0 {
            Part::recv(offset, length)
        } else {
            Part::temp(offset, length)
        }
    };
    let ranks = Tree::subtree(rank, size);
    let all = if ranks == 1 && rank != 0 {
        own(call)
    } else {
        steps.copy(own(call), blocks(0, 1));
        blocks(0, ranks)
    };
    for child in Tree::InOrder.children(rank, size) {
        let part = blocks(child - rank, Tree::subtree(child, size));
        steps.recv(call.absolute(child), part);
    }
    if let Some(parent) = Tree::InOrder.parent(rank, size) {
        steps.send(call.absolute(parent), all);
    } else if call.root != 0 {
        let (upper, lower) = (u64::from(size - call.root), u64::from(call.root));
        let (upper, lower) = (upper * bytes, lower * bytes);
        steps.copy(Part::temp(0, upper), Part::recv(lower, upper));
        steps.copy(Part::temp(upper, lower), Part::recv(0, lower));
    }
}
