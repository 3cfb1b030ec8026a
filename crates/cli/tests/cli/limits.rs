//! Limits and signals: exit status 3 and 130, with the results up to then.

use std::io::{BufRead, BufReader, Read};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::support::{CLUSTER, Folder, SIMRUN, case, command, program, root};

#[test]
fn until() {
    let ran = case("forever", "-n 3 --until 5.5s");
    ran.exits_with(3);
    assert_eq!(ran.stderr, "stopped at the limit --until 5.5 s\n");
    ran.prints_first("running\ncases was stopped by a limit at 5.5 s simulated");
    // What is due at the limit still happens: 3 ranks wake up 5 times.
    assert!(
        case("forever", "-n 3 --until 5s")
            .stdout
            .contains("; 15 events")
    );
    // A limit that is not reached is none.
    assert_eq!(case("panic", "-n 1 --until 1s").status, 0);
}

#[test]
fn messages_that_no_receive_has_met_have_a_limit() {
    let ran = case("flood", "-n 2 --protocol eager");
    let expected = "stopped at 0 s: rank 0 has sent more than 1GiB that no receive has met, at \
                    crates/cli/tests/programs/cases.rs:";
    ran.exits_with(3).reports_text(expected);
    let ran = case("flood", "-n 2 --protocol eager --format json");
    let limit = ran.json()["limit"].as_str().unwrap().to_owned();
    assert!(
        limit.starts_with("messages that no receive has met"),
        "{limit}"
    );
    // Phantoms are not counted, and the sender of a message with a limit waits.
    for options in [
        "--payload phantom --until 1ms",
        "--until 1ms --set protocol.unexpected_memory=64MiB",
    ] {
        let ran = case("flood", &format!("-n 2 --protocol eager {options}"));
        ran.exits_with(3).reports_text("--until");
    }
}

#[test]
fn max_events() {
    let ran = case("forever", "-n 1 --max-events 7");
    ran.exits_with(3);
    ran.reports_only("stopped at the limit --max-events after 7 events\n");
    ran.prints_text("; 7 events");
    let ran = case("forever", "-n 1 --max-events 7 -q");
    assert_eq!((ran.status, ran.stdout.as_str()), (3, "running\n"));
}

#[test]
fn an_event_too_far_in_the_future_is_no_deadlock() {
    let ran = case("too-long", "-n 2");
    ran.exits_with(3);
    ran.reports_first("stopped by a time overflow at 2.7");
    let ran = case("too-long", "-n 2 --format json");
    let limit = ran.json()["limit"].as_str().unwrap().to_owned();
    assert!(limit.starts_with("time overflow at 2.7"), "{limit}");
    // What a platform file can be blamed for is refused with the place.
    let folder = Folder::new();
    let text = std::fs::read_to_string(root().join(CLUSTER)).unwrap();
    let (before, after) = ("latency = \"", "latency = \"1e30s\" # \"");
    let file = folder.write("far.toml", &text.replacen(before, after, 1));
    let ran = simrun!("platform check {file}");
    ran.exits_with(2).reports_text("time overflow");
}

/// A running `simrun`, killed if a test fails.
struct Running {
    child: Child,
    stdout: BufReader<ChildStdout>,
    stderr: BufReader<ChildStderr>,
}

impl Running {
    /// Starts a case that prints `running`, and waits for that line: signals are watched for by
    /// then.
    fn start(case: &str, options: &str) -> Self {
        // The tests may run under nohup, and what is ignored there is ignored in all children.
        let mut command = command("env");
        command
            .args(["--default-signal=HUP", SIMRUN])
            .args(format!("-p {CLUSTER} -n 2 {options} {}", program("cases")).split_whitespace())
            .args(["--", "--case", case])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut running = Self {
            stdout: BufReader::new(child.stdout.take().unwrap()),
            stderr: BufReader::new(child.stderr.take().unwrap()),
            child,
        };
        let mut line = String::new();
        if options.contains("json") {
            running.stderr.read_line(&mut line).unwrap();
        } else {
            running.stdout.read_line(&mut line).unwrap();
        }
        assert_eq!(line, "running\n");
        running
    }

    fn signal(&self, name: &str) {
        let process = self.child.id().to_string();
        let sent = Command::new("kill").args([name, &process]).status();
        assert!(sent.unwrap().success());
    }

    /// Returns the status and both streams; the process must end within 10 s.
    fn end(mut self) -> (ExitStatus, String, String) {
        let mut waits = 0;
        let status = loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                break status;
            }
            waits += 1;
            assert!(waits < 1000, "it does not end");
            wait(10);
        };
        let (mut stdout, mut stderr) = (String::new(), String::new());
        self.stdout.read_to_string(&mut stdout).unwrap();
        self.stderr.read_to_string(&mut stderr).unwrap();
        (status, stdout, stderr)
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a signal to another process takes real time"
)]
fn wait(milliseconds: u64) {
    std::thread::sleep(Duration::from_millis(milliseconds));
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn interrupted_says_what_was_computed() {
    for signal in ["-INT", "-TERM"] {
        let folder = Folder::new();
        let running = Running::start("forever", &format!("--out {}", folder.path("out")));
        running.signal(signal);
        let (status, stdout, stderr) = running.end();
        assert_eq!(status.code(), Some(130), "{signal}");
        assert!(stderr.starts_with("interrupted at "), "{stderr}");
        assert!(
            stderr.ends_with(": the results are those computed so far\n"),
            "{stderr}"
        );
        assert!(stdout.starts_with("cases was interrupted at "), "{stdout}");
        // The record is whole, and says so.
        let record = std::fs::read_to_string(folder.path("out/record.json")).unwrap();
        let record: serde_json::Value = serde_json::from_str(&record).unwrap();
        assert_eq!(record["outcome"], "interrupted");
        let names: Vec<_> = std::fs::read_dir(folder.path("out")).unwrap().collect();
        assert_eq!(names.len(), 2, "{names:?}");
    }
}

#[test]
fn a_lost_terminal_is_a_termination() {
    let running = Running::start("forever", "");
    running.signal("-HUP");
    let (status, stdout, _) = running.end();
    assert_eq!(status.code(), Some(130));
    assert!(stdout.starts_with("cases was interrupted at "), "{stdout}");
}

#[test]
fn a_rank_that_does_not_await_is_stopped_with_a_record() {
    let folder = Folder::new();
    let running = Running::start("stuck", &format!("--out {}", folder.path("out")));
    running.signal("-INT");
    let (status, stdout, stderr) = running.end();
    assert_eq!(status.code(), Some(130), "{stderr}");
    let busy =
        "rank 0 on host node-0 was still busy 2 s after it was interrupted: the process was ended";
    assert!(
        stderr.starts_with(&format!("{busy}\ninterrupted at 0 s")),
        "{stderr}"
    );
    assert!(
        stdout.starts_with("cases was interrupted at 0 s simulated"),
        "{stdout}"
    );
    let record = std::fs::read_to_string(folder.path("out/record.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!(
        (&record["outcome"], &record["warnings"][0]),
        (&"interrupted".into(), &busy.into())
    );
    assert_eq!(record.get("digest"), None);
}

#[test]
fn real_time_is_limited_in_any_program() {
    for (name, ends) in [
        ("forever", "at 1"),
        ("naps", "at 0 s simulated"),
        ("stuck", "at 0 s simulated"),
    ] {
        let ran = case(name, "-n 2 --max-time 300ms --format json");
        ran.exits_with(3);
        ran.reports_text("stopped at the limit --max-time after 300.0 ms ");
        assert!(
            name == "forever" || ran.stderr.trim_end().ends_with(ends),
            "{ran:?}"
        );
        let json = ran.json();
        assert_eq!(json["outcome"], "limit");
        assert_eq!(json["limit"], "--max-time 0.3s");
    }
}

#[test]
fn a_busy_rank_is_limited() {
    let ran = case("stuck", "-n 2 --until 1s --max-busy 200ms --format json");
    ran.exits_with(3);
    let busy = "rank 0 on host node-0 has not awaited for 0.2 s: the process was ended\nstopped at the limit --max-busy after 200.0 ms at 0 s simulated\n";
    ran.reports_last(busy);
    assert_eq!(ran.json()["limit"], "--max-busy 0.2s");
}

#[test]
fn real_time_is_limited_in_a_search() {
    let ran = simrun!(
        "check -n 2 --max-time 300ms {} -- --case stuck",
        program("cases")
    );
    ran.exits_silently(3);
    let busy = "rank 0 on host host-0 was still busy 2 s after the end of its real time: the process was ended\nno verdict after ";
    ran.reports_first(busy);
}

/// The test program with these options, in 1 GiB of addresses.
fn in_a_gibibyte(line: &str) -> crate::support::Output {
    let line = format!("ulimit -v 1048576; exec {} {line}", program("cases"));
    crate::support::run(command("sh").args(["-c", &line]))
}

#[test]
fn too_many_ranks_for_the_memory_are_found_before_the_run() {
    let folder = Folder::new();
    let out = folder.path("out");
    for line in [
        format!("-p {CLUSTER} -n 10000000 --out {out} -- --case log"),
        "check -n 10000000 -- --case log".to_owned(),
    ] {
        let ran = in_a_gibibyte(&line);
        ran.exits_silently(3);
        let begins = "out of memory: 10000000 ranks need about 8.38 GiB besides what the program keeps, and ";
        ran.reports_first(begins);
        ran.reports_last(" are available: no verdict\n");
    }
}

#[test]
fn the_end_of_memory_is_a_limit_with_a_record() {
    let folder = Folder::new();
    let out = folder.path("out");
    let ran = in_a_gibibyte(&format!("-p {CLUSTER} -n 2 --out {out} -- --case hungry"));
    ran.exits_with(3);
    let needed = "out of memory: rank 0 on host node-0 needed 2GiB more\n2 ranks, ";
    ran.reports_text(needed);
    ran.reports_last(" in use: no verdict; --payload phantom saves the bytes of messages\n");
    let record = std::fs::read_to_string(format!("{out}/record.json")).unwrap();
    let record: serde_json::Value = serde_json::from_str(&record).unwrap();
    assert_eq!(record["outcome"], "limit");
    assert_eq!(record["simulated_s"], 1.0);
    assert_eq!(record["limit"], "memory: 2147483648 B more");
    // Without bytes there is room for it.
    let line = format!("-p {CLUSTER} -n 2 -q --payload phantom -- --case hungry");
    assert_eq!(in_a_gibibyte(&line).status, 0);
    let ran = in_a_gibibyte("check -n 2 -- --case hungry");
    ran.exits_silently(3);
    ran.reports_text("\nno verdict after 0 executions, ");
}

#[test]
fn the_second_signal_ends_at_once() {
    let folder = Folder::new();
    let running = Running::start("stuck", &format!("--out {}", folder.path("out")));
    running.signal("-INT");
    wait(100);
    running.signal("-TERM");
    let (status, stdout, _) = running.end();
    assert_eq!((status.code(), stdout.as_str()), (Some(130), ""));
    // The system has released the lock of the folder; its file stays.
    let left: Vec<_> = std::fs::read_dir(folder.path("out")).unwrap().collect();
    let names = left.iter().flatten().map(std::fs::DirEntry::file_name);
    assert_eq!(names.collect::<Vec<_>>(), [".simrun.lock"]);
}

#[test]
fn interrupted_json_is_whole() {
    let running = Running::start("forever", "--format json -q");
    running.signal("-INT");
    let (status, stdout, stderr) = running.end();
    assert_eq!(status.code(), Some(130));
    assert!(stderr.starts_with("interrupted at "), "{stderr}");
    let json: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(json["outcome"], "interrupted");
    assert!(json["simulated_s"].as_f64().unwrap() > 0.0);
}
