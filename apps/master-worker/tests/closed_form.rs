//! Duration of master and workers, against formulas.

/// The simulated seconds on `cluster.toml`: 36 Gflop/s, 1.25 µs and 12.5 GB/s between any two
/// hosts.
fn simulated(options: &str, arguments: &str) -> f64 {
    testing::apps::simulated_s(&testing::apps::record(
        env!("CARGO_BIN_EXE_master-worker"),
        "cluster",
        options,
        arguments,
    ))
}

#[track_caller]
fn close(found: f64, expected: f64) {
    assert!(
        (found / expected - 1.0).abs() < 1e-9,
        "{found} s, but the formula says {expected} s"
    );
}

/// With one worker everything happens one after the other: each task travels (1.25 µs + size / 12.5
/// GB/s), then is computed (work / 36 Gflop/s) before the next one is taken; the empty message
/// takes 1.25 µs.
#[test]
fn one_worker_does_one_thing_after_the_other() {
    let task = 1.25e-6 + 1_048_576.0 / 12.5e9 + 1e9 / 36e9;
    close(simulated("-n 1", "--tasks 10"), 10.0 * task + 1.25e-6);
}

/// With 63 workers, each on a separate host, and one task each, the master never waits for a
/// worker: it sends 63 tasks, one after the other. The workers end in turn; when the last worker
/// has computed, the empty message arrives.
#[test]
fn enough_workers_wait_for_the_master() {
    let (travel, compute): (f64, f64) = (1.25e-6 + 1e6 / 12.5e9, 3.6e-3 * 1e9 / 36e9);
    // The last worker begins at 63·travel; by then all others have ended, and their messages take
    // 62·1.25 µs.
    let last = f64::max(63.0 * travel + compute, 63.0 * travel + 62.0 * 1.25e-6);
    close(
        simulated("-n 63", "--tasks 63 --size 1MB --work 3.6e-3"),
        last + 1.25e-6,
    );
}

#[test]
fn a_run_is_replayed() {
    let program = env!("CARGO_BIN_EXE_master-worker");
    let (run, replay) = testing::apps::replayed(program, "-n 3", "--tasks 5");
    assert_eq!(
        (run.status.code(), replay.status.code()),
        (Some(0), Some(0)),
        "{run:?}"
    );
    let text = String::from_utf8_lossy(&replay.stdout);
    assert!(text.starts_with("5 tasks dealt out at 0 s\n"), "{text}");
    assert!(text.contains("master-worker: finished after "), "{text}");
}
