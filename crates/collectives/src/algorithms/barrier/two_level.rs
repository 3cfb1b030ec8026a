//! Barrier of two levels: a barrier of the ranks of each node, then a barrier of the leaders of the
//! nodes, then a broadcast of one byte from each leader to its node, which lets the ranks continue.
//!
//! Source: MPICH, `MPIR_Barrier_intra_smp`.

use crate::levels::{Group, Level, ScheduleStage, Stages};
use crate::parts::Places;
use crate::{Algorithm, Area, Call, Collective, Requirement};

pub(crate) static TWO_LEVEL: Algorithm = Algorithm {
    name: "two_level",
    collectives: &[Collective::Barrier],
    about: "within nodes, among their leaders, then a broadcast within nodes",
    time: "sum of the parts",
    needs: Requirement::SharedNodes,
    fallback: "dissemination",
    levels: LEVELS,
    temp: |call| build_stages(call).temp(),
    rounds: |call| build_stages(call).rounds(),
    round: |call, round, steps| build_stages(call).round(round, steps),
    ..Algorithm::BASE
};

const LEVELS: &[Level] = &[
    Level::new(Group::Node, Collective::Barrier, |_| 0),
    Level::new(Group::Leaders, Collective::Barrier, |_| 0),
    Level::new(Group::Node, Collective::Bcast, |_| 1),
];

fn build_stages(call: &Call) -> Stages<'_, 3> {
    let release = Places {
        recv: (Area::Temp, 0),
        ..Places::behind(1)
    };
    Stages {
        call,
        levels: LEVELS,
        stages: [
            ScheduleStage::Level(0, Places::behind(1)),
            ScheduleStage::Level(1, Places::behind(1)),
            ScheduleStage::Level(2, release),
        ],
    }
}
