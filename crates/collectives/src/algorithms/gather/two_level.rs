//! Gather of two levels: within each node to the leader, then among the leaders to the leader of
//! the root's node, which sends all blocks to the root.
//!
//! Blocks arrive at the root in the order of the nodes. If the ranks of each node are not
//! consecutive, the root copies the blocks to the right places.
//!
//! Source: SMPI, `gather-mvapich.cpp`.

use std::rc::Rc;

use crate::levels::{Group, Level, ScheduleStage, Stages};
use crate::parts::Places;
use crate::{Algorithm, Area, Block, Blocks, Call, Collective, Part, Requirement, Steps};

pub(crate) static TWO_LEVEL: Algorithm = Algorithm {
    name: "two_level",
    collectives: &[Collective::Gather],
    about: "within nodes, among leaders, then to the root",
    time: "sum of the parts",
    needs: Requirement::SharedNodes,
    fallback: "binomial",
    levels: LEVELS,
    temp: |call| behind(call, Area::Recv).max(build_stages(call).temp()),
    rounds: |call| build_stages(call).rounds(),
    round: |call, round, steps| build_stages(call).round(round, steps),
    ..Algorithm::BASE
};

const LEVELS: &[Level] = &[
    Level::new(Group::Node, Collective::Gather, |call| call.bytes),
    among_leaders(Collective::Gather).adapted(|call, leaders| {
        let leaders = to_root(call, leaders);
        call.nodes().is_uniform().then_some(leaders)
    }),
    among_leaders(Collective::Gatherv).adapted(|call, leaders| {
        let mut leaders = to_root(call, leaders);
        if leaders.is_root() {
            leaders.blocks = Some(Rc::new(Blocks {
                recv: node_blocks(call).collect(),
                ..Blocks::default()
            }));
        }
        (!call.nodes().is_uniform()).then_some(leaders)
    }),
];

/// An operation of the leaders with the blocks of their nodes: with blocks of different lengths if
/// the nodes have different numbers of ranks.
pub(crate) const fn among_leaders(kind: Collective) -> Level {
    Level::new(Group::Leaders, kind, |call| {
        u64::from(call.nodes().size(call.node())) * call.bytes
    })
}

/// Returns the call of the leaders with the leader of the root's node as its root.
pub(crate) fn to_root(call: &Call, leaders: Call) -> Call {
    let root = call.nodes().node(call.root);
    Call { root, ..leaders }
}

/// Returns the blocks of the nodes, one after the other.
pub(crate) fn node_blocks(call: &Call) -> impl Iterator<Item = Block> {
    let nodes = call.nodes();
    (0..nodes.count()).map(|node| Block {
        offset: u64::from(nodes.before(node)) * call.bytes,
        length: u64::from(nodes.size(node)) * call.bytes,
    })
}

pub(crate) fn total(call: &Call) -> u64 {
    u64::from(call.size) * call.bytes
}

/// Returns true if this rank is a leader that has the blocks of its node in `Temp`.
pub(crate) fn relays(call: &Call) -> bool {
    let nodes = call.nodes();
    call.is_leader() && nodes.count() > 1 && nodes.size(call.node()) > 1
}

/// Returns the bytes of `Temp` with the blocks of the own node.
fn own_length(call: &Call) -> u64 {
    let ranks = call.nodes().size(call.node());
    if relays(call) {
        u64::from(ranks) * call.bytes
    } else {
        0
    }
}

/// Returns the place of all blocks, in the order of the nodes: the area of the root's blocks if
/// they have this order there.
pub(crate) fn all_blocks_place(call: &Call, of_root: Area) -> (Area, u64) {
    if call.is_root() && call.nodes().is_consecutive() {
        (of_root, 0)
    } else {
        (Area::Temp, own_length(call))
    }
}

/// Returns the bytes of `Temp` that this algorithm uses itself.
pub(crate) fn behind(call: &Call, of_root: Area) -> u64 {
    let has_all = call.is_root() || call.rank == call.leader_of(call.root);
    let (area, _) = all_blocks_place(call, of_root);
    let of_all = if has_all && area == Area::Temp {
        total(call)
    } else {
        0
    };
    own_length(call) + of_all
}

fn build_stages(call: &Call) -> Stages<'_, 5> {
    let temp = Places::behind(behind(call, Area::Recv));
    let all = all_blocks_place(call, Area::Recv);
    let own = match call.nodes().count() {
        1 => all,
        _ => (Area::Temp, 0),
    };
    let out = if relays(call) { own } else { (Area::Send, 0) };
    let among = Places {
        send: out,
        recv: all,
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
            ScheduleStage::Level(0, Places { recv: own, ..temp }),
            ScheduleStage::Level(1, among),
            ScheduleStage::Level(2, among),
            ScheduleStage::Message {
                source: call.leader_of(call.root),
                destination: call.root,
                out: part,
                into: part,
            },
            ScheduleStage::Steps(spread_out),
        ],
    }
}

/// Copies blocks in the order of the nodes to their places.
fn spread_out(call: &Call, steps: &mut dyn Steps) {
    if call.is_root() && !call.nodes().is_consecutive() {
        for (rank, from) in in_node_order(call, all_blocks_place(call, Area::Recv)) {
            let into = call.recv_block(rank);
            steps.copy(from, Part::recv(into.offset, into.length));
        }
    }
}

/// Returns the place of the block of each rank, from a byte of an area on, in the order of the
/// nodes.
pub(crate) fn in_node_order(
    call: &Call,
    (area, offset): (Area, u64),
) -> impl Iterator<Item = (u32, Part)> {
    let nodes = call.nodes();
    (0..call.size).map(move |rank| {
        let position = nodes.before(nodes.node(rank)) + nodes.rank_index(rank);
        let part = Part {
            area,
            offset: offset + u64::from(position) * call.bytes,
            length: call.bytes,
        };
        (rank, part)
    })
}
