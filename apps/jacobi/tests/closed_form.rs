//! Duration of Jacobi iterations, against formulas; the program verifies the values.

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_jacobi");

/// The record of a run on the cluster, given the options and the program's arguments.
fn record(options: &str, arguments: &str) -> Value {
    testing::apps::record(PROGRAM, "cluster", options, arguments)
}

#[test]
fn two_ranks_exchange_a_row_and_a_number() {
    // 1.25 us and 12.5 GB/s between two hosts: rows of 64 numbers, and the allreduce of one.
    let hop = |bytes: f64| 1.25e-6 + bytes / 12.5e9;
    let simulated = |arguments| testing::apps::simulated_s(&record("-n 2", arguments));
    let found = simulated("--iterations 7") - simulated("--iterations 0");
    let expected = 7.0 * (hop(512.0) + hop(8.0));
    assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
}

#[test]
fn values_are_right_for_blocks_of_any_size() {
    for ranks in [1, 3, 4, 6, 7, 9, 16] {
        record(&format!("-n {ranks}"), "--size 13 --iterations 20");
    }
}

#[test]
fn phantom_buffers_take_the_same_time() {
    let simulated = |options: &str| testing::apps::simulated_s(&record(options, ""));
    let (real, phantom) = (simulated("-n 6"), simulated("-n 6 --payload phantom"));
    assert_eq!(real.to_bits(), phantom.to_bits());
}

#[test]
fn no_order_of_messages_matters() {
    let (status, found) = testing::apps::check(PROGRAM, "-n 4 -- --size 4 --iterations 2");
    assert_eq!(status, Some(0), "{found}");
    assert_eq!(found["executions"], 1, "{found}");
}
