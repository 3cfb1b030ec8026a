//! Promise: with `--compare-collectives`, collective calls of processes that do not fit together
//! end a real run as they end a simulated one; correct programs do not.

use crate::support::{Output, program};

fn real(case: &str, options: &str) -> Output {
    let program = program("calls");
    simrun!("real --compare-collectives {options} {program} -- --case {case}")
}

/// The run fails with a message that has these texts and this many lines of the program.
#[track_caller]
fn fails(case: &str, options: &str, lines: usize, expected: &[&str]) {
    let ran = real(case, options);
    ran.exits_with(1);
    let message = ran.stderr.lines().find(|line| line.starts_with("error: "));
    let message = message.unwrap_or_default();
    assert!(
        message.contains(": collective calls differ: rank "),
        "{ran:?}"
    );
    for text in expected {
        assert!(message.contains(text), "{text}: {ran:?}");
    }
    assert_eq!(message.matches("calls.rs:").count(), lines, "{ran:?}");
}

#[test]
fn calls_that_differ_are_told_with_both_lines() {
    for (case, expected) in [
        ("kinds", ["calls barrier at", "calls bcast at"]),
        ("roots", ["has root 1", "has root 0"]),
        (
            "operations",
            [
                "has the operation max of f64",
                "has the operation sum of f64",
            ],
        ),
        (
            "types",
            [
                "has the operation sum of i64",
                "has the operation sum of f64",
            ],
        ),
        ("elements", ["has elements of i64", "has elements of f64"]),
        ("lengths", ["gives 16 bytes", "gives 8 bytes"]),
        (
            "blocks",
            ["gives 16 bytes to rank 0", "expects 8 bytes of rank 1"],
        ),
        (
            "communicators",
            [
                "calls dup of a communicator at",
                "calls split of a communicator at",
            ],
        ),
    ] {
        fails(case, "-n 3", 2, &expected);
        fails(case, "-n 3", 2, &["collective 1 of the world"]);
    }
    fails("unjoined", "-n 2", 2, &["calls bcast", "calls scatter"]);
    fails(
        "kinds",
        "-n 4 --wait spin --connect static",
        2,
        &["calls barrier"],
    );
}

#[test]
fn a_rank_that_ends_without_a_call_is_named() {
    let text = "rank 1 has ended where rank ";
    fails(
        "missing",
        "-n 3",
        1,
        &[text, "calls allreduce", "collective 1 of the world"],
    );
    let texts = [
        text,
        "calls allreduce",
        "collective 2 of the communicator with context ",
    ];
    fails("part", "-n 4", 1, &texts);
}

#[test]
fn calls_that_are_missing_are_told_at_the_end() {
    let ran = real("late", "-n 3 --compute sleep --until 1s");
    ran.exits_with(3);
    let text = ", collective 1 of the world, was not called by rank 1";
    ran.reports_text("warning: rank ").reports_text(text);
    // Nobody waits, as in a simulated run.
    let ran = real("unreceived", "-n 2 --connect static");
    ran.exits_with(0).reports_text("warning: rank 0: bcast at ");
    ran.reports_text(text);
}

#[test]
fn correct_calls_have_no_finding() {
    for options in ["-n 4", "-n 3 --wait spin --connect static"] {
        let ran = real("correct", options);
        assert_eq!((ran.status, &*ran.stderr), (0, ""), "{ran:?}");
    }
}
