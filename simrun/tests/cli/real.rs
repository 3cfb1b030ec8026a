//! `simrun real`: the same programs as processes over TCP; what they print, how they end, and that none is left.

use crate::support::{Ran, program, simrun};

/// A test program, for real, that does `case`.
fn real(case: &str, options: &str) -> Ran {
    let program = program("cases");
    simrun(&format!("real {options} {program} -- --case {case}"))
}

#[test]
fn every_rank_is_a_process_whose_lines_are_prefixed() {
    for options in [
        "",
        "--wait spin",
        "--connect static",
        "--backend tcp --wait spin --connect static",
    ] {
        let ran = real("hosts", &format!("-n 3 {options}"));
        assert_eq!(ran.status, 0, "{ran:?}");
        for rank in 0..3 {
            let line = format!("[{rank}] {rank} ");
            assert!(
                ran.stdout.lines().any(|found| found.starts_with(&line)),
                "{ran:?}"
            );
        }
        assert!(ran.stdout.contains("cases finished at "), "{ran:?}");
        assert!(ran.stdout.contains("3 ranks"), "{ran:?}");
    }
}

#[test]
fn failures_are_told_as_in_a_simulation() {
    let ran = real("error", "-n 2");
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stderr.starts_with("error: rank 0 on host "), "{ran:?}");
    assert!(
        ran.stderr.contains(" failed at ")
            && ran.stderr.ends_with("invalid rank 99: expected 0 to 1\n"),
        "{ran:?}"
    );
    let ran = real("abort", "-n 3");
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(ran.stderr.contains("called abort with code 7"), "{ran:?}");
    let ran = real("panic", "-n 2");
    assert_eq!(ran.status, 1, "{ran:?}");
    assert!(
        ran.stderr.contains("rank 1 on host ")
            && ran.stderr.contains(" panicked at 2")
            && ran.stderr.contains("the reactor is too hot (at simrun/"),
        "{ran:?}"
    );
}

#[test]
fn bad_usage_is_refused_before_anything_starts() {
    let cases = program("cases");
    for (line, says) in [
        (format!("real {cases} -- --case hosts"), "expected -n N"),
        (
            format!("real -n 0 {cases} -- --case hosts"),
            "expected a whole number from 1",
        ),
        (
            "real -n 2 apps/nowhere".to_owned(),
            "there is no such folder or file",
        ),
        (
            format!("real -n 2 {cases} -- --case nothing"),
            "invalid value 'nothing'",
        ),
        (
            format!("real -n 2 {}", program("actors")),
            "is an actor program",
        ),
        (
            format!("real -n 2 --listen 192.0.2.1 {cases} -- --case hosts"),
            "cannot listen at 192.0.2.1:0",
        ),
    ] {
        let ran = simrun(&line);
        assert_eq!(ran.status, 2, "{line}: {ran:?}");
        assert!(ran.stderr.contains(says), "{line}: {ran:?}");
        assert_eq!(ran.stdout, "", "{line}");
    }
}
