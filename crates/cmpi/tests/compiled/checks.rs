//! Mistakes of compiled programs that only `simrun check` looks for.

use crate::support::{Folder, compiled_with, ran, simrun};

#[test]
fn memory_belongs_to_an_operation_until_it_is_complete() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/active.c");
    let mine = "was changed by the program before the operation was complete";
    for (mistake, expected) in [
        ("store", format!("reads {mine}")),
        ("room", format!("fills {mine}")),
        ("overlap", "this call reads memory that the operation at crates/cmpi/tests/programs/active.c:18 fills, which is not complete".to_owned()),
        ("collective", format!("reads {mine}")),
        ("exchange", "the buffers of the send and of the receive overlap".to_owned()),
        ("get-store", format!("fills {mine}")),
        ("get-twice", "this call fills memory that the operation at crates/cmpi/tests/programs/active.c:120 fills".to_owned()),
        ("own-fence", "bytes 4 to 7 of the window of rank 1".to_owned()),
        ("own-lock", "bytes 4 to 7 of the window of rank 1".to_owned()),
        ("block", "a window of 400 bytes at a block of 16".to_owned()),
        ("fences", "is in the epoch between two fences, too".to_owned()),
        ("barriers", "calls nonblocking barrier at".to_owned()),
    ] {
        let found = simrun(&program, &format!("check -n 2 -- {mistake}"));
        let is_named = found.stdout.contains(&expected);
        assert!(found.status == 1 && is_named, "{mistake}: {found:?}");
    }
}

#[test]
fn right_uses_of_memory_are_no_findings() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/active.c");
    for right in ["", "get", "other-fence", "other-lock", "asserted"] {
        let options = "check --protocol eager -n 2";
        let found = simrun(&program, &format!("{options} -- {right}"));
        found.exits_with(0);
        // Padding and variables that are not set are sent, too.
        let is_noted = found.stdout.contains("bytes of it may have no value");
        assert_eq!(is_noted, right.is_empty(), "{right}: {found:?}");
    }
}

/// Mistakes in `own-arguments.c` with a part of the finding; true if a plain run finds the mistake,
/// too.
const OWN_ARGUMENTS: &[(&str, &str, bool)] = &[
    (
        "gather",
        "a block of 4 bytes and the receive arguments a block of 8 bytes",
        true,
    ),
    (
        "scatter",
        "a block of 8 bytes and the receive arguments a block of 4 bytes",
        true,
    ),
    (
        "allgather",
        "a block of 4 bytes and the receive arguments a block of 8 bytes",
        true,
    ),
    (
        "iallgather",
        "a block of 4 bytes and the receive arguments a block of 8 bytes",
        true,
    ),
    (
        "alltoall",
        "elements of i32 and the receive arguments elements of f32",
        true,
    ),
    (
        "gatherv",
        "a block of 4 bytes and the receive arguments a block of 8 bytes",
        true,
    ),
    (
        "alltoallv",
        "a block of 8 bytes and the receive arguments a block of 4 bytes",
        true,
    ),
    (
        "aliases",
        "the send buffer and the receive buffer have memory in common",
        true,
    ),
    (
        "overlap",
        "the send buffer and the receive buffer have memory in common",
        true,
    ),
    ("twice", "receive blocks have memory in common", false),
    (
        "in-place",
        "MPI_IN_PLACE, which this call does not allow here",
        true,
    ),
    ("nowhere", "invalid buffer: address 0 for 4 bytes", true),
    ("short", "24 bytes at a block of 20 bytes", false),
    ("short-send", "24 bytes at a block of 20 bytes", false),
    ("freed", "20 bytes at a block that was freed", false),
];

#[test]
fn arguments_that_contradict_each_other_are_refused() {
    let folder = Folder::new();
    let source = "crates/cmpi/tests/programs/own-arguments.c";
    let program = compiled_with(&folder, "-g", source);
    for (mistake, expected, is_plain) in OWN_ARGUMENTS {
        let found = simrun(&program, &format!("check -n 2 -- {mistake}"));
        let is_named = found.stdout.contains(expected);
        assert!(found.status == 1 && is_named, "{mistake}: {found:?}");
        if *is_plain {
            let found = ran(&program, "-n 2", mistake);
            let is_named = found.stderr.contains(expected);
            assert!(found.status == 1 && is_named, "{mistake}: {found:?}");
        }
    }
    simrun(&program, "check -n 2").exits_with(0);
    ran(&program, "-n 2", "").exits_with(0);
}

#[test]
fn persistent_requests_that_are_never_freed_are_leaks() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/active.c");
    let found = simrun(&program, "check -n 2 --leaks -- persistent");
    let expected = "1 persistent requests were never freed";
    found.exits_with(1).prints_text(expected);
    simrun(&program, "check -n 2 -- persistent").exits_with(0);
}

/// One row for each freedom of windows and constructors: the source, the number of ranks, the
/// arguments, and a part of the finding; empty if the program is right.
const WAITS: &[(&str, u32, &str, &str)] = &[
    ("start-early.c", 3, "", "assertion failed"),
    (
        "start-early.c",
        3,
        "waits",
        "waits for the posts of its targets",
    ),
    ("fence-early.c", 3, "", "assertion failed"),
    ("fence-early.c", 3, "waits", "waits for all ranks"),
    ("lock-early.c", 2, "", "assertion failed"),
    ("lock-early.c", 2, "waits", "waits for the grant"),
    ("constructors.c", 3, "", ""),
    ("constructors.c", 3, "init", "waits for all ranks"),
    ("constructors.c", 3, "group", "waits for all ranks"),
];

#[test]
fn calls_wait_or_not() {
    let folder = Folder::new();
    for (source, ranks, arguments, expected) in WAITS {
        let program = compiled_with(
            &folder,
            "-g",
            &format!("crates/cmpi/tests/programs/{source}"),
        );
        let found = simrun(&program, &format!("check -n {ranks} -- {arguments}"));
        found.exits_with(i32::from(!expected.is_empty()));
        found.prints_text(expected);
    }
}

/// Mistakes in `disagreements.c` with a part of the finding.
const DISAGREEMENTS: &[(&str, &str)] = &[
    ("allreduce", "gives MPI_IN_PLACE"),
    ("iallreduce", "gives MPI_IN_PLACE"),
    ("allgather", "gives MPI_IN_PLACE"),
    ("allgatherv", "gives MPI_IN_PLACE"),
    ("alltoall", "gives MPI_IN_PLACE"),
    ("alltoallv", "gives MPI_IN_PLACE"),
    ("alltoallw", "gives MPI_IN_PLACE"),
    ("reduce_scatter_block", "gives MPI_IN_PLACE"),
    ("kind", "calls cart_create"),
    ("dims", "has dims [1, 4], "),
    ("periods", "periods [false, false] "),
    ("reorder", "and reorder true at"),
    ("remain_dims", "has remain_dims [false, true]"),
    ("edges", "edges [0, 0, 0, 1] "),
    ("info", r#"the hints [("a", "b")]"#),
    ("adjacent", "reorder true and"),
    ("weights", "has weights, "),
    ("local_leader", "has local_leader 1"),
    ("high", "has high false"),
    ("split_type", "has split_type MPI_COMM_TYPE_HW_GUIDED"),
    ("idup", "calls nonblocking idup of a communicator"),
    ("win_create", "calls win_create"),
];

/// Mistakes in `disagreements.c` between neighbours, with a part of the finding and of the error of
/// a plain run.
const NEIGHBORS: &[(&str, &str, &str)] = &[
    (
        "longer",
        "expects 8 bytes of rank 0",
        "4 bytes from rank 2, expected 8 bytes",
    ),
    ("sends", "gives 8 bytes to rank 2", "message truncated"),
    ("v-longer", "expects 8 bytes of rank 0", "expected 8 bytes"),
    ("type", "elements of f32", "elements of f32"),
    ("shorter", "expects 0 bytes of rank 2", "message truncated"),
    ("v-more", "gives 8 bytes to rank 0", "message truncated"),
    ("v-none", "gives 0 bytes to rank 0", "expected 4 bytes"),
];

#[test]
fn arguments_in_which_ranks_disagree_are_refused() {
    let folder = Folder::new();
    let source = "crates/cmpi/tests/programs/disagreements.c";
    let program = compiled_with(&folder, "-g", source);
    for (mistake, expected) in DISAGREEMENTS {
        for found in [
            simrun(
                &program,
                &format!("check -n 4 --explain-time 0s -- {mistake}"),
            ),
            ran(&program, "-n 4", mistake),
        ] {
            let text = format!("{}{}", found.stdout, found.stderr);
            let is_named = text.contains("collective calls differ: ") && text.contains(expected);
            assert!(found.status == 1 && is_named, "{mistake}: {found:?}");
        }
    }
    for (mistake, expected, plain) in NEIGHBORS {
        let options = "check -n 4 --explain-time 0s";
        let found = simrun(&program, &format!("{options} -- {mistake}"));
        let is_named = found.stdout.contains(expected);
        assert!(found.status == 1 && is_named, "{mistake}: {found:?}");
        let found = ran(&program, "-n 4", mistake);
        let is_named = found.stderr.contains(plain);
        assert!(found.status == 1 && is_named, "{mistake}: {found:?}");
    }
    simrun(&program, "check -n 4").exits_with(0);
    ran(&program, "-n 4", "").exits_with(0);
}

#[test]
fn operations_that_write_beside_their_elements_are_errors() {
    let folder = Folder::new();
    let source = "crates/cmpi/tests/programs/operations.c";
    let program = compiled_with(&folder, "-g", source);
    let expected = format!("the operation of the reduction at {source}:37 has written beside");
    for mistake in ["doubles", "longest", "before"] {
        let found = simrun(&program, &format!("check -n 3 -- {mistake}"));
        found.exits_with(1).prints_text(&expected);
        let found = ran(&program, "-n 3", mistake);
        let is_named = found.stderr.contains(&expected);
        assert!(found.status == 1 && is_named, "{mistake}: {found:?}");
    }
    simrun(&program, "check -n 3").exits_with(0);
    ran(&program, "-n 3", "").exits_with(0);
}

#[test]
fn active_collectives_are_neither_freed_nor_cancelled() {
    let folder = Folder::new();
    let source = "crates/cmpi/tests/programs/unfreeable.c";
    let program = compiled_with(&folder, "-g", source);
    let expected = "the request is of an active collective operation or access to a window";
    for mistake in [
        "barrier",
        "cancel",
        "allreduce",
        "idup",
        "persistent",
        "access",
    ] {
        let found = simrun(&program, &format!("check -n 2 -- {mistake}"));
        found.exits_with(1).prints_text(expected);
        let found = ran(&program, "-n 2", mistake);
        let is_named = found.stderr.contains(expected);
        assert!(found.status == 1 && is_named, "{mistake}: {found:?}");
    }
    simrun(&program, "check -n 2").exits_with(0);
    ran(&program, "-n 2", "").exits_with(0);
}

/// Mistakes in `assertions.c` with a part of the finding; true if a plain run finds the mistake,
/// too.
const ASSERTIONS: &[(&str, &str, bool)] = &[
    (
        "precede",
        "MPI_MODE_NOPRECEDE ends accesses of this rank to rank 0",
        true,
    ),
    ("one-precede", "gives MPI_MODE_NOPRECEDE at", true),
    ("succeed", "access outside of an epoch", true),
    ("one-succeed", "gives MPI_MODE_NOSUCCEED at", true),
    ("put", "fence with MPI_MODE_NOPUT of rank 0 at", false),
    (
        "operations",
        "accumulate with product of i32 of rank 1",
        false,
    ),
];

#[test]
fn false_assertions_about_windows_are_errors() {
    let folder = Folder::new();
    let source = "crates/cmpi/tests/programs/assertions.c";
    let program = compiled_with(&folder, "-g", source);
    for (mistake, expected, is_plain) in ASSERTIONS {
        let found = simrun(&program, &format!("check -n 2 -- {mistake}"));
        found.exits_with(1).prints_text(expected);
        let found = ran(&program, "-n 2", mistake);
        let is_named = found.stderr.contains(expected);
        assert!(
            found.status == i32::from(*is_plain) && is_named,
            "{mistake}: {found:?}"
        );
    }
    simrun(&program, "check -n 2").exits_with(0);
    ran(&program, "-n 2", "").exits_with(0);
}

/// Conflicts in `stores.c` with the access that conflicts with the store.
const STORES: &[(&str, &str)] = &[
    ("fence", "put of rank 0"),
    ("get", "get of rank 0"),
    ("exposure", "put of rank 0"),
    ("early", "put of rank 0"),
    ("lock", "put of rank 0"),
];

#[test]
fn stores_of_the_program_conflict_with_accesses_of_other_ranks() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/stores.c");
    for (mistake, access) in STORES {
        let found = simrun(&program, &format!("check -n 2 -- {mistake}"));
        let conflict = "conflicting accesses to bytes 0 to 0 of the window of rank 1";
        found.exits_with(1).prints_text(conflict);
        found.prints_text("a store before the call of rank 1");
        found.prints_text(access);
    }
    for (mistake, call) in [("assertion", "MPI_Win_fence"), ("post", "MPI_Win_post")] {
        let found = simrun(&program, &format!("check -n 2 -- {mistake}"));
        let text = "MPI_MODE_NOSTORE after a store of the program to the window";
        found.exits_with(1).prints_text(call).prints_text(text);
    }
    let right = simrun(&program, "check -n 2");
    right.prints_text("no errors found; search complete");
    ran(&program, "-n 2", "").exits_with(0);
}
