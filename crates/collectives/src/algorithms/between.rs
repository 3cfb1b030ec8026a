//! Operations over an intercommunicator: the data of one group go to the other group.
//!
//! Ranks are numbered through both groups. A call has the blocks of the ranks of the remote group,
//! but a `reduce_scatter` has the blocks of the local group. A rank with the root [`Call::NO_ROOT`]
//! takes no part.
//!
//! * *leaders*: rank 0 of each group represents its group in the exchange, and operations inside
//!   the groups, with the algorithms of the selector, do the rest.
//! * *direct*: each rank exchanges messages with each rank of the remote group, all at once.
//!
//! Sources: Open MPI 5.0, `ompi/mca/coll/inter` and the linear `…_inter` functions of
//! `ompi/mca/coll/basic`; MPICH, `src/mpi/coll/*/*_inter_*.c`.
//!
//! *Not modelled*: algorithms for several ranks on a node.

use std::ops::Range;

use crate::levels::{Group, Level, ScheduleStage, Stages};
use crate::parts::Places;
use crate::{Algorithm, Area, Call, Collective, Operand, Part, Steps};

/// Returns the algorithm of an operation over an intercommunicator.
pub(crate) const fn between(collective: Collective) -> &'static Algorithm {
    match collective {
        Collective::Barrier => &BARRIER,
        Collective::Bcast => &BCAST,
        Collective::Reduce => &REDUCE,
        Collective::Allreduce => &ALLREDUCE,
        Collective::Allgather => &ALLGATHER,
        Collective::ReduceScatter | Collective::ReduceScatterBlock => &REDUCE_SCATTER,
        _ => &DIRECT,
    }
}

pub(crate) static DIRECT: Algorithm = Algorithm {
    name: "direct",
    about: "to and from each rank of the other group, all at once",
    time: "d (α + n β) with d ranks of the other group",
    ordered: true,
    temp: |call| match operand(call) {
        0 => 0,
        bytes => bytes * rank_count(call.other_group()),
    },
    round: direct,
    ..Algorithm::BASE
};

/// Number of ranks.
fn rank_count(ranks: Range<u32>) -> u64 {
    u64::from(ranks.end - ranks.start)
}

/// Returns the length of the contributions that this rank combines; 0 without such contributions.
fn operand(call: &Call) -> u64 {
    match call.collective {
        Collective::Reduce if !call.is_root() => 0,
        Collective::Reduce | Collective::Allreduce => call.bytes,
        Collective::ReduceScatter | Collective::ReduceScatterBlock => call.send_total(),
        _ => 0,
    }
}

/// Returns the message for the rank with this number in the other group.
fn given(call: &Call, other: u32) -> Option<Part> {
    let is_root = call.root == call.other_group().start + other;
    let block = || {
        let block = call.send_block(other);
        Part::send(block.offset, block.length)
    };
    match call.collective {
        Collective::Barrier => Some(Part::EMPTY),
        Collective::Bcast => call.is_root().then_some(Part::recv(0, call.bytes)),
        Collective::Scatter | Collective::Scatterv => call.is_root().then(block),
        Collective::Gather | Collective::Gatherv => is_root.then_some(Part::send(0, call.bytes)),
        Collective::Reduce => is_root.then_some(Part::recv(0, call.bytes)),
        Collective::Allreduce => Some(Part::recv(0, call.bytes)),
        Collective::ReduceScatter | Collective::ReduceScatterBlock => {
            Some(Part::send(0, call.send_total()))
        }
        _ => Some(block()),
    }
}

/// Returns the place of the message from the rank with this number in the other group.
fn taken(call: &Call, other: u32) -> Option<Part> {
    let is_root = call.root == call.other_group().start + other;
    let block = || {
        let block = call.recv_block(other);
        Part::recv(block.offset, block.length)
    };
    match call.collective {
        Collective::Barrier => Some(Part::EMPTY),
        Collective::Bcast | Collective::Scatter | Collective::Scatterv => {
            is_root.then_some(Part::recv(0, call.bytes))
        }
        Collective::Gather | Collective::Gatherv => call.is_root().then(block),
        Collective::Reduce
        | Collective::Allreduce
        | Collective::ReduceScatter
        | Collective::ReduceScatterBlock => {
            let bytes = operand(call);
            let place = Part::temp(u64::from(other) * bytes, bytes);
            (call.collective != Collective::Reduce || call.is_root()).then_some(place)
        }
        _ => Some(block()),
    }
}

fn direct(call: &Call, _: u32, steps: &mut dyn Steps) {
    let others = call.other_group();
    for other in others.clone() {
        if let Some(place) = taken(call, other - others.start) {
            steps.irecv(other, place);
        }
    }
    for other in others.clone() {
        if let Some(part) = given(call, other - others.start) {
            steps.isend(other, part);
        }
    }
    steps.wait_all();
    if operand(call) > 0 {
        combine(call, others.end - others.start, steps);
    }
}

/// Reduces the contributions of the other group.
fn combine(call: &Call, others: u32, steps: &mut dyn Steps) {
    let (offset, length) = match call.collective {
        Collective::Reduce | Collective::Allreduce => (0, call.bytes),
        _ => {
            let block = call.send_block(call.rank - call.own_group().start);
            (block.offset, block.length)
        }
    };
    let result = Part::recv(0, length);
    let part = |other: u32| Part::temp(u64::from(other) * operand(call) + offset, length);
    steps.copy(part(0), result);
    for other in 1..others {
        steps.reduce(part(other), result, Operand::Right);
    }
}

/// An operation in which rank 0 of each group represents the group.
const LEADERS: Algorithm = Algorithm {
    name: "leaders",
    time: "sum of the parts",
    ordered: true,
    ..Algorithm::BASE
};

/// Returns true in the group of the root.
fn is_with_root(call: &Call) -> bool {
    call.own_group().contains(&call.root)
}

/// Returns true if the own group has only this rank.
fn is_alone(call: &Call) -> bool {
    call.own_group().len() == 1
}

/// Exchanges a message with the leader of the other group, at leaders.
fn exchange_leaders(call: &Call, out: Part, into: Part, steps: &mut dyn Steps) -> bool {
    let is_leader = call.rank == call.own_group().start;
    if is_leader {
        let other = call.other_group().start;
        steps.exchange(other, out, other, into);
    }
    is_leader
}

static BARRIER: Algorithm = Algorithm {
    about: "a barrier in each group, the leaders meet, a broadcast in each group",
    levels: BARRIER_LEVELS,
    temp: |call| barrier_stages(call).temp(),
    rounds: |call| barrier_stages(call).rounds(),
    round: |call, round, steps| barrier_stages(call).round(round, steps),
    ..LEADERS
};

const BARRIER_LEVELS: &[Level] = &[
    Level::new(Group::Own, Collective::Barrier, |_| 0),
    // A byte, because an empty broadcast need not wait for its root.
    Level::new(Group::Own, Collective::Bcast, |_| 1),
];

fn barrier_stages(call: &Call) -> Stages<'_, 3> {
    let in_temp = Places {
        recv: (Area::Temp, 0),
        ..Places::behind(1)
    };
    Stages {
        call,
        levels: BARRIER_LEVELS,
        stages: [
            ScheduleStage::Level(0, Places::behind(1)),
            ScheduleStage::Steps(|call, steps| {
                exchange_leaders(call, Part::EMPTY, Part::EMPTY, steps);
            }),
            ScheduleStage::Level(1, in_temp),
        ],
    }
}

static BCAST: Algorithm = Algorithm {
    about: "the root to the leader of the other group, a broadcast there",
    levels: BCAST_LEVELS,
    temp: |call| bcast(call).temp(),
    rounds: |call| bcast(call).rounds(),
    round: |call, round, steps| bcast(call).round(round, steps),
    ..LEADERS
};

const BCAST_LEVELS: &[Level] = &[away_from_root(Collective::Bcast)];

/// Returns true if the rank has a part in an operation with a root.
const fn takes_part(call: &Call) -> bool {
    call.root != Call::NO_ROOT
}

/// Returns a part that the group executes that the root is not in.
const fn away_from_root(kind: Collective) -> Level {
    Level::new(Group::Own, kind, |call| call.bytes)
        .adapted(|call, own| (takes_part(call) && !is_with_root(call)).then_some(own))
}

/// Returns the leader of the group that the root is not in.
fn leader(call: &Call) -> u32 {
    match is_with_root(call) {
        true => call.other_group().start,
        false => call.own_group().start,
    }
}

fn bcast(call: &Call) -> Stages<'_, 2> {
    let data = Part::recv(0, call.bytes);
    Stages {
        call,
        levels: BCAST_LEVELS,
        stages: [
            leader_message(call, call.root, leader(call), data),
            ScheduleStage::Level(0, Places::behind(0)),
        ],
    }
}

/// A message between the root and the leader of the other group.
fn leader_message(call: &Call, source: u32, destination: u32, data: Part) -> ScheduleStage {
    let (source, destination) = match takes_part(call) {
        true => (source, destination),
        false => (Call::NO_ROOT, Call::NO_ROOT),
    };
    ScheduleStage::Message {
        source,
        destination,
        out: data,
        into: data,
    }
}

static REDUCE: Algorithm = Algorithm {
    about: "a reduction in the other group, its leader to the root",
    levels: REDUCE_LEVELS,
    temp: |call| reduce_stages(call).temp(),
    rounds: |call| reduce_stages(call).rounds(),
    round: |call, round, steps| reduce_stages(call).round(round, steps),
    ..LEADERS
};

const REDUCE_LEVELS: &[Level] = &[away_from_root(Collective::Reduce)];

fn reduce_stages(call: &Call) -> Stages<'_, 2> {
    let data = Part::recv(0, call.bytes);
    Stages {
        call,
        levels: REDUCE_LEVELS,
        stages: [
            ScheduleStage::Level(0, Places::behind(0)),
            leader_message(call, leader(call), call.root, data),
        ],
    }
}

static ALLREDUCE: Algorithm = Algorithm {
    about: "a reduction in each group, the leaders exchange, a broadcast in each group",
    levels: ALLREDUCE_LEVELS,
    temp: |call| call.bytes.max(allreduce(call).temp()),
    rounds: |call| allreduce(call).rounds(),
    round: |call, round, steps| allreduce(call).round(round, steps),
    ..LEADERS
};

const ALLREDUCE_LEVELS: &[Level] = &[
    Level::new(Group::Own, Collective::Reduce, |call| call.bytes),
    Level::new(Group::Own, Collective::Bcast, |call| call.bytes),
];

fn allreduce(call: &Call) -> Stages<'_, 3> {
    Stages {
        call,
        levels: ALLREDUCE_LEVELS,
        stages: [
            ScheduleStage::Level(0, Places::behind(call.bytes)),
            ScheduleStage::Steps(|call, steps| {
                let (own, other) = (Part::recv(0, call.bytes), Part::temp(0, call.bytes));
                if exchange_leaders(call, own, other, steps) {
                    steps.copy(other, own);
                }
            }),
            ScheduleStage::Level(1, Places::behind(call.bytes)),
        ],
    }
}

static ALLGATHER: Algorithm = Algorithm {
    about: "a gather in each group, the leaders exchange, a broadcast in each group",
    levels: ALLGATHER_LEVELS,
    temp: |call| gathered(call).max(allgather_stages(call).temp()),
    rounds: |call| allgather_stages(call).rounds(),
    round: |call, round, steps| allgather_stages(call).round(round, steps),
    ..LEADERS
};

const ALLGATHER_LEVELS: &[Level] = &[
    Level::new(Group::Own, Collective::Gather, |call| call.bytes),
    Level::new(Group::Own, Collective::Bcast, Call::recv_total),
];

/// Returns the length of the blocks of the own group.
fn gathered(call: &Call) -> u64 {
    call.bytes * rank_count(call.own_group())
}

fn allgather_stages(call: &Call) -> Stages<'_, 3> {
    let in_temp = Places {
        recv: (Area::Temp, 0),
        ..Places::behind(gathered(call))
    };
    Stages {
        call,
        levels: ALLGATHER_LEVELS,
        stages: [
            ScheduleStage::Level(0, in_temp),
            ScheduleStage::Steps(|call, steps| {
                let own = match is_alone(call) {
                    true => Part::send(0, call.bytes),
                    false => Part::temp(0, gathered(call)),
                };
                exchange_leaders(call, own, Part::recv(0, call.recv_total()), steps);
            }),
            ScheduleStage::Level(1, Places::behind(gathered(call))),
        ],
    }
}

static REDUCE_SCATTER: Algorithm = Algorithm {
    about: "a reduction in each group, the leaders exchange, a scatter in each group",
    levels: REDUCE_SCATTER_LEVELS,
    temp: |call| (2 * call.send_total()).max(reduce_scatter(call).temp()),
    rounds: |call| reduce_scatter(call).rounds(),
    round: |call, round, steps| reduce_scatter(call).round(round, steps),
    ..LEADERS
};

const REDUCE_SCATTER_LEVELS: &[Level] = &[
    Level::new(Group::Own, Collective::Reduce, Call::send_total),
    Level::new(Group::Own, Collective::Scatterv, |call| {
        call.send_block(call.rank - call.own_group().start).length
    })
    .adapted(|call, scatter| {
        Some(Call {
            blocks: call.blocks.clone(),
            ..scatter
        })
    }),
];

fn reduce_scatter(call: &Call) -> Stages<'_, 4> {
    let total = call.send_total();
    let in_temp = Places {
        send: (Area::Temp, 0),
        recv: (Area::Temp, 0),
        temp: 2 * total,
    };
    let from_temp = Places {
        send: (Area::Temp, total),
        ..Places::behind(2 * total)
    };
    Stages {
        call,
        levels: REDUCE_SCATTER_LEVELS,
        stages: [
            ScheduleStage::Steps(|call, steps| {
                let total = call.send_total();
                steps.copy(Part::send(0, total), Part::temp(0, total));
            }),
            ScheduleStage::Level(0, in_temp),
            ScheduleStage::Steps(|call, steps| {
                let total = call.send_total();
                let (own, other) = (Part::temp(0, total), Part::temp(total, total));
                exchange_leaders(call, own, other, steps);
                if is_alone(call) {
                    steps.copy(other, Part::recv(0, total));
                }
            }),
            ScheduleStage::Level(1, from_temp),
        ],
    }
}
