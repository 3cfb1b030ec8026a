//! Ends of ranks of compiled MPI programs.

use crate::support::{Folder, compiled, ran, simrun};

#[test]
fn a_status_after_finalize_leaves_the_other_ranks_running() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/exits.c");
    let all = "rank 0: 3\nrank 1: 3\nrank 2: 3\n";
    for (arguments, expected) in [
        ("0 0 0", None),
        ("0 1 0", Some("rank 1 exited with 1 after MPI_Finalize")),
        ("7 0 0", Some("rank 0 exited with 7 after MPI_Finalize")),
        ("0 3 2", Some("exited with ")),
        // Of a status the system keeps 8 bits.
        ("256 0 0", None),
    ] {
        let output = ran(&program, "-n 3", arguments);
        let mut lines: Vec<&str> = output.stdout.lines().collect();
        lines.sort_unstable();
        assert_eq!(lines.join("\n") + "\n", all, "{arguments}: {output:?}");
        output.exits_with(i32::from(expected.is_some()));
        let is_told = expected.is_none_or(|expected| output.stderr.contains(expected));
        assert!(is_told, "{arguments}: {output:?}");
        let found = simrun(&program, &format!("check -n 3 -- {arguments}"));
        found.exits_with(i32::from(expected.is_some()));
        let is_told = expected.is_none_or(|expected| found.stdout.contains(expected));
        assert!(is_told, "{arguments}: {found:?}");
    }
}
