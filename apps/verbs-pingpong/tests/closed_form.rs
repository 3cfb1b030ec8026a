//! Promise: latencies on queue pairs are sums of the costs in the platform file, and exhausted
//! retries are the program's error.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use std::process::{Command, Output};

fn pingpong(platform: &str, arguments: &str) -> Output {
    Command::new(env!("CARGO_BIN_EXE_verbs-pingpong"))
        .current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
        .args(["-p", &format!("platforms/{platform}.toml"), "-q", "-n", "2"])
        .arg("--")
        .args(arguments.split_whitespace())
        .output()
        .unwrap()
}

/// Returns the typical latency in ns.
fn typical(mode: &str, bytes: u32) -> f64 {
    let output = pingpong(
        "infiniband",
        &format!("--mode {mode} --sizes {bytes} --iterations 5"),
    );
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    let line = text.lines().nth(1).unwrap();
    let cell = line.split_whitespace().nth(4).unwrap();
    1e3 * cell.parse::<f64>().unwrap()
}

/// Returns a cost of the platform in ns.
fn cost(name: &str) -> f64 {
    let text = include_str!("../../../platforms/infiniband.toml");
    let mut lines = text.lines().filter_map(|line| line.split_once(" = "));
    let (_, value) = lines.find(|(key, _)| *key == name).unwrap();
    value
        .trim_matches('"')
        .strip_suffix("ns")
        .unwrap()
        .parse()
        .unwrap()
}

/// A packet alone: LRH, BTH, ICRC, VCRC and delimiters are 30 bytes, at 100 Gb/s; cables of 10 ns.
fn passage(bytes: u32) -> f64 {
    let wire = f64::from(bytes.next_multiple_of(4) + 30) * 0.08;
    cost("tx_packet") + wire + 2.0 * 10.0 + cost("switch_latency") + cost("rx_packet")
}

/// Between the adapter and memory at 15.75 GB/s.
fn copy(bytes: u32) -> f64 {
    f64::from(bytes) / 15.75
}

#[track_caller]
fn takes(found: f64, expected: f64) {
    // Half a picosecond a byte is rounded, and the table has whole nanoseconds.
    assert!(
        (found - expected).abs() < 1.0,
        "{found} ns, expected {expected} ns"
    );
}

#[test]
fn a_send_costs_a_passage_and_a_completion() {
    let ends = cost("doorbell") + cost("completion");
    takes(typical("send", 64), ends + passage(64) + copy(64));
    let read = cost("dma_read") + copy(512);
    takes(typical("send", 512), ends + read + passage(512) + copy(512));
}

/// The header of a write has 16 bytes more.
#[test]
fn a_write_is_found_without_a_completion() {
    let read = cost("dma_read") + 2.0 * copy(512);
    takes(
        typical("write", 512),
        cost("doorbell") + read + passage(512 + 16),
    );
}

/// The response has an AETH of 4 bytes.
#[test]
fn a_read_and_an_atomic_cost_two_passages() {
    let ends = cost("doorbell") + cost("completion");
    let read = cost("dma_read") + 2.0 * copy(512);
    takes(
        typical("read", 512),
        ends + passage(16) + read + passage(512 + 4),
    );
    let (request, response) = (passage(28), passage(4 + 8));
    takes(
        typical("atomic", 8),
        ends + request + cost("atomic") + response,
    );
}

/// Three timeouts of 4.096 µs × 2^18.
#[test]
fn exhausted_retries_are_an_error_of_the_program() {
    let output = pingpong("infiniband", "--misconnect --retries 2");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(
        text.contains("at 3.2212") && text.contains("transport retry counter exceeded"),
        "{text}"
    );
}

#[test]
fn ranks_without_adapters_are_told_how_to_get_them() {
    let output = pingpong("cluster", "");
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stderr).unwrap();
    assert!(text.contains("device = \"verbs\""), "{text}");
}
