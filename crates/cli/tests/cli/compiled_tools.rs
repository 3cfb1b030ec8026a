//! Compiled MPI programs as the subject of tools.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use serde_json::Value;
use testing::commands::compile_with_libraries;

use crate::compiled::compiled;
use crate::study::study;
use crate::support::{CLUSTER, Folder, SIMRUN, simrun};

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
fn a_study_has_the_libraries_of_its_program() {
    let folder = Folder::new();
    let program = compile_with_libraries(SIMRUN, &folder, "");
    let lines = "options = [\"-n\", \"{ranks}\"]\n[grid]\nranks = [2, 3]\n\
                 [measure]\nmessages = { json = \"messages\" }\n";
    let file = study(&folder, &program, lines);
    let (out, record) = (folder.path("out"), folder.path("record"));
    let begun = simrun(&format!("study run {file} --out {out} --no-run"));
    let recorded = simrun(&format!("-p {CLUSTER} -n 2 --out {record} {program}"));
    assert_eq!((begun.status, recorded.status), (0, 0), "{begun:?}");
    let first = folder.path("libfirst.so");
    let changed = [&*std::fs::read(&first).unwrap(), b"\n"].concat();
    std::fs::write(&first, changed).unwrap();
    let again = simrun(&format!("rerun {record}"));
    let warning = "libraries: the program has changed since the record was written";
    assert!(again.stderr.contains(warning), "{again:?}");
    let other = simrun(&format!("study run {file} --out {out}"));
    let expected = "the study began with another program";
    assert!(
        other.status == 2 && other.stderr.contains(expected),
        "{other:?}"
    );
    // The folder has what its points need.
    std::fs::remove_file(first).unwrap();
    let work = simrun(&format!("study work {out}"));
    assert_eq!(work.status, 0, "{work:?}");
    let table = simrun(&format!("study table {out} --csv --no-wall")).stdout;
    assert_eq!(table.lines().count(), 3, "{table}");
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
