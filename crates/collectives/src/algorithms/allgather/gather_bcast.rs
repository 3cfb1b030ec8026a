//! Allgather as a gather to rank 0 and a broadcast, both by any algorithm.
//!
//! Source: A. Faraj, X. Yuan, "Automatic Generation and Tuning of MPI Collective Communication
//! Routines", ICS 2005.

use super::{block, gathered, gathered_temp, spread_out};
use crate::parts::Places;
use crate::{Algorithm, Area, Call, Collective, Part, Steps};

pub(crate) static GATHER_BCAST: Algorithm = Algorithm {
    name: "gather_bcast",
    collectives: &[Collective::Allgather],
    about: "a gather to rank 0, then a broadcast",
    time: "sum of both parts",
    parts: &[Collective::Gather, Collective::Bcast],
    temp,
    rounds,
    round,
    ..Algorithm::BASE
};

pub(crate) static GATHERV_BCAST: Algorithm = Algorithm {
    collectives: &[Collective::Allgatherv],
    parts: &[Collective::Gatherv, Collective::Bcast],
    ..GATHER_BCAST
};

fn gather_call(call: &Call) -> Call {
    let kind = match call.collective {
        Collective::Allgatherv => Collective::Gatherv,
        _ => Collective::Gather,
    };
    Call {
        blocks: call.blocks.clone(),
        ..call.inner(kind, call.recv_block(call.rank).length)
    }
}

fn bcast(call: &Call) -> Call {
    call.inner(Collective::Bcast, call.recv_total())
}

fn temp(call: &Call) -> u64 {
    let gathering = (call.part_algorithm(0).temp)(&gather_call(call));
    let broadcasting = (call.part_algorithm(1).temp)(&bcast(call));
    gathered_temp(call) + gathering.max(broadcasting)
}

fn rounds(call: &Call) -> u32 {
    (call.part_algorithm(0).rounds)(&gather_call(call))
        + (call.part_algorithm(1).rounds)(&bcast(call))
        + 2
}

fn round(call: &Call, round: u32, steps: &mut dyn Steps) {
    let (first, second) = (gather_call(call), bcast(call));
    let gathering = (call.part_algorithm(0).rounds)(&first);
    let last = gathering + (call.part_algorithm(1).rounds)(&second) + 1;
    let behind = Places::behind(gathered_temp(call));
    if round < gathering {
        behind.run(call.part_algorithm(0), &first, round, steps);
    } else if round == gathering {
        collect_all(call, steps);
    } else if round < last {
        let all = gathered(call, 0..call.size);
        let places = Places {
            recv: (all.area, all.offset),
            send: (Area::Send, 0),
            ..behind
        };
        places.run(
            call.part_algorithm(1),
            &second,
            round - gathering - 1,
            steps,
        );
    } else {
        spread_out(call, steps);
    }
}

/// Copies all blocks to the place where they follow one another.
fn collect_all(call: &Call, steps: &mut dyn Steps) {
    if call.blocks.is_some() && call.rank == 0 {
        for (rank, place) in (0..).zip(call.recv_packed()) {
            steps.copy(block(call, rank), Part::temp(place.offset, place.length));
        }
    }
}
