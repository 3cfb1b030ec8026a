//! Allreduce of two levels: a reduction within each node, an allreduce among the leaders, and a
//! broadcast within each node.
//!
//! Sources: MPICH, `MPIR_Allreduce_intra_smp` and the composition alpha of ch4; SMPI,
//! `allreduce-mvapich-two-level.cpp`, `allreduce-smp-rdb.cpp` and others.

use crate::levels::{Group, Level, Stage, Stages};
use crate::parts::Places;
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
    temp: |call| stages(call).temp(),
    rounds: |call| stages(call).rounds(),
    round: |call, round, steps| stages(call).round(round, steps),
    ..Algorithm::BASE
};

const LEVELS: &[Level] = &[
    Level {
        group: Group::Node,
        collective: Collective::Reduce,
        call: |call| call.of_group(Group::Node, Collective::Reduce, call.bytes),
    },
    Level {
        group: Group::Leaders,
        collective: Collective::Allreduce,
        call: |call| call.of_group(Group::Leaders, Collective::Allreduce, call.bytes),
    },
    Level {
        group: Group::Node,
        collective: Collective::Bcast,
        call: |call| call.of_group(Group::Node, Collective::Bcast, call.bytes),
    },
];

fn stages(call: &Call) -> Stages<'_, 3> {
    Stages {
        call,
        levels: LEVELS,
        stages: [0, 1, 2].map(|number| Stage::Level(number, Places::behind(0))),
    }
}
