//! A study with processes that are killed again and again has the results of an undisturbed study.
//! So have workers that share a folder.

use std::fs;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use sim_core::Stream;

use crate::study::{result_lines, study};
use crate::support::{Folder, SIMRUN, command};

/// 200 points of a few milliseconds each.
const POINTS: &str = r#"
options = ["-n", "{ranks}"]
arguments = ["--rounds", "{rounds}"]
[grid]
ranks = "2..41 +1"
rounds = [50, 60, 70, 80, 90]
[measure]
time = { json = "simulated_s", unit = "s" }
"#;

/// Returns the processes that `parent` has started.
fn children(parent: u32) -> Vec<u32> {
    let processes = fs::read_dir("/proc").unwrap();
    let numbers = processes.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let is_child = |process: &u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
        status.contains(&format!("\nPPid:\t{parent}\n"))
    };
    numbers.filter(is_child).collect()
}

fn kill(process: u32) {
    send("-KILL", process);
}

fn send(signal: &str, process: u32) {
    let killed = Command::new("kill")
        .args([signal, &process.to_string()])
        .output();
    assert!(killed.is_ok());
}

#[test]
fn kills_lose_no_result_and_repeat_none() {
    let folder = Folder::new();
    let file = study(&folder, "apps/ring", POINTS);
    let [whole, out] = ["whole", "out"].map(|name| folder.path(name));
    simrun!("study run {file} --out {whole}").exits_with(0);

    let mut random = Stream::new(21, "kills");
    let (mut parents, mut workers) = (0, 0);
    let known = || {
        let has_some = fs::metadata(format!("{out}/results")).is_ok();
        if has_some {
            result_lines(&out).len()
        } else {
            0
        }
    };
    'studies: loop {
        let mut child = command(SIMRUN)
            .args(["study", "run", &file, "--out", &out])
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let mut next = known() + 1;
        while child.try_wait().unwrap().is_none() {
            if known() < next || parents + workers == 20 {
                std::thread::park_timeout(Duration::from_millis(2));
                continue;
            }
            next = known() + 1 + usize::try_from(random.below(20)).unwrap();
            if random.below(3) == 0 {
                parents += 1;
                kill(child.id());
                child.wait().unwrap();
                continue 'studies;
            }
            if let Some(worker) = children(child.id()).first() {
                workers += 1;
                kill(*worker);
            }
        }
        break;
    }
    assert!(parents > 0 && workers > 0, "{parents} and {workers} kills");
    let last = simrun!("study status {out}");
    let expected = "200 of 200 points complete, 200 runs";
    last.prints_first(expected);
    let table = |out: &str| simrun!("study table {out} --rows runs --csv --no-wall").stdout;
    assert_eq!(table(&out), table(&whole));
    assert_eq!(result_lines(&out).len(), 200);
}

/// Starts a study, and waits for the first results.
fn study_with_results(file: &str, out: &str) -> Child {
    let child = command(SIMRUN)
        .args(["study", "run", file, "--out", out])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let has_some =
        || fs::metadata(format!("{out}/results")).is_ok() && !result_lines(out).is_empty();
    while !has_some() {
        std::thread::park_timeout(Duration::from_millis(2));
    }
    child
}

#[test]
fn a_process_of_a_study_ignores_termination() {
    let folder = Folder::new();
    let file = study(&folder, "apps/ring", POINTS);
    let out = folder.path("out");
    let mut child = study_with_results(&file, &out);
    let workers = children(child.id());
    for worker in &workers {
        send("-TERM", *worker);
    }
    assert!(!workers.is_empty());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert_eq!(result_lines(&out).len(), 200);
}

#[test]
fn a_claimed_run_is_waited_for_and_not_repeated() {
    let folder = Folder::new();
    let lines = "options = ['-n', '{n}']\n[grid]\nn = [2, 3, 4, 5, 6, 7]";
    let file = study(&folder, "apps/ring", lines);
    let [whole, out] = ["whole", "out"].map(|name| folder.path(name));
    assert_eq!(simrun!("study run {file} --out {whole}").status, 0);
    simrun!("study run {file} --out {out} --no-run");
    // Another worker has claimed the second point, and writes its result later.
    let keys = simrun!("study points {out}").stdout;
    let key = keys.lines().nth(1).unwrap();
    fs::create_dir(format!("{out}/claims")).unwrap();
    fs::write(format!("{out}/claims/{key}"), "other-1\n").unwrap();
    let mut child = command(SIMRUN)
        .args(["study", "work", &out, "--worker", "0/2", "--steal"])
        .stdout(Stdio::null())
        .spawn()
        .unwrap();
    let has =
        |count| fs::metadata(format!("{out}/results")).is_ok() && result_lines(&out).len() == count;
    while !has(5) {
        assert!(child.try_wait().unwrap().is_none(), "it waits");
        std::thread::park_timeout(Duration::from_millis(2));
    }
    let all = result_lines(&whole);
    let line = all.iter().find(|line| line.contains(key)).unwrap();
    fs::write(format!("{out}/results/other-1.jsonl"), format!("{line}\n")).unwrap();
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(has(6));
}

#[test]
fn a_second_process_in_the_folder_of_a_study_names_the_first() {
    let folder = Folder::new();
    let file = study(&folder, "apps/ring", POINTS);
    let out = folder.path("out");
    let mut first = study_with_results(&file, &out);
    // It must not end before the others have begun.
    send("-STOP", first.id());
    let others = ["run", "work", "retry"].map(|name| match name {
        "run" => simrun!("study run {file} --out {out}"),
        name => simrun!("study {name} {out}"),
    });
    // Readers need no lock.
    let status = simrun!("study status {out}");
    send("-CONT", first.id());
    assert_eq!(first.wait().unwrap().code(), Some(0));
    let named = format!("it is in use by process {} (", first.id());
    for other in &others {
        other.exits_with(2).reports_text(&named);
    }
    status.exits_with(0);
    assert_eq!(result_lines(&out).len(), 200);
    assert!(fs::metadata(format!("{out}/.simrun.lock")).is_err());
}
