//! Compiled MPI programs that need more than there is: of their stacks, of memory for messages.

use testing::commands::compile_as;

use crate::support::{COMPILED, Folder, compiled_with, ran, simrun};

#[test]
fn a_frame_longer_than_the_stack_fails_its_rank() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/frames.c");
    let fine = ran(&program, "-n 3", "");
    assert_eq!(
        (fine.status, fine.stdout.lines().count()),
        (0, 3),
        "{fine:?}"
    );
    // As any program is compiled, and as one without simrun cc: some pages are not touched.
    let source = "crates/cmpi/tests/programs/frames.c";
    let unprobed = "-O1 -g -fno-stack-clash-protection";
    let other = compile_as(COMPILED, &folder, unprobed, source, "other");
    let full = "the stack of the rank, of 8 MiB, is full";
    for (program, mode, lines) in [
        (&program, "skip", 10..=14),
        (&program, "far", 10..=14),
        (&program, "array", 16..=17),
        (&other, "skip", 12..=12),
        (&other, "array", 16..=21),
    ] {
        let output = ran(program, "-n 3", mode);
        let at = |line: i32| {
            let expected = format!("segmentation fault (signal 11) at {source}:{line}: {full}");
            output.stderr.contains(&expected)
        };
        let is_found = output.status == 1 && output.stderr.contains("rank 1 on host node-1");
        assert!(is_found && lines.clone().any(at), "{mode}: {output:?}");
        let found = simrun(program, &format!("check -n 2 -- {mode}"));
        let is_found = found.status == 1 && found.stdout.contains(full);
        assert!(is_found, "{mode}: {found:?}");
    }
    // A call has room for functions of simrun.
    let output = ran(&program, "-n 3", "calls");
    let expected = format!("MPI_Comm_size at {source}:32: {full}");
    let is_found = output.status == 1 && output.stderr.contains(&expected);
    assert!(is_found, "{output:?}");
}

#[test]
fn a_sender_that_never_waits_reaches_a_limit() {
    let folder = Folder::new();
    let source = "crates/cmpi/tests/programs/flood.c";
    let program = compiled_with(&folder, "-g", source);
    for (arguments, line) in [
        ("33554432 send", 25),
        ("33554432 isend", 22),
        ("33554432 bcast", 18),
    ] {
        let output = ran(&program, "-n 2 --protocol eager", arguments);
        let expected = format!(
            "rank 0 has sent more than 1GiB that no receive has met, at {source}:{line}; with \
             --set protocol.unexpected_memory=SIZE"
        );
        let is_found = output.status == 3 && output.stderr.contains(&expected);
        assert!(is_found, "{arguments}: {output:?}");
    }
    // The sender waits for the receiver.
    let options = "-n 2 --protocol eager --set protocol.unexpected_memory=64MiB";
    ran(&program, options, "1048576 send 100").exits_with(0);
    // Phantoms take no memory for their bytes.
    let options = "-n 2 --protocol eager --payload phantom";
    ran(&program, options, "1073741824 send 40").exits_with(0);
    let output = ran(&program, "-n 2 --until 1ms --payload phantom", "4 send");
    let expected = "stopped by --until at 0 s: simulated time does not advance, 1048577 steps";
    output.exits_with(3).reports_text(expected);
    let found = simrun(&program, "check -n 2 --max-depth 100 -- 4 send");
    let expected = "rank 0 sends 100001 messages and never waits";
    let text = format!("{}{}", found.stdout, found.stderr);
    assert!(found.status == 3 && text.contains(expected), "{found:?}");
}
