//! N-17: the limit of descriptors, with the connection closed that was idle longest.

use std::collections::BTreeSet;

use super::super::*;
use super::explorer::{explore, walk};
use super::requirements::CONNECTS;
use super::scenarios::STATES_MAX;
use super::world::{Do, World, member};
use Do::{Finalize, Send};

fn limited(descriptors: u32, at_limit: AtLimit) -> Settings {
    Settings {
        descriptors: Some(descriptors),
        at_limit,
        answer: CloseAckPolicy::WhenDrained,
    }
}

/// Returns the leaf of a star to which the hub closes its connection to make room for a fourth one,
/// after the hub has sent to the other three leaves in this order.
fn victim(order: [u32; 3]) -> Option<u32> {
    let cards = (0..5).map(|rank| (rank, rank.to_string()));
    let mut hub = Connector::new(Group::new("world", 5, cards), 0, limited(3, AtLimit::Wait));
    for (date, rank) in (0..).zip(order) {
        hub.send(f64::from(date), member(rank), 1);
        let Some(Output::Connect { connection, .. }) = hub.poll() else {
            panic!("it connects");
        };
        for input in CONNECTS {
            hub.handle(f64::from(date), connection, input);
        }
        while hub.poll().is_some() {}
    }
    hub.send(9.0, member(4), 1);
    let closing = |rank: &u32| {
        hub.state(member(*rank)) == virtual_connection::VirtualConnectionState::LocalClose
    };
    (1..4).find(closing)
}

#[test]
fn n17_the_one_that_was_idle_longest_is_closed() {
    assert_eq!(victim([1, 2, 3]), Some(1));
    assert_eq!(victim([3, 1, 2]), Some(3));
    assert_eq!(victim([2, 3, 1]), Some(2));
}

#[test]
fn n17_a_chain_with_one_descriptor_each() {
    let programs: &[&[Do]] = &[&[Send(1), Send(2)], &[], &[]];
    explore(
        World::new(programs, limited(1, AtLimit::Wait), &[]),
        STATES_MAX,
    )
    .assert_right("chain");
}

#[test]
fn n17_three_processes_with_one_descriptor_each() {
    let programs: &[&[Do]] = &[
        &[Send(1), Send(2), Send(1), Send(2)],
        &[Send(2), Send(0), Send(2), Send(0)],
        &[Send(0), Send(1), Send(0), Send(1)],
    ];
    for seed in 0..1000 {
        let world = World::new(programs, limited(1, AtLimit::Wait), &[]);
        if let Err(violation) = walk(world, seed) {
            panic!("seed {seed}: {violation}");
        }
    }
    let programs: Vec<Vec<Do>> = programs
        .iter()
        .map(|p| [p, &[Finalize][..]].concat())
        .collect();
    let programs: Vec<&[Do]> = programs.iter().map(Vec::as_slice).collect();
    for seed in 0..1000 {
        let world = World::new(&programs, limited(1, AtLimit::Wait), &[]);
        if let Err(violation) = walk(world, seed) {
            panic!("seed {seed}: {violation}");
        }
    }
}

/// Sends without a descriptor fail and do not wait: in every order, and with an end of the process
/// at any instant.
pub(super) fn without_descriptors() -> BTreeSet<TakenRow> {
    let programs: &[&[Do]] = &[
        &[Send(1), Send(2), Send(1), Finalize],
        &[Finalize],
        &[Finalize],
    ];
    let world = World::new(programs, limited(1, AtLimit::Fail), &[]);
    let report = explore(world, STATES_MAX);
    report.assert_right("no descriptor");
    report.steps
}

#[test]
fn n17_without_an_idle_connection_the_send_fails_if_wanted() {
    let cards = (0..3).map(|rank| (rank, rank.to_string()));
    let group = Group::new("world", 3, cards);
    let mut process = Connector::new(group, 0, limited(1, AtLimit::Fail));
    process.send(0.0, member(1), 7);
    process.send(0.0, member(2), 8);
    let outputs: Vec<Output> = std::iter::from_fn(|| process.poll()).collect();
    let failed = Output::Failed {
        peer: member(2),
        packet: 8,
        why: Failure::NoDescriptor,
    };
    assert_eq!(outputs.last(), Some(&failed));
}

#[test]
fn n17_connections_idle_for_long_are_closed_on_request() {
    let cards = (0..2).map(|rank| (rank, rank.to_string()));
    let mut process = Connector::new(Group::new("world", 2, cards), 0, Settings::default());
    process.send(1.0, member(1), 7);
    for input in CONNECTS {
        process.handle(1.0, 0, input);
    }
    process.close_unreferenced(1.5, 0.5);
    assert_eq!(
        process.state(member(1)),
        virtual_connection::VirtualConnectionState::Active
    );
    process.close_unreferenced(2.0, 1.0);
    assert_eq!(
        process.state(member(1)),
        virtual_connection::VirtualConnectionState::LocalClose
    );
}
