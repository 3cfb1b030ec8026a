//! `simrun optimise`: the best point, the trajectory, budgets, continuing, mistakes.

use std::collections::BTreeSet;
use std::fs;
use std::process::Stdio;
use std::time::Duration;

use crate::study::{result_lines, study};
use crate::support::{Folder, Output, SIMRUN, command};

/// The segment of an allreduce of 1 MiB.
const SEGMENTS: &str = r#"
options = ["-n", "8", "--payload", "phantom"]
arguments = ["--size", "1MiB"]
[set]
"collectives.allreduce" = '{{ algorithm = "segmented_ring", segment = "{segment}" }}'
[measure]
time = { json = "simulated_s", unit = "s" }
"#;

/// A ring with random link latencies.
const RANDOM: &str = r#"
options = ["-n", "4"]
arguments = ["--size", "{size}", "--rounds", "3"]
[vary]
size = "1B..64KiB log"
latency = "100ns..2us"
[set]
"clusters.nodes.latency" = "{latency}"
"noise.links.latency" = "100ns"
[replicate]
seeds = 3
[optimise]
minimise = "time"
"#;

fn optimised(file: &str, out: &str) -> Output {
    let ran = simrun!("optimise {file} --out {out}");
    ran.exits_with(0);
    ran
}

fn trajectory(out: &str) -> String {
    fs::read_to_string(format!("{out}/trajectory.csv")).unwrap()
}

/// Returns the last number of each row.
fn last_column(csv: &str) -> Vec<f64> {
    let cells = csv
        .lines()
        .skip(1)
        .map(|row| row.rsplit(',').next().unwrap());
    cells.map(|cell| cell.parse().unwrap()).collect()
}

#[test]
fn the_best_point_is_that_of_all_points() {
    let folder = Folder::new();
    let grid = format!("{SEGMENTS}[grid]\nsegment = \"1KiB..1MiB *2\"");
    let all = study(&folder, "apps/allreduce", &grid);
    let whole = folder.path("whole");
    assert_eq!(simrun!("study run {all} --out {whole}").status, 0);
    let table = simrun!("study table {whole} --rows runs --csv --no-wall").stdout;
    let times = table.lines().skip(1).map(|row| {
        let cells: Vec<&str> = row.split(',').collect();
        (cells[3].parse::<f64>().unwrap(), cells[0].to_owned())
    });
    let best = times
        .min_by(|one, other| one.0.total_cmp(&other.0))
        .unwrap();

    let search =
        "[vary]\nsegment = \"1KiB..1MiB *2\"\n[optimise]\nminimise = \"time\"\nruns = 9\nstart = 3";
    let file = study(&folder, "apps/allreduce", &format!("{SEGMENTS}{search}"));
    let out = folder.path("out");
    let ran = optimised(&file, &out);
    let bests = last_column(&trajectory(&out));
    assert_eq!(bests.last(), Some(&best.0), "{best:?} {ran:?}");
    assert!(bests.is_sorted_by(|one, other| one >= other), "{bests:?}");
    ran.prints_text(", deterministic");
    assert!(bests.len() <= 9 && result_lines(&out).len() == bests.len());

    // The folder is that of a study.
    let table = simrun!("study table {out} --csv");
    assert_eq!(table.stdout.lines().count(), bests.len() + 1, "{table:?}");
    simrun!("study status {out}").exits_with(0);
}

#[test]
fn random_runs_have_a_budget_and_an_interval() {
    let folder = Folder::new();
    let file = study(
        &folder,
        "apps/ring",
        &format!("{RANDOM}runs = 11\nseed = 1"),
    );
    let [one, two] = ["one", "two"].map(|name| folder.path(name));
    let ran = optimised(&file, &one);
    // Three runs of a point: a fourth point would need twelve.
    ran.prints_first("3 points, 9 of at most 11 runs\n");
    assert_eq!(result_lines(&one).len(), 9);
    ran.prints_text("95 % interval")
        .prints_text("on the same seeds");
    simrun!("optimise {file} --out {two} --jobs 1");
    assert_eq!(trajectory(&one), trajectory(&two));
    let other = study(
        &folder,
        "apps/ring",
        &format!("{RANDOM}runs = 11\nseed = 2"),
    );
    let three = folder.path("three");
    optimised(&other, &three);
    assert_ne!(trajectory(&one), trajectory(&three));
    // The largest value is the best of the other direction.
    let reverse = RANDOM.replace("minimise", "maximise") + "runs = 11\nseed = 1";
    let four = folder.path("four");
    optimised(&study(&folder, "apps/ring", &reverse), &four);
    let bests = last_column(&trajectory(&four));
    assert!(bests.is_sorted(), "{bests:?}");
}

#[test]
fn a_killed_optimisation_continues() {
    let folder = Folder::new();
    let file = study(&folder, "apps/ring", &format!("{RANDOM}runs = 60"));
    let [whole, out] = ["whole", "out"].map(|name| folder.path(name));
    optimised(&file, &whole);
    let count = || match fs::metadata(format!("{out}/results")) {
        Ok(_) => result_lines(&out).len(),
        Err(_) => 0,
    };
    for stop in [4, 17, 31] {
        let mut child = command(SIMRUN)
            .args(["optimise", &file, "--out", &out])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        while count() < stop && child.try_wait().unwrap().is_none() {
            std::thread::park_timeout(Duration::from_millis(1));
        }
        child.kill().unwrap();
        child.wait().unwrap();
    }
    assert!(count() < result_lines(&whole).len());
    optimised(&file, &out);
    assert_eq!(trajectory(&out), trajectory(&whole));
    // No run was made twice.
    let lines = result_lines(&out);
    let keys: BTreeSet<&str> = lines.iter().map(|line| &line[..74]).collect();
    assert_eq!(
        (keys.len(), lines.len()),
        (lines.len(), result_lines(&whole).len())
    );
}

#[test]
fn mistakes_are_told_with_their_places() {
    let folder = Folder::new();
    let refused = |lines: &str, command: &str, text: &str| {
        let file = study(&folder, "apps/ring", lines);
        let out = folder.path("never");
        let ran = simrun!("{command} {file} --out {out}");
        ran.exits_with(2).reports_text(text);
        assert!(fs::metadata(&out).is_err());
    };
    let vary = "arguments = [\"--size\", \"{size}\"]\n[vary]\nsize = \"1B..64KiB log\"\n";
    let good = format!("{vary}[optimise]\nminimise = \"time\"\nruns = 4\n");
    refused(
        &good,
        "study run",
        "it has [vary]: expected simrun optimise for it",
    );
    refused(
        "",
        "optimise",
        "it has no [vary]: expected simrun study run for it",
    );
    refused(vary, "optimise", "[vary] without [optimise]");
    let wrong = |lines: &str, text: &str| refused(&format!("{vary}{lines}"), "optimise", text);
    wrong("[optimise]\nruns = 4", "[optimise] has 0 goals");
    wrong(
        "[optimise]\nminimise = \"speed\"\nruns = 4",
        "there is no measure \"speed\"",
    );
    wrong("[optimise]\nminimise = \"time\"", "[optimise] has no runs");
    wrong(
        "[optimise]\nminimise = \"time\"\nruns = 3\nstart = 5",
        "start = 5 with runs = 3",
    );
    let range = |range: &str| good.replace("1B..64KiB log", range);
    refused(
        &range("64KiB..1B"),
        "optimise",
        "range \"64KiB..1B\" is empty",
    );
    refused(
        &range("0..1 log"),
        "optimise",
        "range \"0..1 log\" has no logarithm",
    );
    refused(&range("1B..2us"), "optimise", "mixes kinds of quantities");
    let both = good.replace("[optimise]", "other = 1\n[grid]\nx = [1]\n[optimise]");
    refused(&both, "optimise", "grid beside [vary]");
    // A platform that a point makes wrong.
    let platform = "[vary]\nx = \"1us..2us\"\n[set]\n\"noise.compute.period\" = \"{x}\"\n[optimise]\nminimise = \"time\"\nruns = 4";
    let file = study(&folder, "apps/ring", platform);
    let ran = simrun!("optimise {file} --out {}", folder.path("made"));
    ran.exits_with(2).reports_text("at the point x = ");
    ran.reports_text("period without detour");
}
