//! F1, F2, F3, F4 by two searches: the search of `explorer` through all states, and the model
//! checker, with the searches of `simrun check`.
//!
//! A completion belongs to the process that receives the completion. The success of a connect also
//! depends on the other process, which may have stopped listening: a connect touches both.

use std::collections::BTreeSet;

use explore::state_machines::{self, ModelBranch};
use explore::{Reduction, Statistics};

use super::super::*;
use super::explorer::{explore, fingerprint};
use super::scenarios::STATES_MAX;
use super::world::{Choice, Do, World};
use Do::{Close, Crash, Finalize, Send};

/// Returns the process of a choice, and the choice as a branch of this process.
fn branch(world: &World, choice: Choice) -> (usize, ModelBranch) {
    const PROGRAM: usize = 0;
    const LISTENER: usize = 1;
    const NOTICES: usize = 1 << 20;
    let process = |number: usize, side: usize| world.sockets[&number].sides[side].process;
    let on = |number: usize, kind: usize| 2 + number * 16 + kind;
    let (mut also, mut cause) = (None, None);
    let (at, name) = match choice {
        Choice::Step(at) => (at, PROGRAM),
        Choice::ListenerClosed(at) => (at, LISTENER),
        // The same connect, as it ends now.
        Choice::ConnectDone(number) | Choice::ConnectError(number) => {
            also = Some(process(number, 1));
            (process(number, 0), on(number, 0))
        }
        Choice::Accept(number) => {
            cause = Some(world.sockets[&number].reported_at);
            (process(number, 1), on(number, 1))
        }
        Choice::WriteDone(number, side) => (process(number, side), on(number, 2 + side)),
        Choice::Read(number, side) => {
            cause = Some(world.sockets[&number].sides[side].wire[0].1);
            (process(number, side), on(number, 4 + side))
        }
        Choice::Eof(number, side) => {
            let other = &world.sockets[&number].sides[1 - side];
            cause = Some(if other.closed {
                other.closed_at
            } else {
                world.processes[other.process].listener_closed_at
            });
            (process(number, side), on(number, 6 + side))
        }
        Choice::Closed(number, side) => (process(number, side), on(number, 8 + side)),
        // Where processes die, orders are not told apart by what depends on what: those worlds are
        // searched state by state.
        Choice::Notice(at, lost) => (at, NOTICES + lost),
    };
    let small = |number: usize| u32::try_from(number).unwrap();
    let branch = ModelBranch {
        number: small(name),
        also: also.map(small),
        cause: cause.map(|stamp| stamp.0),
    };
    (at, branch)
}

impl state_machines::StateMachineModel for World {
    fn processes(&self) -> u32 {
        u32::try_from(self.processes.len()).unwrap()
    }

    fn branches(&self, process: u32, into: &mut Vec<ModelBranch>) {
        let mut all = self.choices();
        if self.pair_by_pair {
            let first = all.iter().map(|&choice| self.pair(choice)).min();
            all.retain(|&choice| Some(self.pair(choice)) == first);
        }
        let all = all.into_iter();
        let all = all.map(|choice| branch(self, choice));
        let own = all.filter(|&(at, _)| at == process as usize);
        into.extend(own.map(|(_, branch)| branch));
    }

    fn execute_branch(&mut self, process: u32, number: u32, step: u32) -> Result<(), String> {
        self.now.0 = step;
        let is_it = |choice: &Choice| {
            let (at, branch) = branch(self, *choice);
            at == process as usize && branch.number == number
        };
        let choice = self.choices().into_iter().find(is_it);
        self.take(choice.expect("it was offered"));
        for process in &mut self.processes {
            process.connector.outputs.take_steps();
        }
        self.invariant().map_or(Ok(()), Err)
    }

    fn fingerprint(&self) -> Option<(u64, u64)> {
        Some(state(self))
    }
}

fn state(world: &World) -> (u64, u64) {
    if world.pair_by_pair {
        fingerprint(&world.renumbered())
    } else {
        fingerprint(world)
    }
}

fn world(programs: &[&[Do]], mutations: &[SeededDefect]) -> World {
    let mut world = World::new(programs, Settings::default(), mutations);
    world.own_numbers = true;
    world.slow_writes = mutations.contains(&SeededDefect::StateAfterSend);
    world
}

/// Searches a world class by class: the counts, the states at the ends, and the violation, if any.
fn search(world: World, executions_max: u64) -> (Statistics, BTreeSet<(u64, u64)>, Option<String>) {
    search_by(Reduction::Odpor, world, executions_max)
}

/// Searches a world state by state, which ends where there are too many classes.
fn search_states(world: World) -> (BTreeSet<(u64, u64)>, Option<String>) {
    let (statistics, ends, fault) = search_by(Reduction::States, world, u64::MAX);
    assert!(fault.is_some() || statistics.bounds.is_empty());
    (ends, fault)
}

fn search_by(
    reduction: Reduction,
    world: World,
    executions_max: u64,
) -> (Statistics, BTreeSet<(u64, u64)>, Option<String>) {
    let look = |world: &World| (state(world), world.at_the_end());
    testing::explored::search_world(world, reduction, executions_max, look)
}

/// F1: every combination of processes that connect, close and finalize. If at most one process
/// connects, or no process closes or finalizes, all classes are explored, and the ends are the ends
/// of the other search through all states. At every end a used pair has one connection (or none, if
/// it was closed), no message is lost or duplicated, all other sockets are closed and all counters
/// are 0: see [`World::at_the_end`]. Head-to-head with closes and ends has too many classes: only
/// the first classes are explored, and all states.
#[test]
fn f1_who_connects_closes_and_finalizes() {
    let (mut whole, mut parts, mut states) = (0, 0, 0);
    for mask in 0..1 << 6 {
        let does = |what: u32, process: usize| mask >> (2 * what) & 1 << process != 0;
        let program = |process: usize| {
            let peer = 1 - u32::try_from(process).unwrap();
            let steps = [Send(peer), Close(peer), Finalize];
            let steps = (0..).zip(steps);
            let done = steps.filter(|&(what, _)| does(what, process));
            done.map(|(_, step)| step).collect::<Vec<Do>>()
        };
        let programs = [program(0), program(1)];
        let programs: Vec<&[Do]> = programs.iter().map(Vec::as_slice).collect();
        let both_connect = does(0, 0) && does(0, 1);
        let executions_max = if both_connect { 200 } else { u64::MAX };
        let (statistics, ends, fault) = search(world(&programs, &[]), executions_max);
        assert_eq!(
            (fault, statistics.sleep_set_blocked),
            (None, 0),
            "{programs:?}"
        );
        let all = explore(world(&programs, &[]), STATES_MAX);
        all.assert_right(&format!("{programs:?}"));
        assert!(all.ends > 0, "{programs:?}: no end");
        states += all.states;
        if both_connect {
            parts += 1;
            let (ends, fault) = search_states(world(&programs, &[]));
            assert_eq!(fault, None, "{programs:?}");
            assert!(ends == all.end_states, "{programs:?}: other ends");
            continue;
        }
        assert!(statistics.bounds.is_empty(), "{programs:?}");
        assert!(ends == all.end_states, "{programs:?}: other ends");
        whole += 1;
    }
    assert_eq!((whole, parts), (48, 16));
    assert!(states > 10_000, "{states} states");
}

/// F1: both connect. 1620 classes, seven ends.
#[test]
fn f1_head_to_head_is_seen_whole() {
    let programs: &[&[Do]] = &[&[Send(1)], &[Send(0)]];
    let (statistics, ends, fault) = search(world(programs, &[]), u64::MAX);
    assert_eq!((fault, statistics.sleep_set_blocked), (None, 0));
    assert!(statistics.bounds.is_empty());
    assert!(ends == explore(world(programs, &[]), STATES_MAX).end_states);
    assert_eq!(ends.len(), 7);
}

/// F2, N-8, N-9, N-10, N-11, N-19: in worlds in which the right machine is right.
#[test]
fn f2_each_defect_is_found() {
    use SeededDefect as M;
    let cases: &[(&[M], &[&[Do]])] = &[
        (
            &[M::NoFinalizingFlag; 2],
            &[&[Finalize], &[Send(0), Close(0), Send(0)]],
        ),
        (
            &[M::NoDiscard; 2],
            &[&[Send(1), Finalize], &[Send(0), Finalize]],
        ),
        (
            &[M::NoRegistryClose; 2],
            &[&[Send(1), Finalize], &[Finalize]],
        ),
        (&[M::SwappedTie], &[&[Send(1)], &[Send(0)]]),
        (&[M::None, M::SwappedTie], &[&[Send(1)], &[Send(0)]]),
        (&[M::StateAfterSend; 2], &[&[Send(1), Close(1)], &[]]),
        (&[M::NoExpectation; 2], &[&[Send(1), Send(1)], &[Send(0)]]),
        (
            &[M::HastyDiscard; 2],
            &[&[Send(1), Close(1)], &[Send(0), Close(0)]],
        ),
    ];
    for &(mutations, programs) in cases {
        let (_, _, fault) = search(world(programs, mutations), 50_000);
        assert!(fault.is_some(), "{mutations:?} goes unnoticed");
        let (_, fault) = search_states(world(programs, mutations));
        assert!(
            fault.is_some(),
            "{mutations:?} goes unnoticed in all states"
        );
        let report = explore(world(programs, mutations), STATES_MAX);
        let states = report.states;
        assert!(
            report.violation.is_some(),
            "{mutations:?} goes unnoticed in {states} states"
        );
        let (_, fault) = search_states(world(programs, &[]));
        assert_eq!(fault, None, "without the defect");
        explore(world(programs, &[]), STATES_MAX).assert_right("without the defect");
    }
}

/// F3: three processes. A chain is seen whole; two head-to-heads at one process have too many
/// classes for that, see `scenarios`.
#[test]
fn f3_three_processes() {
    let chain: &[&[Do]] = &[&[Send(1)], &[Send(2)], &[]];
    let (statistics, ends, fault) = search(world(chain, &[]), u64::MAX);
    assert_eq!((fault, statistics.sleep_set_blocked), (None, 0));
    assert!(statistics.bounds.is_empty());
    assert!(ends == explore(world(chain, &[]), STATES_MAX).end_states);
    let crossing: &[&[Do]] = &[&[Send(1)], &[Send(0), Send(2)], &[Send(1)]];
    let (_, _, fault) = search(world(crossing, &[]), 200);
    assert_eq!(fault, None);
    // All three send before anything else happens, so that both pairs meet head-to-head.
    let met = || {
        let mut world = world(crossing, &[]);
        for process in [0, 1, 1, 2] {
            world.take(Choice::Step(process));
        }
        world
    };
    let (ends, fault) = search_states(met());
    assert_eq!(fault, None);
    let all = explore(met(), STATES_MAX);
    all.assert_right("two head-to-heads");
    assert!(ends == all.end_states);
}

/// Three processes that have all asked for connections to each other, and some of them for the
/// close, before any other event: all three pairs meet.
fn all_meet(closes: [bool; 3], mutations: &[SeededDefect]) -> World {
    let programs: Vec<Vec<Do>> = (0..3_u32)
        .map(|process| {
            let others = || (0..3).filter(move |&other| other != process);
            let close = others().filter(|_| closes[process as usize]).map(Close);
            others().map(Send).chain(close).collect()
        })
        .collect();
    let programs: Vec<&[Do]> = programs.iter().map(Vec::as_slice).collect();
    let mut world = world(&programs, mutations);
    world.pair_by_pair = true;
    for (process, program) in programs.iter().enumerate() {
        for _ in *program {
            world.take(Choice::Step(process));
        }
    }
    world
}

/// F3: all three pairs at once, with any closes. One pair has 134 states without closes, two have
/// 36 thousand, so three together have millions, which are too many. But the steps of different
/// pairs commute, which `pairs` checks in each visited state. So the search runs all states of one
/// pair after the other, and the ends equal the ends of that search.
#[test]
fn f3_all_pairs_meet() {
    for mask in 0..1 << 3 {
        let closes = [0, 1, 2].map(|process| mask >> process & 1 != 0);
        let all = super::pairs::explore(all_meet(closes, &[]), STATES_MAX);
        all.assert_right(&format!("{closes:?}"));
        let (ends, fault) = search_states(all_meet(closes, &[]));
        assert_eq!(fault, None, "{closes:?}");
        assert!(all.states > 200, "{closes:?}: {} states", all.states);
        assert!(!ends.is_empty() && ends == all.end_states, "{closes:?}");
    }
}

/// F3: defects that only one of the pairs has.
#[test]
fn f3_defects_of_one_pair_are_found() {
    use SeededDefect as M;
    for mutations in [
        [M::SwappedTieWith(1), M::None, M::None],
        [M::SwappedTieWith(2), M::None, M::None],
        [M::None, M::SwappedTieWith(2), M::None],
        [M::None, M::SwappedTieWith(0), M::None],
        [M::None, M::None, M::SwappedTieWith(1)],
        [M::NoDiscardTo(1), M::None, M::None],
        [M::NoDiscardTo(2), M::None, M::None],
        [M::None, M::NoDiscardTo(2), M::None],
    ] {
        let found = [[false; 3], [true; 3]].map(|closes| {
            let (_, fault) = search_states(all_meet(closes, &mutations));
            let report = super::pairs::explore(all_meet(closes, &mutations), STATES_MAX);
            let other = report.violation.map(|(what, _)| what);
            assert_eq!(fault.is_some(), other.is_some(), "{mutations:?}: {other:?}");
            let conflict = other.filter(|what| what.contains("commute"));
            assert_eq!(conflict, None, "{mutations:?}: found for another reason");
            fault
        });
        assert!(
            found.iter().any(Option::is_some),
            "{mutations:?} goes unnoticed"
        );
    }
}

/// F4: defects in the remaining state of a lost peer, while a third process continues.
#[test]
fn f4_defects_after_a_loss_are_found() {
    use SeededDefect as M;
    let cases: &[(M, &[&[Do]])] = &[
        (M::KeepsLostSockets, &[&[Send(1), Crash], &[Send(2)], &[]]),
        (M::KeepsLostSockets, &[&[], &[Send(0)], &[Send(1), Crash]]),
        (M::LeavesMoribund, &[&[Crash], &[Send(0), Send(0)], &[]]),
        (
            M::LeavesMoribund,
            &[&[Send(2)], &[Crash], &[Send(1), Send(1)]],
        ),
    ];
    for &(mutation, programs) in cases {
        let (ends, fault) = search_states(world(programs, &[]));
        assert_eq!(fault, None, "without the defect: {programs:?}");
        let all = explore(world(programs, &[]), STATES_MAX);
        all.assert_right(&format!("{programs:?}"));
        assert!(ends == all.end_states, "{programs:?}: other ends");
        let (_, fault) = search_states(world(programs, &[mutation; 3]));
        assert!(fault.is_some(), "{mutation:?} goes unnoticed: {programs:?}");
        let report = explore(world(programs, &[mutation; 3]), STATES_MAX);
        assert!(report.violation.is_some(), "{mutation:?}: {programs:?}");
    }
}

/// F4: a process dies at any instant of the steps of the others. The others are told of the loss,
/// or see the loss first.
#[test]
fn f4_one_is_lost() {
    for programs in [
        &[&[Send(1), Crash] as &[Do], &[Send(0)]] as &[&[Do]],
        &[&[Send(1), Crash], &[Send(0), Finalize]],
        &[&[Send(1), Close(1), Crash], &[Send(0), Close(0)]],
        &[&[Send(1)], &[Crash]],
    ] {
        let (ends, fault) = search_states(world(programs, &[]));
        assert_eq!(fault, None, "{programs:?}");
        let all = explore(world(programs, &[]), STATES_MAX);
        all.assert_right(&format!("{programs:?}"));
        assert!(ends == all.end_states, "{programs:?}: other ends");
    }
}
