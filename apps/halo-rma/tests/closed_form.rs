//! Duration of steps, against formulas; the program verifies the values.

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_halo-rma");

/// The record of a run on the cluster, given the options and the program's arguments.
fn record(options: &str, arguments: &str) -> Value {
    testing::apps::record(PROGRAM, "cluster", options, arguments)
}

/// 1.25 us and 12.5 GB/s between two hosts.
fn hop(bytes: f64) -> f64 {
    1.25e-6 + bytes / 12.5e9
}

#[test]
fn a_step_takes_a_put_and_a_barrier() {
    let simulated = |arguments| testing::apps::simulated_s(&record("-n 2", arguments));
    let found = simulated("--steps 7") - simulated("--steps 0");
    let expected = 7.0 * (hop(8.0) + hop(0.0));
    assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
}

#[test]
fn a_step_of_groups_takes_a_put() {
    let simulated = |arguments| testing::apps::simulated_s(&record("-n 2", arguments));
    let found = simulated("--by groups --steps 7") - simulated("--by groups --steps 0");
    let expected = 7.0 * hop(8.0);
    assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
}

#[test]
fn values_are_right_for_any_number_of_ranks() {
    for ranks in [1, 2, 3, 8, 13] {
        for by in ["fence", "groups"] {
            record(
                &format!("-n {ranks}"),
                &format!("--by {by} --cells 7 --steps 30"),
            );
        }
    }
}

#[test]
fn no_order_of_accesses_matters() {
    for by in ["fence", "groups"] {
        let arguments = format!("-n 3 -- --cells 2 --steps 1 --by {by}");
        let (status, found) = testing::apps::check(PROGRAM, &arguments);
        assert_eq!(status, Some(0), "{found}");
    }
}
