//! Programs that harm the process of their simulator, and files that are no programs: no such run
//! succeeds.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{CLUSTER, Folder, Output, case, command, program, run, simrun};

/// Runs a case of two ranks with a record; returns the output, and the record.
fn recorded(name: &str) -> (Output, serde_json::Value) {
    let folder = Folder::new();
    let out = folder.path("out");
    let ran = case(name, &format!("-n 2 --out {out}"));
    let record = fs::read_to_string(format!("{out}/record.json"));
    let record = record.unwrap_or_else(|error| panic!("{error}: {ran:?}"));
    (ran, serde_json::from_str(&record).unwrap())
}

const EXIT: &str = "rank 1 on host node-1 failed at 2 s: ended the process, as std::process::exit does: expected it to return";

#[test]
fn a_rank_that_ends_the_process_has_failed() {
    let (ran, record) = recorded("exit");
    ran.exits_with(1);
    assert_eq!(ran.stderr, format!("error: {EXIT}\n"));
    ran.prints_first("cases failed at 2 s simulated");
    assert_eq!(record["outcome"], "failed");
    assert_eq!(record["failure"]["rank"], 1);
    assert_eq!(record["failure"]["host"], "node-1");
    assert_eq!(record["failure"]["time_s"], 2.0);
    assert_eq!(record["events"], 1);
    let json = case("exit", "-n 2 --format json");
    assert_eq!(
        (json.status, &json.json()["outcome"]),
        (1, &"failed".into()),
        "{json:?}"
    );
    // Alone, too.
    let line = format!("-p {CLUSTER} -n 2 -q -- --case exit");
    let alone = run(command(program("cases")).args(line.split_whitespace()));
    alone
        .exits_with(1)
        .reports_only(&format!("error: {EXIT}\n"));
}

#[test]
fn so_has_one_whose_thread_does() {
    let (ran, record) = recorded("exit-elsewhere");
    assert_eq!(
        (ran.status, &record["outcome"]),
        (1, &"failed".into()),
        "{ran:?}"
    );
    let expected =
        "error: the program ended the process, as std::process::exit does: expected it to return\n";
    assert_eq!(ran.stderr, expected);
}

#[test]
fn a_search_does_not_succeed_when_a_rank_ends_the_process() {
    let cases = program("cases");
    for options in ["", "--threads 2", "--replay 1;2"] {
        let line = format!("check -n 2 {options} {cases} -- --case exit");
        let ran = simrun(&line);
        ran.exits_silently(1);
        let expected = EXIT.replace("node-1", "host-1").replace("2 s", "0 s");
        ran.reports_first(&format!("error: {expected}\n"));
    }
}

#[test]
fn standard_output_stays_open() {
    let (ran, record) = recorded("close-stdout");
    ran.exits_with(1).prints_only("before\n");
    let expected =
        "the program closed standard output, or put something else there: expected it to stay open";
    ran.reports_last(&format!("failed: {expected}\n"));
    assert_eq!(
        (&record["outcome"], &record["warnings"][0]),
        (&"failed".into(), &expected.into())
    );
    let ran = simrun!("check -n 2 {} -- --case close-stdout", program("cases"));
    ran.exits_with(1)
        .reports_only(&format!("failed: {expected}\n"));
}

#[test]
fn a_child_that_returns_is_a_failure_of_its_rank() {
    let expected = "rank 1 on host node-1 failed at 2 s: forked, and the child returned into the run: expected the child to exit";
    let (ran, record) = recorded("fork");
    ran.exits_with(1)
        .reports_only(&format!("error: {expected}\n"));
    ran.prints_first("before\nafter\ncases failed at ");
    assert_eq!(record["failure"]["rank"], 1);
    let cases = program("cases");
    for options in ["", "--threads 2", "--stop-at-first"] {
        let ran = simrun!("check -n 2 {options} {cases} -- --case fork");
        ran.exits_silently(1);
    }
    // A child that exits is nobody's business.
    let ran = case("fork-and-exit", "-n 2 -q");
    assert_eq!(
        (ran.status, ran.stdout, ran.stderr),
        (0, String::new(), String::new())
    );
}

/// Refuses a file as a program in every command that starts one; gives the message.
#[track_caller]
fn refused(file: &str, begins: &str) {
    for line in [
        format!("-p {CLUSTER} {file}"),
        format!("check {file}"),
        format!("real -n 2 {file}"),
        format!("compare --platform {CLUSTER} -n 2 {file}"),
        format!("{file} --help"),
    ] {
        let ran = simrun(&line);
        ran.exits_silently(2);
        let expected = format!("error: {file}: {begins}");
        ran.reports_first(&expected);
    }
}

#[test]
fn a_program_says_who_it_is() {
    let folder = Folder::new();
    let executable = |name: &str, bytes: &[u8]| {
        let file = folder.path(name);
        fs::write(&file, bytes).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    };
    let else_ = "not a program of simrun: asked who it is, it did not give the answer: expected a program that is built with simrun";
    refused("/bin/ls", else_);
    refused(&executable("script", b"#!/bin/sh\necho fine\n"), else_);
    let other = executable(
        "other",
        b"#!/bin/sh\necho 'simrun-program 9.9.9 (0123456789ab)'\n",
    );
    let version = env!("CARGO_PKG_VERSION");
    refused(
        &other,
        &format!("it is built with simrun 9.9.9 (0123456789ab), and this is simrun {version} ("),
    );
    // A binary that is cut short.
    let whole = fs::read(program("actors")).unwrap();
    let file = executable("short", &whole[..100_000]);
    let ran = simrun!("-p {CLUSTER} {file}");
    ran.refuses_with(
        "; this binary of 100000 bytes may be cut short, or for another machine: build it again",
    );
}
