//! Alltoall in one round: all receives, then all sends.
//!
//! Sources: Open MPI, `coll_base_alltoall.c` (`linear`, `linear_sync`) and `coll_base_alltoallv.c`
//! (`linear_nonempty`); SMPI, `colls::ialltoallv` (`linear_by_rank`).

use super::{copy_own, into, out};
use crate::{Algorithm, Call, Collective, Slot, Steps};

pub(crate) static LINEAR: Algorithm = Algorithm {
    name: "linear",
    quadratic: true,
    collectives: &[
        Collective::Alltoall,
        Collective::Alltoallv,
        Collective::Alltoallw,
    ],
    about: "from the next rank and upwards, to the rank before and downwards, all at once",
    time: "(p − 1) (α + n β)",
    round: linear,
    ..Algorithm::BASE
};

pub(crate) static LINEAR_BY_RANK: Algorithm = Algorithm {
    name: "linear_by_rank",
    quadratic: true,
    about: "from and to each rank in the order of the ranks, all at once",
    round: |call, _, steps| by_rank(call, true, steps),
    ..LINEAR
};

pub(crate) static LINEAR_NONEMPTY: Algorithm = Algorithm {
    name: "linear_nonempty",
    quadratic: true,
    about: "from and to each rank in the order of the ranks, all at once, without empty messages",
    round: |call, _, steps| by_rank(call, false, steps),
    ..LINEAR
};

/// The variant with a window: Open MPI starts the next request when any one is over, this one when
/// the oldest one is.
pub(crate) static LINEAR_SYNC: Algorithm = Algorithm {
    name: "linear_sync",
    quadratic: true,
    about: "as linear, with a number of requests in progress (parameter radix; 0: all)",
    rounds: |call| call.size,
    round: sync,
    ..LINEAR
};

fn start_receive(call: &Call, distance: u32, steps: &mut dyn Steps) {
    let peer = call.rank_above(distance);
    steps.irecv_in(RECEIVES, peer, into(call, peer));
}

fn start_send(call: &Call, distance: u32, steps: &mut dyn Steps) {
    let peer = call.rank_below(distance);
    steps.isend_in(SENDS, peer, out(call, peer));
}

/// The slots of receives and sends.
const RECEIVES: Slot = 0;
const SENDS: Slot = 1;

/// Starts the first `count` receives and sends.
fn start_first(call: &Call, count: u32, steps: &mut dyn Steps) {
    copy_own(call, steps);
    for distance in 1..=count {
        start_receive(call, distance, steps);
    }
    for distance in 1..=count {
        start_send(call, distance, steps);
    }
}

fn linear(call: &Call, _: u32, steps: &mut dyn Steps) {
    start_first(call, call.size - 1, steps);
    steps.wait(RECEIVES);
    steps.wait(SENDS);
}

fn sync(call: &Call, round: u32, steps: &mut dyn Steps) {
    let window = match call.radix {
        0 => call.size - 1,
        requests => (requests / 2).clamp(1, call.size.max(2) - 1),
    };
    if round == 0 {
        return start_first(call, window.min(call.size - 1), steps);
    }
    let next = round + window;
    steps.wait_first(RECEIVES);
    if next < call.size {
        start_receive(call, next, steps);
    }
    steps.wait_first(SENDS);
    if next < call.size {
        start_send(call, next, steps);
    }
}

fn by_rank(call: &Call, sends_empty: bool, steps: &mut dyn Steps) {
    copy_own(call, steps);
    for peer in (0..call.size).filter(|peer| *peer != call.rank) {
        let into = into(call, peer);
        if sends_empty || into.length > 0 {
            steps.irecv(peer, into);
        }
    }
    for peer in (0..call.size).filter(|peer| *peer != call.rank) {
        let out = out(call, peer);
        if sends_empty || out.length > 0 {
            steps.isend(peer, out);
        }
    }
    steps.wait_all();
}
