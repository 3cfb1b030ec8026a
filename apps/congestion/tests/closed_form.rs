//! Durations of both jobs on two sites with one link between them, against the formula.

/// Latency between two nodes of different sites of `grid.toml`, in seconds.
const LATENCY_S: f64 = 9.8e-3 + 2.0 * 10e-6;
/// Bandwidth of the link between the sites in bytes per second.
const BANDWIDTH: f64 = 1.25e9;

#[test]
fn jobs_share_the_link_between_two_sites() {
    for (arguments, expected) in [
        ("", LATENCY_S + 400e6 / BANDWIDTH),
        ("--other 0B", LATENCY_S + 300e6 / BANDWIDTH),
        // B begins when A has ended.
        ("--delay 1", 1.0 + LATENCY_S + 100e6 / BANDWIDTH),
    ] {
        let program = env!("CARGO_BIN_EXE_congestion");
        let record = testing::apps::record(program, "grid", "-n 32", arguments);
        let found = testing::apps::simulated_s(&record);
        assert!(
            (found - expected).abs() <= 1e-9 * expected,
            "{arguments}: {found} s, but the formula says {expected} s"
        );
    }
}
