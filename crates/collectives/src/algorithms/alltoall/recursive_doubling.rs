//! Alltoall by recursive doubling: an allgather of the blocks of all ranks. The memory in blocks is
//! the square of the number of ranks.
//!
//! Source: A. Faraj, X. Yuan, "Automatic Generation and Tuning of MPI Collective Communication
//! Routines", ICS 2005.

use super::into;
use crate::partners::{Fill, fill_steps, log2_ceil};
use crate::{Algorithm, Call, Collective, Part, Steps};

pub(crate) static RECURSIVE_DOUBLING: Algorithm = Algorithm {
    name: "recursive_doubling",
    collectives: &[Collective::Alltoall],
    about: "partners at distances 1, 2, 4, … exchange all that they have: for small blocks only",
    time: "L α + (p − 1) p n β",
    temp: |call| u64::from(call.size) * call.send_total(),
    rounds: |call| 2 + log2_ceil(call.size),
    round,
    ..Algorithm::BASE
};

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let all = call.send_total();
    if round == 0 {
        let own = Part::temp(u64::from(call.rank) * all, all);
        return steps.copy(Part::send(0, all), own);
    }
    if round > log2_ceil(call.size) {
        for rank in 0..call.size {
            let offset = u64::from(rank) * all + u64::from(call.rank) * call.bytes;
            steps.copy(Part::temp(offset, call.bytes), into(call, rank));
        }
        return;
    }
    let mask = 1 << (round - 1);
    let subtree = |rank: u32| {
        let first = (rank & !(mask - 1)).min(call.size);
        let end = (first + mask).min(call.size);
        Part::temp(u64::from(first) * all, u64::from(end - first) * all)
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
