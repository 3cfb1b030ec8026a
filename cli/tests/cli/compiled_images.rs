//! Images of compiled programs: variables and libraries that each rank has for itself.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::compiled::{compiled, compiled_with, ran};
use crate::support::{Folder, simrun};

#[test]
fn each_rank_has_its_thread_local_variables() {
    let folder = Folder::new();
    let source = "cli/tests/compiled/thread-locals.cc";
    let program = compiled_with(&folder, "--tls", source);
    let output = ran(&program, "-n 3", "");
    let expected = "0: 1007 of 3024, 100 0 3 0\n0: destroyed 100\n\
                    1: 1008 of 3024, 101 1 4 0\n1: destroyed 101\n\
                    2: 1009 of 3024, 102 2 5 0\n2: destroyed 102\n";
    let mut lines: Vec<&str> = output.stdout.lines().collect();
    // The order is that of the end of the reduction.
    lines.sort_by_key(|line| line.chars().next());
    assert_eq!(lines.join("\n") + "\n", expected, "{output:?}");
    // A second execution finds them as they were at first.
    let output = simrun(&format!("check -n 2 {program}"));
    assert!(output.status == 0, "{output:?}");
    let output = ran(&compiled(&folder, source), "-n 3", "");
    let remedy = "compile and link it with simrun cc --tls";
    assert!(
        output.status == 2 && output.stderr.contains(remedy),
        "{output:?}"
    );
}
