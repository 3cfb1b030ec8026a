//! Reduction along a binomial tree: each rank receives from its children, the nearest child first,
//! reduces, and sends to its parent.
//!
//! For an operation that is not commutative, the tree begins at rank 0, which sends the result to
//! the root.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
//! Operations in MPICH", International Journal of High Performance Computing Applications 19(1),
//! 2005.

use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Operand, Part, Steps};

pub(crate) static BINOMIAL: Algorithm = Algorithm {
    name: "binomial",
    collectives: &[Collective::Reduce],
    about: "binomial tree, the smallest subtree first",
    time: "L (α + n (β + γ))",
    ordered: true,
    temp: |call| call.bytes,
    rounds: |call| if call.bytes == 0 { 0 } else { 2 },
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let (own, other) = (Part::recv(0, call.bytes), Part::temp(0, call.bytes));
    let first = if call.commutative { call.root } else { 0 };
    if round == 1 {
        if first != call.root && call.rank == first {
            steps.send(call.root, own);
        } else if first != call.root && call.is_root() {
            steps.recv(first, own);
        }
        return;
    }
    let (rank, size) = (call.relative_to(first), call.size);
    for child in Tree::InOrder.children(rank, size) {
        steps.recv(call.absolute_to(first, child), other);
        steps.reduce(other, own, Operand::Right);
    }
    if let Some(parent) = Tree::InOrder.parent(rank, size) {
        steps.send(call.absolute_to(first, parent), own);
    }
}
