//! Broadcast of two levels: the root sends to the leader of the node, then the leaders broadcast
//! among themselves, then each leader broadcasts within the node.
//!
//! Sources: MPICH, `MPIR_Bcast_intra_smp` and the composition alpha of ch4; SMPI,
//! `bcast-SMP-binomial.cpp`, in which the root sends to rank 0.

use crate::levels::{Group, Level, ScheduleStage, Stages};
use crate::parts::Places;
use crate::pipeline;
use crate::{Algorithm, Call, Collective, Part, Requirement};

pub(crate) static TWO_LEVEL: Algorithm = Algorithm {
    name: "two_level",
    collectives: &[Collective::Bcast],
    about: "the root to its leader, among leaders, then within nodes",
    time: "sum of the parts",
    needs: Requirement::SharedNodes,
    fallback: "binomial",
    levels: LEVELS,
    temp: |call| build_stages(call, LEVELS, leader).temp(),
    rounds: |call| build_stages(call, LEVELS, leader).rounds(),
    round: |call, round, steps| build_stages(call, LEVELS, leader).round(round, steps),
    ..Algorithm::BASE
};

pub(crate) static TWO_LEVEL_RANK_0: Algorithm = Algorithm {
    name: "two_level_rank_0",
    about: "the root to rank 0, among leaders, then within nodes",
    fallback: "binomial_rank_0",
    levels: LEVELS_OF_RANK_0,
    temp: |call| build_stages(call, LEVELS_OF_RANK_0, |_| 0).temp(),
    rounds: |call| build_stages(call, LEVELS_OF_RANK_0, |_| 0).rounds(),
    round: |call, round, steps| build_stages(call, LEVELS_OF_RANK_0, |_| 0).round(round, steps),
    ..TWO_LEVEL
};

/// The algorithm of HAN in Open MPI 5.0.
pub(crate) static TWO_LEVEL_PIPELINED: Algorithm = Algorithm {
    name: "two_level_pipelined",
    about: "the levels of two_level, piece by piece of 64 KiB or as told",
    levels: PIPELINED_LEVELS,
    temp: |call| pipeline::temp_bytes(&TWO_LEVEL, call),
    rounds: |call| pipeline::round_count(&TWO_LEVEL, call),
    round: |call, round, steps| pipeline::make_round(&TWO_LEVEL, call, round, steps),
    ..TWO_LEVEL
};

const PIPELINED_LEVELS: &[Level] = &[LEVELS[0].in_pieces(), LEVELS[1].in_pieces()];

const LEVELS: &[Level] = &[
    AMONG_LEADERS.adapted(|call, leaders| {
        let root = call.nodes().node(call.root);
        Some(Call { root, ..leaders })
    }),
    WITHIN,
];

const LEVELS_OF_RANK_0: &[Level] = &[AMONG_LEADERS, WITHIN];

const AMONG_LEADERS: Level = Level::new(Group::Leaders, Collective::Bcast, |call| call.bytes);

const WITHIN: Level = Level::new(Group::Node, Collective::Bcast, |call| call.bytes);

fn leader(call: &Call) -> u32 {
    call.leader_of(call.root)
}

fn build_stages<'a>(
    call: &'a Call,
    levels: &'static [Level],
    first: fn(&Call) -> u32,
) -> Stages<'a, 3> {
    let all = Part::recv(0, call.bytes);
    Stages {
        call,
        levels,
        stages: [
            ScheduleStage::Message {
                source: call.root,
                destination: first(call),
                out: all,
                into: all,
            },
            ScheduleStage::Level(0, Places::behind(0)),
            ScheduleStage::Level(1, Places::behind(0)),
        ],
    }
}
