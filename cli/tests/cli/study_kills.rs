//! A study whose processes are killed again and again has the results of an undisturbed one.

use std::fs;
use std::process::{Command, Stdio};
use std::time::Duration;

use sim_core::Stream;

use crate::study::{result_lines, study};
use crate::support::{Folder, SIMRUN, command, simrun};

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
    let killed = Command::new("kill")
        .args(["-9", &process.to_string()])
        .output();
    assert!(killed.is_ok());
}

#[test]
fn kills_lose_no_result_and_repeat_none() {
    let folder = Folder::new();
    let file = study(&folder, "apps/ring", POINTS);
    let [whole, out] = ["whole", "out"].map(|name| folder.path(name));
    let ran = simrun(&format!("study run {file} --out {whole}"));
    assert_eq!(ran.status, 0, "{ran:?}");

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
    let last = simrun(&format!("study status {out}"));
    let expected = "200 of 200 points complete, 200 runs";
    assert!(last.stdout.starts_with(expected), "{last:?}");
    let table =
        |out: &str| simrun(&format!("study table {out} --rows runs --csv --no-wall")).stdout;
    assert_eq!(table(&out), table(&whole));
    assert_eq!(result_lines(&out).len(), 200);
}
