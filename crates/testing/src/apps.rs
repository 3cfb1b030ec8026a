//! Fixtures of the tests of apps: a run of the app on a platform of the repository and the record,
//! and a search through all orders of the app.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs the app at `program` with these arguments, from the root of the repository.
pub fn output(program: &str, arguments: &str) -> Output {
    Command::new(program)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(arguments.split_whitespace())
        .output()
        .expect("the app starts")
}

/// The exit status, and the result of a search through the orders of the app at `program`.
pub fn check(program: &str, arguments: &str) -> (Option<i32>, Value) {
    let output = output(program, &format!("check --format json {arguments}"));
    let found = serde_json::from_slice(&output.stdout).expect("the result is JSON");
    (output.status.code(), found)
}

/// The record of a run of the app at `program`, which must finish, given the platform's name, the
/// options and the program's arguments.
pub fn record(program: &str, platform: &str, options: &str, arguments: &str) -> Value {
    let run = format!("-p platforms/{platform}.toml -q --format json {options} -- {arguments}");
    let output = output(program, &run);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("the record is JSON")
}

/// Runs the app at `program` on the cluster, and replays the schedule. Returns the run and the
/// replay.
pub fn replayed(program: &str, options: &str, arguments: &str) -> (Output, Output) {
    let name = format!("schedule-{}-{arguments}", std::process::id());
    let file = std::env::temp_dir().join(name.replace(' ', ""));
    let path = file.display();
    let run = format!("-p platforms/cluster.toml -q {options} --schedule {path} -- {arguments}");
    let run = output(program, &run);
    let written = std::fs::read_to_string(&file).expect("the schedule was written");
    let command = written
        .strip_prefix("# ")
        .and_then(|text| text.lines().next());
    let replay = Command::new("sh")
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(["-c", command.expect("it begins with the command")])
        .output()
        .expect("the app starts");
    std::fs::remove_file(&file).expect("it was just read");
    (run, replay)
}

/// The simulated seconds of a record.
pub fn simulated_s(record: &Value) -> f64 {
    record["simulated_s"].as_f64().expect("a number")
}
