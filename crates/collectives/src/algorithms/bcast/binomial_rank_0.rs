//! Broadcast along a binomial tree from rank 0: a root that is another rank sends to rank 0 first,
//! and receives the data like all others.
//!
//! Source: SimGrid 4.1, `src/smpi/colls/bcast/bcast-SMP-binomial.cpp`, with one rank on each node.

use super::preposted::to_rank_0;
use crate::trees::Tree;
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static BINOMIAL_RANK_0: Algorithm = Algorithm {
    name: "binomial_rank_0",
    collectives: &[Collective::Bcast],
    about: "to rank 0, then binomial tree, the largest subtree first",
    time: "L (α + n β), and α + n β unless the root is rank 0",
    rounds: |_| 2,
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let all = Part::recv(0, call.bytes);
    if round == 0 {
        return to_rank_0(call, all, steps);
    }
    if let Some(parent) = Tree::Halving.parent(call.rank, call.size) {
        steps.recv(parent, all);
    }
    for child in Tree::Halving.children(call.rank, call.size) {
        steps.send(child, all);
    }
}
