//! Allgather along a ring: each rank passes the block from the previous rank on to the next rank.
//!
//! Sources: R. Thakur, R. Rabenseifner, W. Gropp, "Optimization of Collective Communication
//! Operations in MPICH", 2005; SMPI, `allgather-NTSLR-NB.cpp`, `allgather-SMP-NTS.cpp` and
//! `allgather-loosely-lr.cpp` with one rank on each node.

use super::{block, copy_own};
use crate::{Algorithm, Call, Collective, Slot, Steps};

pub(crate) static RING: Algorithm = Algorithm {
    name: "ring",
    quadratic: true,
    collectives: &[Collective::Allgather, Collective::Allgatherv],
    about: "to the next rank, from the one before, one block in each round",
    time: "(p − 1) (α + n β)",
    rounds: |call| call.size,
    round: blocking,
    ..Algorithm::BASE
};

pub(crate) static NON_BLOCKING_RING: Algorithm = Algorithm {
    name: "non_blocking_ring",
    about: "ring whose receives are all posted before the first send",
    round: non_blocking,
    ..RING
};

pub(crate) static FORWARDING_RING: Algorithm = Algorithm {
    name: "forwarding_ring",
    about: "ring with all receives posted before, and without a wait for sends before the end",
    round: forwarding,
    ..RING
};

pub(crate) static OVERLAPPED_RING: Algorithm = Algorithm {
    name: "overlapped_ring",
    about: "ring without a wait for sends before the end",
    round: overlapped,
    ..RING
};

/// The slots of receives and sends.
const RECEIVES: Slot = 0;
const SENDS: Slot = 1;

fn blocking(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return copy_own(call, steps);
    }
    let (out, into) = (call.rank_below(round - 1), call.rank_below(round));
    steps.exchange(
        call.rank_above(1),
        block(call, out),
        call.rank_below(1),
        block(call, into),
    );
}

fn start_receive(call: &Call, round: u32, steps: &mut dyn Steps) {
    let into = block(call, call.rank_below(round));
    steps.irecv_in(RECEIVES, call.rank_below(1), into);
}

fn start_send(call: &Call, round: u32, steps: &mut dyn Steps) {
    let out = block(call, call.rank_below(round - 1));
    steps.isend_in(SENDS, call.rank_above(1), out);
}

fn receive_all(call: &Call, steps: &mut dyn Steps) {
    copy_own(call, steps);
    for round in 1..call.size {
        start_receive(call, round, steps);
    }
}

fn non_blocking(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return receive_all(call, steps);
    }
    start_send(call, round, steps);
    steps.wait_first(RECEIVES);
    steps.wait(SENDS);
}

fn forwarding(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return receive_all(call, steps);
    }
    start_send(call, round, steps);
    steps.wait_first(RECEIVES);
    if round + 1 == call.size {
        steps.wait(SENDS);
    }
}

fn overlapped(call: &Call, round: u32, steps: &mut dyn Steps) {
    if round == 0 {
        return copy_own(call, steps);
    }
    start_receive(call, round, steps);
    start_send(call, round, steps);
    steps.wait(RECEIVES);
    if round + 1 == call.size {
        steps.wait(SENDS);
    }
}
