//! Duration of a product, against formulas; the program verifies the elements.

use serde_json::Value;

const PROGRAM: &str = env!("CARGO_BIN_EXE_summa");

/// The record of a run on the cluster, given the options and the program's arguments.
fn record(options: &str, arguments: &str) -> Value {
    testing::apps::record(PROGRAM, "cluster", options, arguments)
}

#[test]
fn four_ranks_broadcast_along_a_chain() {
    // Blocks of 32 x 32 numbers, 12.5 GB/s. The block that rank 0 receives last is sent by rank 2,
    // after it has received one of rank 3, which waits for rank 1, and that one for rank 0. All but
    // the last message of this chain share the link of their sender with another one.
    let simulated = |arguments| testing::apps::simulated_s(&record("-n 4", arguments));
    let found = simulated("--size 64") - simulated("--size 0");
    let expected = (3.0 * 2.0 + 1.0) * 8192.0 / 12.5e9;
    assert!((found - expected).abs() < 1e-12, "{found}, not {expected}");
}

#[test]
fn the_product_is_right_for_blocks_of_any_size() {
    for ranks in [1, 4, 9, 16] {
        record(&format!("-n {ranks}"), "--size 13");
    }
}

#[test]
fn phantom_buffers_take_the_same_time() {
    let simulated = |options: &str| testing::apps::simulated_s(&record(options, ""));
    let (real, phantom) = (simulated("-n 9"), simulated("-n 9 --payload phantom"));
    assert_eq!(real.to_bits(), phantom.to_bits());
}

#[test]
fn a_number_of_ranks_that_is_no_square_is_refused() {
    let output = testing::apps::output(PROGRAM, "-p platforms/cluster.toml -n 6");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(
        text.contains("6 ranks are not a square: try 4 or 9"),
        "{text}"
    );
}

#[test]
fn no_order_of_messages_matters() {
    let (status, found) = testing::apps::check(PROGRAM, "-n 4 -- --size 4");
    assert_eq!(status, Some(0), "{found}");
    assert_eq!(found["executions"], 1, "{found}");
}
