//! `simrun real`: the same programs as processes over TCP; their output, their end, and that no
//! process is left.

use std::fs;
use std::io::{BufRead, BufReader};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use crate::support::{Folder, Output, SIMRUN, command, program, run, simrun};

/// A test program, for real, that does `case`.
fn real(case: &str, options: &str) -> Output {
    let program = program("cases");
    simrun!("real {options} {program} -- --case {case}")
}

#[test]
fn every_rank_is_a_process_whose_lines_are_prefixed() {
    for options in [
        "",
        "--wait spin",
        "--connect static",
        "--backend tcp --wait spin --connect static",
        "--tcp-congestion reno",
    ] {
        let ran = real("hosts", &format!("-n 3 {options}"));
        ran.exits_with(0);
        for rank in 0..3 {
            let line = format!("[{rank}] {rank} ");
            assert!(
                ran.stdout.lines().any(|found| found.starts_with(&line)),
                "{ran:?}"
            );
        }
        ran.prints_text("cases finished at ").prints_text("3 ranks");
    }
}

#[test]
fn lines_that_are_kept_come_when_the_rank_ends_and_not_before() {
    let sorted = |ran: &Output| {
        let lines = ran.stdout.lines().filter(|line| line.starts_with('['));
        let mut lines: Vec<String> = lines.map(str::to_owned).collect();
        lines.sort();
        lines
    };
    let (now, end) = (
        real("log", "-n 2"),
        real("log", "-n 2 --output at-end --wait spin"),
    );
    assert_eq!((now.status, end.status), (0, 0), "{now:?} {end:?}");
    assert_eq!(sorted(&now), ["[0] printed", "[1] printed"]);
    assert_eq!(sorted(&now), sorted(&end));
    // Also when it fails.
    let ran = real("last-words", "-n 1 --output at-end");
    ran.exits_with(1);
    assert_eq!(sorted(&ran), ["[0] so long"]);
    // Until then they are nowhere: these ranks are killed.
    let kept = real("forever", "-n 2 --output at-end --until 1500ms");
    let told = real("forever", "-n 2 --until 1500ms");
    assert_eq!((kept.status, told.status), (3, 3), "{kept:?} {told:?}");
    assert_eq!(sorted(&kept), [""; 0]);
    assert_eq!(sorted(&told), ["[0] running"]);
    kept.prints_text(" messages unknown: ");
}

#[test]
fn the_number_of_finished_ranks_is_told_on_request() {
    let ran = real("forever", "-n 2 --until 1500ms --progress 300ms");
    ran.exits_with(3);
    let lines = ran.stderr.lines();
    let told = lines.filter(|line| line.ends_with(" real, 0 of 2 ranks finished, 2 running"));
    assert!((1..=5).contains(&told.count()), "{ran:?}");
    let ran = real("hosts", "-n 2");
    assert_eq!(ran.stderr, "", "{ran:?}");
}

#[test]
fn failures_are_told_as_in_a_simulation() {
    let ran = real("error", "-n 2");
    ran.exits_with(1).reports_first("error: rank 0 on host ");
    ran.reports_text(" failed at ");
    ran.reports_last("invalid rank 99: expected 0 to 1\n");
    let ran = real("abort", "-n 3");
    ran.exits_with(1).reports_text("called abort with code 7");
    let ran = real("panic", "-n 2");
    ran.exits_with(1).reports_text("rank 1 on host ");
    ran.reports_text(" panicked at 2");
    ran.reports_text("the reactor is too hot (at crates/cli/");
}

#[test]
fn bad_usage_is_refused_before_anything_starts() {
    let cases = program("cases");
    let line = format!("real -n 2 --tcp-congestion nonsense {cases} -- --case hosts");
    simrun(&line).refuses_with(
        "--tcp-congestion nonsense: unknown congestion control: expected one of those of this system, ",
    );
}

/// Starts an endless run and waits for the first line; returns the run and its ranks' numbers.
fn forever(options: &str) -> (Child, Vec<u32>) {
    let line = format!("real {options} {} -- --case forever", program("cases"));
    let mut child = command(SIMRUN)
        .args(line.split_whitespace())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap())
        .read_line(&mut line)
        .unwrap();
    assert_eq!(line, "[0] running\n");
    let ranks = children(child.id());
    (child, ranks)
}

/// Returns the process numbers of the children of a process.
fn children(parent: u32) -> Vec<u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    let mut all: Vec<u32> = entries
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            let after_name = stat.rsplit(") ").next().unwrap_or_default();
            after_name.split(' ').nth(1) == Some(&parent.to_string())
        })
        .collect();
    all.sort_unstable();
    all
}

pub(crate) fn kill(signal: &str, pid: u32) {
    let status = Command::new("kill")
        .args([signal, &pid.to_string()])
        .status();
    assert!(status.unwrap().success());
}

/// Waits until none of the processes is left.
#[track_caller]
pub(crate) fn all_gone(pids: &[u32]) {
    let lives = |pid: &&u32| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        // A zombie has ended, and remains until its parent waits for it.
        !stat.is_empty() && !stat.contains(") Z ")
    };
    for _ in 0..500 {
        if !pids.iter().any(|pid| lives(&pid)) {
            return;
        }
        #[expect(clippy::disallowed_methods, reason = "a test of real processes")]
        thread::sleep(Duration::from_millis(10));
    }
    panic!("of {pids:?} some are left after 5 s");
}

pub(crate) fn ended(child: Child) -> Output {
    Output::new(String::new(), child.wait_with_output().unwrap())
}

#[test]
fn a_killed_rank_ends_the_run_with_its_name_and_last_lines() {
    let (child, ranks) = forever("-n 3");
    assert_eq!(ranks.len(), 3);
    kill("-9", ranks[0]);
    let ran = ended(child);
    ran.exits_with(1).reports_first("error: rank 0 on host ");
    ran.reports_last(": process killed by signal 9 (SIGKILL)\nlast output:\n  running\n");
    all_gone(&ranks);
}

#[test]
fn an_interrupt_and_a_killed_launcher_leave_no_process() {
    for (signal, status) in [("-INT", 130), ("-TERM", 130), ("-KILL", 1009)] {
        let (child, ranks) = forever("-n 3");
        kill(signal, child.id());
        ended(child).exits_with(status);
        all_gone(&ranks);
    }
}

#[test]
fn a_reader_that_goes_away_ends_the_run_quietly() {
    let line = format!(
        "{SIMRUN} real -n 2 --compute sleep {} -- --case chatter | head -1",
        program("cases")
    );
    let ran = run(command("bash").args(["-c", &format!("set -o pipefail; {line}")]));
    ran.succeeds_silently();
    assert_eq!(ran.stdout, "[0] 1 s\n");
}

#[test]
fn the_others_go_on_without_a_lost_rank_if_that_is_wanted() {
    for wait in ["block", "spin"] {
        let ran = real("lost", &format!("-n 3 --on-loss notify --wait {wait}"));
        ran.exits_with(0);
        for rank in [0, 2] {
            let line = format!("[{rank}] rank 1 is lost: ProcFailed\n");
            ran.prints_text(&line);
        }
        ran.reports_first("warning: rank 1 was lost at ");
        let ran = real("lost", &format!("-n 3 --wait {wait}"));
        ran.exits_with(1).reports_text("error: rank 1 on host ");
        ran.reports_text("SIGABRT");
    }
}

#[test]
fn a_limit_of_time_gives_no_verdict() {
    let ran = real("forever", "-n 2 --until 200ms");
    ran.exits_with(3);
    assert_eq!(ran.stderr, "stopped at the limit --until 200ms\n");
}

#[test]
fn the_time_of_a_run_that_is_stopped_is_measured() {
    let ran = real("forever", "-n 2 --until 300ms --format json");
    let record = ran.json();
    assert!(record["measured_s"].as_f64().unwrap() >= 0.3, "{record}");
    for count in ["messages", "bytes", "events", "events_per_s", "connections"] {
        assert!(record[count].is_null(), "{count}: {record}");
    }
    assert_eq!(record["ranks_counted"], 0, "{record}");
    let ran = real("forever", "-n 2 --until 300ms");
    let unknown = "2 ranks, messages unknown: no rank has reported its counts; tcp";
    ran.prints_text(unknown);
    assert!(!ran.stdout.contains("at 0 us measured"), "{ran:?}");
    assert!(!ran.stdout.contains("connection endpoints"), "{ran:?}");
    // Rank 1 ends at once, and rank 0 is stopped later.
    let ran = real("naps", "-n 2 --until 1s --format json");
    let record = ran.json();
    assert_eq!(record["outcome"], "limit", "{record}");
    assert!(record["measured_s"].as_f64().unwrap() >= 1.0, "{record}");
    assert_eq!(record["ranks_counted"], 1, "{record}");
    assert_eq!(record["messages"], 0, "{record}");
    let ran = real("naps", "-n 2 --until 1s");
    let partly = "0 messages, 0 B of the 1 rank that reported counts";
    ran.prints_text(partly);
}

#[test]
fn json_has_the_keys_of_a_simulated_run() {
    let folder = Folder::new();
    let out = folder.path("record");
    let ran = real("hosts", &format!("-n 2 --format json --out {out}"));
    let record = ran.json();
    ran.exits_with(0);
    assert!(
        ran.stderr.contains("[1] 1 "),
        "the program's own output: {ran:?}"
    );
    let cases = program("cases");
    let simulated = simrun!("-p platforms/cluster.toml -n 2 --format json {cases} -- --case hosts");
    let mut keys: Vec<String> = simulated
        .json()
        .as_object()
        .unwrap()
        .keys()
        .cloned()
        .collect();
    for key in &mut keys {
        if key == "simulated_s" {
            "measured_s".clone_into(key);
        }
    }
    // Each process of a real run draws for itself.
    keys.retain(|key| key != "draws");
    for key in keys {
        assert!(record.get(&key).is_some(), "{key}: {record}");
    }
    assert_eq!(record["outcome"], "finished");
    assert_eq!(record["ranks"], 2);
    assert_eq!(record["backend"], "tcp");
    assert!(record["measured_s"].as_f64().unwrap() > 0.0);
    let kept = fs::read_to_string(format!("{out}/record.json")).unwrap();
    assert_eq!(kept, ran.stdout);
}

/// A launcher of ranks on hosts, which a script reaches in place of ssh.
fn over(ssh: &str, options: &str, case: &str) -> Command {
    let mut command = command(SIMRUN);
    command.arg("real").args(options.split_whitespace());
    command.args(["--remote-shell", &format!("sh {ssh}")]);
    command.args([&program("cases"), "--", "--case", case]);
    command
}

#[test]
fn ranks_on_hosts_come_over_a_command_and_who_does_not_is_named() {
    let folder = Folder::new();
    // In place of ssh: one host does what it is told, the other never answers.
    let script = "case $1 in silent) exec sleep 60;; esac; test \"$1\" = here || exit 9; shift; exec sh -c \"$*\"\n";
    let ssh = folder.write("ssh", script);
    let hosts = folder.write("hosts", "here:2 # two ranks\nsilent\n");
    let options = format!("--hosts {hosts} --listen 127.0.0.1");
    let started = |options: &str| run(&mut over(&ssh, options, "hosts"));
    started(&format!("{options} -n 2"))
        .exits_with(0)
        .prints_text("[1] 1 ");
    let ran = started(&format!("{options} --startup-timeout 700ms"));
    ran.exits_with(2);
    ran.reports_only("error: rank 2 has not connected within 700 ms\n");
    started(&format!("{options} -n 4")).exits_with(2);
    let ran = started(&format!("--hosts {hosts}"));
    ran.reports_text("expected --listen host");
    let wrong = folder.write("wrong", "elsewhere\n");
    let ran = started(&format!("--hosts {wrong} --listen 127.0.0.1"));
    ran.exits_with(1);
    ran.reports_text("rank 0 failed: process exited with status 9 before it connected");
}

#[test]
fn a_rank_whose_connection_broke_may_end_for_5_s_and_then_its_command_is_ended() {
    let folder = Folder::new();
    let pids = folder.path("pids");
    // An ssh that does not notice that the rank over there has died.
    let script = format!("shift; sh -c \"$*\"; echo $$ >>{pids}; exec sleep 600\n");
    let ssh = folder.write("ssh", &script);
    let hosts = folder.write("hosts", "here:2\n");
    let options = format!("--hosts {hosts} --listen 127.0.0.1 --format json");
    let ran = run(&mut over(&ssh, &options, "lost"));
    ran.exits_with(1).reports_text("rank 1 on host ");
    ran.reports_text("lost the connection to the launcher; its process continued for 5 s");
    assert!(ran.json()["wall_s"].as_f64().unwrap() >= 5.0, "{ran:?}");
    let left = fs::read_to_string(&pids).unwrap();
    let left: Vec<u32> = left.lines().map(|pid| pid.parse().unwrap()).collect();
    assert!(!left.is_empty());
    all_gone(&left);
}

/// Starts ranks like a launcher with these variables (`{}` is the rank); returns their outputs.
fn placed(variables: &[(&str, &str)], size: u32, options: &str) -> Vec<Output> {
    placed_each(variables, size, &|_| options.to_owned())
}

/// Starts ranks as [`placed`] does, with separate options for each rank.
fn placed_each(
    variables: &[(&str, &str)],
    size: u32,
    options: &dyn Fn(u32) -> String,
) -> Vec<Output> {
    let folder = Folder::new();
    let meeting = folder.path("meeting");
    let start = |rank: u32| {
        let mut started = command(program("cases"));
        let options = options(rank);
        started.arg("real").args(options.split_whitespace());
        started.args(["--", "--case", "hosts"]);
        for (name, value) in variables {
            started.env(name, value.replace("{}", &rank.to_string()));
        }
        started.env("SIMRUN_BOOTSTRAP_FILE", &meeting);
        started.stdout(Stdio::piped()).stderr(Stdio::piped());
        started.spawn().unwrap()
    };
    // Rank 0 comes last.
    let all: Vec<Child> = (0..size).rev().map(start).collect();
    let mut all: Vec<Output> = all.into_iter().map(ended).collect();
    all.reverse();
    assert_eq!(folder.names(), [""; 0], "the bootstrap file is removed");
    all
}

#[test]
fn ranks_that_others_have_started_find_each_other() {
    let slurm = [
        ("SLURM_PROCID", "{}"),
        ("SLURM_STEP_NUM_TASKS", "3"),
        ("SLURM_JOB_ID", "12"),
        ("SLURM_STEP_ID", "0"),
    ];
    let pmi = [("PMI_RANK", "{}"), ("PMI_SIZE", "3")];
    let open = [
        ("OMPI_COMM_WORLD_RANK", "{}"),
        ("OMPI_COMM_WORLD_SIZE", "3"),
        ("PMIX_NAMESPACE", "a@1"),
    ];
    for variables in [&slurm[..], &pmi, &open] {
        let all = placed(variables, 3, "");
        for (rank, ran) in all.iter().enumerate() {
            ran.exits_with(0).prints_first(&format!("[{rank}] {rank} "));
            assert_eq!(ran.stdout.contains("cases finished"), rank == 0, "{ran:?}");
        }
    }
    let all = placed(&pmi, 2, "--startup-timeout 500ms");
    all[0].exits_with(2);
    all[0].reports_only("error: rank 2 has not connected within 500 ms\n");
    let all = placed(&pmi, 1, "-n 2");
    all[0].reports_text("-n 2 differs from the PMI allocation of 3 ranks");
}

#[test]
fn the_congestion_control_that_was_asked_for_is_what_sockets_have() {
    for connect in ["on-demand", "static"] {
        let options = format!("-n 3 --tcp-congestion reno --connect {connect}");
        let ran = real("hosts", &format!("{options} --format json"));
        let record = ran.json();
        ran.exits_with(0);
        // Ranks that have not talked have no sockets.
        let expected = match connect {
            "static" => serde_json::Value::from("reno"),
            _ => serde_json::Value::Null,
        };
        assert_eq!(record["congestion_control"], expected, "{record}");
        let arguments = record["arguments"].as_array().unwrap();
        assert!(arguments.contains(&"--tcp-congestion".into()), "{record}");
    }
    let ran = real("hosts", "-n 2 --tcp-congestion reno");
    ran.prints_text("; tcp, blocking, congestion control reno; ");
}

#[test]
fn a_rank_elsewhere_whose_sockets_cannot_have_it_ends_the_run_before_anybody_begins() {
    let folder = Folder::new();
    let script = "shift; exec sh -c \"$*\"\n";
    let ssh = folder.write("ssh", script);
    let hosts = folder.write("hosts", "here:2\n");
    let options = format!("-q --hosts {hosts} --listen 127.0.0.1 --tcp-congestion nonsense");
    let ran = run(&mut over(&ssh, &options, "hosts"));
    ran.exits_silently(2);
    let last = ran.stderr.lines().last().unwrap();
    assert!(
        last.starts_with("error: rank 0 on host ")
            && last.contains(
                " failed to start: --tcp-congestion nonsense: unknown congestion control"
            ),
        "{ran:?}"
    );
    // In an allocation only some may be such: the others, who could begin, do not.
    let pmi = [("PMI_RANK", "{}"), ("PMI_SIZE", "3")];
    for bad in [0, 2] {
        let name = |rank: u32| if rank == bad { "nonsense" } else { "reno" };
        let all = placed_each(&pmi, 3, &|rank| {
            format!("-q --tcp-congestion {}", name(rank))
        });
        for (rank, ran) in (0..).zip(&all) {
            assert_eq!(ran.stdout, "", "{ran:?}");
            let status = if rank == bad || rank == 0 { 2 } else { 1 };
            ran.exits_with(status);
        }
        let says =
            format!("error: rank {bad}: --tcp-congestion nonsense: unknown congestion control");
        all[bad as usize].reports_first(&says);
        let told = format!("error: rank {bad} on host ");
        assert!(bad == 0 || all[0].stderr.starts_with(&told), "{all:?}");
    }
    // If others do not come, it is told why the run would not have begun.
    let all = placed_each(&pmi, 2, &|rank| {
        let name = ["reno", "nonsense"][rank as usize];
        format!("--startup-timeout 500ms --tcp-congestion {name}")
    });
    all[0].reports_first("error: rank 2 has not connected within 500 ms; rank 1 failed to start: --tcp-congestion nonsense: ");
}
