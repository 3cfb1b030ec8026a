//! Reduction of two levels: within each node to the leader, then among the leaders to the leader of
//! the root's node, which sends the result to the root.
//!
//! Sources: MPICH, `MPIR_Reduce_intra_smp`; SMPI, `reduce-mvapich-two-level.cpp`.

use crate::levels::{Group, Level, ScheduleStage, Stages};
use crate::parts::Places;
use crate::pipeline;
use crate::{Algorithm, Call, Collective, Part, Requirement};

pub(crate) static TWO_LEVEL: Algorithm = Algorithm {
    name: "two_level",
    collectives: &[Collective::Reduce],
    about: "within nodes, among leaders, then to the root",
    time: "sum of the parts",
    needs: Requirement::SharedNodes,
    fallback: "binomial",
    ordered: true,
    levels: LEVELS,
    temp: |call| build_stages(call).temp(),
    rounds: |call| build_stages(call).rounds(),
    round: |call, round, steps| build_stages(call).round(round, steps),
    ..Algorithm::BASE
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
    Level::new(Group::Node, Collective::Reduce, |call| call.bytes),
    Level::new(Group::Leaders, Collective::Reduce, |call| call.bytes).adapted(|call, leaders| {
        let root = call.nodes().node(call.root);
        Some(Call { root, ..leaders })
    }),
];

fn build_stages(call: &Call) -> Stages<'_, 3> {
    let all = Part::recv(0, call.bytes);
    Stages {
        call,
        levels: LEVELS,
        stages: [
            ScheduleStage::Level(0, Places::behind(0)),
            ScheduleStage::Level(1, Places::behind(0)),
            ScheduleStage::Message {
                source: call.leader_of(call.root),
                destination: call.root,
                out: all,
                into: all,
            },
        ],
    }
}
