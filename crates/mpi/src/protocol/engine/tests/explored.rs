//! E1, E2 once more, by the model checker: the same worlds, the same machines, the searches of
//! `simrun check`.

use std::collections::BTreeSet;

use explore::{Reduction, Statistics};

use super::explorer::{Check, Do, World, explore};
use super::scenarios::{BOTH_WAYS, CROSSING, LONG, ONE_WAY, anything, in_order, settings};
use crate::protocol::defect::ProtocolDefect;

/// Searches a world: the counts, the states at the ends, and the fault, if any.
fn bounded(
    world: World,
    check: Check,
    reduction: Reduction,
    executions_max: u64,
) -> (Statistics, BTreeSet<u128>, Option<String>) {
    let look = |world: &World| (world.fingerprint(), world.fault_at_the_end(check));
    testing::explored::search_world(world, reduction, executions_max, look)
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

/// E1 with 1 to 3 buffers and 1 to 3 credits: no class of orders has a fault, and the ends are the
/// ends of the search through all states.
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
