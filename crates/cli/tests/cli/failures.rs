//! Failures of the program under study: exit status 1, with rank, source line, time and cause.
//! Other failures, and warnings about unfinished operations, are in `answers.txt`.

use std::fs;

use crate::support::{case, root};

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
