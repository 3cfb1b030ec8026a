//! What the tests of apps share: a run of the app on a platform of the repository, and its record.
//!
//! A test has it by `#[path = "../../testing/mod.rs"] mod testing;`.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The record of a run of the app at `program`, which must finish, given the platform's name, the options and the program's
/// arguments.
pub(crate) fn record(program: &str, platform: &str, options: &str, arguments: &str) -> Value {
    let output = Command::new(program)
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .arg("-p")
        .arg(format!("platforms/{platform}.toml"))
        .args(["-q", "--format", "json"])
        .args(options.split_whitespace())
        .arg("--")
        .args(arguments.split_whitespace())
        .output()
        .expect("the app starts");
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    serde_json::from_slice(&output.stdout).expect("the record is JSON")
}

/// The simulated seconds of a record.
pub(crate) fn simulated_s(record: &Value) -> f64 {
    record["simulated_s"].as_f64().expect("a number")
}
