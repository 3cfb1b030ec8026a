//! Verdicts of `simrun check` that follow from the freedoms of MPI.

use crate::support::{Folder, compiled_with, ran, simrun};

const COMPLETE: &str = "no errors found; search complete";

#[test]
fn a_receive_whose_request_is_freed_takes_its_message() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/freed.c");
    for (ranks, right) in [(2, "order"), (3, "any"), (2, "last")] {
        let found = simrun(&program, &format!("check -n {ranks} -- {right}"));
        found.exits_with(0).prints_text(COMPLETE);
    }
    for right in ["data", "last"] {
        ran(&program, "-n 2", right).exits_with(0);
    }
    let found = simrun(&program, "check -n 2 -- none");
    let expected = "unmatched receive (source 1, tag 5) dropped, posted at";
    found.exits_with(1).prints_text(expected);
}

#[test]
fn the_clock_goes_forward_where_a_loop_waits_for_it() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/waiting.c");
    let bound = "bound: the clock stands still except in loops that wait for it (crates/cmpi/tests/programs/waiting.c:";
    for right in ["spin", "sleep", "either"] {
        let found = simrun(&program, &format!("check -n 2 -- {right}"));
        found
            .exits_with(0)
            .prints_text("no errors found within the bounds below");
        assert!(found.stdout.contains(bound), "{found:?}");
    }
    for wrong in ["message", "time"] {
        let found = simrun(&program, &format!("check -n 2 -- {wrong}"));
        found.exits_with(1).prints_text("assertion failed");
    }
    let found = simrun(&program, "check -n 2 -- none");
    found.exits_with(0);
    assert!(!found.stdout.contains(bound), "{found:?}");
    ran(&program, "-n 2", "spin").exits_with(0);
}

/// No time passes while the schedule of a run is looked for, so that no loop waits for time.
#[test]
fn a_loop_that_asks_for_ever_has_a_schedule() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/waiting.c");
    let file = folder.path("never.schedule");
    let options = format!("-n 3 --schedule {file}");
    let deadlock = "waits in polling: probe (any source, tag 0)";
    ran(&program, &options, "never").reports_text(deadlock);
    let replayed = simrun(&program, &format!("check -n 3 --replay {file} -- never"));
    replayed.exits_with(1).prints_text(deadlock);
}

#[test]
fn a_get_into_the_own_window_conflicts_until_the_epoch_ends() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/inside.c");
    let found = simrun(&program, "check -n 2 -- same");
    let expected = "conflicting accesses to bytes 8 to 15 of the window of rank 1";
    found.exits_with(1).prints_text(expected);
    let found = simrun(&program, "check -n 2 -- other");
    found.exits_with(0).prints_text(COMPLETE);
}

#[test]
fn partitions_arrive_one_by_one() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/partitions.c");
    let found = simrun(&program, "check -n 2 -- order");
    found.exits_with(1).prints_text("first || !last");
    for right in ["early", "data"] {
        simrun(&program, &format!("check -n 2 -- {right}")).exits_with(0);
    }
    ran(&program, "-n 2", "data").exits_with(0);
}
