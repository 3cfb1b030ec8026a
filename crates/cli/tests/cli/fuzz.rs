//! Promise: `simrun fuzz` finds no error in correct endpoints, replays the written files, and
//! refuses bad input.

use crate::support::{Folder, SIMRUN, command, run, simrun, target};

#[test]
fn correct_endpoints_have_no_failures() {
    let folder = Folder::new();
    let out = folder.path("failures");
    let options = "fuzz --tries 50 --processes 3 --max-len 4096 --attributes ro,ru,uu --reject 20% \
                   --rma --check-memory -j 2";
    let ran = simrun!("{options} --faults loss=1%,flap=0.1% --out {out}");
    let expected = "50 interactions, ";
    ran.exits_with(0).prints_first(expected);
    ran.prints_last(" pairs of command and stage, seed 0: 0 failures\n");
    assert!(!std::path::Path::new(&out).exists(), "nothing to keep");
    let again = simrun!("{options} --faults loss=1% --format json");
    assert_eq!(again.json()["failures"], serde_json::json!([]));
    let coverage = again.json()["coverage"].to_string();
    assert!(coverage.contains("rma-write in Open"), "{coverage}");
}

/// Without any packet no connection is made: a failure, shrunk to one connection, and replayed.
#[test]
fn failures_are_shrunk_and_replayed() {
    let folder = Folder::new();
    let out = folder.path("failures");
    let ran = simrun!("fuzz --errors 1 --faults loss=100% --out {out} --junit {out}/junit.xml");
    ran.exits_with(1)
        .prints_first("completes: step 2 is blocked: ");
    ran.prints_text(" to 3 steps in ");
    let junit = std::fs::read_to_string(format!("{out}/junit.xml")).unwrap();
    assert!(junit.contains("<failure message=\"interaction 0: step 2 is blocked"));
    let observed = std::fs::read_to_string(format!("{out}/0-shrunk.txt")).unwrap();
    assert!(observed.contains("step 2 (blocked): "), "{observed}");
    let file = format!("{out}/0-shrunk.toml");
    let replayed = simrun!("fuzz --replay {file}");
    replayed.exits_with(1);
    let first = |text: &str| text.lines().next().unwrap().to_owned();
    assert_eq!(
        first(&replayed.stdout),
        format!("3 steps: {}", first(&ran.stdout))
    );
    let replayed = simrun!("fuzz --replay {file} --format json");
    replayed.exits_with(1);
    let result = replayed.json();
    assert_eq!(result["property"], "completes");
    assert_eq!(result["blocked"], 2);
    let text = std::fs::read_to_string(&file).unwrap();
    let healthy = folder.write("healthy.toml", &text.replace("loss = 1.0", "loss = 0.0"));
    let replayed = simrun!("fuzz --replay {healthy}");
    assert_eq!(
        (replayed.status, first(&replayed.stdout)),
        (0, "3 steps: no property violated".to_owned())
    );
}

/// An endless campaign continues after an end, and refuses the folder of another campaign.
#[test]
fn an_endless_campaign_continues() {
    let folder = Folder::new();
    let out = folder.path("campaign");
    let options = format!("fuzz --endless --budget 1ms --out {out}");
    simrun(&options)
        .exits_with(0)
        .prints_first("256 interactions, ");
    simrun(&options).prints_first("512 interactions, ");
    let other = simrun!("{options} --seed 1");
    other.exits_with(2);
    let expected = "a campaign with other options: expected another --out";
    other.reports_text(expected);
    std::fs::write(format!("{out}/position.json"), "{").unwrap();
    assert_eq!(simrun(&options).status, 2);
}

/// If the time is over before all interactions have run, there is no verdict.
#[test]
fn a_budget_ends_without_a_verdict() {
    let layers = ["actors", "mpi", "mpi/check", "verbs"];
    let layers = layers.map(|layer| format!("--layer {layer}"));
    for options in [&[String::new()][..], &layers[..]].concat() {
        let ran = simrun!("fuzz {options} --tries 1000000 --budget 1ms");
        ran.exits_with(3);
    }
    for options in ["--budget 0s", "--budget 30min", "--budget 1.5h"] {
        let ran = simrun!("fuzz {options} --tries 20");
        assert_eq!(ran.status, 0, "all interactions have run: {ran:?}");
    }
}

/// A campaign that is killed in the middle ends as one that is not.
#[test]
#[expect(clippy::disallowed_methods, reason = "it waits for a process")]
fn a_killed_campaign_continues() {
    let folder = Folder::new();
    let (killed, whole) = (folder.path("killed"), folder.path("whole"));
    let tries = |out: &str| -> u64 {
        let text = std::fs::read_to_string(format!("{out}/position.json"));
        let value: Option<serde_json::Value> =
            text.ok().and_then(|text| serde_json::from_str(&text).ok());
        value.map_or(0, |value| value[1]["tries"].as_u64().unwrap())
    };
    let options = "fuzz --endless --rma --attributes ro,ru,uu --seed 5";
    let mut campaign = command(SIMRUN);
    campaign.args(options.split(' ')).args(["--out", &killed]);
    let mut campaign = campaign.spawn().unwrap();
    while tries(&killed) < 512 {
        assert_eq!(campaign.try_wait().unwrap(), None, "it ends by itself");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    // SIGKILL.
    campaign.kill().unwrap();
    campaign.wait().unwrap();
    simrun!("{options} --budget 1ms --out {killed}");
    let position = |out: &str| std::fs::read_to_string(format!("{out}/position.json")).unwrap();
    while tries(&whole) < tries(&killed) {
        simrun!("{options} --budget 1ms --out {whole}");
    }
    assert_eq!(position(&killed), position(&whole));
}

/// Workers that are processes pass the same interactions, whatever makes progress.
#[test]
fn workers_are_processes() {
    let folder = Folder::new();
    let out = folder.path("failures");
    for options in [
        "--tries 6 --rma --attributes ro,ru,uu",
        "--tries 3 --rma --mode polling --seed 3",
        "--tries 3 --progress polling --processes 3 --seed 4",
    ] {
        let ran = simrun!("fuzz --backend tcp {options} -j 2 --out {out}");
        ran.exits_with(0).prints_last(" 0 failures\n");
    }
}

/// The program of a failure fails in the same way, and does not without the cause.
#[test]
fn a3_a_program_fails_in_the_same_way() {
    let folder = Folder::new();
    let out = folder.path("failures");
    // The connections are made, and operations give up.
    let ran = simrun!("fuzz --errors 1 --rma --faults loss=60% --seed 1 --out {out}");
    ran.exits_with(1);
    let names = std::fs::read_dir(&out).unwrap();
    let mut paths = names.map(|entry| entry.unwrap().path());
    let program = paths.find(|path| path.is_dir()).unwrap();
    let build = |expected: i32, text: &str| {
        let mut cargo = command(env!("CARGO"));
        cargo.args(["run", "--quiet", "--offline"]);
        cargo.current_dir(&program);
        cargo.env("CARGO_TARGET_DIR", target().join("fuzz-programs"));
        run(&mut cargo).exits_with(expected).prints_text(text);
    };
    build(1, "the failure has happened again: ");
    // The same against libibverbs; crates/real/softroce/apps.sh compiles and runs such programs.
    let shrunk = program.to_str().unwrap().replace("program", "shrunk.toml");
    let c = folder.path("failure.c");
    let ran = simrun!("fuzz --replay {shrunk} --export {c}");
    ran.exits_with(1);
    let text = std::fs::read_to_string(&c).unwrap();
    assert!(text.contains("\n  open_connection(&c["), "{text}");
    let case = program.join("src/case.rs");
    let text = std::fs::read_to_string(&case).unwrap();
    std::fs::write(&case, text.replace("loss: 0.6", "loss: 0.0")).unwrap();
    build(0, "other observations than when it failed: ");
}
