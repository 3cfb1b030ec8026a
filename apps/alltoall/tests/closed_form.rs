//! Duration of an exchange, against formulas; equal runs have equal records.

use serde_json::Value;

/// The record of a run, given the options and the program's arguments.
fn alltoall(options: &str, arguments: &str) -> Value {
    testing::apps::record(
        env!("CARGO_BIN_EXE_alltoall"),
        "loggops",
        options,
        arguments,
    )
}

#[track_caller]
fn check(record: &Value, expected_us: f64) {
    let found_us = testing::apps::simulated_s(record) * 1e6;
    assert!(
        (found_us - expected_us).abs() <= 1e-9 * expected_us.max(1.0),
        "{found_us} us, but the formula says {expected_us} us"
    );
}

#[test]
fn processors_never_idle() {
    // Sending first, then receiving, n - 1 messages of o = 1.5 us each way; what arrives waits in
    // the meantime.
    for ranks in [4, 10, 100] {
        let record = alltoall(&format!("-n {ranks}"), "--size 1B --rounds 2");
        check(&record, 2.0 * f64::from(ranks - 1) * 3.0);
        let expected = 2 * ranks * (ranks - 1);
        assert_eq!(
            record["messages"].as_u64().unwrap(),
            u64::try_from(expected).unwrap()
        );
    }
}

#[test]
fn two_ranks() {
    // Both ends work at the same time: o + L + o.
    check(&alltoall("-n 2", "--size 1B"), 5.5);
}

#[test]
fn the_same_run_is_the_same_run() {
    let digest = || alltoall("-n 20", "--size 100KiB")["digest"].clone();
    assert_eq!(digest(), digest());
}
