//! Allgather of two levels: a gather within each node to its leader, an allgather among the
//! leaders, and a broadcast of all blocks within each node.
//!
//! Blocks travel in the order of the nodes. If the ranks of each node are not consecutive, all
//! ranks copy the blocks to the right places.
//!
//! Source: SMPI, `allgather-mvapich-smp.cpp`.

use std::rc::Rc;

use super::copy_own;
use crate::algorithms::gather::two_level::{among_leaders, in_node_order, node_blocks};
use crate::levels::{Group, Level, ScheduleStage, Stages};
use crate::parts::Places;
use crate::{Algorithm, Area, Blocks, Call, Collective, Part, Requirement, Steps};

pub(crate) static TWO_LEVEL: Algorithm = Algorithm {
    name: "two_level",
    collectives: &[Collective::Allgather],
    about: "a gather within nodes, an allgather among leaders, a broadcast within nodes",
    time: "sum of the parts",
    needs: Requirement::SharedNodes,
    fallback: "ring",
    levels: LEVELS,
    temp: |call| behind(call).max(build_stages(call).temp()),
    rounds: |call| build_stages(call).rounds(),
    round: |call, round, steps| build_stages(call).round(round, steps),
    ..Algorithm::BASE
};

const LEVELS: &[Level] = &[
    Level::new(Group::Node, Collective::Gather, |call| call.bytes),
    among_leaders(Collective::Allgather)
        .adapted(|call, leaders| call.nodes().is_uniform().then_some(leaders)),
    among_leaders(Collective::Allgatherv).adapted(|call, mut leaders| {
        leaders.blocks = Some(Rc::new(Blocks {
            recv: node_blocks(call).collect(),
            ..Blocks::default()
        }));
        (!call.nodes().is_uniform()).then_some(leaders)
    }),
    Level::new(Group::Node, Collective::Bcast, Call::recv_total),
];

/// Returns the area in which blocks are collected in the order of the nodes.
fn collected(call: &Call) -> Area {
    if call.nodes().is_consecutive() {
        Area::Recv
    } else {
        Area::Temp
    }
}

/// Returns the bytes of `Temp` that this algorithm uses itself.
fn behind(call: &Call) -> u64 {
    match collected(call) {
        Area::Temp => call.recv_total(),
        _ => 0,
    }
}

fn build_stages(call: &Call) -> Stages<'_, 6> {
    let temp = Places::behind(behind(call));
    let nodes = call.nodes();
    let area = collected(call);
    let own = (area, u64::from(nodes.before(call.node())) * call.bytes);
    let among = Places {
        send: own,
        recv: (area, 0),
        ..temp
    };
    Stages {
        call,
        levels: LEVELS,
        stages: [
            ScheduleStage::Level(0, Places { recv: own, ..temp }),
            ScheduleStage::Steps(keep_single),
            ScheduleStage::Level(1, among),
            ScheduleStage::Level(2, among),
            ScheduleStage::Level(
                3,
                Places {
                    recv: (area, 0),
                    ..temp
                },
            ),
            ScheduleStage::Steps(spread_out),
        ],
    }
}

/// Puts the block of a node of one rank where blocks are collected.
fn keep_single(call: &Call, steps: &mut dyn Steps) {
    let nodes = call.nodes();
    if nodes.size(call.node()) > 1 {
        return;
    }
    match collected(call) {
        Area::Temp => {
            let offset = u64::from(nodes.before(call.node())) * call.bytes;
            steps.copy(Part::send(0, call.bytes), Part::temp(offset, call.bytes));
        }
        _ => copy_own(call, steps),
    }
}

/// Copies blocks in the order of the nodes to their places.
fn spread_out(call: &Call, steps: &mut dyn Steps) {
    let nodes = call.nodes();
    if nodes.is_consecutive() {
        return;
    }
    for (rank, from) in in_node_order(call, (Area::Temp, 0)) {
        steps.copy(from, super::block(call, rank));
    }
}
