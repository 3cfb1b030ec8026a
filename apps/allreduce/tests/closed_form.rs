//! Duration of an allreduce, against formulas.

use serde_json::Value;

/// The record of a run, given the options and the program's arguments.
fn allreduce(options: &str, arguments: &str) -> Value {
    testing::apps::record(
        env!("CARGO_BIN_EXE_allreduce"),
        "cluster",
        options,
        arguments,
    )
}

#[test]
fn recursive_doubling_exchanges_all_in_each_round() {
    // On one switch: 1.25 us and 8 B at 12.5 GB/s in each of the rounds, and in those of the
    // barrier before without data.
    for (ranks, rounds) in [(2, 1.0), (8, 3.0), (64, 6.0)] {
        let options = format!("-n {ranks} --set collectives.allreduce=recursive_doubling");
        let record = allreduce(&options, "--size 8B");
        let expected = rounds * (1.25e-6 + 1.25e-6 + 8.0 / 12.5e9);
        let found = testing::apps::simulated_s(&record);
        assert!(
            (found - expected).abs() < 1e-12,
            "{ranks}: {found}, not {expected}"
        );
    }
}
