//! Where output goes: results on standard output, everything else on standard error; and streams
//! that are closed.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use crate::support::{CLUSTER, Output, SIMRUN, case, command, program, run, simrun};

#[test]
fn log_lines_are_stamped_and_filtered() {
    let log = |filter: &str| {
        let ran = case("log", &format!("-n 2 {filter}"));
        ran.exits_with(0);
        ran.stderr
    };
    let line = |rank: u32, level: &str, text: &str| {
        format!("[0.500000000] [rank {rank} on node-{rank}] {level}: this is {text}\n")
    };
    let (error, warn) = (
        |rank| line(rank, "error", "Error"),
        |rank| line(rank, "warn", "Warn"),
    );
    assert_eq!(log(""), [error(0), warn(0), error(1), warn(1)].concat());
    assert_eq!(log("--log error"), [error(0), error(1)].concat());
    assert_eq!(log("--log off"), "");
    assert_eq!(log("--log off,1=error"), error(1));
    assert_eq!(log("--log error,0-1=off"), "");
    assert_eq!(log("--log trace").lines().count(), 10);
    assert_eq!(log("--log debug").lines().count(), 8);
    assert_eq!(log("--log off,0=info").lines().count(), 3);
}

#[test]
fn prefix_and_quiet() {
    let ran = case("log", "-n 2 --log off --prefix-rank -q");
    assert_eq!(ran.stdout, "[0] printed\n[1] printed\n");
    let ran = case("log", "-n 2 --log off -q");
    assert_eq!(
        (ran.stdout.as_str(), ran.stderr.as_str()),
        ("printed\nprinted\n", "")
    );
}

#[test]
fn verbose_shows_the_parameters_in_force() {
    let ran = case(
        "log",
        "-n 2 --log off -v --protocol threshold=4KiB --payload phantom --seed 7",
    );
    for line in [
        "name      64 nodes, InfiniBand EDR\n",
        "ranks     2, map block\n",
        "sends     eager below 4KiB, then rendezvous; messages carry only a length\n",
        "seed      7\n",
    ] {
        ran.reports_text(line);
    }
    ran.prints_first("printed\nprinted\ncases finished at 500 ms simulated");
}

#[test]
fn json_has_the_results_and_nothing_else() {
    let ran = case("log", "-n 2 --log off --format json");
    assert_eq!((ran.status, ran.stderr.as_str()), (0, "printed\nprinted\n"));
    let json = ran.json();
    assert_eq!(json["outcome"], "finished");
    assert_eq!(json["simulated_s"], 0.5);
    assert_eq!(json["ranks"], 2);
    assert_eq!(json["messages"], 0);
    assert_eq!(json["bytes"], 0.0);
    assert_eq!(json["events"], 2);
    assert_eq!(json["seed"], 0);
    assert!(json["wall_s"].as_f64().unwrap() > 0.0);
    assert!(json["events_per_s"].as_f64().unwrap() > 0.0);
    assert_eq!(json["digest"].as_str().unwrap().len(), 16);
    assert!(!json["revision"].as_str().unwrap().is_empty());
    assert!(json.get("failure").is_none());
    // The same digest as the text shows.
    assert_eq!(json["digest"], case("log", "-n 2").digest());
}

#[test]
fn json_of_failures() {
    let failure = case("panic", "-n 2 --format json").json();
    assert_eq!(failure["outcome"], "failed");
    let failure = &failure["failure"];
    assert_eq!(failure["rank"], 1);
    assert_eq!(failure["host"], "node-1");
    assert_eq!(failure["time_s"], 2.0);
    let message = failure["message"].as_str().unwrap();
    assert!(
        message.starts_with("the reactor is too hot (at "),
        "{message}"
    );

    let ran = case("head-to-head", "-n 2 --protocol rendezvous --format json");
    ran.exits_with(1);
    let deadlock = ran.json();
    assert_eq!(deadlock["outcome"], "deadlock");
    assert_eq!(deadlock["deadlock"][1]["rank"], 1);
    assert_eq!(deadlock["deadlock"][1]["waits_for"][0], 0);

    let limit = case("forever", "-n 1 --until 3s --format json").json();
    assert_eq!(limit["outcome"], "limit");
    assert_eq!(limit["limit"], "--until 3s");
    let warned = case("unreceived", "-n 2 --format json -q");
    assert_eq!(warned.stderr, "");
    assert_eq!(warned.json()["warnings"].as_array().unwrap().len(), 1);
}

/// Reads one line of a command's output, and closes the pipe.
fn first_line_of(command: &mut Command) -> Output {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut reader = BufReader::new(child.stdout.take().unwrap());
    reader.read_line(&mut line).unwrap();
    drop(reader);
    let status = child.wait().unwrap();
    let mut stderr = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut stderr)
        .unwrap();
    Output {
        command: format!("{command:?}"),
        status: status.code().unwrap_or(-1),
        stdout: line,
        stderr,
    }
}

#[test]
fn a_reader_that_goes_away_ends_an_endless_run() {
    let line = format!("-p {CLUSTER} -n 2 {} -- --case chatter", program("cases"));
    let ran = first_line_of(command(SIMRUN).args(line.split_whitespace()));
    assert_eq!(
        (ran.status, ran.stdout.as_str(), ran.stderr.as_str()),
        (0, "1 s\n", "")
    );
}

/// Runs `simrun` as `"$@"` of a shell script; a pipe in the script fails if any part fails.
fn in_shell(script: &str, line: &str) -> Output {
    let script = format!("set -o pipefail; {script}");
    run(command("bash")
        .args(["-c", &script, "bash", SIMRUN])
        .args(line.split_whitespace()))
}

#[test]
fn a_reader_that_goes_away_before_the_summary_is_no_failure() {
    let nobody_reads = "(sleep 0.2; exec \"$@\") | true";
    let hosts = format!("-p {CLUSTER} {} -- --case hosts", program("cases"));
    let help = "--help".to_owned();
    let check = format!("platform check {CLUSTER}");
    for line in [hosts.clone(), format!("--format json {hosts}"), help, check] {
        in_shell(nobody_reads, &line).exits_silently(0);
    }
    // A failure stays one.
    let panic = format!("-p {CLUSTER} -n 2 {} -- --case panic", program("cases"));
    in_shell(nobody_reads, &panic)
        .exits_with(1)
        .reports_text("too hot");
}

#[test]
fn a_record_is_written_whole_though_nobody_reads() {
    let folder = crate::support::Folder::new();
    let line = format!(
        "-p {CLUSTER} -n 1 --until 100s -o {} {} -- --case chatter",
        folder.path("out"),
        program("cases")
    );
    let ran = first_line_of(command(SIMRUN).args(line.split_whitespace()));
    ran.exits_with(3);
    let record = std::fs::read_to_string(folder.path("out/record.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!(record["simulated_s"], 100.0);
}

#[test]
fn a_full_disk_is_an_error() {
    if !std::path::Path::new("/dev/full").exists() {
        return;
    }
    let cases = program("cases");
    for line in [
        format!("-p {CLUSTER} {cases} -- --case log"),
        format!("-p {CLUSTER} {cases} -- --case panic"),
        format!("-p {CLUSTER} --format json {cases} -- --case hosts"),
        format!("platform check {CLUSTER}"),
    ] {
        let ran = in_shell("exec \"$@\" >/dev/full", &line);
        ran.exits_with(2);
        let expected =
            "error: standard output: cannot write: No space left on device (os error 28)\n";
        ran.reports_last(expected);
    }
}

#[test]
fn closed_streams_change_nothing() {
    let line = format!("-p {CLUSTER} -n 2 {} -- --case log", program("cases"));
    let expected = simrun(&line).digest();
    for script in [
        "exec \"$@\" <&-",
        "exec \"$@\" 2>&-",
        "exec \"$@\" <&- 2>&-",
        // Standard error is a pipe that nobody reads.
        "exec 3>&1; (sleep 0.2; exec \"$@\" 2>&1 >&3 3>&-) | true",
    ] {
        let ran = in_shell(script, &line);
        ran.exits_with(0);
        assert_eq!(ran.digest(), expected, "{script}");
    }
    // The program's own output goes to standard error here.
    let json = in_shell(
        "exec 3>&1; (sleep 0.2; exec \"$@\" --format json 2>&1 >&3 3>&-) | true",
        &format!("-p {CLUSTER} -n 2 {}", program("actors")),
    );
    assert_eq!(json.json()["outcome"], "finished");
    // Standard output closed from the start is like /dev/null.
    in_shell("exec \"$@\" >&-", &line).exits_silently(0);
}
