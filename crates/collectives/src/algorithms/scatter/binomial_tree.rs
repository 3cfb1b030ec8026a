//! Scatters along binomial trees: each rank receives the blocks of its subtree, and sends to each
//! child the blocks of the child's subtree.
//!
//! Ranks with children need memory for the blocks of their subtree. A root other than rank 0
//! rotates the blocks at the beginning.
//!
//! Sources: Open MPI 3.1, `ompi/mca/coll/base/coll_base_scatter.c`, binomial (the smallest subtree
//! first; the largest one since 4.0); R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of
//! Collective Communication Operations in MPICH", International Journal of High Performance
//! Computing Applications 19(1), 2005 (the largest subtree first).

use super::{own, root_block};
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static BINOMIAL: Algorithm = Algorithm {
    name: "binomial",
    collectives: &[Collective::Scatter],
    about: "binomial tree, the smallest subtree first",
    time: "L α + (p − 1) n β",
    temp,
    round: |call, _, steps| along(Tree::InOrder, call, steps),
    ..Algorithm::BASE
};

pub(crate) static BINOMIAL_HALVING: Algorithm = Algorithm {
    name: "binomial_halving",
    about: "binomial tree, the largest subtree first",
    round: |call, _, steps| along(Tree::Halving, call, steps),
    ..BINOMIAL
};

/// Returns the memory of a rank in bytes.
fn temp(call: &Call) -> u64 {
    let rank = call.relative();
    let ranks = Tree::subtree(rank, call.size);
    if (rank == 0 && call.root == 0) || (rank != 0 && ranks == 1) {
        0
    } else {
        u64::from(ranks) * call.bytes
    }
}

/// Makes the steps, which are one round; `tree` is binomial.
fn along(tree: Tree, call: &Call, steps: &mut dyn Steps) {
    let (rank, size, bytes) = (call.relative(), call.size, call.bytes);
    // Blocks of a range of ranks, the first one `first` ranks above this one.
    let blocks = |first: u32, ranks: u32| {
        let (offset, length) = (u64::from(first) * bytes, u64::from(ranks) * bytes);
        if call.is_root() && call.root == 0 {
            Part::send(offset, length)
        } else {
            Part::temp(offset, length)
        }
    };
    let ranks = Tree::subtree(rank, size);
    match tree.parent(rank, size) {
        Some(parent) if ranks == 1 => steps.recv(call.absolute(parent), own(call)),
        Some(parent) => {
            steps.recv(call.absolute(parent), blocks(0, ranks));
            steps.copy(blocks(0, 1), own(call));
        }
        None => {
            if call.root != 0 {
                let (upper, lower) = (u64::from(size - call.root), u64::from(call.root));
                let (upper, lower) = (upper * bytes, lower * bytes);
                steps.copy(Part::send(lower, upper), Part::temp(0, upper));
                steps.copy(Part::send(0, lower), Part::temp(upper, lower));
            }
            steps.copy(root_block(call, call.rank), own(call));
        }
    }
    for child in tree.children(rank, size) {
        let part = blocks(child - rank, Tree::subtree(child, size));
        steps.send(call.absolute(child), part);
    }
}
