//! The twin of the ring in C, compiled without changes: the same simulated time to the last bit,
//! and the same digest.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use run::Options;

#[test]
fn the_ring_in_c_does_what_the_ring_does() {
    let program = testing::compiled::compile("apps/c/ring.c");
    for platform in ["cluster", "loggops", "infiniband"] {
        for (ranks, rounds, size) in [(1, 2, 8), (2, 3, 1000), (7, 1, 100_000), (64, 2, 1 << 17)] {
            let arguments = format!("--rounds {rounds} --size {size}");
            let options = format!("-n {ranks}");
            let ring = env!("CARGO_BIN_EXE_ring");
            let expected = testing::apps::record(ring, platform, &options, &arguments);
            let options = Options {
                ranks: Some(ranks),
                ..Options::default()
            };
            let found = testing::compiled::run(&program, platform, &options, &arguments).report;
            let place = format!("{platform}, {ranks} ranks: {:?}", found.outcome);
            // As it was written and read; the digest has all bits of all timestamps.
            let time = serde_json::json!(found.time.as_secs()).to_string();
            let time: serde_json::Value = serde_json::from_str(&time).unwrap();
            assert_eq!(time, expected["simulated_s"], "{place}");
            assert_eq!(found.digest.to_string(), expected["digest"], "{place}");
        }
    }
}
