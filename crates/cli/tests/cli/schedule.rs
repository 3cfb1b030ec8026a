//! `--schedule`: check replays the order of a simulated run, or the error says why check cannot
//! replay the run.

use crate::support::{CLUSTER, Folder, Output, program, root, simrun};

/// Runs a program with `--schedule`. Returns the run, and the replay if a schedule was written.
fn replayed(name: &str, options: &str, arguments: &str) -> (Output, Option<Output>) {
    let (folder, name) = (Folder::new(), program(name));
    let file = folder.path("schedule");
    let run = simrun!("-q -p {CLUSTER} {options} --schedule {file} {name} -- {arguments}");
    let Ok(text) = std::fs::read_to_string(&file) else {
        return (run, None);
    };
    let line = text.lines().next().unwrap();
    let line = line.strip_prefix(&format!("# {name} ")).unwrap();
    let command = line.replacen("check", &format!("check {name}"), 1);
    (run, Some(simrun(&command)))
}

#[test]
fn combinators_take_the_same_order_again() {
    for (name, options, arguments) in [
        ("combined", "-n 4", ""),
        ("combined", "-n 4 --protocol rendezvous", ""),
        ("combined", "-n 3 --set protocol.eager_threshold=1B", ""),
        ("actors", "-n 3", ""),
        ("checked", "", "--case several"),
        ("checked", "", "--case draws"),
        ("cases", "-n 5", "--case any-source"),
    ] {
        let (run, replay) = replayed(name, options, arguments);
        run.exits_with(0);
        let replay = replay.unwrap();
        replay.exits_with(0);
        // An actor program prints the time.
        let expected = run
            .stdout
            .replace("at 0.0000027600000000000007 s", "at 0 s");
        replay.prints_first(&expected);
        replay.prints_text(&format!("{name}: finished after "));
    }
}

#[test]
fn deadlocks_and_failures_are_replayed() {
    for (name, options, arguments, end) in [
        (
            "cases",
            "-n 2 --protocol rendezvous",
            "--case head-to-head",
            "deadlock\n",
        ),
        ("cases", "-n 2", "--case panic", "panic of rank 1"),
        ("checked", "", "--case hasty", "panic of root"),
        ("checked", "", "--case many", "error of root"),
    ] {
        let (run, replay) = replayed(name, options, arguments);
        let replay = replay.unwrap();
        assert_eq!((run.status, replay.status), (1, 1), "{run:?} {replay:?}");
        replay.prints_text(end);
    }
}

#[test]
fn what_check_cannot_take_again_is_told() {
    // Messages that arrive before their receiver has gone on.
    let (run, replay) = replayed("combined", "-n 4", "--burst");
    assert!(run.status == 2 && replay.is_none(), "{run:?}");
    let line = "line 4 of rank 0 is \"joined: 1\" in the run, and \"joined: 2\" under check";
    run.reports_text(line);
    // A program that goes by the time.
    let (run, replay) = replayed("cases", "-n 2", "--case clock");
    assert!(run.status == 2 && replay.is_none(), "{run:?}");
    for text in [
        "check cannot take this run again: the run finished, but under check it failed",
        "time does not pass during the search, but crates/cli/tests/programs/cases.rs:",
    ] {
        run.reports_text(text);
    }
    // What no checker has, before the run.
    for (setting, text) in [
        (
            "protocol.credits=4",
            "check does not support platforms with packet or credit limits",
        ),
        (
            "connection.mode=\"on-demand\"",
            "check does not support connections on demand",
        ),
    ] {
        let (run, replay) = replayed(
            "cases",
            &format!("-n 2 --set {setting}"),
            "--case any-source",
        );
        assert!(run.status == 2 && replay.is_none(), "{run:?}");
        run.reports_text(text);
    }
}

#[test]
fn the_file_is_not_an_input_and_not_the_terminal() {
    let name = program("cases");
    let folder = Folder::new();
    let copy = folder.write(
        "cluster.toml",
        &std::fs::read_to_string(root().join(CLUSTER)).unwrap(),
    );
    for (file, text) in [
        (
            "-",
            "standard output has the output of the program: expected the name of a file",
        ),
        (copy.as_str(), "it is also the input"),
    ] {
        let ran = simrun!("-p {copy} --schedule {file} {name} -- --case any-source");
        ran.refuses_with(text);
    }
    let ran = simrun!("check --replay {copy} {name} -- --case any-source");
    ran.exits_with(2)
        .reports_text("is not a step of a schedule");
}
