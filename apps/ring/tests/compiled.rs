//! The twin of the ring in C, compiled without changes: the same simulated time to the last bit,
//! and the same digest.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use testing::compiled::{compare, compile};

#[test]
fn the_ring_in_c_does_what_the_ring_does() {
    let program = compile("apps/c/ring.c");
    for platform in ["cluster", "loggops", "infiniband"] {
        for (ranks, rounds, size) in [(1, 2, 8), (2, 3, 1000), (7, 1, 100_000), (64, 2, 1 << 17)] {
            let arguments = format!("--rounds {rounds} --size {size}");
            let ring = env!("CARGO_BIN_EXE_ring");
            compare((&program, &arguments), (ring, &arguments), platform, ranks);
        }
    }
}
