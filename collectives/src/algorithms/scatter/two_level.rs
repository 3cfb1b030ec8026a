//! Scatter of two levels: the root sends all blocks to the leader of its node, the leaders scatter
//! them by nodes, and each leader to the ranks of its node.
//!
//! If the ranks of each node are not consecutive, the root first copies the blocks to the order of
//! the nodes.
//!
//! Source: SMPI, `scatter-mvapich-two-level.cpp`.

use std::rc::Rc;

use crate::algorithms::gather::two_level::node_blocks;
use crate::levels::{Group, Level, Stage, Stages};
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
    temp: |call| behind(call).max(stages(call).temp()),
    rounds: |call| stages(call).rounds(),
    round: |call, round, steps| stages(call).round(round, steps),
    ..Algorithm::BASE
};

const LEVELS: &[Level] = &[
    Level {
        group: Group::Leaders,
        collective: Collective::Scatter,
        call: |call| among_leaders(call, Collective::Scatter),
    },
    Level {
        group: Group::Leaders,
        collective: Collective::Scatterv,
        call: |call| among_leaders(call, Collective::Scatterv),
    },
    Level {
        group: Group::Node,
        collective: Collective::Scatter,
        call: |call| call.of_group(Group::Node, Collective::Scatter, call.bytes),
    },
];

/// Returns the call of the leaders: with blocks of different lengths if the nodes have different
/// numbers of ranks.
fn among_leaders(call: &Call, kind: Collective) -> Option<Call> {
    let nodes = call.nodes();
    if nodes.is_uniform() != (kind == Collective::Scatter) {
        return None;
    }
    let bytes = u64::from(nodes.size(call.node())) * call.bytes;
    let mut leaders = call.of_group(Group::Leaders, kind, bytes)?;
    leaders.root = nodes.node(call.root);
    if kind == Collective::Scatterv && leaders.is_root() {
        leaders.blocks = Some(Rc::new(Blocks {
            send: node_blocks(call).collect(),
            ..Blocks::default()
        }));
    }
    Some(leaders)
}

fn total(call: &Call) -> u64 {
    u64::from(call.size) * call.bytes
}

/// Returns true if the leader gets the blocks of its node in `Temp`.
fn relays(call: &Call) -> bool {
    let nodes = call.nodes();
    call.is_leader() && nodes.count() > 1 && nodes.size(call.node()) > 1
}

/// Returns the bytes of `Temp` with the blocks of the own node.
fn own_length(call: &Call) -> u64 {
    if relays(call) {
        u64::from(call.nodes().size(call.node())) * call.bytes
    } else {
        0
    }
}

/// Returns the place of all blocks, in the order of the nodes.
fn all(call: &Call) -> (Area, u64) {
    if call.is_root() && call.nodes().is_consecutive() {
        (Area::Send, 0)
    } else {
        (Area::Temp, own_length(call))
    }
}

/// Returns the bytes of `Temp` that this algorithm uses itself.
fn behind(call: &Call) -> u64 {
    let has_all = call.is_root() || call.rank == call.leader_of(call.root);
    let (area, _) = all(call);
    let of_all = if has_all && area == Area::Temp {
        total(call)
    } else {
        0
    };
    own_length(call) + of_all
}

fn stages(call: &Call) -> Stages<'_, 5> {
    let temp = Places::behind(behind(call));
    let all = all(call);
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
            Stage::Steps(collect),
            Stage::Message {
                source: call.root,
                destination: call.leader_of(call.root),
                out: part,
                into: part,
            },
            Stage::Level(0, among),
            Stage::Level(1, among),
            Stage::Level(2, Places { send: own, ..temp }),
        ],
    }
}

/// Copies the blocks to the order of the nodes.
fn collect(call: &Call, steps: &mut dyn Steps) {
    let nodes = call.nodes();
    if !call.is_root() || nodes.is_consecutive() {
        return;
    }
    let (area, offset) = all(call);
    for rank in 0..call.size {
        let position = nodes.before(nodes.node(rank)) + nodes.index(rank);
        let into = Part {
            area,
            offset: offset + u64::from(position) * call.bytes,
            length: call.bytes,
        };
        let block = call.send_block(rank);
        steps.copy(Part::send(block.offset, block.length), into);
    }
}
