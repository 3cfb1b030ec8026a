//! Promise: a loop that reads a window until the memory changes has a finite search, in which right
//! programs have no finding and each seeded defect is found.

use crate::support::{Folder, Output, compiled_with, simrun};

const SOURCE: &str = "crates/cmpi/tests/programs/spins.c";

/// The program, the number of executions of the right one with 2 and with 3 ranks, and the number
/// of errors and executions of the wrong one with 2 ranks.
const SPINS: &[(&str, [u32; 2], [u32; 2])] = &[
    ("set", [6, 114], [4, 20]),
    ("swap", [6, 114], [12, 48]),
    ("ticket", [6, 162], [8, 22]),
    ("flag", [3, 9], [3, 6]),
    ("twice", [6, 78], [4, 12]),
    ("often", [8, 168], [4, 14]),
];

fn check(program: &str, ranks: u32, words: &str) -> Output {
    simrun(
        program,
        &format!("check -n {ranks} --explain-time 0s {words}"),
    )
}

/// No errors are found in this number of executions. Two attempts are within the bound.
fn succeeds(program: &str, (name, ranks): (&str, u32), executions: u32) {
    let bound = "bound: a read that has had one result 2 times in a row has another next, or the \
                 same until the loop ends";
    let found = check(program, ranks, &format!("-- {name}"));
    found
        .exits_with(0)
        .prints_text("no errors found")
        .prints_text(&format!("  {executions} executions; at most"));
    let is_bounded = found.stdout.contains(&format!("{bound} ({SOURCE}:"));
    assert_eq!(is_bounded, name != "twice", "{found:?}");
}

#[test]
fn right_locks_have_no_findings_and_wrong_ones_are_found() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", SOURCE);
    for &(name, right, [errors, executions]) in SPINS {
        for (ranks, executions) in (2..).zip(right) {
            succeeds(&program, (name, ranks), executions);
        }
        check(&program, 2, &format!("-- {name} wrong"))
            .exits_with(1)
            .prints_text("assertion failed")
            .prints_text(&format!("errors in {errors} of {executions} executions"));
        check(&program, 3, &format!("--stop-at-first -- {name} wrong")).exits_with(1);
    }
}

/// The wrong lock loses a rank that comes while another one leaves.
#[test]
fn a_queue_of_ranks_is_a_lock() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", SOURCE);
    succeeds(&program, ("queue", 2), 20);
    let stuck = "waits in polling: get_accumulate of a window at rank ";
    check(&program, 2, "-- queue wrong")
        .exits_with(1)
        .prints_text(stuck)
        .prints_text("errors in 3 of 12 executions");
    check(&program, 3, "--stop-at-first -- queue wrong")
        .exits_with(1)
        .prints_text(stuck);
}

/// A store is no step, so the loop continues when the message that permits the store has arrived.
#[test]
fn a_store_to_the_own_window_ends_a_loop() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", SOURCE);
    for ranks in [2, 3] {
        check(&program, ranks, "-- store")
            .exits_with(0)
            .prints_text("no errors found");
        check(&program, ranks, "-- store wrong")
            .exits_with(1)
            .prints_text("waits in recv (source 1, tag 0)")
            .prints_text("waits in polling: get of a window at rank 0");
    }
}
