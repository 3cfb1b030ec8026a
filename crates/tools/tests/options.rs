//! Promise: options of a run change the results of `tune`, platforms without costs of messages are
//! told, and a library reads the choice.

use std::path::Path;
use std::process::{Command, Output};

/// Simulates an allreduce of 64 KiB by one algorithm with more arguments.
fn tune(arguments: &[&str]) -> Output {
    let platform = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms/cluster.toml");
    Command::new(env!("CARGO_BIN_EXE_simrun-tools"))
        .args(["collectives", "tune", "allreduce", "-p", platform])
        .args(["--sizes", "64KiB", "--algorithms", "ring"])
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
fn options_of_a_run_change_the_time_of_a_call() {
    let times = |arguments: &[&str]| {
        let ran = tune(&[&["-n", "8"], arguments].concat());
        assert!(ran.status.success(), "{ran:?}");
        ran.stdout
    };
    let plain = times(&[]);
    assert_ne!(times(&["--map", "block:4"]), plain);
    assert_ne!(times(&["--set", "clusters.*.latency*=2"]), plain);
    let control = "protocol.control_messages=simulated";
    let with = |protocol: &str| times(&["--set", control, "--protocol", protocol]);
    assert_ne!(with("rendezvous"), with("eager"));
    assert_eq!(times(&["--map", "block", "--seed", "3"]), plain);
}

#[test]
fn a_platform_without_costs_of_messages_is_told() {
    let warning = |arguments: &[&str]| {
        let ran = tune(&[&["-n", "4"], arguments].concat());
        String::from_utf8(ran.stderr).unwrap()
    };
    let told = warning(&[]);
    assert!(told.contains("messages take no processor time"), "{told}");
    let own: Vec<&str> = told.lines().filter(|line| line.contains(" = [")).collect();
    assert_eq!(own.len(), 3, "{told}");
    // The lines of the warning are what a platform file takes.
    let set = format!("network.{}", own[0].trim());
    assert_eq!(warning(&["--set", &set]), "");
}

#[test]
fn a_missing_option_is_refused() {
    let ran = tune(&[]);
    assert_eq!(ran.status.code(), Some(2));
    let text = String::from_utf8(ran.stderr).unwrap();
    assert!(text.contains("expected -n N with at least 2"), "{text}");
}

#[test]
fn a_library_reads_the_choice() {
    let rules = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rules.txt");
    let platform = concat!(env!("CARGO_MANIFEST_DIR"), "/../../platforms/cluster.toml");
    let mut command = Command::new(env!("CARGO_BIN_EXE_simrun-tools"));
    command.args(["collectives", "tune", "bcast", "-p", platform, "-n", "8"]);
    command.args(["--sizes", "64KiB", "--export", "openmpi", "--out"]);
    let ran = command.arg(&rules).output().unwrap();
    let text = String::from_utf8(ran.stdout).unwrap();
    assert!(text.contains("  library's choice  "), "{text}");
    let text = std::fs::read_to_string(rules).unwrap();
    assert!(
        text.contains("\n7  # bcast\n1  # communicator sizes\n8  #"),
        "{text}"
    );
}
