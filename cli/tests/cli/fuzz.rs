//! Promise: `simrun fuzz` finds nothing on correct endpoints, replays what it has written, and
//! refuses bad input.

use crate::support::{Folder, simrun};

#[test]
fn correct_endpoints_have_no_failures() {
    let folder = Folder::new();
    let out = folder.path("failures");
    let options = "fuzz --tries 50 --processes 3 --max-len 4096 --attributes ro,ru,uu --reject 20%";
    let ran = simrun(&format!("{options} --faults loss=1% --out {out}"));
    let expected = "50 interactions, ";
    assert!(
        ran.status == 0 && ran.stdout.starts_with(expected),
        "{ran:?}"
    );
    assert!(
        ran.stdout.ends_with(" steps, seed 0: 0 failures\n"),
        "{ran:?}"
    );
    assert!(!std::path::Path::new(&out).exists(), "nothing to keep");
    let again = simrun(&format!("{options} --faults loss=1% --format json"));
    assert_eq!(again.json()["failures"], serde_json::json!([]));
}

/// Without any packet no connection is made: a failure, shrunk to one connection, and replayed.
#[test]
fn failures_are_shrunk_and_replayed() {
    let folder = Folder::new();
    let out = folder.path("failures");
    let ran = simrun(&format!("fuzz --errors 1 --faults loss=100% --out {out}"));
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(
        ran.stdout.starts_with("completes: step 2 is blocked: "),
        "{ran:?}"
    );
    assert!(ran.stdout.contains(" to 3 steps in "), "{ran:?}");
    let file = format!("{out}/0-shrunk.toml");
    let replayed = simrun(&format!("fuzz --replay {file}"));
    assert_eq!(replayed.status, 1);
    let first = |text: &str| text.lines().next().unwrap().to_owned();
    assert_eq!(
        first(&replayed.stdout),
        format!("3 steps: {}", first(&ran.stdout))
    );
    let text = std::fs::read_to_string(&file).unwrap();
    let healthy = folder.write("healthy.toml", &text.replace("loss = 1.0", "loss = 0.0"));
    let replayed = simrun(&format!("fuzz --replay {healthy}"));
    assert_eq!(
        (replayed.status, first(&replayed.stdout)),
        (0, "3 steps: no property violated".to_owned())
    );
}

#[test]
fn bad_input_is_refused() {
    let folder = Folder::new();
    let broken = folder.write("broken.toml", "version = 1\nsteps = 3");
    let newer = folder.write("newer.toml", "version = 2\nsteps = []");
    for (options, expected) in [
        (
            "--min-len 20",
            "--min-len 20: expected at most --max-len 16",
        ),
        ("--max-len 5000", "5000 is not in 0..=4096"),
        ("--faults loss=2", "expected a percentage from 0% to 100%"),
        ("--faults speed=2%", "expected loss, duplicate or reorder"),
        ("--reject 101%", "expected a percentage"),
        ("--processes 1", "1 is not in 2..=64"),
        ("--attributes xx", "[possible values: ro, ru, uu]"),
        ("--replay /nowhere", "/nowhere: "),
        (&format!("--replay {broken}"), "expected a sequence"),
        (&format!("--replay {newer}"), "version = 2: expected 1"),
    ] {
        let ran = simrun(&format!("fuzz {options}"));
        assert_eq!(
            (ran.status, ran.stdout.as_str()),
            (2, ""),
            "{options}: {ran:?}"
        );
        assert!(ran.stderr.contains(expected), "{options}: {ran:?}");
    }
}
