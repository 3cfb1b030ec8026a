//! Allreduce of two levels: a reduction within each node, an allreduce among the leaders, and a
//! broadcast within each node.
//!
//! Sources: MPICH, `MPIR_Allreduce_intra_smp` and the composition alpha of ch4; SMPI,
//! `allreduce-mvapich-two-level.cpp`, `allreduce-smp-rdb.cpp` and others.

use crate::levels::{Group, Level, ScheduleStage, Stages};
use crate::parts::Places;
use crate::pipeline;
use crate::{Algorithm, Call, Collective, Requirement};

pub(crate) static TWO_LEVEL: Algorithm = Algorithm {
    name: "two_level",
    collectives: &[Collective::Allreduce],
    about: "a reduction within nodes, an allreduce among leaders, a broadcast within nodes",
    time: "sum of the parts",
    needs: Requirement::SharedNodes,
    fallback: "recursive_doubling",
    ordered: true,
    levels: LEVELS,
    temp: |call| stages(call, LEVELS).temp(),
    lanes: |call| stages(call, LEVELS).lanes(),
    rounds: |call| stages(call, LEVELS).rounds(),
    round: |call, round, steps| stages(call, LEVELS).round(round, steps),
    ..Algorithm::BASE
};

/// The algorithm of SMPI: the other ranks of a node get the reduction of the node, too.
pub(crate) static TWO_LEVEL_ALLREDUCE: Algorithm = Algorithm {
    name: "two_level_allreduce",
    about: "an allreduce within nodes, an allreduce among leaders, a broadcast within nodes",
    levels: LEVELS_OF_ALLREDUCE,
    temp: |call| stages(call, LEVELS_OF_ALLREDUCE).temp(),
    lanes: |call| stages(call, LEVELS_OF_ALLREDUCE).lanes(),
    rounds: |call| stages(call, LEVELS_OF_ALLREDUCE).rounds(),
    round: |call, round, steps| stages(call, LEVELS_OF_ALLREDUCE).round(round, steps),
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

const PIPELINED_LEVELS: &[Level] = &[
    LEVELS[0].in_pieces(),
    LEVELS[1].in_pieces(),
    LEVELS[2].in_pieces(),
];

const LEVELS: &[Level] = &[
    Level::new(Group::Node, Collective::Reduce, |call| call.bytes),
    LEADERS,
    BROADCAST,
];

const LEVELS_OF_ALLREDUCE: &[Level] = &[
    Level::new(Group::Node, Collective::Allreduce, |call| call.bytes),
    LEADERS,
    BROADCAST,
];

const LEADERS: Level = Level::new(Group::Leaders, Collective::Allreduce, |call| call.bytes);

const BROADCAST: Level = Level::new(Group::Node, Collective::Bcast, |call| call.bytes);

fn stages<'a>(call: &'a Call, levels: &'static [Level]) -> Stages<'a, 3> {
    Stages {
        call,
        levels,
        stages: [0, 1, 2].map(|number| ScheduleStage::Level(number, Places::behind(0))),
    }
}
