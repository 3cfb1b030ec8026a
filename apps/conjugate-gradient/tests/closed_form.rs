//! Messages of conjugate gradients, against formulas; the program verifies the solution.

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_conjugate-gradient");

/// The record of a run on the cluster, given the options and the program's arguments.
fn record(options: &str, arguments: &str) -> Value {
    testing::apps::record(PROGRAM, "cluster", options, arguments)
}

#[test]
fn messages_are_counted() {
    // In each iteration two halo rows between neighbours and two allreduces; before, one.
    for (ranks, rounds) in [(1, 0), (2, 1), (4, 2), (8, 3), (16, 4)] {
        let record = record(&format!("-n {ranks}"), "--size 16 --iterations 5");
        let expected = 5 * 2 * (ranks - 1) + (5 * 2 + 1) * ranks * rounds;
        assert_eq!(record["messages"], expected, "{ranks} ranks");
    }
}

#[test]
fn the_solution_is_right_for_blocks_of_any_size() {
    for ranks in [3, 5, 6, 7] {
        record(&format!("-n {ranks}"), "--size 7 --iterations 20");
    }
    // Residuals are 0 long before the end.
    record("-n 3", "--size 4 --iterations 200");
}

#[test]
fn phantom_buffers_take_the_same_time() {
    let simulated = |options: &str| testing::apps::simulated_s(&record(options, ""));
    let (real, phantom) = (simulated("-n 6"), simulated("-n 6 --payload phantom"));
    assert_eq!(real.to_bits(), phantom.to_bits());
}

#[test]
fn more_ranks_than_rows_are_refused() {
    let run = "-p platforms/cluster.toml -n 5 -- --size 4";
    let output = testing::apps::output(PROGRAM, run);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("5 ranks need --size 5 or more"), "{text}");
}

#[test]
fn no_order_of_messages_matters() {
    let (status, found) = testing::apps::check(PROGRAM, "-n 3 -- --size 4 --iterations 2");
    assert_eq!(status, Some(0), "{found}");
    assert_eq!(found["executions"], 1, "{found}");
}
