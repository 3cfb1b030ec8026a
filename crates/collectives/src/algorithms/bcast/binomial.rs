//! Broadcast along a binomial tree: each rank receives from its parent, then sends to its children
//! one after the other, the largest subtree first.
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
//! Operations in MPICH", International Journal of High Performance Computing Applications 19(1),
//! 2005.

use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static BINOMIAL: Algorithm = Algorithm {
    name: "binomial",
    collectives: &[Collective::Bcast],
    about: "binomial tree, the largest subtree first",
    time: "L (α + n β)",
    round,
    ..Algorithm::BASE
};

pub(crate) fn round(call: &Call, _: u32, steps: &mut dyn Steps) {
    let (rank, size) = (call.relative(), call.size);
    let all = Part::recv(0, call.bytes);
    if let Some(parent) = Tree::Halving.parent(rank, size) {
        steps.recv(call.absolute(parent), all);
    }
    for child in Tree::Halving.children(rank, size) {
        steps.send(call.absolute(child), all);
    }
}
