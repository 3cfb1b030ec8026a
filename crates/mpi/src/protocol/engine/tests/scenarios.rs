//! E1, E2, M-8, M-14: the results of the search in small worlds, with each defect found.

use super::explorer::{Do, Ended, Report, World, explore};
use crate::Limits;
use crate::channel::Settings;
use crate::protocol::defect::ProtocolDefect;
use Do::{Cancel, Receive, Send, Synchronous};

/// Eager below 50 bytes; packets of 20, so that there are messages of one packet and of several.
pub(super) fn settings(buffers: u32, credits: u32, reserved: u32) -> Settings {
    Settings {
        phantom: true,
        acknowledged_ssend: true,
        limits: Some(Limits {
            packet: Some(20),
            buffers: Some(buffers),
            credits: Some(credits),
            reserved,
            ..Limits::NONE
        }),
        ..Settings::new(50)
    }
}

/// The search is exhaustive: a world with more states than this is too large for the search.
const STATES_MAX: usize = 100_000;

/// Checks that each receive of rank 1 has got the message of the send of rank 0 with its number.
pub(super) fn in_order([sent, received]: [&[Option<Ended>]; 2]) -> Option<String> {
    (sent != received).then(|| format!("sent {sent:?}, received {received:?}"))
}

pub(super) fn anything(_: [&[Option<Ended>]; 2]) -> Option<String> {
    None
}

#[track_caller]
fn right(what: &str, report: &Report) {
    assert!(report.fault.is_none(), "{what}: {report:#?}");
    assert!(!report.is_cut, "{what}: too many states");
    assert!(report.ends > 0, "{what}: nothing ever ends");
}

pub(super) const ONE_WAY: [&[Do]; 2] = [
    &[Send { tag: 1, length: 5 }, Send { tag: 1, length: 25 }],
    &[Receive { tag: Some(1) }, Receive { tag: None }],
];

/// A rendezvous of three packets.
pub(super) const LONG: [&[Do]; 2] = [&[Send { tag: 1, length: 60 }], &[Receive { tag: Some(1) }]];

/// E1: one sender, one receiver, with 1 to 3 buffers and 1 to 3 credits: every order of calls,
/// arrivals and ends of packets.
#[test]
fn e1_one_sender_and_one_receiver_in_every_order() {
    let mut all = 0;
    for buffers in 1..4 {
        for credits in 1..4 {
            for calls in [ONE_WAY, LONG] {
                let world = World::new(settings(buffers, credits, 1), calls, None);
                let report = explore(world, STATES_MAX, in_order);
                right(&format!("{buffers} buffers, {credits} credits"), &report);
                all += report.states;
            }
            let world = World::new(settings(buffers, credits, 2), LONG, None);
            right("two reserved", &explore(world, STATES_MAX, in_order));
        }
    }
    assert!(all > 1000, "only {all} states");
}

pub(super) const BOTH_WAYS: [&[Do]; 2] = [
    &[Send { tag: 1, length: 5 }, Receive { tag: Some(3) }],
    &[Send { tag: 3, length: 7 }, Receive { tag: Some(1) }],
];

/// E1: both send and then receive.
#[test]
fn e1_two_senders_in_every_order() {
    for (buffers, credits) in [(1, 1), (2, 2), (3, 3)] {
        let world = World::new(settings(buffers, credits, 1), BOTH_WAYS, None);
        right("both ways", &explore(world, STATES_MAX, anything));
    }
}

/// Both send twice and then receive twice.
pub(super) const CROSSING: [&[Do]; 2] = [&[
    Send { tag: 1, length: 5 },
    Send { tag: 1, length: 6 },
    Receive { tag: Some(1) },
    Receive { tag: Some(1) },
]; 2];

/// E2: without reserved buffers and credits, the known deadlock (M-8): each side holds its only
/// buffer for a packet that waits for a credit, and the update that would bring the credit needs a
/// buffer.
#[test]
fn e2_m8_without_reserved_buffers_the_deadlock_is_found() {
    let found = explore(
        World::new(settings(1, 1, 0), CROSSING, None),
        STATES_MAX,
        anything,
    );
    let (fault, path) = found.fault.expect("the deadlock");
    assert!(fault.starts_with("deadlock"), "{fault}");
    assert!(path.len() >= 4, "it takes a few steps: {path:?}");
    let report = explore(
        World::new(settings(1, 1, 1), CROSSING, None),
        30_000,
        anything,
    );
    // Too many states to see all of them; smaller worlds are searched whole.
    assert!(
        report.fault.is_none() && report.states > 10_000,
        "{report:?}"
    );
}

/// Rank 0 asks the first of two messages back; rank 1 receives twice.
const RACES: [[&[Do]; 2]; 2] = [
    [
        &[
            Send { tag: 1, length: 60 },
            Cancel(0),
            Send { tag: 1, length: 9 },
        ],
        &[Receive { tag: Some(1) }, Receive { tag: None }],
    ],
    [
        &[
            Synchronous { tag: 1, length: 5 },
            Cancel(0),
            Send { tag: 1, length: 9 },
        ],
        &[Receive { tag: None }, Receive { tag: Some(1) }],
    ],
];

/// Checks that the first message was received, or its send cancelled, and the second comes next.
fn one_winner([sent, received]: [&[Option<Ended>]; 2]) -> Option<String> {
    let length = |length| Some(Ended::Length(length));
    let expected = match sent[0] {
        Some(Ended::Cancelled) => [length(9), None],
        first => [first, length(9)],
    };
    (received != expected).then(|| format!("sent {sent:?}, received {received:?}"))
}

fn races(limited: bool, defect: Option<ProtocolDefect>) -> impl Iterator<Item = Report> {
    RACES.into_iter().map(move |calls| {
        let mut settings = settings(1, 1, 1);
        settings.limits = settings.limits.filter(|_| limited);
        let world = World::new(settings, calls, defect);
        explore(world.whose_receives_may_wait(), STATES_MAX, one_winner)
    })
}

/// M-14: in whatever order RTS, CTS, data, acknowledgement, request and response come.
#[test]
fn m14_a_cancelled_send_and_its_receive_agree_in_every_order() {
    for limited in [true, false] {
        for report in races(limited, None) {
            right("race", &report);
        }
    }
}

/// Each defect is found in a world in which the right machine is right.
#[test]
fn every_defect_is_found() {
    use ProtocolDefect as D;
    let one_way = |defect| {
        explore(
            World::new(settings(1, 2, 1), ONE_WAY, Some(defect)),
            STATES_MAX,
            in_order,
        )
    };
    let both = |defect| {
        explore(
            World::new(settings(1, 1, 1), BOTH_WAYS, Some(defect)),
            STATES_MAX,
            anything,
        )
    };
    let crossing = |defect| {
        explore(
            World::new(settings(1, 1, 1), CROSSING, Some(defect)),
            STATES_MAX,
            anything,
        )
    };
    for defect in [
        D::NoWakeOnBuffers,
        D::NoWakeOnCredits,
        D::BufferLost,
        D::CreditNotTaken,
        D::CreditTwice,
        D::NoUpdates,
    ] {
        let fault = one_way(defect).fault.or_else(|| both(defect).fault);
        assert!(fault.is_some(), "{defect:?} goes unnoticed");
    }
    let four: [&[Do]; 2] = [
        &[
            Send { tag: 1, length: 5 },
            Send { tag: 1, length: 6 },
            Send { tag: 1, length: 7 },
            Send { tag: 1, length: 8 },
        ],
        &[Receive { tag: None }; 4],
    ];
    let world = World::new(settings(1, 1, 0), four, Some(D::LatestFirst));
    let fault = explore(world, STATES_MAX, in_order).fault;
    assert!(fault.is_some(), "the latest first goes unnoticed");
    let fault = crossing(D::UpdatesNotReserved).fault;
    assert!(
        fault.is_some(),
        "updates without a reserved buffer go unnoticed"
    );
    for defect in [D::CancelKeepsMessage, D::CancelWithoutAnswer] {
        let faults = [true, false]
            .map(|limited| races(limited, Some(defect)).any(|report| report.fault.is_some()));
        assert_eq!(faults, [true, true], "{defect:?} goes unnoticed");
    }
}
