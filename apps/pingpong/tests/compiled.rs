//! The twin of the ping-pong in C, compiled without changes: the same simulated time to the last
//! bit, and the same digest.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use run::Options;

#[test]
fn the_ping_pong_in_c_does_what_the_ping_pong_does() {
    let program = testing::compiled::compile("apps/c/pingpong.c");
    for platform in ["cluster", "loggops", "infiniband"] {
        for (ranks, repetitions) in [(2, 1), (3, 10)] {
            let own = format!("--repetitions {repetitions} --sizes 1,8,1024,65536,1000000");
            let arguments = format!("-r {repetitions} 1 8 1024 65536 1000000");
            let pingpong = env!("CARGO_BIN_EXE_pingpong");
            let expected = testing::apps::record(pingpong, platform, &format!("-n {ranks}"), &own);
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
