//! Promise: `--analyse` shows where a run spends its time and why, for programs with an analysis
//! known by hand, also if a program does not end; observing changes no time and no digest.

use std::path::Path;

use crate::support::{Folder, Output, SIMRUN, app, command, run, simrun};

/// Two hosts of 1 Gflop/s and more, 1 us between them.
const PLATFORM: &str = r#"
version = 1
[clusters.nodes]
hosts = "node-[0-7]"
speed = "1Gf"
bandwidth = "1GBps"
latency = "500ns"
"#;

fn analysed(folder: &Folder, rest: &str) -> Output {
    let platform = folder.write("platform.toml", PLATFORM);
    simrun!("--platform {platform} {rest}")
}

/// The analysis that a run has written to a directory.
pub(crate) fn json(folder: &Folder, name: &str) -> serde_json::Value {
    let text = std::fs::read_to_string(folder.path(&format!("{name}/analysis.json"))).unwrap();
    serde_json::from_str(&text).unwrap()
}

pub(crate) fn number(value: &serde_json::Value) -> f64 {
    value.as_f64().unwrap_or(f64::NAN)
}

#[test]
fn a_late_sender_is_named_first() {
    let folder = Folder::new();
    let ran = analysed(&folder, "-n 8 --analyse apps/late-sender");
    ran.exits_with(0);
    // Ranks 1 to 7 wait for 1 ms of 1 ms and 2.024 us, of all 8.
    let page = ran.stdout.split_once('\n').unwrap().1;
    for text in [
        "% of the time of all ranks is late sender in recv, apps/late-sender/src/main.rs:24",
        "for rank 0 in compute, apps/late-sender/src/main.rs:28",
        "late sender  ",
        "critical path, with 1 packets",
        "rank 0 in compute, apps/late-sender/src/main.rs:28",
        "late, of it",
    ] {
        assert!(page.contains(text), "{text}: {ran:?}");
    }
    assert!(ran.stdout.lines().count() <= 64, "{ran:?}");
}

#[test]
fn efficiencies_of_imbalance() {
    let folder = Folder::new();
    let out = folder.path("analysis");
    let ran = analysed(
        &folder,
        &format!("-n 8 --analyse={out} --ideal-network apps/imbalance -- --imbalance 1"),
    );
    ran.exits_with(0);
    let all = &json(&folder, "analysis")["efficiencies"];
    let [parallel, balance, serial, transfer] =
        ["parallel", "load_balance", "serialisation", "transfer"].map(|name| number(&all[name]));
    assert!((balance - 0.75).abs() < 1e-12, "{all}");
    // On an ideal network the slowest rank never waits.
    assert!((serial - 1.0).abs() < 1e-12, "{all}");
    assert!(
        (parallel - balance * serial * transfer).abs() < 1e-12,
        "{all}"
    );
    assert_eq!(all["program_differs"], false, "{all}");
    ran.prints_text("load balance 0.75");
    // 10 steps of 2 ms on the path, of 1.5 ms as a mean.
    let work = &json(&folder, "analysis")["imbalance"][0];
    assert_eq!(work["region"], "work", "{work}");
    assert!((number(&work["path_s"]) - 0.02).abs() < 1e-12, "{work}");
    assert!((number(&work["mean_s"]) - 0.015).abs() < 1e-12, "{work}");
    assert!(
        (number(&work["imbalance_s"]) - 0.005).abs() < 1e-12,
        "{work}"
    );
    let saved = "balance of region work would save 25.0 % at most";
    ran.prints_text(saved);
    let ranks = std::fs::read_to_string(folder.path("analysis/ranks.csv")).unwrap();
    assert_eq!(ranks.lines().count(), 9, "{ranks}");
}

#[test]
fn the_slow_stage_of_a_pipeline_is_the_critical_path() {
    let folder = Folder::new();
    let out = folder.path("analysis");
    let ran = analysed(&folder, &format!("-n 8 --analyse={out} apps/pipeline"));
    ran.exits_with(0);
    let analysis = json(&folder, "analysis");
    let place = &analysis["critical_places"][0];
    // 20 items of 0.4 ms at rank 1.
    assert_eq!(place["rank"], 1, "{analysis}");
    assert!(
        (number(&place["seconds"]) - 20.0 * 4e-4).abs() < 1e-9,
        "{analysis}"
    );
    // One item through all other stages.
    let computed = number(&analysis["critical_path_s"]["compute"]);
    assert!((computed - (20.0 * 4e-4 + 7.0 * 1e-4)).abs() < 1e-9);
    // All stages behind it wait for it, most of them through others.
    let cause = "greatest cause of waits: rank 1 in compute, apps/pipeline/src/main.rs:43";
    ran.prints_text(cause)
        .prints_text("% of it through other ranks");
    let backward = &analysis["backward"];
    let cost = &backward["delay_costs"][0];
    assert_eq!(cost["rank"], 1);
    assert_eq!(cost["region"], "stage");
    let most = &backward["derivatives"][0];
    assert_eq!(most["of"], "node-1", "{backward}");
    assert!((number(&most["seconds"]) + 20.0 * 4e-4).abs() < 1e-9);
}

#[test]
fn a_deadlock_is_analysed() {
    let folder = Folder::new();
    let ran = analysed(
        &folder,
        "-n 2 --protocol rendezvous --analyse apps/two-senders",
    );
    ran.exits_with(1);
    let found = "the run ends at time 0: 2 of 2 ranks are blocked";
    ran.prints_text(found);
}

#[test]
fn a_run_at_its_limit_is_analysed() {
    let folder = Folder::new();
    let ran = analysed(
        &folder,
        "-n 8 --until 1ms --analyse apps/pipeline -- --items 100",
    );
    ran.exits_with(3)
        .prints_text("time of the ranks, of 1.000 ms");
    let trace = folder.path("run.pftrace");
    let ran = analysed(
        &folder,
        &format!("-n 8 --max-events 50 --analyse --trace {trace} apps/pipeline"),
    );
    ran.exits_with(3).prints_text("critical path, with");
    assert!(std::fs::metadata(&trace).unwrap().len() > 1000);
}

#[test]
fn observing_changes_nothing() {
    let folder = Folder::new();
    for run in OBSERVED {
        let folder_of_app = run
            .split(' ')
            .find(|word| word.starts_with("apps/"))
            .unwrap();
        let app = &run.replace(folder_of_app, &app(folder_of_app));
        for platform in ["cluster", "loggops", "infiniband"] {
            // Queue pairs have no connections of the message layer, and their app needs them.
            let of_messages = app.contains("connection.mode");
            let of_queue_pairs = app.contains("verbs-pingpong");
            if (platform == "infiniband" && of_messages)
                || (platform != "infiniband" && of_queue_pairs)
            {
                continue;
            }
            let plain = format!("--platform platforms/{platform}.toml {app}");
            let log = folder.path("log");
            let observed = format!("--log-events {log} {plain}");
            let (plain, observed) = (simrun(&plain), simrun(&observed));
            plain.exits_with(0);
            assert_eq!(plain.digest(), observed.digest(), "{app} on {platform}");
        }
    }
}

/// The runs that are observed.
const OBSERVED: [&str; 21] = [
    "-n 64 apps/ring -- --rounds 2",
    "-n 16 apps/alltoall",
    "-n 20 apps/barrier",
    "-n 8 apps/allreduce -- --size 64KiB",
    "-n 4 apps/jacobi",
    "-n 8 apps/conjugate-gradient",
    "-n 8 apps/samplesort",
    "-n 4 apps/summa",
    "-n 8 apps/task-farm",
    "-n 2 apps/pingpong",
    "-n 6 apps/conformance",
    "-n 4 apps/congestion -- --size 30MB --other 10MB",
    "-n 4 apps/halo-rma",
    "-n 8 apps/imbalance",
    "-n 8 apps/late-sender",
    "-n 2 apps/osu -- --iterations 3 --max 64KiB",
    "-n 8 apps/pipeline",
    "-n 4 apps/two-senders",
    "-n 2 apps/verbs-pingpong",
    "-n 8 --set protocol.send_buffers=8 apps/alltoall",
    "-n 8 --set connection.mode=on-demand apps/alltoall",
];

/// Apps with actors instead of ranks, and the compiled programs, which make the calls of Rust apps.
const NOT_OBSERVED: [&str; 6] = [
    "c",
    "leader-election",
    "lost-wakeup",
    "master-worker",
    "philosophers",
    "producer-consumer",
];

#[test]
fn every_app_is_observed() {
    for app in std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/../../apps")).unwrap() {
        let name = app.unwrap().file_name().into_string().unwrap();
        let word = format!("apps/{name}");
        let is_observed = |run: &&str| run.split(' ').any(|part| part == word);
        let found = OBSERVED.iter().any(is_observed);
        let has_ranks = !NOT_OBSERVED.contains(&&*name);
        assert_eq!(found, has_ranks, "apps/{name}");
    }
}

#[test]
fn a_log_is_read_later() {
    let folder = Folder::new();
    let log = folder.path("log");
    let ran = analysed(&folder, &format!("-n 8 --log-events {log} apps/pipeline"));
    ran.exits_with(0);
    let (later, piped) = (folder.path("later"), folder.path("piped"));
    let whole = simrun!("analyse {log} --out {later}");
    whole.prints_text("critical path, with");
    let ran = analysed(&folder, &format!("-n 8 --analyse={piped} apps/pipeline"));
    ran.exits_with(0);
    for name in ["slack.csv", "delays.csv", "derivatives.csv"] {
        let read = |folder: &str| std::fs::read_to_string(format!("{folder}/{name}")).unwrap();
        assert!(read(&later).lines().count() > 5, "{name}");
        assert_eq!(read(&later), read(&piped), "{name}");
    }
    let bytes = std::fs::read(&log).unwrap();
    std::fs::write(&log, &bytes[..bytes.len() / 2 + 5]).unwrap();
    let cut = simrun!("analyse {log}");
    cut.exits_with(0).prints_text("log truncated at");
}

#[test]
fn a_congested_link_is_named() {
    let folder = Folder::new();
    let out = folder.path("analysis");
    let ran = analysed(
        &folder,
        &format!("-n 8 --analyse={out} apps/alltoall -- --size 64KiB"),
    );
    ran.exits_with(0).prints_text("links that delay most");
    ran.prints_text("contention in ");
    let links = std::fs::read_to_string(folder.path("analysis/links.csv")).unwrap();
    // Up and down of eight hosts.
    assert_eq!(links.lines().count(), 17, "{links}");
}

#[test]
fn a_run_writes_a_timeline() {
    let folder = Folder::new();
    let trace = folder.path("run.pftrace.gz");
    let ran = analysed(
        &folder,
        &format!("-n 8 --trace {trace} --trace-ranks 0-3 apps/pipeline"),
    );
    ran.exits_with(0);
    assert!(!ran.stdout.contains("critical path"), "{ran:?}");
    let bytes = std::fs::read(&trace).unwrap();
    assert_eq!(bytes[..2], [0x1f, 0x8b], "it is compressed");
    let ran = analysed(
        &folder,
        &format!("-n 8 --trace {trace} --trace-ranks 9 apps/pipeline"),
    );
    ran.exits_with(2).reports_text("--trace-ranks");
}

#[test]
fn parameters_are_varied() {
    let folder = Folder::new();
    let platform = folder.write("platform.toml", PLATFORM);
    let plot = folder.path("tornado.svg");
    let line = format!("whatif -p {platform} -n 4 apps/ring --plot {plot}");
    let ran = simrun!("{line} --format json");
    ran.exits_with(0);
    let all = ran.json();
    // Four messages of 1 us + 1.024 us.
    let time = number(&all["simulated_s"]);
    assert!((time - 4.0 * 2.024e-6).abs() < 1e-12, "{all}");
    let effect = |path: &str| {
        let effects = all["effects"].as_array().unwrap();
        let found = effects.iter().find(|effect| effect["parameter"] == path);
        found.unwrap_or_else(|| panic!("{path}: {all}")).clone()
    };
    let latency = effect("clusters.nodes.latency");
    assert!((number(&latency["elasticity"]) - 1.0 / 2.024).abs() < 1e-6);
    assert!((number(&latency["multiplied_s"]) - 4.0 * 3.024e-6).abs() < 1e-12);
    let bandwidth = effect("clusters.nodes.bandwidth");
    assert!((number(&bandwidth["multiplied_s"]) - 4.0 * 1.512e-6).abs() < 1e-12);
    // The critical path predicts what runs with 1 % less and more measure.
    for path in ["clusters.nodes.latency", "clusters.nodes.bandwidth"] {
        let effect = effect(path);
        let predicted = number(&effect["predicted_elasticity"]);
        for measured in ["elasticity_less", "elasticity_more"] {
            let measured = number(&effect[measured]);
            assert!(
                (predicted - measured).abs() <= 0.02 * measured.abs(),
                "{all}"
            );
        }
    }
    // 1 % of 2.024 us is 20.24 ns of 1 us.
    let factor = number(&all["tolerances"][0]["latency_factor"]);
    assert!((factor - 1.02024).abs() < 1e-5, "{all}");
    let picture = std::fs::read_to_string(&plot).unwrap();
    assert!(picture.contains("clusters.nodes.latency"), "{picture}");
    let ran = simrun(&line);
    for column in ["per +1 %", "predicted", "+0.4941%      +0.4941%"] {
        ran.prints_text(column);
    }
}

/// Returns the derivatives of a report, by links and hosts: the name; the change along the critical
/// path, and the changes from runs with 1 % less and more.
fn checked(folder: &Folder, changes: &str) -> Vec<(String, [f64; 3])> {
    let platform = folder.write("platform.toml", PLATFORM);
    let out = folder.path("whatif");
    let ran =
        simrun!("whatif -p {platform} -n 4 {changes} --no-tolerance --analyse={out} apps/ring");
    ran.exits_with(0);
    let html = std::fs::read_to_string(format!("{out}/report.html")).unwrap();
    assert!(html.contains("checked by runs"));
    let page: serde_json::Value =
        serde_json::from_str(&std::fs::read_to_string(format!("{out}/report.json")).unwrap())
            .unwrap();
    let mut tables = page["tables"].as_array().unwrap().iter();
    let table = tables.find(|table| table["id"] == "checked").unwrap();
    let rows = table["rows"].as_array().unwrap().iter();
    let row = |row: &serde_json::Value| {
        let name = row[0]["text"].as_str().unwrap().to_owned();
        let of = |column: usize| number(&row[column]["number"]);
        (name, [of(1), of(2), of(3)])
    };
    rows.map(row).collect()
}

#[test]
fn derivatives_by_links_are_checked_by_runs() {
    let folder = Folder::new();
    // Four messages of 1 us + 1.024 us, which the link of the sender limits.
    let faster = |node| format!("--set links.node-{node}:down.bandwidth=2GBps ");
    let rows = checked(&folder, &[0, 1, 2, 3].map(faster).concat());
    assert_eq!(rows.len(), 10, "{rows:?}");
    for (name, [predicted, less, more]) in &rows {
        for measured in [less, more] {
            assert!(
                (predicted - measured).abs() <= 0.02 * measured.abs(),
                "{name}: {rows:?}"
            );
        }
    }
    let (first, [predicted, ..]) = &rows[0];
    assert!(first.starts_with("bandwidth of node-") && first.ends_with(":up"));
    assert!((predicted + 1.024 / 8.096).abs() < 1e-9, "{rows:?}");
    let is_latency = |row: &&(String, _)| row.0.starts_with("latency of node-");
    assert_eq!(rows.iter().filter(is_latency).count(), 6);
    // Both links of a route limit the message: more of one of them has no effect.
    let rows = checked(&folder, "");
    let (first, [predicted, less, more]) = &rows[0];
    assert!(first.starts_with("bandwidth of node-"), "{rows:?}");
    assert!((predicted - less).abs() <= 0.02 * less.abs(), "{rows:?}");
    assert!(more.abs() < 1e-9, "{rows:?}");
}

#[test]
fn folders_of_files_have_to_exist_before_a_run() {
    let folder = Folder::new();
    let log = folder.path("log");
    let ran = analysed(&folder, &format!("-n 2 --log-events {log} apps/ring"));
    ran.exits_with(0);
    let (file, missing) = (folder.path("no/run.pftrace"), folder.path("no"));
    let simulated = "--platform platforms/cluster.toml";
    for line in [
        format!("{simulated} --trace {file} apps/ring"),
        format!("{simulated} --log-events {file} apps/ring"),
        format!("{simulated} --log-events {log} --trace {file} apps/ring"),
        format!("real -n 2 --trace {file} apps/ring"),
        format!("real -n 2 --log-events {file} apps/ring"),
        format!("analyse {log} --trace {file}"),
        format!("trace convert {log} --out {file}"),
    ] {
        let ran = simrun(&line);
        assert_eq!((ran.status, &*ran.stdout), (2, ""), "{line}: {ran:?}");
        let expected = format!("{file}: there is no folder {missing}: expected one that exists");
        ran.reports_text(&expected);
        assert!(!Path::new(&missing).exists(), "{line}");
    }
    // A directory is made, with those above it.
    let out = folder.path("deep/analysis");
    let ran = analysed(&folder, &format!("-n 2 --analyse={out} apps/ring"));
    ran.exits_with(0);
    assert!(Path::new(&out).join("analysis.json").exists());
}

#[test]
fn wrong_options_are_told_before_a_run_writes_or_prints_anything() {
    let folder = Folder::new();
    let platform = folder.write("platform.toml", PLATFORM);
    let (trace, log) = (folder.path("run.pftrace"), folder.path("run.log"));
    let (out, zip) = (folder.path("out"), folder.path("run.zip"));
    let traced = format!("--trace {trace}");
    let file = folder.write("file", "");
    for (options, expected) in [
        (
            format!("--trace {zip}"),
            "run.zip: unknown ending: expected .pftrace",
        ),
        (
            format!("{traced} --trace-only foo"),
            "--trace-only foo: \"foo\": expected calls",
        ),
        (
            format!("{traced} --trace-only flows"),
            "--trace-only flows: arrows begin",
        ),
        (
            format!("{traced} --trace-ranks 5-2"),
            "--trace-ranks 5-2: \"5-2\": expected ranks",
        ),
        (
            format!("{traced} --trace-ranks 4"),
            "--trace-ranks 4: the run has none of these ranks: expected ranks from 0 to 3",
        ),
        (
            format!("{traced} --trace-unit min"),
            "--trace-unit min: expected ns or ps",
        ),
        (
            format!("{traced} --trace-from 2s --trace-until 1s"),
            "--trace-from 2 s is behind --trace-until 1 s",
        ),
        (
            format!("{traced} --log-events {trace}"),
            "it is also the file of --log-events",
        ),
        // A folder that exists and takes no file, not even of root.
        (
            "--trace /proc/run.pftrace".to_owned(),
            "/proc/run.pftrace: cannot write it",
        ),
        ("--analyse=/proc".to_owned(), "/proc/report.html: cannot"),
        ("--trace-ranks 0".to_owned(), "expected --trace FILE"),
        (format!("--analyse={file}"), "file: File exists"),
    ] {
        // What is right beside it is not written either; the page of text would be printed.
        let mut rest = String::new();
        if !options.contains("--log-events") && !options.starts_with("--trace-") {
            rest = format!("{rest} --log-events {log}");
        }
        if !options.contains("--analyse") && !options.starts_with("--trace-") {
            rest = format!("{rest} --analyse={out}");
        }
        for run in [
            format!("--platform {platform} -n 4 {options} {rest} apps/ring"),
            format!("real -n 4 {options} {rest} apps/ring"),
        ] {
            let ran = simrun(&run);
            assert_eq!((ran.status, &*ran.stdout), (2, ""), "{run}: {ran:?}");
            ran.reports_text(expected);
            assert_eq!(ran.stderr.matches("error: ").count(), 1, "{run}: {ran:?}");
            let left = std::fs::read_dir(folder.path("")).unwrap();
            let names: Vec<_> = left.map(|entry| entry.unwrap().file_name()).collect();
            let is_input = |name: &std::ffi::OsString| name == "platform.toml" || name == "file";
            assert!(names.iter().all(is_input), "{run}: {names:?}");
        }
    }
}

#[test]
fn a_log_that_cannot_be_copied_is_analysed_forwards() {
    let folder = Folder::new();
    let platform = folder.write("platform.toml", PLATFORM);
    let mut simrun = command(SIMRUN);
    simrun.env("TMPDIR", folder.path("missing"));
    let line = format!("--platform {platform} -n 8 --analyse apps/late-sender");
    let ran = run(simrun.args(line.split_whitespace()));
    ran.exits_with(0);
    for text in [
        "no slack, causes and derivatives: no copy of the log in",
        "late sender in recv, apps/late-sender/src/main.rs:24",
    ] {
        ran.prints_text(text);
    }
}
