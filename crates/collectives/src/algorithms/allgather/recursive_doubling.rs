//! Allgather by recursive doubling: partners at distances 1, 2, 4, … exchange all that they have.
//!
//! With a number of ranks that is no power of two, ranks without a partner get the missing blocks
//! from ranks of their own subtree ([`fill_steps`]).
//!
//! Source: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
//! Operations in MPICH", International Journal of High Performance Computing Applications 19(1),
//! 2005.

use super::{collect_own, gathered, gathered_temp, spread_out};
use crate::partners::{Fill, fill_steps, log2_ceil};
use crate::{Algorithm, Call, Collective, Steps};

pub(crate) static RECURSIVE_DOUBLING: Algorithm = Algorithm {
    name: "recursive_doubling",
    collectives: &[Collective::Allgather, Collective::Allgatherv],
    about: "partners at distances 1, 2, 4, … exchange all",
    time: "L α + (p − 1) n β",
    temp: gathered_temp,
    rounds: |call| 2 + log2_ceil(call.size),
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return collect_own(call, steps);
    }
    if round > log2_ceil(call.size) {
        return spread_out(call, steps);
    }
    let mask = 1 << (round - 1);
    let subtree = |rank: u32| {
        let root = rank & !(mask - 1);
        gathered(call, root.min(call.size)..(root + mask).min(call.size))
    };
    let peer = call.rank ^ mask;
    let others = subtree(peer);
    if peer < call.size {
        steps.exchange(peer, subtree(call.rank), peer, others);
    }
    for step in fill_steps(call.rank, call.size, mask) {
        match step {
            Fill::Send(peer) => steps.send(peer, others),
            Fill::Receive(peer) => steps.recv(peer, others),
        }
    }
}
