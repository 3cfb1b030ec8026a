//! The twin in C, compiled without changes: the same simulated time to the last bit, and the same
//! digest.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use testing::compiled::{compare, compile};

#[test]
fn the_task_farm_in_c_does_what_the_task_farm_does() {
    let program = compile("apps/c/task-farm.c");
    let farm = env!("CARGO_BIN_EXE_task-farm");
    for platform in ["cluster", "loggops", "infiniband"] {
        for (ranks, arguments) in [(2, ""), (5, "--tasks 20 --size 1000"), (9, "--tasks 3")] {
            compare((&program, arguments), (farm, arguments), platform, ranks);
        }
    }
}
