//! E1, E2 once more, by the model checker: the same worlds, the same machines, the searches of
//! `simrun check`.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use explore::{End, Observer, Options, Reduction, Run, Statistics, state_machines};

use super::explorer::{Check, Do, World, explore};
use super::scenarios::{BOTH_WAYS, CROSSING, LONG, ONE_WAY, anything, in_order, settings};
use crate::protocol::defect::ProtocolDefect;

struct Ends {
    world: state_machines::Shared<World>,
    check: Check,
    states: BTreeSet<u128>,
    fault: Option<String>,
}

impl Observer for Ends {
    fn look(&mut self, run: &Run<'_>) -> ControlFlow<()> {
        if run.end == End::Failed {
            let failure = &run.stepper.failures()[0];
            self.fault = Some(failure.message.clone());
        } else {
            let check = self.check;
            self.states.insert(self.world.with(World::fingerprint));
            self.fault = self.world.with(|world| world.fault_at_the_end(check));
        }
        if self.fault.is_some() {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    }

    fn forget(&mut self) {
        self.states.clear();
    }
}

/// Searches a world: the counts, the states at the ends, and what is wrong.
fn bounded(
    world: World,
    check: Check,
    reduction: Reduction,
    executions_max: u64,
) -> (Statistics, BTreeSet<u128>, Option<String>) {
    let (mut stepper, shared) = state_machines::stepper(move || world.clone());
    let mut ends = Ends {
        world: shared,
        check,
        states: BTreeSet::new(),
        fault: None,
    };
    let options = Options {
        reduction,
        executions_max,
        ..Options::default()
    };
    let (statistics, broken) = explore::explore(&mut stepper, &options, &mut ends);
    assert_eq!(broken, None);
    (statistics, ends.states, ends.fault)
}

use Do::{Receive, Send};

/// All of a world.
fn search(
    world: World,
    check: Check,
    reduction: Reduction,
) -> (Statistics, BTreeSet<u128>, Option<String>) {
    bounded(world, check, reduction, u64::MAX)
}

/// One message of two eager packets.
const EAGER: [&[Do]; 2] = [&[Send { tag: 1, length: 25 }], &[Receive { tag: Some(1) }]];

/// E1 with 1 to 3 buffers and 1 to 3 credits: nothing is wrong in any class of orders, and the ends
/// are those of the search through all states.
#[test]
fn e1_the_model_checker_sees_what_the_search_through_all_states_sees() {
    for buffers in 1..4 {
        for credits in 1..4 {
            // With one credit there are millions of classes where both send.
            let worlds = [EAGER, LONG, BOTH_WAYS];
            let worlds = &worlds[..if credits > 1 { 3 } else { 2 }];
            for &calls in worlds {
                let make = || World::new(settings(buffers, credits, 1), calls, None);
                let check = if calls == BOTH_WAYS {
                    anything
                } else {
                    in_order
                };
                let what = format!("{buffers} buffers, {credits} credits, {calls:?}");
                let (statistics, ends, fault) = search(make(), check, Reduction::Odpor);
                let all = explore(make(), 100_000, check);
                assert_eq!((&fault, &all.fault), (&None, &None), "{what}");
                assert!(statistics.bounds.is_empty(), "{what}");
                assert_eq!(statistics.sleep_set_blocked, 0, "{what}");
                assert_eq!(ends, all.end_states, "{what}");
            }
        }
    }
}

/// The reductions agree with brute force: one rendezvous with plenty of everything.
#[test]
fn e1_the_searches_agree() {
    let make = || World::new(settings(3, 3, 1), EAGER, None);
    let (judge, ends, _) = search(make(), in_order, Reduction::Sleep);
    for reduction in [Reduction::Sdpor, Reduction::Odpor] {
        let (statistics, same, fault) = search(make(), in_order, reduction);
        assert_eq!((same, fault), (ends.clone(), None), "{reduction:?}");
        assert!(statistics.executions <= judge.executions, "{reduction:?}");
    }
}

/// E2: without reserved buffers and credits.
#[test]
fn e2_m8_the_model_checker_finds_the_deadlock() {
    let world = World::new(settings(1, 1, 0), CROSSING, None);
    let (_, _, fault) = search(world, anything, Reduction::Odpor);
    let fault = fault.expect("the deadlock");
    assert!(fault.starts_with("deadlock"), "{fault}");
}

/// Each defect of flow control is found in a world in which the right machine is right.
#[test]
fn every_defect_of_flow_control_is_found() {
    use ProtocolDefect as D;
    for (defect, credits, calls, check) in [
        (D::NoWakeOnBuffers, 2, ONE_WAY, in_order as Check),
        (D::NoWakeOnCredits, 2, ONE_WAY, in_order),
        (D::BufferLost, 2, ONE_WAY, in_order),
        (D::CreditNotTaken, 2, ONE_WAY, in_order),
        (D::CreditTwice, 2, ONE_WAY, in_order),
        (D::NoUpdates, 2, ONE_WAY, in_order),
        (D::UpdatesNotReserved, 1, CROSSING, anything),
    ] {
        let world = World::new(settings(1, credits, 1), calls, Some(defect));
        let mut fault = bounded(world, check, Reduction::Odpor, 500).2;
        if fault.is_none() {
            let world = World::new(settings(1, 1, 1), BOTH_WAYS, Some(defect));
            fault = search(world, anything, Reduction::Odpor).2;
        }
        assert!(fault.is_some(), "{defect:?} goes unnoticed");
    }
}
