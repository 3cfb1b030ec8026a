//! Scatter of two levels: the root sends all blocks to the leader of its node, the leaders scatter
//! the blocks by nodes, and each leader scatters the blocks of a node to the ranks of this node.
//!
//! If the ranks of each node are not consecutive, the root first copies the blocks to the order of
//! the nodes.
//!
//! Source: SMPI, `scatter-mvapich-two-level.cpp`.

use std::rc::Rc;

use crate::algorithms::gather::two_level::{
    all_blocks_place, among_leaders, behind, in_node_order, node_blocks, relays, to_root, total,
};
use crate::levels::{Group, Level, ScheduleStage, Stages};
use crate::parts::Places;
use crate::{Algorithm, Area, Blocks, Call, Collective, Part, Requirement, Steps};

pub(crate) static TWO_LEVEL: Algorithm = Algorithm {
    name: "two_level",
    collectives: &[Collective::Scatter],
    about: "the root to its leader, among leaders, then within nodes",
    time: "sum of the parts",
    needs: Requirement::SharedNodes,
    fallback: "binomial",
    levels: LEVELS,
    temp: |call| behind(call, Area::Send).max(build_stages(call).temp()),
    rounds: |call| build_stages(call).rounds(),
    round: |call, round, steps| build_stages(call).round(round, steps),
    ..Algorithm::BASE
};

const LEVELS: &[Level] = &[
    among_leaders(Collective::Scatter).adapted(|call, leaders| {
        let leaders = to_root(call, leaders);
        call.nodes().is_uniform().then_some(leaders)
    }),
    among_leaders(Collective::Scatterv).adapted(|call, leaders| {
        let mut leaders = to_root(call, leaders);
        if leaders.is_root() {
            leaders.blocks = Some(Rc::new(Blocks {
                send: node_blocks(call).collect(),
                ..Blocks::default()
            }));
        }
        (!call.nodes().is_uniform()).then_some(leaders)
    }),
    Level::new(Group::Node, Collective::Scatter, |call| call.bytes),
];

fn build_stages(call: &Call) -> Stages<'_, 5> {
    let temp = Places::behind(behind(call, Area::Send));
    let all = all_blocks_place(call, Area::Send);
    let own = match call.nodes().count() {
        1 => all,
        _ => (Area::Temp, 0),
    };
    let into = if relays(call) { own } else { (Area::Recv, 0) };
    let among = Places {
        send: all,
        recv: into,
        ..temp
    };
    let part = Part {
        area: all.0,
        offset: all.1,
        length: total(call),
    };
    Stages {
        call,
        levels: LEVELS,
        stages: [
            ScheduleStage::Steps(collect_blocks),
            ScheduleStage::Message {
                source: call.root,
                destination: call.leader_of(call.root),
                out: part,
                into: part,
            },
            ScheduleStage::Level(0, among),
            ScheduleStage::Level(1, among),
            ScheduleStage::Level(2, Places { send: own, ..temp }),
        ],
    }
}

/// Copies the blocks to the order of the nodes.
fn collect_blocks(call: &Call, steps: &mut dyn Steps) {
    if call.is_root() && !call.nodes().is_consecutive() {
        for (rank, into) in in_node_order(call, all_blocks_place(call, Area::Send)) {
            let block = call.send_block(rank);
            steps.copy(Part::send(block.offset, block.length), into);
        }
    }
}
