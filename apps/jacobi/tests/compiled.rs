//! The twin in C, compiled without changes, has the same simulated time to the last bit. The digest
//! differs: neighbours in the twin exchange messages by point-to-point calls.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use testing::compiled::{compare_times, compile};

#[test]
fn jacobi_in_c_does_what_jacobi_does() {
    let program = compile("apps/c/jacobi.c");
    let jacobi = env!("CARGO_BIN_EXE_jacobi");
    for platform in ["cluster", "loggops", "infiniband"] {
        for (ranks, arguments) in [
            (1, "--size 5 --iterations 2"),
            (6, "--size 33 --iterations 10"),
            (16, "--size 500 --iterations 3"),
        ] {
            compare_times((&program, arguments), (jacobi, arguments), platform, ranks);
        }
    }
}
