//! Duration of barriers, against formulas; equal runs have equal records.

use serde_json::Value;

/// The record of a run, given the options and the program's arguments.
fn barrier(options: &str, arguments: &str) -> Value {
    testing::apps::record(env!("CARGO_BIN_EXE_barrier"), "loggops", options, arguments)
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
fn a_round_is_a_message() {
    // ceil(log2 n) rounds of 2 o + L + (s - 1) G = 5.5 us + 6 ns per byte but the first.
    for (ranks, rounds) in [(1, 0), (2, 1), (5, 3), (64, 6), (1000, 10)] {
        let record = barrier(&format!("-n {ranks}"), "--rounds 3 --size 8B");
        check(&record, f64::from(3 * rounds) * 5.542);
    }
}

#[test]
fn from_the_threshold_on_three_messages() {
    // RTS, CTS, data, in both directions at once: the RTS of the one and of the other meet no busy
    // processor, and the CTS goes first of what follows.
    let rest = 65_535.0 * 6e-3;
    check(&barrier("-n 2", "--size 65535B"), 5.5 + rest - 6e-3);
    let record = barrier("-n 2", "--size 64KiB");
    check(&record, 3.0 * 5.5 + rest);
}

#[test]
fn any_threshold_and_any_parameter_from_the_command_line() {
    let record = barrier("-n 2 --protocol eager", "--size 64KiB");
    check(&record, 5.5 + 65_535.0 * 6e-3);
    let changed =
        "--set network.latency=10us --set network.overhead=2us --set network.gap_per_byte*=2";
    check(
        &barrier(&format!("-n 2 {changed}"), "--size 8B"),
        14.0 + 7.0 * 12e-3,
    );
}

#[test]
fn the_same_run_is_the_same_run() {
    let digest = || barrier("-n 33", "--rounds 2")["digest"].clone();
    assert_eq!(digest(), digest());
}
