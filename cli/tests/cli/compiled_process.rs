//! The process of a compiled program: its clocks are those of a rank.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::compiled::{compiled, compiled_with, ran};
use crate::support::{Folder, simrun};

#[test]
fn clocks_and_waits_have_simulated_time() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "cli/tests/compiled/clocks.c");
    let output = ran(&program, "-n 2", "");
    assert_eq!((output.status, &*output.stdout), (0, "ok\n"), "{output:?}");
    let output = ran(&program, "-n 1", "condition");
    let expected = "a wait for a condition at cli/tests/compiled/clocks.c:220 waits for ever";
    assert!(
        output.status == 1 && output.stderr.contains(expected),
        "{output:?}"
    );
    // In a program of C++, and in the library of its clocks.
    let program = compiled(&folder, "cli/tests/compiled/chrono.cc");
    let output = ran(&program, "-n 2", "");
    assert_eq!((output.status, &*output.stdout), (0, "ok\n"), "{output:?}");
}

#[test]
fn a_search_has_the_lines_and_values_of_clocks() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "cli/tests/compiled/clocks.c");
    let found = simrun(&format!("check -n 1 {program} -- before"));
    let expected = "cli/tests/compiled/clocks.c:205 and ";
    assert!(
        found.status == 0 && found.stdout.contains(expected),
        "{found:?}"
    );
    let found = simrun(&format!("check -n 3 --protocol eager {program} -- values"));
    let is_blamed = found.stdout.contains("may have no value");
    assert!(found.status == 0 && !is_blamed, "{found:?}");
    assert!(found.stdout.contains("2 executions"), "{found:?}");
}
