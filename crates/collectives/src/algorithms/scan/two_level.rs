//! Scan of two levels: a scan within each node, in which the last rank sends the sum of the node to
//! the leader; an exclusive scan of these sums among the leaders; and a broadcast within each node:
//! all ranks add the sum of all previous nodes to their results.
//!
//! Source: MPICH, `MPIR_Scan_intra_smp`, which makes the sums of the previous nodes by an inclusive
//! scan and a message to the next leader.

use super::result;
use crate::levels::{Group, Level, ScheduleStage, Stages};
use crate::parts::Places;
use crate::{Algorithm, Area, Call, Collective, Operand, Part, Requirement, Steps};

pub(crate) static TWO_LEVEL: Algorithm = Algorithm {
    name: "two_level",
    collectives: &[Collective::Scan],
    about: "within nodes, an exclusive scan among leaders, a broadcast within nodes",
    time: "sum of the parts",
    needs: Requirement::ConsecutiveNodes,
    fallback: "recursive_doubling",
    ordered: true,
    levels: LEVELS,
    temp: |call| (2 * call.bytes).max(build_stages(call).temp()),
    rounds: |call| build_stages(call).rounds(),
    round: |call, round, steps| build_stages(call).round(round, steps),
    ..Algorithm::BASE
};

const LEVELS: &[Level] = &[
    Level::new(Group::Node, Collective::Scan, |call| call.bytes),
    Level::new(Group::Leaders, Collective::Exscan, |call| call.bytes),
    Level::new(Group::Node, Collective::Bcast, |call| call.bytes)
        .adapted(|call, within| (call.node() > 0).then_some(within)),
];

/// Returns the place of the sum of the node of this rank, at the leader.
const fn own_sum(call: &Call) -> Part {
    Part::temp(0, call.bytes)
}

/// Returns the sum of all nodes before.
const fn sum_before(call: &Call) -> Part {
    Part::temp(call.bytes, call.bytes)
}

fn build_stages(call: &Call) -> Stages<'_, 6> {
    let nodes = call.nodes();
    let leader = call.leader_of(call.rank);
    let behind = Places::behind(2 * call.bytes);
    Stages {
        call,
        levels: LEVELS,
        stages: [
            ScheduleStage::Level(0, behind),
            ScheduleStage::Message {
                source: leader + nodes.size(call.node()) - 1,
                destination: leader,
                out: result(call),
                into: own_sum(call),
            },
            ScheduleStage::Steps(keep_single),
            ScheduleStage::Level(
                1,
                Places {
                    send: (Area::Temp, 0),
                    recv: (Area::Temp, call.bytes),
                    ..behind
                },
            ),
            ScheduleStage::Level(
                2,
                Places {
                    recv: (Area::Temp, call.bytes),
                    ..behind
                },
            ),
            ScheduleStage::Steps(reduce_before),
        ],
    }
}

/// Copies the result of a node of one rank to the place of the sum of the node.
fn keep_single(call: &Call, steps: &mut dyn Steps) {
    if call.nodes().size(call.node()) == 1 {
        steps.copy(result(call), own_sum(call));
    }
}

fn reduce_before(call: &Call, steps: &mut dyn Steps) {
    if call.node() > 0 {
        steps.reduce(sum_before(call), result(call), Operand::Left);
    }
}
