//! The same cases say the same wherever they run: simulated, and for real over TCP in every way to
//! wait and to get connected.

use std::path::Path;
use std::process::Command;

/// The lines that a run prints, sorted, because lines of different ranks have no order.
#[track_caller]
fn lines(arguments: &str) -> Vec<String> {
    let output = Command::new(env!("CARGO_BIN_EXE_conformance"))
        .current_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."))
        .args(arguments.split_whitespace())
        .output()
        .expect("the app starts");
    assert!(output.status.success(), "{arguments}: {output:?}");
    let text = String::from_utf8(output.stdout).expect("text");
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    lines.sort();
    lines
}

/// Checks that these options print the same on every device.
#[track_caller]
fn check(options: &str, arguments: &str) {
    let simulated = lines(&format!(
        "-p platforms/cluster.toml -q {options} -- {arguments}"
    ));
    assert!(simulated.iter().any(|line| line.ends_with(": passed")));
    for ways in [
        "--wait block --connect on-demand",
        "--wait block --connect static",
        "--wait spin --connect on-demand",
        "--wait spin --connect static",
    ] {
        let real = lines(&format!(
            "real --backend tcp -q --prefix-rank=false --until 100s {ways} {options} -- {arguments}"
        ));
        assert_eq!(real, simulated, "{ways} {options}");
    }
}

#[test]
fn everything_by_the_usual_threshold() {
    check("-n 4 --protocol threshold=16KiB", "--threshold 16KiB");
}

#[test]
fn everything_by_a_small_threshold_and_other_random_messages() {
    check(
        "-n 3 --protocol threshold=100",
        "--threshold 100 --seed 7 --messages 3000",
    );
}

#[test]
fn everything_by_rendezvous() {
    check("-n 2 --protocol rendezvous", "--threshold 0 --messages 500");
}

#[test]
fn everything_eagerly() {
    check("-n 2 --protocol eager", "--threshold 16KiB --messages 500");
}

#[test]
fn collectives_by_the_decisions_of_each_library() {
    for selector in [
        "ours",
        "mpich",
        "openmpi-4.1",
        "openmpi-5.0",
        "mvapich2",
        "intel",
        "nccl",
        "smpi-default",
        "smpi-ompi",
        "smpi-mpich",
        "smpi-mvapich2",
        "smpi-impi",
    ] {
        for ranks in [1, 5, 8] {
            let options = format!("-n {ranks} --set collectives.selector={selector}");
            let options = format!("-p platforms/cluster.toml -q {options}");
            let found = lines(&format!("{options} -- --case collectives"));
            assert_eq!(found, ["collectives: passed"], "{options}");
        }
    }
}
