//! The twin in C, compiled without changes: the same simulated time to the last bit, and the same
//! digest.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use testing::compiled::{compare, compile};

#[test]
fn two_senders_in_c_do_what_two_senders_do() {
    let program = compile("apps/c/two-senders.c");
    let senders = env!("CARGO_BIN_EXE_two-senders");
    for platform in ["cluster", "loggops", "infiniband"] {
        for arguments in ["", "--size 1"] {
            compare((&program, arguments), (senders, arguments), platform, 5);
        }
    }
}
