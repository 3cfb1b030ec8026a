//! Barrier along a binomial tree: messages go up to rank 0, then down.
//!
//! Source: Open MPI 4.1, `ompi/mca/coll/base/coll_base_barrier.c`, tree.

use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static TREE: Algorithm = Algorithm {
    name: "tree",
    collectives: &[Collective::Barrier],
    about: "binomial tree, up to rank 0 and down again",
    time: "2 L α",
    rounds: |_| 2,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let parent = Tree::InOrder.parent(call.rank, call.size);
    if round == 0 {
        for child in Tree::InOrder.children(call.rank, call.size) {
            steps.recv(child, Part::EMPTY);
        }
        if let Some(parent) = parent {
            steps.send(parent, Part::EMPTY);
        }
    } else {
        if let Some(parent) = parent {
            steps.recv(parent, Part::EMPTY);
        }
        for child in Tree::Halving.children(call.rank, call.size) {
            steps.send(child, Part::EMPTY);
        }
    }
}
