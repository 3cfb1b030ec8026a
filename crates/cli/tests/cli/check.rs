//! `simrun check`: each exit status, the output, replays, and refused inputs.

use std::io::Read as _;
use std::process::{Command, Stdio};

use crate::support::{CLUSTER, Folder, Output, SIMRUN, command, program, run, simrun};

/// `simrun check` with the test program that does `case`.
pub(crate) fn check(case: &str, options: &str) -> Output {
    let program = program("checked");
    simrun!("check {options} {program} -- --case {case}")
}

/// Runs a line in a shell.
pub(crate) fn shell(line: &str) -> Output {
    run(command("sh").args(["-c", line]))
}

/// Returns the commands that a search prints to replay the findings.
fn commands(ran: &Output) -> Vec<String> {
    let lines: Vec<&str> = ran.stdout.lines().collect();
    let offers = lines.windows(2).filter(|pair| pair[0] == "replay with");
    offers.map(|pair| pair[1].trim().to_owned()).collect()
}

#[test]
fn nothing_found_in_any_order() {
    let ran = check("users", "-n 4");
    ran.succeeds_silently();
    ran.prints_first("checked: no errors found; search complete\n  24 executions; at most ");
    // What holds of every reduction.
    for reduction in ["sdpor", "none"] {
        let ran = check("users", &format!("-n 2 --reduction {reduction}"));
        ran.exits_with(0);
    }
    assert_eq!(check("users", "-n 2 -q").stdout, "");
    assert_eq!(check("users", &format!("-n 2 -p {CLUSTER}")).status, 0);
}

#[test]
fn a_panic_is_found_and_replays() {
    let ran = check("panic", "");
    assert_eq!((ran.status, ran.stderr.as_str()), (1, ""));
    let source = include_str!("../programs/checked.rs").lines();
    let at = source.zip(1..).find(|(line, _)| line.contains("assert_eq"));
    let place = format!(
        "(at crates/cli/tests/programs/checked.rs:{}:5)",
        at.unwrap().1
    );
    ran.prints_first("panic of root: ");
    ran.prints_text("the second was faster").prints_text(&place);
    ran.prints_text("post send     mailbox 0");
    let commands = commands(&ran);
    assert_eq!(commands.len(), 1, "{ran:?}");
    let again = shell(&commands[0]);
    again.exits_with(1);
    let (finding, _) = ran
        .stdout
        .split_once("checked: errors in 1 of 2 executions")
        .unwrap();
    // A replay shows the way that it is given, and has not looked for shorter ones.
    let known = "this counterexample is minimal\n";
    assert!(finding.contains(known), "{ran:?}");
    let finding = finding.replace(known, "");
    assert_eq!(again.stdout.trim_end(), finding.trim_end());
}

#[test]
fn an_error_is_found_with_its_branches() {
    let ran = check("draws", "--format json");
    let found = ran.json();
    ran.exits_with(1);
    assert_eq!(found["executions"], 36);
    assert_eq!(found["failed"], 1);
    let finding = &found["findings"][0];
    assert_eq!(finding["kind"], "error");
    assert_eq!(finding["replay"], "1/3;1/4");
    assert_eq!(finding["steps"][0]["result"], "3");
    let again = shell(&format!(
        "{} | grep -c '3 and 4'",
        finding["command"].as_str().unwrap()
    ));
    assert_eq!((again.status, again.stdout.as_str()), (0, "1\n"));
}

#[test]
fn a_livelock_and_a_failure_at_birth_replay() {
    for (case, kind) in [
        ("livelock", "livelock"),
        ("spinning", "livelock"),
        ("stillborn", "error"),
    ] {
        let ran = check(case, "--format json");
        ran.exits_with(1);
        let finding = ran.json()["findings"][0].clone();
        assert_eq!(finding["kind"], kind, "{ran:?}");
        let command = finding["command"].as_str().unwrap();
        let again = shell(&command.replace(" --replay", " --format json --replay"));
        again.exits_with(1);
        assert_eq!(again.json()["findings"][0]["message"], finding["message"]);
    }
}

#[test]
fn a_loop_that_only_yields_is_a_livelock_by_a_bound() {
    let ran = check("spinning", "");
    ran.exits_with(1);
    let text = &ran.stdout;
    assert!(text.contains("spinner does nothing but yields"), "{text}");
    assert!(text.contains("found by a bound, not proven"), "{text}");
    assert!(text.contains("yield at "), "{text}");
    assert!(text.contains(" --replay '1;2*1000'"), "{text}");
    // A thousand steps are one line.
    assert!(
        text.contains("2-1001") && text.lines().count() < 30,
        "{text}"
    );
    // Cut before the bound, nothing is known.
    assert_eq!(check("spinning", "--max-depth 900").status, 3);
}

#[test]
fn transfers_take_time_unless_they_are_instant() {
    let ran = check("hasty", "--format json");
    ran.exits_with(1);
    let command = ran.json()["findings"][0]["command"].clone();
    let again = shell(command.as_str().unwrap());
    again.exits_with(1).prints_text("the transfer takes time");
    assert_eq!(check("hasty", "--transfers instant").status, 0);
}

#[test]
fn different_findings_are_shown_but_not_too_many() {
    let found = check("many", "--format json").json();
    assert_eq!(found["failed"], 8);
    assert_eq!(found["findings_truncated"], true);
    let findings = found["findings"].as_array().unwrap();
    let messages: Vec<&str> = findings
        .iter()
        .map(|one| one["message"].as_str().unwrap())
        .collect();
    assert_eq!(
        messages,
        ["number 0", "number 1", "number 2", "number 3", "number 4"]
    );
    let ran = check("many", "");
    assert_eq!(commands(&ran).len(), 5);
    ran.prints_text("finding 2 of 5");
    ran.prints_text("further findings are not shown");
}

#[test]
fn json_has_its_keys() {
    let found = check("users", "-n 3 --format json").json();
    assert_eq!(found["verdict"], "ok");
    assert_eq!(found["exhaustive"], true);
    assert_eq!(found["executions"], 6);
    assert!(found["transitions"].as_u64().unwrap() > 6);
    let (states, events) = (&found["tree_nodes"], &found["events"]);
    assert_eq!(states.as_u64().unwrap(), events.as_u64().unwrap() + 1);
    assert!(found["transitions_per_s"].as_f64().unwrap() > 0.0);
    assert_eq!(found["findings"], serde_json::json!([]));
    let found = check("panic", "--format json").json();
    assert_eq!(found["verdict"], "found");
    assert_eq!(found["exhaustive"], true);
    let finding = &found["findings"][0];
    for key in ["kind", "message", "replay", "command"] {
        assert!(
            finding[key].as_str().is_some_and(|text| !text.is_empty()),
            "{key}"
        );
    }
    let step = &finding["steps"][0];
    assert_eq!(step["operation"], "create");
    assert_eq!(step["object"], "actor 2");
}

/// Returns the results that do not depend on how long a search took.
fn without_times(ran: &Output) -> serde_json::Value {
    let mut found = ran.json();
    for key in ["wall_s", "transitions_per_s"] {
        found[key] = 0.into();
    }
    found
}

#[test]
fn threads_change_no_result() {
    let ranks = program("cases");
    for (what, options) in [
        ("users", "-n 5"),
        ("panic", "-n 2"),
        ("many", "-n 2"),
        ("draws", "-n 2 --stop-at-first"),
        ("users", "-n 6 --max-executions 100"),
    ] {
        let options = format!("{options} --format json");
        let alone = check(what, &options);
        assert_eq!(alone.stderr, "");
        for threads in [2, 3] {
            let together = check(what, &format!("{options} --threads {threads}"));
            assert_eq!(together.stderr, "", "programs are silent on all threads");
            assert_eq!(without_times(&alone), without_times(&together), "{what}");
        }
    }
    for case in ["relay -n 3", "head-to-head -n 2 --protocol rendezvous"] {
        let (case, options) = case.split_once(' ').unwrap();
        let search = |threads: u32| {
            let more = format!("{options} --format json --threads {threads}");
            simrun!("check {more} {ranks} -- --case {case}")
        };
        assert_eq!(
            without_times(&search(1)),
            without_times(&search(2)),
            "{case}"
        );
    }
}

/// Counts, whatever the way there.
pub(crate) fn counts(found: &serde_json::Value) -> Vec<serde_json::Value> {
    let keys = [
        "verdict",
        "exhaustive",
        "executions",
        "finished",
        "deadlocks",
        "failed",
        "tree_nodes",
        "findings",
    ];
    keys.iter().map(|key| found[key].clone()).collect()
}

#[test]
fn a_search_of_something_else_is_refused() {
    let folder = Folder::new();
    let file = folder.path("search");
    let ran = check(
        "users",
        &format!("-n 5 --max-executions 10 --checkpoint {file}"),
    );
    ran.exits_with(3);
    ran.prints_text(&format!(
        "saved to {file}; run the same command to continue"
    ));
    let text = std::fs::read_to_string(&file).unwrap();
    for (case, options, expected) in [
        ("draws", "-n 5", "checkpoint has different arguments"),
        ("users", "-n 4", "checkpoint has different options: \" -n 5"),
        ("users", "-n 5 --seed 3", "checkpoint has different options"),
        (
            "users",
            "-n 5 --reduction sdpor",
            "--checkpoint requires --reduction odpor",
        ),
    ] {
        let ran = check(case, &format!("{options} --checkpoint {file}"));
        ran.refuses_with(expected);
    }
    for damaged in [
        text.replace("\"executions\"", "\"traces\"")
            .replacen("[4,", "[5,", 1),
        text[..text.len() / 2].to_owned(),
        text.replacen("\"words\":[4,", "\"words\":[4,7,", 1),
        String::new(),
        "{}".to_owned(),
    ] {
        std::fs::write(&file, &damaged).unwrap();
        let ran = check("users", &format!("-n 5 --checkpoint {file}"));
        ran.refuses_with("not a checkpoint file");
    }
}

#[test]
fn backtraces_are_off_in_a_search() {
    let program = program("checked");
    let mut child = command(SIMRUN);
    child.args(["check", &program, "--", "--case", "panic"]);
    let ran = run(child.env("RUST_BACKTRACE", "1"));
    assert_eq!((ran.status, ran.stderr.as_str()), (1, ""));
}

#[test]
fn an_order_of_receives_that_is_not_determined_is_a_warning() {
    let farm = program("cases");
    let search = format!("check -n 3 --format json {farm} -- --case any-source");
    let ran = simrun(&search);
    ran.exits_with(0);
    let found = ran.json();
    assert_eq!(
        (&found["verdict"], &found["findings"]),
        (&"ok".into(), &serde_json::json!([]))
    );
    let warnings = found["warnings"].as_array().unwrap();
    let [warning] = &warnings[..] else {
        panic!("one rank receives from any source: {found}")
    };
    assert_eq!(warning["kind"], "receive-order");
    assert_eq!(warning["severity"], "warning");
    assert_eq!(warning["name"], "rank 0");
    assert_eq!(warning["position"], 1);
    let orders = warning["orders"].as_array().unwrap();
    assert_eq!(
        orders[0]["sources"],
        serde_json::json!(["rank 1", "rank 2"])
    );
    assert_eq!(
        orders[1]["sources"],
        serde_json::json!(["rank 2", "rank 1"])
    );
    for order in orders {
        shell(order["command"].as_str().unwrap()).exits_with(0);
    }
    // The same on two threads.
    let other = simrun(&search.replace("-n 3", "-n 3 --threads 2")).json();
    assert_eq!(other["warnings"][0]["message"], warning["message"]);
    assert_eq!(
        other["warnings"][0]["orders"][1]["replay"],
        orders[1]["replay"]
    );
    let ran = simrun!("check -n 3 {farm} -- --case any-source");
    ran.prints_first("warning: nondeterministic receive order at rank 0: wildcard receive 1 ");
    let ran = simrun!("check -n 3 --quiet {farm} -- --case any-source");
    ran.exits_silently(0);
    // A ring knows its neighbours.
    let ran = simrun!("check -n 2 --format json {farm} -- --case head-to-head");
    assert_eq!(ran.json()["warnings"], serde_json::json!([]));
}

#[test]
fn an_invariant_is_looked_at_in_every_order() {
    let found = check("invariant", "-n 2 --format json");
    found.exits_with(1);
    let found = found.json();
    let finding = &found["findings"][0];
    assert_eq!(finding["kind"], "invariant");
    let again = shell(finding["command"].as_str().unwrap());
    again.exits_with(1);
    again.prints_first("invariant: the invariant \"at most one inside\" does not hold");
}

#[test]
fn a_bound_is_no_verdict() {
    for (case, bound, name) in [
        ("users", "--max-executions 3", "executions"),
        ("users", "--max-transitions 50", "transitions"),
        ("endless", "--max-depth 4", "depth"),
        ("users", "-n 12 --max-time 100ms", "time"),
    ] {
        let ran = check(
            case,
            &format!("-n 5 {bound} --format json").replace("-n 5 -n", "-n"),
        );
        ran.exits_with(3);
        let found = ran.json();
        assert_eq!(found["verdict"], "incomplete");
        assert_eq!(found["exhaustive"], false);
        assert_eq!(found["bounds"], serde_json::json!([name]));
    }
    let ran = check("users", "-n 5 --max-executions 3");
    ran.prints_first("checked: no errors found, but search incomplete: ");
    let help = "--max-depth 100 explores fewer repetitions";
    assert!(!ran.stdout.contains(help), "{ran:?}");
    check("endless", "-n 5 --max-depth 2000 --max-transitions 4000").prints_text(help);
}

#[test]
fn the_first_finding_is_enough() {
    let ran = check("draws", "--stop-at-first");
    ran.exits_with(1);
    ran.prints_text(
        "errors in 1 of 23 executions; search incomplete: stopped at the first finding",
    );
}

#[test]
fn a_program_with_a_memory_is_told_so() {
    let ran = check("memory", "-n 3");
    ran.exits_with(1);
    assert!(
        format!("{}{}", ran.stdout, ran.stderr).contains("the program is not deterministic"),
        "{ran:?}"
    );
}

#[test]
fn programs_are_silent_but_in_replays() {
    let ran = check("chatter", "-n 2");
    ran.succeeds_silently();
    assert!(!ran.stdout.contains("chatter"), "{ran:?}");
    let ran = check("chatter", "--replay 1;1");
    ran.exits_with(3).prints_first("chatter\n");
    ran.reports_last("warn: chatter\n");
    ran.prints_text("the schedule ends after 2 steps; enabled next: 2");
}

#[test]
fn runs_drawn_at_random_are_no_proof() {
    for strategy in ["uniform", "pct=2"] {
        let ran = check(
            "draws",
            &format!("--strategy {strategy} --max-executions 500 --seed 7 --format json"),
        );
        ran.exits_with(1);
        let found = ran.json();
        assert_eq!(found["exhaustive"], false);
        assert_eq!(found["findings"][0]["replay"], "1/3;1/4");
        let ran = check(
            "users",
            &format!("--strategy {strategy} --max-executions 20"),
        );
        ran.exits_with(3);
    }
}

/// Runs `simrun check` with case `case` of the rank test program; the command that the search
/// prints must show the same finding again.
fn check_ranks(case: &str, options: &str, kind: &str) -> serde_json::Value {
    let ranks = program("cases");
    let ran = simrun!("check {options} --format json {ranks} -- --case {case}");
    ran.exits_with(1);
    let found = ran.json();
    let finding = found["findings"][0].clone();
    assert_eq!(finding["kind"], kind, "{ran:?}");
    let command = finding["command"].as_str().unwrap();
    let again = shell(&command.replace(" --replay", " --format json --replay"));
    again.exits_with(1);
    let again = again.json()["findings"][0].clone();
    assert_eq!(again["message"], finding["message"]);
    // What is known of shorter ways is known from a search.
    assert_eq!(again["counterexample"], "given");
    found
}

#[test]
fn rank_programs_are_explored_too() {
    let found = check_ranks("head-to-head", "-n 2 --protocol rendezvous", "deadlock");
    let finding = &found["findings"][0];
    assert_eq!(finding["cycle"], serde_json::json!([1, 2]));
    assert_eq!(finding["critical"]["kind"], "all_executions");
    assert_eq!(finding["counterexample"], "minimal");
    let ranks = program("cases");
    let ran = simrun!("check -n 2 --protocol eager {ranks} -- --case head-to-head");
    ran.exits_with(0);
    let found = check_ranks("unreceived", "-n 2", "unfinished-operations");
    let message = found["findings"][0]["message"].as_str().unwrap();
    assert!(message.contains("unreceived message"), "{message}");
    check_ranks("panic", "-n 2", "panic");
    check_ranks("error", "-n 2", "error");
    check_ranks("relay", "-n 3", "error");
}

#[test]
fn diagrams_have_a_lane_for_each_actor() {
    let folder = Folder::new();
    let svg = folder.path("way.svg");
    check("panic", &format!("--timeline {svg}")).exits_with(1);
    let picture = std::fs::read_to_string(&svg).unwrap();
    for word in [
        "checked: panic",
        "root",
        "sender",
        "post send mailbox 0",
        "checked.rs:",
        "the second was faster",
    ] {
        assert!(picture.contains(word), "{word}");
    }
    // A lane for each rank instead of queues.
    let ranks = folder.path("way.svg");
    let cases = program("cases");
    simrun!("check -n 3 --timeline {ranks} {cases} -- --case relay").exits_with(1);
    let picture = std::fs::read_to_string(&ranks).unwrap();
    assert!(!picture.contains("network"), "{picture}");
    for word in ["rank 0", "rank 2", "invalid rank 77"] {
        assert!(picture.contains(word), "{word}");
    }
    // A program that finds no command that draws has searched all the same.
    let mut alone = command(program("checked"));
    alone.env("PATH", folder.path("")).env_remove("SIMRUN");
    alone.args(["check", "--timeline", &folder.path("none.svg"), "--"]);
    let ran = run(alone.args(["--case", "panic"]));
    ran.exits_with(2).prints_text("panic");
    ran.reports_text("which is not found: expected it in PATH");
    // The same from the replay that was offered, as a graph.
    let dot = folder.path("way.dot");
    let command = commands(&ran)[0].replace(" --replay", &format!(" --timeline {dot} --replay"));
    assert_eq!(shell(&command).status, 1);
    let graph = std::fs::read_to_string(&dot).unwrap();
    assert_eq!(graph.matches("subgraph").count(), 3, "{graph}");
    assert!(graph.contains("color=red"), "{graph}");
    let ran = check(
        "draws",
        &format!("--replay 1;1 --timeline {}", folder.path("draws.png")),
    );
    ran.exits_with(0);
    assert_eq!(folder.names(), ["draws.png", "way.dot", "way.svg"]);
    // Nothing was found: nothing is drawn.
    check("users", &format!("--timeline {}", folder.path("none.svg"))).exits_with(0);
    assert_eq!(folder.names().len(), 3);
    folder.write("file", "");
    for (file, expected) in [
        (
            "way.txt",
            "expected a name that ends with .svg, .png, .dot or .json",
        ),
        ("file/way.svg", "file/way.svg: cannot write it"),
        ("file/way.dot", "file/way.dot: cannot write it"),
    ] {
        let ran = check("panic", &format!("--timeline {}", folder.path(file)));
        ran.exits_with(2).reports_text(expected);
    }
}

#[test]
fn what_is_not_a_replay_is_refused() {
    // Of another program, or more than there is.
    let ran = check("stillborn", "--replay 1");
    assert_eq!(ran.status, 1, "the failure comes before the step: {ran:?}");
    let ran = check("draws", "--replay 1;1");
    ran.exits_with(0)
        .prints_last("checked: finished after 2 steps\n");
}

#[test]
fn a_closed_pipe_is_no_failure() {
    let ran = shell(&format!(
        "{SIMRUN} check {} -- --case panic | true",
        program("checked")
    ));
    ran.succeeds_silently();
    // The status is still that of the search.
    let mut child = command(SIMRUN)
        .args(["check", &program("checked"), "--", "--case", "panic"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let mut errors = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut errors)
        .unwrap();
    assert_eq!(
        (child.wait().unwrap().code(), errors.as_str()),
        (Some(1), "")
    );
}

#[test]
#[expect(
    clippy::disallowed_methods,
    reason = "a signal to another process takes real time"
)]
fn interrupted_says_what_was_found_so_far() {
    let child = command(SIMRUN)
        .args([
            "check",
            "-n",
            "12",
            &program("checked"),
            "--",
            "--case",
            "users",
        ])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    std::thread::sleep(std::time::Duration::from_millis(500));
    let sent = Command::new("kill")
        .args(["-INT", &child.id().to_string()])
        .status();
    assert!(sent.unwrap().success());
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!(output.status.code(), Some(130), "{text}");
    assert!(
        text.starts_with("checked: no errors found, but search incomplete: interrupted"),
        "{text}"
    );
}

#[test]
fn a_program_alone_checks_itself() {
    let alone = command(program("checked"))
        .args(["check", "-n", "3", "--", "--case", "users"])
        .output()
        .unwrap();
    assert_eq!(alone.status.code(), Some(0), "{alone:?}");
    let help = run(command(program("checked")).args(["check", "--help"]));
    help.exits_with(0);
    help.prints_text("Usage: checked check [OPTIONS] [ARGUMENTS OF checked]");
    help.prints_text("--case <CASE>");
    let through = simrun!("check {} --help", program("checked"));
    assert_eq!((through.status, through.stdout), (0, help.stdout));
}

#[test]
fn limits_and_failures_are_explored_on_request() {
    for (case, options, kind) in [
        ("limit", "--explore-timeouts", "panic"),
        (
            "remote",
            "--max-faults 1 --fault-targets host-1",
            "deadlock",
        ),
        ("remote", "--max-faults 1", "deadlock"),
        (
            "limit",
            "--max-faults 1 --fault-targets cable --platform platforms/two-hosts.toml",
            "panic",
        ),
    ] {
        check(case, "").exits_with(0);
        let program = program("checked");
        let ran = simrun!("check --format json {options} {program} -- --case {case}");
        ran.exits_with(1);
        let finding = &ran.json()["findings"][0];
        assert_eq!(finding["kind"], kind, "{ran:?}");
        let again = shell(finding["command"].as_str().unwrap());
        again.exits_with(1).prints_text(kind);
    }
    let ran = check("remote", "--max-faults 1 --fault-targets host-1,wire");
    ran.exits_with(2)
        .reports_text("no host and no link called wire");
}

#[test]
fn a_panic_before_the_first_step_is_told_by_the_search_alone() {
    let cases = program("cases");
    let ran = simrun!("check -n 2 {cases} -- --case panic");
    ran.exits_with(1).prints_text("the reactor is too hot");
    assert!(!ran.stderr.contains("panicked"), "{}", ran.stderr);
}
