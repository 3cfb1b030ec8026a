//! `simrun study`: points, results, tables, mistakes.

use std::fs;

use study::PlannedPoint;

use crate::support::{Folder, Output, SIMRUN, command, program, run, simrun};

/// A study of the test program `cases`, with more lines.
pub(crate) fn study(folder: &Folder, program: &str, lines: &str) -> String {
    let text = format!("program = \"{program}\"\nplatform = \"platforms/cluster.toml\"\n{lines}");
    folder.write("study.toml", &text)
}

/// Nine points, of which one fails.
const POINTS: &str = r#"
options = ["-n", "{ranks}", "--protocol", "rendezvous"]
arguments = ["--case", "{case}"]
where = "case == 'any-source' or (ranks == 4 and latency == 1us)"
[grid]
ranks = [4, 5, 6, 7]
latency = ["1us", "2us"]
case = ["any-source", "head-to-head"]
[set]
"clusters.nodes.latency" = "{latency}"
[measure]
time = { json = "simulated_s", unit = "s" }
messages = { json = "messages" }
"#;

fn points(folder: &Folder) -> String {
    study(folder, &program("cases"), POINTS)
}

fn table(out: &str) -> String {
    let shown = simrun!("study table {out} --rows runs --csv --no-wall");
    shown.exits_with(0);
    shown.stdout
}

/// Returns the lines of all result files.
pub(crate) fn result_lines(out: &str) -> Vec<String> {
    let files = fs::read_dir(format!("{out}/results")).unwrap();
    let texts = files.map(|file| fs::read_to_string(file.unwrap().path()).unwrap());
    texts
        .flat_map(|text| text.lines().map(str::to_owned).collect::<Vec<_>>())
        .collect()
}

fn refused(output: &Output, text: &str) {
    output.exits_with(2).reports_text(text);
}

#[test]
fn the_table_is_the_same_for_any_number_of_jobs() {
    let folder = Folder::new();
    let file = points(&folder);
    let [one, two] = ["one", "two"].map(|name| folder.path(name));
    let ran = simrun!("study run {file} --out {one} --jobs 1");
    ran.exits_with(1);
    let first = ran.stdout.lines().next().unwrap();
    assert!(
        first.starts_with("8 of 9 points complete, 9 runs in "),
        "{first}"
    );
    assert!(first.ends_with(", 1 points with failed runs"), "{first}");
    ran.prints_text("seed 0: deadlock: blocked ranks or actors: 2");
    simrun!("study run {file} --out {two} --jobs 2");
    assert_eq!(table(&one), table(&two));
    assert_eq!(table(&one).lines().count(), 10);

    // A run alone has the same digest.
    let row = table(&one)
        .lines()
        .find(|line| line.starts_with("5,"))
        .unwrap()
        .to_owned();
    let cells: Vec<&str> = row.split(',').collect();
    let set = "clusters.nodes.latency=1us";
    let cases = program("cases");
    let alone = simrun!(
        "-p platforms/cluster.toml -n 5 --protocol rendezvous --set {set} {cases} -- --case any-source"
    );
    assert_eq!(cells[7], alone.digest(), "{row}");
}

#[test]
fn a_study_continues_and_computes_nothing_twice() {
    let folder = Folder::new();
    let file = points(&folder);
    let out = folder.path("out");
    simrun!("study run {file} --out {out}");
    assert_eq!(result_lines(&out).len(), 9);
    simrun!("study run {file} --out {out}");
    assert_eq!(result_lines(&out).len(), 9);
    simrun!("study retry {out} --failed").exits_with(1);
    assert_eq!(result_lines(&out).len(), 10);
    let status = simrun!("study status {out} --format json").json();
    assert_eq!(status["complete"], 8);
    assert_eq!(status["failed"], 1);
}

#[test]
fn workers_divide_the_points() {
    let folder = Folder::new();
    let file = points(&folder);
    let [whole, out] = ["whole", "out"].map(|name| folder.path(name));
    simrun!("study run {file} --out {whole}");
    let made = simrun!("study run {file} --out {out} --no-run");
    made.exits_with(0);
    made.prints_first("9 points; next: simrun study work ");
    // Three of nine points each: by Slurm's variables, by the option, by their keys.
    let slurm = run(command(SIMRUN)
        .args(["study", "work", &out])
        .envs([("SLURM_PROCID", "0"), ("SLURM_NTASKS", "3")]));
    assert!(slurm.status < 2, "{slurm:?}");
    assert_eq!(result_lines(&out).len(), 3);
    let second = simrun!("study work {out} --worker 1/3");
    assert!(second.status < 2, "{second:?}");
    assert_eq!(result_lines(&out).len(), 6);
    let keys = simrun!("study points {out}").stdout;
    for key in keys.lines().skip(2).step_by(3) {
        simrun!("study work {out} --point {key}");
    }
    assert_eq!(table(&out), table(&whole));
}

#[test]
fn an_idle_worker_takes_points_of_others() {
    let folder = Folder::new();
    let file = points(&folder);
    let out = folder.path("out");
    simrun!("study run {file} --out {out} --no-run");
    let alone = simrun!("study work {out} --worker 0/4 --steal");
    assert!(alone.status < 2, "{alone:?}");
    assert_eq!(result_lines(&out).len(), 9);
}

#[test]
fn random_points_have_intervals_and_others_run_once() {
    let folder = Folder::new();
    let lines = r#"
        options = ["-n", "3", "--map", "{map}"]
        arguments = ["--case", "relay"]
        [grid]
        map = ["block", "random"]
        [replicate]
        seeds = 12
        [measure]
        time = { json = "simulated_s", unit = "s" }
    "#;
    let file = study(&folder, &program("cases"), lines);
    let out = folder.path("out");
    simrun!("study run {file} --out {out}").exits_with(0);
    assert_eq!(result_lines(&out).len(), 13);
    let rows = simrun!("study table {out} --json").json();
    assert_eq!(rows[0]["time_s_note"], "deterministic");
    assert_eq!(rows[1]["time_s_n"], 12);
    assert!(rows[1]["time_s_low"].as_f64() <= rows[1]["time_s_mean"].as_f64());

    simrun!("study report {out}").exits_with(0);
    let content = fs::read_to_string(format!("{out}/report.json")).unwrap();
    let content: serde_json::Value = serde_json::from_str(&content).unwrap();
    let page = fs::read_to_string(format!("{out}/report.html")).unwrap();
    let headline = content["headline"].as_str().unwrap();
    assert!(
        headline.starts_with("time_s changes most with map: "),
        "{content}"
    );
    for text in [
        "time_s changes most with map: ",
        "map = random against block",
        "time_s over map",
        "13 runs",
        "data:text/csv;base64,",
    ] {
        assert!(page.contains(text), "{text}: {page}");
    }
}

#[test]
fn printed_lines_and_analyses_are_measures() {
    let folder = Folder::new();
    let lines = r#"
        options = ["-n", "2"]
        arguments = ["--sizes", "1KiB"]
        [measure]
        half = { line = '^ *1KiB +([0-9.]+) us', unit = "us" }
        latency = { analysis = "critical_path_s.latency", unit = "s" }
    "#;
    let file = study(&folder, "apps/pingpong", lines);
    let out = folder.path("out");
    simrun!("study run {file} --out {out}").exits_with(0);
    let row = &simrun!("study table {out} --rows runs --json").json()[0];
    assert!(
        row["half_us"].as_f64().is_some_and(|half| half > 0.0),
        "{row}"
    );
    assert_eq!(row["latency_s"], 2.5e-5, "{row}");
}

#[test]
fn a_run_that_ends_its_process_fails_alone() {
    let folder = Folder::new();
    let lines = r#"
        options = ["-n", "3"]
        arguments = ["--case", "{case}"]
        [grid]
        case = ["abort", "exit", "panic", "relay", "forever"]
        [limits]
        time = "1s"
    "#;
    let file = study(&folder, &program("cases"), lines);
    let out = folder.path("out");
    let ran = simrun!("study run {file} --out {out} --jobs 1");
    ran.exits_with(1)
        .prints_first("1 of 5 points complete, 5 runs");
    for text in [
        "case = abort, seed 0: failed: called abort with code 7",
        "case = exit, seed 0: failed: ended the process, as std::process::exit does",
        "case = panic, seed 0: failed: the reactor is too hot",
        "case = forever, seed 0: limit: --max-time 1s",
    ] {
        ran.prints_text(text);
    }
}

#[test]
fn an_unwritable_failure_loses_no_result() {
    let folder = Folder::new();
    let lines = "options = [\"-n\", \"3\"]\narguments = [\"--case\", \"panic\"]";
    let file = study(&folder, &program("cases"), lines);
    let out = folder.path("out");
    let made = simrun!("study run {file} --out {out} --no-run");
    made.exits_with(0);
    // A file where the texts of failed runs belong.
    fs::write(format!("{out}/failures"), "").unwrap();
    let ran = simrun!("study run {file} --out {out}");
    ran.exits_with(2).reports_text("failures");
    let table = simrun!("study table {out} --rows runs --csv");
    table.prints_text("\n0,failed,");
}

#[test]
fn mistakes_are_told_before_anything_runs() {
    let folder = Folder::new();
    let out = folder.path("out");
    let run = |lines: &str| {
        let file = study(&folder, &program("cases"), lines);
        simrun!("study run {file} --out {out}")
    };
    let ran = run("arguments = ['--case', '{casse}']\n[grid]\ncase = ['relay']");
    refused(&ran, "there is no parameter \"casse\"");
    refused(&ran, "parameter \"case\" has no use");
    let ran = run("[set]\n\"clusters.nodes.latencyy\" = \"1us\"");
    refused(&ran, "did you mean \"latency\"?");
    let ran = run("options = [\"--mapp\", \"block\"]");
    refused(&ran, "unexpected argument '--mapp' found");
    let ran = run("options = [\"--trace\", \"x.pftrace\"]");
    refused(&ran, "expected one run alone, not one of a study");
    assert!(folder.names().iter().all(|name| name == "study.toml"));

    let missing = simrun!("study status {out}");
    refused(&missing, "expected the folder of a study");
    let none = simrun!("study run {} --out {out}", folder.path("none.toml"));
    refused(&none, "none.toml: No such file or directory");
}

#[test]
fn a_folder_belongs_to_one_study_and_one_revision() {
    let folder = Folder::new();
    let lines = "arguments = ['--case', 'relay']\noptions = ['-n', '3']";
    let file = study(&folder, &program("cases"), lines);
    let out = folder.path("out");
    simrun!("study run {file} --out {out}").exits_with(0);
    let other = study(
        &folder,
        &program("cases"),
        "arguments = ['--case', 'relay']",
    );
    let other = simrun!("study run {other} --out {out}");
    refused(&other, "it is the folder of another study");

    let points = fs::read_to_string(format!("{out}/points.jsonl")).unwrap();
    let mut point: PlannedPoint = serde_json::from_str(points.lines().next().unwrap()).unwrap();
    point.content.revision = "0123".to_owned();
    point.key = point.content.key(0);
    let old = serde_json::to_string(&point).unwrap() + "\n";
    fs::write(format!("{out}/points.jsonl"), old).unwrap();
    let worker = simrun!("study work {out}");
    refused(
        &worker,
        "the study began with revision 0123 of simrun, and this is",
    );
}

#[test]
fn a_study_begins_anew_after_a_mistake() {
    let folder = Folder::new();
    let cases = program("cases");
    let out = folder.path("out");
    let table = || simrun!("study table {out} --csv --no-wall").stdout;
    for (case, status) in [("panic", 1), ("error", 1), ("relay", 0)] {
        let lines = format!("arguments = ['--case', '{case}']\noptions = ['-n', '3']");
        let file = study(&folder, &cases, &lines);
        let ran = simrun!("study run {file} --out {out}");
        ran.exits_with(status);
        assert_eq!(table().lines().count(), 2, "{}", table());
    }
    let search = |case: &str| {
        let lines = format!(
            "arguments = ['--case', '{case}']\noptions = ['-n', '3']\n\
             [vary]\nlatency = '1us..2us'\n[set]\n'clusters.nodes.latency' = '{{latency}}'\n\
             [measure]\ntime = {{ json = 'simulated_s' }}\n[optimise]\nminimise = 'time'\nruns = 3\n"
        );
        let file = study(&folder, &cases, &lines);
        simrun!("optimise {file} --out {}", folder.path("search"))
    };
    search("panic").exits_with(1);
    let ran = search("relay");
    ran.exits_with(0).prints_text("\nbest: ");
    let other = search("hosts");
    refused(&other, "it is the folder of another study");
}

#[test]
fn a_missing_measure_is_counted() {
    let folder = Folder::new();
    let lines = r#"
        options = ["-n", "{ranks}"]
        arguments = ["--case", "any-source"]
        [grid]
        ranks = [3, 4]
        [measure]
        none = { json = "nothing" }
    "#;
    let file = study(&folder, &program("cases"), lines);
    let out = folder.path("out");
    let ran = simrun!("study run {file} --out {out}");
    ran.exits_with(1);
    let warning = "warning: measure none is missing in 2 of 2 runs";
    ran.prints_text(warning);
}

#[test]
fn a_first_study_of_a_program_runs() {
    let folder = Folder::new();
    let (file, out) = (folder.path("first.toml"), folder.path("out"));
    let made = simrun!("study init apps/ring --out {file}");
    made.exits_with(0);
    assert!(
        fs::read_to_string(&file)
            .unwrap()
            .contains("size = [\"1KiB\"]")
    );
    let again = simrun!("study init apps/ring --out {file}");
    refused(&again, "it is there already");
    let ran = simrun!("study run {file} --out {out}");
    ran.exits_with(0);
    let missing = format!("study init -p {out}/none.toml apps/ring --out {out}/x.toml");
    refused(&simrun(&missing), "none.toml");
    for (option, problem) in [
        ("-n 0", "--tasks"),
        ("--time 1h", "--time"),
        ("--time 1:00\nx", "--time"),
    ] {
        let words = option.split(' ');
        let mut asked = command(SIMRUN);
        let ran = run(asked.args(["study", "slurm", &out]).args(words));
        ran.exits_with(2).reports_text(problem);
    }
    let script = simrun!("study slurm {out} -n 2").stdout;
    assert!(script.starts_with("#!/bin/sh\n"), "{script}");
    assert!(script.contains("#SBATCH --ntasks=2\n"), "{script}");
    // Points that are not those of the study are refused, not looked for.
    let list = format!("{out}/points.jsonl");
    let points = fs::read_to_string(&list).unwrap();
    for (part, other, problem) in [
        ("\"point\":0", "\"point\":9", "each once"),
        (
            "\"key\":\"",
            "\"key\":\"../",
            "the key is not that of the content",
        ),
    ] {
        fs::write(&list, points.replacen(part, other, 1)).unwrap();
        refused(&simrun!("study work {out}"), problem);
    }
}

#[test]
fn many_values_of_one_run_are_batches() {
    let folder = Folder::new();
    let sizes = ["8B"; 200];
    let lines = format!(
        "options = [\"-n\", \"2\"]\narguments = [\"--sizes\", \"{}\"]\n\
         [set]\n\"noise.links.latency\" = \"1us\"\n\
         [measure]\nhalf = {{ line = '^ *\\S+ +([0-9.]+) us', unit = \"us\", batches = 10 }}",
        sizes.join(",")
    );
    let file = study(&folder, "apps/pingpong", &lines);
    let out = folder.path("out");
    simrun!("study run {file} --out {out}").exits_with(0);
    let summary = fs::read_to_string(format!("{out}/summary.csv")).unwrap();
    let cells: Vec<&str> = summary.lines().nth(1).unwrap().split(',').collect();
    let number = |at: usize| cells[at].parse::<f64>().unwrap();
    // Ten batches; 1.25 us by the platform, and 2 us more on average by noise of two links.
    assert_eq!(cells[0], "10", "{summary}");
    assert!((number(1) - 3.25).abs() < 0.5, "{summary}");
    assert!(number(2) < number(1) && number(1) < number(3), "{summary}");
    let result = &result_lines(&out)[0];
    assert!(result.contains("\"batches\":{\"half_us\":["), "{result}");

    let few = lines.replace("batches = 10", "batches = 250");
    let file = study(&folder, "apps/pingpong", &few);
    let few = folder.path("few");
    let ran = simrun!("study run {file} --out {few}");
    ran.exits_with(1)
        .prints_text("expected at least 250 after it");
}
