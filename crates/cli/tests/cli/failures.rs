//! Failures of the program under study: exit status 1, with rank, source line, time and cause; and
//! warnings about unfinished operations.

use std::fs;

use crate::support::{CLUSTER, case, program, root};

/// The place in the test program where `text` stands, as `file:line`.
fn place(text: &str) -> String {
    let file = "crates/cli/tests/programs/cases.rs";
    let source = fs::read_to_string(root().join(file)).unwrap();
    let line = source.lines().position(|line| line.contains(text)).unwrap();
    format!("{file}:{}", line + 1)
}

#[test]
fn a_panic_is_a_result() {
    let ran = case("panic", "-n 4");
    let panic = place("panic!(\"the reactor");
    ran.reports_only(&format!(
        "error: rank 1 on host node-1 panicked at 2 s: the reactor is too hot (at {panic}:13)\n"
    ));
    ran.exits_with(1)
        .prints_first("cases failed at 2 s simulated");
}

#[test]
fn an_error_is_a_failure() {
    let ran = case("error", "-n 4");
    ran.exits_with(1);
    ran.reports_only(
        "error: rank 0 on host node-0 failed at 0 s: invalid rank 99: expected 0 to 3\n",
    );
}

#[test]
fn an_abort_ends_the_run() {
    let ran = case("abort", "-n 4");
    ran.exits_with(1);
    ran.reports_only("error: rank 2 on host node-2 failed at 0.001 s: called abort with code 7\n");
}

#[test]
fn sending_first_deadlocks_by_rendezvous_and_finishes_when_eager() {
    let place = place("world.send(&message, 1 - rank, 0)");
    let ran = case("head-to-head", "-n 2 --protocol rendezvous");
    ran.exits_with(1);
    for (rank, other) in [(0, 1), (1, 0)] {
        let line = format!(
            "  rank {rank} on host node-{rank} waits in send (destination {other}, tag 0, 1000 bytes, rendezvous) at {place}, for rank {other}\n"
        );
        ran.reports_text(&line);
    }
    ran.reports_first("error: deadlock: 2 ranks");
    ran.prints_first("cases deadlocked at 0 s simulated");
    // 1000 bytes are rendezvous from a threshold of 1000 bytes on.
    case("head-to-head", "-n 2 --protocol threshold=1000B").exits_with(1);
    for mode in ["", "--protocol eager", "--protocol threshold=1001B"] {
        case("head-to-head", &format!("-n 2 {mode}")).exits_with(0);
    }
}

#[test]
fn a_foreign_future_is_a_failure() {
    let ran = case("foreign", "-n 2");
    ran.exits_with(1)
        .reports_text("rank 0 on host node-0 failed at 0 s");
    ran.reports_text("is not part of the simulation");
}

#[test]
fn what_is_left_is_a_warning() {
    let ran = case("unreceived", "-n 2");
    ran.exits_with(0);
    ran.reports_only("warning: rank 1: unreceived message: 1000 bytes from rank 0, tag 5\n");
    let ran = case("never-completed", "-n 2");
    let source = include_str!("../programs/cases.rs");
    let line = source
        .lines()
        .position(|line| line.contains(".irecv(message, 0, 9)"))
        .unwrap()
        + 1;
    let expected = format!(
        "warning: rank 1: unmatched receive (source 0, tag 9) posted at crates/cli/tests/programs/cases.rs:{line}\n"
    );
    assert_eq!((ran.status, ran.stderr.as_str()), (0, expected.as_str()));
    assert_eq!(case("unreceived", "-n 2 -q").stderr, "");
}

#[test]
fn an_actor_program_fails_by_name() {
    // Its count is -n.
    let actors = program("actors");
    let ran = simrun!("-p {CLUSTER} -n 5 {actors}");
    ran.exits_with(0);
    ran.prints_first("5 actors on 64 hosts\nall answered at ");
    let ran = simrun!("-p {CLUSTER} {actors} --until 1us");
    ran.exits_with(3).prints_first("64 actors on 64 hosts\n");
}
