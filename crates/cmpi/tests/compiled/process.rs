//! The process of a compiled program: clocks, streams, threads and exit act on the rank, not on the
//! process of simrun.

use crate::support::{
    CLUSTER, Folder, as_program, command, compiled, compiled_with, ran, run, simrun,
};

#[test]
fn clocks_and_waits_have_simulated_time() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/clocks.c");
    let output = ran(&program, "-n 2", "");
    assert_eq!((output.status, &*output.stdout), (0, "ok\n"), "{output:?}");
    let output = ran(&program, "-n 1", "condition");
    let expected =
        "a wait for a condition at crates/cmpi/tests/programs/clocks.c:235 waits for ever";
    output.exits_with(1).reports_text(expected);
    // In a program of C++, and in the library of its clocks.
    let program = compiled(&folder, "crates/cmpi/tests/programs/chrono.cc");
    let output = ran(&program, "-n 2", "");
    assert_eq!((output.status, &*output.stdout), (0, "ok\n"), "{output:?}");
}

#[test]
fn a_search_has_the_lines_and_values_of_clocks() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/clocks.c");
    let found = simrun(&program, "check -n 1 -- before");
    let expected = "crates/cmpi/tests/programs/clocks.c:220 and ";
    found.exits_with(0).prints_text(expected);
    let found = simrun(&program, "check -n 3 --protocol eager -- values");
    let is_blamed = found.stdout.contains("may have no value");
    assert!(found.status == 0 && !is_blamed, "{found:?}");
    found.prints_text("2 executions");
}

#[test]
fn descriptors_of_output_are_lines_of_the_rank() {
    let folder = Folder::new();
    let program = compiled(&folder, "crates/cmpi/tests/programs/descriptors.c");
    let output = ran(&program, "-n 2", "");
    let lines = |rank: usize| {
        format!(
            "begun written\nvector\nformatted {rank} 0.5 text 4 5 6 7\ncalled\nvector\ncopied\n"
        )
    };
    output.exits_with(0);
    assert_eq!(sorted(&output.stdout), sorted(&(lines(0) + &lines(1))));
    assert_eq!(output.stderr.matches("logged").count(), 2, "{output:?}");
    let file = folder.path("file");
    let output = ran(&program, "-n 2", &file);
    output.exits_with(0);
    let expected = "back 0\nback 1\nread to a file 0\nread to a file 1\n";
    assert_eq!(sorted(&output.stdout), expected, "{output:?}");
    for rank in 0..2 {
        let written = lines(rank).replace("begun ", "");
        let expected = format!("to a file {rank}\n{written}appended {rank}\nlast\n");
        let found = std::fs::read_to_string(format!("{file}-{rank}")).unwrap();
        assert_eq!(found, expected);
    }
    simrun(&program, &format!("check -n 2 -- {file}")).exits_with(0);
}

/// Returns lines in ascending order.
fn sorted(text: &str) -> String {
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines.sort_unstable();
    lines.concat()
}

#[test]
fn streams_of_cpp_keep_their_state_at_each_rank() {
    let folder = Folder::new();
    for option in ["-fPIE", "-fPIC", "--tls"] {
        let program = compiled_with(
            &folder,
            option,
            "crates/cmpi/tests/programs/manipulators.cc",
        );
        for arguments in ["", "unsynchronised"] {
            let output = ran(&program, "-n 2", arguments);
            let is_right = output.status == 0 && output.stderr.contains("logged");
            assert!(is_right, "{option} {arguments}: {output:?}");
            assert_eq!(output.stdout, "255 3.14159 00011\n", "{option}: {output:?}");
        }
    }
}

#[test]
fn input_of_cpp_is_that_of_the_process_at_the_first_rank() {
    let folder = Folder::new();
    for option in ["-fPIE", "-fPIC"] {
        let program = compiled_with(&folder, option, "crates/cmpi/tests/programs/input.cc");
        let with_input = |line: &str| {
            let script = format!("echo word | {} {line}", as_program(&program));
            run(command("sh").args(["-c", &script]))
        };
        let output = with_input(&format!("-p {CLUSTER} -q -n 2"));
        let expected = "0: word nothing 10\n1: end nothing -1\n";
        assert_eq!(sorted(&output.stdout), expected, "{option}: {output:?}");
        with_input("check -n 2").exits_with(0);
    }
}

#[test]
fn an_end_anywhere_is_that_of_the_rank() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/exits.cc");
    for (how, said, end) in [
        ("errx", "exits: bad value 7", "exited with status 3"),
        ("err", "exits: no file: ", "exited with status 4"),
        ("error", ": bad number 0.5", "exited with status 5"),
        (
            "error_at_line",
            ":input:12: bad line",
            "exited with status 6",
        ),
        (
            "argp",
            "Usage: exits [OPTION...] ARGUMENT",
            "exited with status 64",
        ),
        ("status", "", "exited with status 9"),
        (
            "library",
            "",
            "called abort at crates/cmpi/tests/programs/exits.cc:57",
        ),
        (
            "stack",
            "",
            "smashing detected at crates/cmpi/tests/programs/exits.cc:59",
        ),
        (
            "exit_group",
            "",
            "ended at once at crates/cmpi/tests/programs/exits.cc:49,",
        ),
        (
            "thread_exit",
            "",
            "ended at once at crates/cmpi/tests/programs/exits.cc:51,",
        ),
        (
            "_exit",
            "",
            "ended at once at crates/cmpi/tests/programs/exits.cc:53,",
        ),
        (
            "quick_exit",
            "",
            "ended at once at crates/cmpi/tests/programs/exits.cc:55,",
        ),
    ] {
        let output = ran(&program, "-n 3", how);
        let is_named = output.stderr.contains(said) && output.stderr.contains(end);
        assert!(output.status == 1 && is_named, "{how}: {output:?}");
        output.reports_text("rank 1 on host");
        let handlers = match how {
            "quick_exit" => "quickly\n",
            "errx" | "err" | "error" | "error_at_line" | "argp" => "destroyed\n",
            _ => "",
        };
        assert_eq!(output.stdout, handlers, "{how}: {output:?}");
        // Again and again in one process, and a verdict.
        let options = "check -n 3 --protocol eager --threads 2";
        let found = simrun(&program, &format!("{options} -- {how}"));
        let is_found = found.status == 1 && found.stdout.contains(end);
        assert!(is_found, "{how}: {found:?}");
    }
    let output = ran(&program, "-n 3", "");
    assert_eq!(output.stdout, "destroyed\n".repeat(3), "{output:?}");
}

#[test]
fn a_call_that_a_rank_cannot_make_fails_it() {
    let folder = Folder::new();
    let program = compiled_with(&folder, "-g", "crates/cmpi/tests/programs/threads.cc");
    for (how, line) in [
        ("pthread_create", 25),
        ("thrd_create", 27),
        ("std::thread", 29),
        ("fork", 30),
        ("exec", 33),
    ] {
        let expected = format!("{how} at crates/cmpi/tests/programs/threads.cc:{line}: ");
        let output = ran(&program, "-n 2", how);
        let is_named = output.status == 1 && output.stderr.contains(&expected);
        assert!(is_named && output.stdout.is_empty(), "{how}: {output:?}");
        let found = simrun(&program, &format!("check -n 1 -- {how}"));
        found.exits_with(1).prints_text(&expected);
    }
}
