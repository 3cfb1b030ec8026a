//! The sort on different numbers of ranks; the program verifies the order of the keys.

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_samplesort");

/// The record of a run on the cluster, given the options and the program's arguments.
fn record(options: &str, arguments: &str) -> Value {
    testing::apps::record(PROGRAM, "cluster", options, arguments)
}

#[test]
fn keys_are_sorted() {
    for ranks in [1, 2, 3, 4, 9, 16] {
        for keys in [0, 1, 5, 1000] {
            record(
                &format!("-n {ranks}"),
                &format!("--keys {keys} --seed {ranks}"),
            );
        }
    }
}

#[test]
fn equal_runs_are_equal() {
    let digest = |arguments| record("-n 5", arguments)["digest"].clone();
    assert_eq!(digest("--seed 3"), digest("--seed 3"));
    assert_ne!(digest("--seed 3"), digest("--seed 4"));
}

#[test]
fn phantom_buffers_are_refused() {
    let run = "-p platforms/cluster.toml -n 2 --payload phantom";
    let output = testing::apps::output(PROGRAM, run);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("sample sort needs --payload real"), "{text}");
}

#[test]
fn no_order_of_messages_matters() {
    let (status, found) = testing::apps::check(PROGRAM, "-n 3 -- --keys 4");
    assert_eq!(status, Some(0), "{found}");
    assert_eq!(found["executions"], 1, "{found}");
}
