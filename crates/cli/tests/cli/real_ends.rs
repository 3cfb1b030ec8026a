//! State after a real run: no process and no secret is left, and every survivor reports the reason.

use std::fs;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::Duration;

use crate::real::{all_gone, ended, kill};
use crate::support::{Folder, Output, SIMRUN, command, program, run};

/// Waits until a file has at least this many lines.
fn lines(path: &str, count: usize) -> Vec<String> {
    for _ in 0..6_000 {
        let text = fs::read_to_string(path).unwrap_or_default();
        if text.lines().count() >= count && text.ends_with('\n') {
            return text.lines().map(str::to_owned).collect();
        }
        pause();
    }
    panic!("{path}: not {count} lines in a minute");
}

#[expect(clippy::disallowed_methods, reason = "a test of real processes")]
fn pause() {
    std::thread::sleep(Duration::from_millis(10));
}

/// Starts a run; each rank has started a process that leaves the process group and loses the
/// parent. Returns the numbers of these processes.
fn with_orphans(folder: &Folder, mut launcher: std::process::Command) -> (Child, Vec<u32>) {
    let pids = folder.path("pids");
    let child = launcher
        .env("SIMRUN_TEST_PIDS", &pids)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let orphans = lines(&pids, 2).into_iter().map(|pid| pid.parse().unwrap());
    (child, orphans.collect())
}

#[test]
fn processes_that_ranks_have_started_are_ended_wherever_they_went() {
    let folder = Folder::new();
    let cases = program("cases");
    let here = || {
        let mut launcher = command(SIMRUN);
        launcher.args(["real", "-n", "2", &cases, "--", "--case", "orphans"]);
        launcher
    };
    let (child, orphans) = with_orphans(&folder, here());
    kill("-INT", child.id());
    let ran = ended(child);
    ran.exits_with(130);
    // The ranks had run when the signal came.
    ran.prints_text("was interrupted at");
    assert!(!ran.stdout.contains("at 0 us measured"), "{ran:?}");
    all_gone(&orphans);
    // On another machine, nobody but the rank can do that.
    let over = Folder::new();
    let ssh = over.write("ssh", "shift; setsid --wait sh -c \"$*\"; exec sleep 600\n");
    let hosts = over.write("hosts", "here:2\n");
    let mut launcher = command(SIMRUN);
    launcher.args(["real", "--hosts", &hosts, "--listen", "127.0.0.1"]);
    launcher.args([
        "--remote-shell",
        &format!("sh {ssh}"),
        &cases,
        "--",
        "--case",
        "orphans",
    ]);
    let (child, orphans) = with_orphans(&over, launcher);
    kill("-KILL", child.id());
    assert_eq!(ended(child).status, 1009);
    all_gone(&orphans);
}

#[test]
fn children_that_the_launcher_had_before_are_left_alone() {
    let folder = Folder::new();
    let pid = folder.path("pid");
    let line = format!(
        "sleep 600 >/dev/null 2>&1 & echo $! >{pid}; exec {SIMRUN} real -n 2 {} -- --case hosts",
        program("cases")
    );
    let ran = run(command("sh").args(["-c", &line]));
    ran.exits_with(0);
    let pid: u32 = lines(&pid, 1)[0].parse().unwrap();
    assert!(Path::new(&format!("/proc/{pid}")).exists(), "{ran:?}");
    kill("-KILL", pid);
}

/// The ranks of an allocation that continues for ever, when all are there.
fn allocation(folder: &Folder, size: u32) -> Vec<Child> {
    let meeting = folder.path("meeting");
    let start = |rank: u32| {
        let mut rank_command = command(program("cases"));
        rank_command
            .args(["real", "--", "--case", "forever"])
            .env("PMI_RANK", rank.to_string())
            .env("PMI_SIZE", size.to_string())
            .env("SIMRUN_BOOTSTRAP_FILE", &meeting)
            .stdout(fs::File::create(folder.path(&format!("out-{rank}"))).unwrap())
            .stderr(Stdio::piped());
        rank_command.spawn().unwrap()
    };
    let all = (0..size).map(start).collect();
    assert_eq!(lines(&folder.path("out-0"), 1), ["[0] running"]);
    all
}

#[test]
fn the_secret_of_an_allocation_is_gone_when_all_are_there() {
    let folder = Folder::new();
    let all = allocation(&folder, 2);
    assert!(!folder.names().contains(&"meeting".to_owned()));
    for child in all {
        kill("-KILL", child.id());
        ended(child);
    }
}

#[test]
fn survivors_of_a_lost_rank_0_say_why_they_end() {
    let folder = Folder::new();
    let mut all = allocation(&folder, 3).into_iter();
    let zero = all.next().unwrap();
    kill("-KILL", zero.id());
    ended(zero);
    for (rank, child) in (1..).zip(all) {
        let ran = ended(child);
        ran.exits_with(1);
        let lost = format!("error: rank {rank}: lost rank 0 at 127.0.0.1:");
        ran.reports_first(&lost).reports_last("; this rank ends\n");
    }
}

#[test]
fn ranks_that_are_told_to_stop_leave_the_word_to_rank_0() {
    let folder = Folder::new();
    let mut all = allocation(&folder, 3);
    let last = all.pop().unwrap();
    kill("-KILL", last.id());
    ended(last);
    let all: Vec<Output> = all.into_iter().map(ended).collect();
    let told = "error: rank 2 on host ";
    all[0].reports_first(told);
    assert_eq!(all.iter().map(|ran| ran.status).collect::<Vec<_>>(), [1, 1]);
    assert_eq!(all[1].stderr, "", "{all:?}");
}

/// `simrun real` with at most this many descriptors.
fn with_descriptors(limit: u64, options: &str) -> Output {
    let cases = program("cases");
    let line = format!("ulimit -n {limit}; exec {SIMRUN} real {options} {cases} -- --case hosts");
    run(command("sh").args(["-c", &line]))
}

#[test]
fn too_few_descriptors_are_told_before_anything_starts() {
    let ran = with_descriptors(100, "-n 40");
    ran.exits_silently(2);
    ran.reports_only(
        "error: too few file descriptors: the launcher of 40 ranks needs 168, and 100 are allowed: \
         expected ulimit -n 168 or more, or fewer ranks\n",
    );
    // The soft limit is no limit.
    let line = format!(
        "ulimit -S -n 20; exec {SIMRUN} real -n 2 {} -- --case hosts",
        program("cases")
    );
    assert_eq!(run(command("sh").args(["-c", &line])).status, 0);
    // A rank that cannot have its connections failed to start, and then nobody does.
    let folder = Folder::new();
    let ssh = folder.write("ssh", "shift; ulimit -n 50; exec sh -c \"$*\"\n");
    let hosts = folder.write("hosts", "here:4\n");
    let mut launcher = command(SIMRUN);
    launcher.args(["real", "--hosts", &hosts, "--listen", "127.0.0.1"]);
    launcher.args([
        "--connect",
        "static",
        "--remote-shell",
        &format!("sh {ssh}"),
    ]);
    launcher.args([&program("cases"), "--", "--case", "hosts"]);
    let ran = run(launcher.process_group(0));
    ran.exits_with(2);
    ran.reports_text(" failed to start: too few file descriptors: a rank that is connected with");
    ran.reports_text("3 others needs 51, and 50 are allowed");
}
