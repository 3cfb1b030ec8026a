//! The twin of the ping-pong in C, compiled without changes: the same simulated time to the last
//! bit, and the same digest.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use testing::compiled::{compare, compile};

#[test]
fn the_ping_pong_in_c_does_what_the_ping_pong_does() {
    let program = compile("apps/c/pingpong.c");
    for platform in ["cluster", "loggops", "infiniband"] {
        for (ranks, repetitions) in [(2, 1), (3, 10)] {
            let own = format!("--repetitions {repetitions} --sizes 1,8,1024,65536,1000000");
            let arguments = format!("-r {repetitions} 1 8 1024 65536 1000000");
            let pingpong = env!("CARGO_BIN_EXE_pingpong");
            compare((&program, &arguments), (pingpong, &own), platform, ranks);
        }
    }
}
