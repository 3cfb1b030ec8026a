//! F1, F3, F4, F5: all interleavings of two processes, and long walks by chance. Products of
//! programs and three processes are in `explored`, which searches them in two ways.

use std::collections::BTreeSet;

use super::super::*;
use super::explorer::{explore, walk};
use super::world::{Do, World};
use Do::{Close, Crash, Finalize, Send};

/// More states than any scenario here has.
pub(super) const STATES_MAX: usize = 60_000;

type Programs = &'static [&'static [Do]];

/// No process, one or both connect; no process, one or both close; finalize at any instant.
const TWO: &[(&str, Programs)] = &[
    ("nobody", &[&[], &[]]),
    ("nobody, finalize", &[&[Finalize], &[Finalize]]),
    ("the smaller", &[&[Send(1), Send(1)], &[]]),
    ("the larger", &[&[], &[Send(0), Send(0)]]),
    ("both", &[&[Send(1)], &[Send(0)]]),
    ("the smaller, closes", &[&[Send(1), Close(1)], &[]]),
    ("the larger, the smaller closes", &[&[Close(1)], &[Send(0)]]),
    ("both, one closes", &[&[Send(1), Close(1)], &[Send(0)]]),
    (
        "both, both close",
        &[&[Send(1), Close(1)], &[Send(0), Close(0)]],
    ),
    ("one, finalize", &[&[Send(1), Finalize], &[Finalize]]),
    ("the other, finalize", &[&[Finalize], &[Send(0), Finalize]]),
    (
        "both, finalize",
        &[&[Send(1), Finalize], &[Send(0), Finalize]],
    ),
    ("both, one finalizes", &[&[Send(1), Finalize], &[Send(0)]]),
    (
        "the smaller again",
        &[&[Send(1), Close(1), Send(1)], &[Close(0)]],
    ),
    (
        "the larger again, finalize",
        &[&[Finalize], &[Send(0), Close(0), Send(0), Finalize]],
    ),
];

/// The same with the loss of a process at any instant.
const LOSS: &[(&str, Programs)] = &[
    ("the peer before use", &[&[Send(1), Finalize], &[Crash]]),
    (
        "the peer of one",
        &[&[Send(1), Send(1), Close(1)], &[Crash]],
    ),
    ("who asks", &[&[Send(1), Crash], &[]]),
    ("the larger", &[&[Send(1), Finalize], &[Send(0), Crash]]),
    ("the smaller", &[&[Send(1), Crash], &[Send(0), Finalize]]),
    (
        "while closing",
        &[&[Send(1), Close(1), Send(1)], &[Close(0), Crash]],
    ),
];

/// The program answers a close, and not the protocol.
const ANSWERED: &[(&str, Programs)] = &[
    ("both close", &[&[Send(1), Close(1)], &[Send(0), Close(0)]]),
    (
        "one closes and is lost",
        &[&[Send(1), Close(1), Crash], &[Send(0), Close(0)]],
    ),
];

fn answered(world: &mut World) {
    let settings = Settings {
        answer: CloseAckPolicy::WhenClosed,
        ..Settings::default()
    };
    for process in &mut world.processes {
        process.connector.settings = settings;
    }
}

fn world(programs: Programs) -> World {
    World::new(programs, Settings::default(), &[])
}

/// Explores all scenarios; the rows that were taken.
fn check(scenarios: &[(&str, Programs)], change: fn(&mut World)) -> BTreeSet<TakenRow> {
    let mut steps = BTreeSet::new();
    for (name, programs) in scenarios {
        let mut world = world(programs);
        change(&mut world);
        let report = explore(world, STATES_MAX);
        report.assert_right(name);
        assert!(report.ends > 0, "{name}: no end");
        steps.extend(report.steps);
    }
    steps
}

/// Rows that need features which these worlds lack: ports, an unknown group, a process that was
/// told of a loss while it shuts down. `requirements` tests these rows one by one.
pub(super) const ELSEWHERE: &[(socket::ConnectionState, socket::ConnectionEvent)] = &[
    (
        socket::ConnectionState::Unconnected,
        socket::ConnectionEvent::OpenPort,
    ),
    (
        socket::ConnectionState::ConnectAccept,
        socket::ConnectionEvent::ConnectDone,
    ),
    (
        socket::ConnectionState::ConnectAccept,
        socket::ConnectionEvent::ConnectError,
    ),
    (
        socket::ConnectionState::ConnectAccept,
        socket::ConnectionEvent::Eof,
    ),
    (
        socket::ConnectionState::OpenLRecvPkt,
        socket::ConnectionEvent::ConnAccept,
    ),
    (
        socket::ConnectionState::OpenLSend,
        socket::ConnectionEvent::Terminate,
    ),
    (
        socket::ConnectionState::Closing,
        socket::ConnectionEvent::ConnectDone,
    ),
    (
        socket::ConnectionState::Closing,
        socket::ConnectionEvent::OpenReq,
    ),
    (
        socket::ConnectionState::Closing,
        socket::ConnectionEvent::ConnAccept,
    ),
    (
        socket::ConnectionState::Closing,
        socket::ConnectionEvent::Group,
    ),
];

/// F1, F2 (coverage), F4: every interleaving is right, and every transition is taken.
#[test]
fn f1_f4_every_interleaving_of_two_is_right_and_takes_every_row() {
    let mut taken = check(TWO, |_| {});
    taken.extend(check(&TWO[..10], |world| world.slow_writes = true));
    taken.extend(check(LOSS, |_| {}));
    taken.extend(check(&LOSS[..4], |world| world.lossy = true));
    taken.extend(check(&LOSS[..3], |world| world.slow_writes = true));
    taken.extend(check(ANSWERED, answered));
    taken.extend(super::limits::without_descriptors());
    let mut missing = Vec::new();
    for (number, row) in socket::TABLE.rows.iter().enumerate() {
        let is_here = taken.contains(&TakenRow::Connection(number));
        let unknown = row.guard == socket::Guard::Is(Verdict::Unknown);
        if !is_here && !unknown && !ELSEWHERE.contains(&(row.from, row.event)) {
            missing.push(format!("{row:?}"));
        }
    }
    for (number, row) in virtual_connection::TABLE.rows.iter().enumerate() {
        if !taken.contains(&TakenRow::Virtual(number)) {
            missing.push(format!("{row:?}"));
        }
    }
    assert!(missing.is_empty(), "never taken:\n{}", missing.join("\n"));
}

/// F3: all three pairs at once, with closes, reopening and finalize, by chance.
#[test]
fn f3_three_processes_all_head_to_head() {
    let programs: [Programs; 3] = [
        &[
            &[Send(1), Send(2)],
            &[Send(0), Send(2)],
            &[Send(0), Send(1)],
        ],
        &[
            &[Send(1), Send(2), Close(1), Send(1), Finalize],
            &[Send(0), Send(2), Close(0), Close(2), Send(2), Finalize],
            &[Send(0), Send(1), Close(0), Send(0), Send(1), Finalize],
        ],
        &[
            &[Send(1), Send(2), Send(1), Finalize],
            &[Send(2), Send(0), Crash],
            &[Send(0), Send(1), Close(1), Send(0), Finalize],
        ],
    ];
    for programs in programs {
        for seed in 0..1500 {
            let mut world = world(programs);
            world.slow_writes = seed % 2 == 0;
            if let Err(violation) = walk(world, seed) {
                panic!("seed {seed}: {violation}");
            }
        }
    }
}

/// F5, N-15: a thousand times connected, closed by either side or both, and connected again.
#[test]
fn f5_n15_disconnect_and_reconnect_a_thousand_times() {
    for (first, second) in [
        (&[Send(1), Close(1)][..], &[][..]),
        (&[Send(1), Close(1)], &[Send(0), Close(0)]),
        (&[Send(1), Close(1)], &[Send(0)]),
    ] {
        let mut programs = [first.repeat(1000), second.repeat(1000)];
        for program in &mut programs {
            program.push(Finalize);
        }
        // Finalize does not cut the peer's sends off: it comes last at the process that only
        // receives.
        if second.is_empty() {
            programs[1].pop();
        }
        let programs: Vec<&[Do]> = programs.iter().map(Vec::as_slice).collect();
        let world = World::new(&programs, Settings::default(), &[]);
        if let Err(violation) = walk(world, 7) {
            panic!("{violation}");
        }
    }
}
