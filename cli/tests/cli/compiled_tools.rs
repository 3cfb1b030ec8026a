//! Compiled MPI programs as the subject of tools.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use serde_json::Value;

use crate::compiled::compiled;
use crate::study::study;
use crate::support::{CLUSTER, Folder, simrun};

#[test]
fn a_compiled_program_is_the_subject_of_a_study() {
    let folder = Folder::new();
    let program = compiled(&folder, "apps/c/ring.c");
    let lines = "options = [\"-n\", \"{ranks}\"]\narguments = [\"--rounds\", \"{rounds}\"]\n\
                 [grid]\nranks = [2, 4]\nrounds = [1, 3]\n\
                 [measure]\nmessages = { json = \"messages\" }\n";
    let file = study(&folder, &program, lines);
    let out = folder.path("out");
    let ran = simrun(&format!("study run {file} --out {out} --jobs 2"));
    assert_eq!(ran.status, 0, "{ran:?}");
    let table = simrun(&format!("study table {out} --csv --no-wall")).stdout;
    assert_eq!(table.lines().count(), 5, "{table}");
    let again = simrun(&format!("study run {file} --out {out} --jobs 2"));
    assert_eq!(again.status, 0, "{again:?}");
}

#[test]
fn a_compiled_program_is_the_subject_of_whatif() {
    let folder = Folder::new();
    let program = compiled(&folder, "apps/c/ring.c");
    let line = format!("whatif -p {CLUSTER} -n 4 --format json {program} -- --rounds 2");
    let output = simrun(&line);
    assert_eq!(output.status, 0, "{output:?}");
    let effects: Value = serde_json::from_str(&output.stdout).unwrap();
    let line = format!("-p {CLUSTER} -n 4 --format json {program} -- --rounds 2");
    let run: Value = serde_json::from_str(&simrun(&line).stdout).unwrap();
    assert_eq!(effects["simulated_s"], run["simulated_s"], "{effects}");
}

#[test]
fn a_comparison_of_a_compiled_program_needs_measured_times() {
    let folder = Folder::new();
    let program = compiled(&folder, "apps/c/pingpong.c");
    let output = simrun(&format!("compare --platform {CLUSTER} -n 2 {program}"));
    let expected = "a compiled MPI program: expected --measured-times FILE, of runs with mpiexec";
    assert!(
        output.status == 2 && output.stderr.contains(expected),
        "{output:?}"
    );
}
