//! F2: each defect of the list is found, in a world in which the right machine is right.

use super::super::*;
use super::explorer::{Report, explore};
use super::scenarios::STATES_MAX;
use super::world::{Do, World};
use Do::{Close, Finalize, Send};

fn run(programs: &[&[Do]], mutations: &[SeededDefect]) -> Report {
    let mut world = World::new(programs, Settings::default(), mutations);
    world.slow_writes = mutations.contains(&SeededDefect::StateAfterSend);
    explore(world, STATES_MAX)
}

#[track_caller]
fn is_found(mutations: &[SeededDefect], programs: &[&[Do]]) {
    run(programs, &[]).assert_right("without the defect");
    let report = run(programs, mutations);
    assert!(
        report.violation.is_some(),
        "{mutations:?} goes unnoticed in {} states",
        report.states
    );
}

#[test]
fn f2_n8_without_the_finalizing_flag() {
    let all = [SeededDefect::NoFinalizingFlag; 2];
    is_found(&all, &[&[Finalize], &[Send(0), Close(0), Send(0)]]);
}

#[test]
fn f2_n10_without_discard() {
    is_found(
        &[SeededDefect::NoDiscard; 2],
        &[&[Send(1), Finalize], &[Send(0), Finalize]],
    );
}

#[test]
fn f2_n9_without_the_registry_close() {
    is_found(
        &[SeededDefect::NoRegistryClose; 2],
        &[&[Send(1), Finalize], &[Finalize]],
    );
}

#[test]
fn f2_with_the_tie_rule_swapped_on_one_side() {
    is_found(&[SeededDefect::SwappedTie], &[&[Send(1)], &[Send(0)]]);
    is_found(
        &[SeededDefect::None, SeededDefect::SwappedTie],
        &[&[Send(1)], &[Send(0)]],
    );
}

#[test]
fn f2_with_the_state_changed_after_the_send() {
    is_found(
        &[SeededDefect::StateAfterSend; 2],
        &[&[Send(1), Close(1)], &[]],
    );
}

#[test]
fn n19_a_further_send_after_a_lost_tie_opens_no_other_socket() {
    is_found(
        &[SeededDefect::NoExpectation; 2],
        &[&[Send(1), Send(1)], &[Send(0)]],
    );
}

#[test]
fn n11_nobody_closes_before_the_tie_is_broken() {
    let programs: &[&[Do]] = &[&[Send(1), Close(1)], &[Send(0), Close(0)]];
    is_found(&[SeededDefect::HastyDiscard; 2], programs);
}
