//! Promise: a long run reports progress, with a percentage if the end is known, and `--profile`
//! shows where simrun itself spends real time; neither changes a time or a digest.

use std::process::Stdio;

use crate::support::{CLUSTER, Folder, Output, SIMRUN, command, simrun};

/// A run that takes long enough for some lines of progress and samples.
fn ring(options: &str) -> Output {
    simrun!("--platform {CLUSTER} -n 64 {options} apps/ring -- --rounds 300")
}

/// The lines of progress of a run.
fn progress(ran: &Output) -> Vec<&str> {
    let lines = ran.stderr.lines();
    lines.filter(|line| line.contains(" simulated")).collect()
}

/// The line with the digest.
fn digest(ran: &Output) -> &str {
    let line = ran.stdout.lines().find(|line| line.contains("digest "));
    line.unwrap_or_default()
}

#[test]
fn a_batch_job_says_how_far_it_is() {
    let folder = Folder::new();
    let record = folder.path("record");
    let plain = ring("--progress 2ms");
    plain.exits_with(0);
    let lines = progress(&plain);
    assert!(!lines.is_empty(), "{plain:?}");
    assert!(lines.iter().all(|line| !line.contains('%')), "{plain:?}");
    assert!(
        lines.iter().all(|line| line.ends_with(" events")),
        "{plain:?}"
    );

    let limited = ring("--progress 2ms --until 100s");
    assert!(
        progress(&limited)
            .iter()
            .all(|line| line.contains(" (0 % of --until), ")),
        "{limited:?}"
    );

    let first = ring(&format!("--out {record}"));
    first.exits_with(0);
    assert!(
        progress(&first).is_empty(),
        "short runs say nothing: {first:?}"
    );
    let again = ring(&format!("--out {record} --force --progress 2ms"));
    again.exits_with(0);
    let lines = progress(&again);
    assert!(!lines.is_empty(), "{again:?}");
    assert!(
        lines
            .iter()
            .all(|line| line.contains(" % of the earlier run), ")),
        "{again:?}"
    );
    assert_eq!(digest(&first), digest(&again));

    // A record of another number of ranks tells nothing.
    let other = simrun!(
        "--platform {CLUSTER} -n 32 --out {record} --force --progress 1ms apps/ring -- --rounds 600"
    );
    assert!(
        progress(&other).iter().all(|line| !line.contains('%')),
        "{other:?}"
    );

    let quiet = ring("--quiet --progress 2ms");
    assert_eq!(quiet.stderr, "");
}

#[test]
fn a_period_without_length_is_refused() {
    for line in [
        format!("--platform {CLUSTER} -n 2 --progress 0s apps/ring"),
        "real -n 2 --progress 1us apps/ring".to_owned(),
    ] {
        let ran = simrun(&line);
        assert_eq!((ran.status, &*ran.stdout), (2, ""), "{line}: {ran:?}");
        ran.reports_text("expected 1ms or more");
    }
}

#[test]
fn a_reader_that_leaves_ends_no_run() {
    // The pipe is closed before the first line of progress.
    let words = format!("--platform {CLUSTER} -n 64 --progress 1ms --profile apps/ring");
    let mut simrun = command(SIMRUN);
    let simrun = simrun
        .args(words.split_whitespace())
        .args(["--", "--rounds", "300"]);
    let mut running = simrun
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(running.stderr.take());
    let ran = running.wait_with_output().unwrap();
    assert!(ran.status.success(), "{ran:?}");
    let printed = String::from_utf8_lossy(&ran.stdout);
    assert!(printed.contains("digest "), "{printed}");
}

#[test]
fn a_profile_has_a_share_for_each_part_and_changes_nothing() {
    let (plain, profiled) = (ring(""), ring("--profile"));
    assert_eq!((plain.status, profiled.status), (0, 0), "{profiled:?}");
    assert!(!digest(&plain).is_empty(), "{plain:?}");
    assert_eq!(digest(&plain), digest(&profiled));
    assert!(!plain.stderr.contains("time of simrun itself"), "{plain:?}");
    profiled.reports_text("time of simrun itself, from ");
    let share = |name: &str| {
        let line = profiled
            .stderr
            .lines()
            .find_map(|line| line.trim_start().strip_prefix(name));
        let share = line.and_then(|line| line.trim().strip_suffix(" %"));
        share.and_then(|share| share.parse::<f64>().ok())
    };
    let names = [
        "kernel",
        "models and solver",
        "message layer",
        "programs, with their calls",
        "observer",
    ];
    let shares: Vec<f64> = names.iter().filter_map(|name| share(name)).collect();
    assert_eq!(shares.len(), names.len(), "{profiled:?}");
    let sum: f64 = shares.iter().sum();
    assert!((sum - 100.0).abs() < 0.5, "{profiled:?}");
    assert_eq!(shares[4], 0.0, "nothing is observed: {profiled:?}");
    assert!(shares[1] + shares[2] + shares[3] > 0.0, "{profiled:?}");

    let folder = Folder::new();
    let observed = ring(&format!(
        "--profile --log-events {}",
        folder.path("run.log")
    ));
    assert_eq!(digest(&plain), digest(&observed));
    let line = observed
        .stderr
        .lines()
        .find(|line| line.contains("observer"));
    assert!(
        line.is_some_and(|line| !line.ends_with(" 0.0 %")),
        "{observed:?}"
    );
}
