//! Promise: hierarchical algorithms compute the results of the operation for all placements of
//! ranks on nodes, with the algorithms of any selector at their levels, and send one message
//! between a pair of nodes if their description says so.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use crate::common;
use crate::common::{Reduce, add, compose};
use collectives::{
    Algorithm, Call, Collective, Facts, Group, Nodes, Plan, Plans, Selector, find, messages, named,
};

/// Hosts of ranks: blocks, uneven blocks, in turn, and in disorder.
fn placements() -> Vec<Vec<u32>> {
    let mut all: Vec<Vec<u32>> = vec![
        vec![0, 0],
        vec![4, 4, 4, 4, 4],
        vec![0, 0, 0, 1],
        vec![0, 1, 1],
        vec![2, 1, 2, 1, 2],
        vec![3, 0, 0, 3, 3, 7, 7, 0, 3],
    ];
    for (size, each) in [(4, 2), (8, 2), (8, 4), (9, 3), (11, 4), (16, 4), (24, 3)] {
        all.push((0..size).map(|rank| rank / each).collect());
        all.push((0..size).map(|rank| rank % each).collect());
    }
    let mut state = 7_u32;
    for size in [5, 10, 13, 19] {
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state >> 24
        };
        all.push((0..size).map(|_| next() % 4).collect());
    }
    all
}

const SELECTORS: [&str; 5] = ["ours", "mpich", "openmpi-4.1", "smpi-default", "mvapich2"];

/// Returns the calls of all ranks with the algorithm, and with the algorithms of a selector at the
/// levels; `None` if the algorithm cannot execute the calls.
fn calls(algorithm: &'static Algorithm, selector: &Selector, first: &Call) -> Option<Vec<Call>> {
    let facts = Facts::from_nodes(first.nodes.as_ref());
    let call = |rank| {
        let mut call = Call {
            rank,
            ..first.clone()
        };
        let found = selector.select(&mut call, facts).ok();
        found.filter(|found| found.name == algorithm.name)?;
        Some(call)
    };
    (0..first.size).map(call).collect()
}

fn hierarchical() -> impl Iterator<Item = (Collective, &'static Algorithm)> {
    let kinds = Collective::ALL.into_iter();
    let all = kinds.flat_map(|kind| named(kind).map(move |algorithm| (kind, algorithm)));
    all.filter(|(_, algorithm)| (algorithm.levels.iter()).any(|level| level.group != Group::All))
}

fn check(
    kind: Collective,
    algorithm: &'static Algorithm,
    selector: &Selector,
    hosts: &[u32],
) -> u32 {
    let size = u32::try_from(hosts.len()).unwrap();
    let nodes = Nodes::from_hosts(hosts);
    let mut executed = 0;
    let roots = match kind.has_root() {
        true => vec![0, size / 2, size - 1],
        false => vec![0],
    };
    for root in roots {
        for (reduce, commutative) in [(add as Reduce, true), (compose, false)] {
            for bytes in [0, 8, 808] {
                let mut first = Call::new(kind, 0, size, bytes);
                (first.root, first.commutative, first.element) = (root, commutative, 8);
                first.nodes = Some(nodes.clone());
                let Some(calls) = calls(algorithm, selector, &first) else {
                    continue;
                };
                executed += 1;
                common::check(algorithm, &calls, reduce);
            }
        }
    }
    executed
}

#[test]
fn results_are_those_of_the_operation_on_all_placements() {
    for (kind, algorithm) in hierarchical() {
        let mut executed = 0;
        for (hosts, name) in placements().iter().zip(SELECTORS.iter().cycle()) {
            let mut selector = Selector::built_in(name).unwrap().clone();
            // Four pieces of 256 bytes.
            selector.force(kind, algorithm.name, 256, 0).unwrap();
            executed += check(kind, algorithm, &selector, hosts);
        }
        assert!(executed >= 60, "{kind} by {}: {executed}", algorithm.name);
    }
}

/// The lanes of a level end before the next level begins.
#[test]
fn a_level_has_lanes() {
    let plan = |kind, name| Plan {
        algorithm: find(kind, name).unwrap(),
        segment: 16,
        radix: 0,
        parts: [None; 5],
        levels: None,
    };
    let mut levels = Plans::default();
    levels[0] = Some(plan(Collective::Reduce, "pipeline"));
    levels[1] = Some(plan(Collective::Allreduce, "double_tree"));
    levels[2] = Some(plan(Collective::Bcast, "pipeline"));
    for hosts in placements() {
        let (size, nodes) = (
            u32::try_from(hosts.len()).unwrap(),
            Nodes::from_hosts(&hosts),
        );
        for name in ["two_level", "two_level_pipelined"] {
            let algorithm = find(Collective::Allreduce, name).unwrap();
            let call = |rank| Call {
                element: 8,
                segment: 400,
                nodes: Some(nodes.clone()),
                levels: Some(levels.clone().into()),
                ..Call::new(Collective::Allreduce, rank, size, 808)
            };
            let calls: Vec<Call> = (0..size).map(call).collect();
            assert!(nodes.count() == 1 || (algorithm.lanes)(&calls[0]) == 4);
            common::check(algorithm, &calls, add);
        }
    }
}

/// Counts the messages between nodes, and the messages within nodes, for four nodes with eight
/// ranks each.
fn count(kind: Collective, name: &str, root: u32) -> (usize, usize) {
    let nodes = Nodes::blocks(32, 8);
    let bytes = if kind == Collective::Barrier { 0 } else { 64 };
    let mut selector = Selector::built_in("mpich").unwrap().clone();
    selector.force(kind, name, 0, 0).unwrap();
    let (mut between, mut within) = (0, 0);
    for rank in 0..32 {
        let mut call = Call::new(kind, rank, 32, bytes);
        (call.root, call.nodes) = (root, Some(nodes.clone()));
        let facts = Facts::from_nodes(call.nodes.as_ref());
        let algorithm = selector.select(&mut call, facts).unwrap();
        assert_eq!(algorithm.name, name);
        for message in messages(algorithm, &call) {
            let [from, to] = [message.source, message.destination].map(|rank| nodes.node(rank));
            *(if from == to {
                &mut within
            } else {
                &mut between
            }) += 1;
        }
    }
    (between, within)
}

#[test]
fn messages_between_nodes_are_those_of_the_leaders() {
    for (kind, name, root, expected) in [
        // Trees have one message for each rank but their root.
        (Collective::Bcast, "two_level", 0, (3, 28)),
        (Collective::Reduce, "two_level", 0, (3, 28)),
        // Rank 9 is not the leader of its node.
        (Collective::Bcast, "two_level", 9, (3, 29)),
        (Collective::Reduce, "two_level", 9, (3, 29)),
        (Collective::Gather, "two_level", 9, (3, 29)),
        (Collective::Scatter, "two_level", 9, (3, 29)),
        // To rank 0 from another node.
        (Collective::Bcast, "two_level_rank_0", 9, (4, 28)),
        // Recursive doubling of four leaders.
        (Collective::Allreduce, "two_level", 0, (8, 56)),
        (Collective::Allgather, "two_level", 0, (8, 56)),
        // Dissemination of eight ranks takes three rounds; then a broadcast.
        (Collective::Barrier, "two_level", 0, (8, 4 * (24 + 7))),
    ] {
        assert_eq!(count(kind, name, root), expected, "{kind} by {name}");
    }
}

#[test]
fn one_rank_on_each_node_takes_the_flat_algorithm() {
    for (kind, algorithm) in hierarchical() {
        let mut selector = Selector::ours().clone();
        selector.force(kind, algorithm.name, 0, 0).unwrap();
        let mut call = Call::new(kind, 0, 8, 64);
        let found = selector.select(&mut call, Facts::default()).unwrap();
        assert_eq!(found.name, algorithm.fallback);
    }
}
