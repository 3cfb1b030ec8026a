//! Compiled MPI programs as the subject of commands of simrun: compilers, tools, records.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use serde_json::Value;
use testing::commands::{compile, compile_with_libraries};

use crate::analysis::{json, number};
use crate::study::study;
use crate::support::{CLUSTER, Folder, Output, SIMRUN, command, program, run, simrun};

/// Compiles a source of the repository; returns the executable.
fn compiled(folder: &Folder, source: &str) -> String {
    compile(SIMRUN, folder, "", source)
}

#[test]
fn a_compiled_program_is_the_subject_of_a_study() {
    let folder = Folder::new();
    let program = compiled(&folder, "apps/c/ring.c");
    let lines = "options = [\"-n\", \"{ranks}\"]\narguments = [\"--rounds\", \"{rounds}\"]\n\
                 [grid]\nranks = [2, 4]\nrounds = [1, 3]\n\
                 [measure]\nmessages = { json = \"messages\" }\n";
    let file = study(&folder, &program, lines);
    let out = folder.path("out");
    let ran = simrun!("study run {file} --out {out} --jobs 2");
    ran.exits_with(0);
    let table = simrun!("study table {out} --csv --no-wall").stdout;
    assert_eq!(table.lines().count(), 5, "{table}");
    let again = simrun!("study run {file} --out {out} --jobs 2");
    again.exits_with(0);
}

#[test]
fn a_study_has_the_libraries_of_its_program() {
    let folder = Folder::new();
    let program = compile_with_libraries(SIMRUN, &folder, "");
    let lines = "options = [\"-n\", \"{ranks}\"]\n[grid]\nranks = [2, 3]\n\
                 [measure]\nmessages = { json = \"messages\" }\n";
    let file = study(&folder, &program, lines);
    let (out, record) = (folder.path("out"), folder.path("record"));
    let begun = simrun!("study run {file} --out {out}");
    let recorded = simrun!("-p {CLUSTER} -n 2 --out {record} {program}");
    assert_eq!((begun.status, recorded.status), (0, 0), "{begun:?}");
    let first = folder.path("libfirst.so");
    let changed = [&*std::fs::read(&first).unwrap(), b"\n"].concat();
    std::fs::write(&first, changed).unwrap();
    let again = simrun!("rerun {record}");
    let warning = "libraries: the program has changed since the record was written";
    again.reports_text(warning);
    let other = simrun!("study run {file} --out {out}");
    let expected = "the study began with another program";
    other.exits_with(2).reports_text(expected);
    // The folder has what its points need.
    std::fs::remove_file(first).unwrap();
    simrun!("study work {out}").exits_with(0);
    let table = simrun!("study table {out} --csv --no-wall").stdout;
    assert_eq!(table.lines().count(), 3, "{table}");
}

#[test]
fn a_compiled_program_is_the_subject_of_whatif() {
    let folder = Folder::new();
    let program = compiled(&folder, "apps/c/ring.c");
    let line = format!("whatif -p {CLUSTER} -n 4 --format json {program} -- --rounds 2");
    let output = simrun(&line);
    output.exits_with(0);
    let effects: Value = serde_json::from_str(&output.stdout).unwrap();
    let line = format!("-p {CLUSTER} -n 4 --format json {program} -- --rounds 2");
    let run: Value = serde_json::from_str(&simrun(&line).stdout).unwrap();
    assert_eq!(effects["simulated_s"], run["simulated_s"], "{effects}");
}

#[test]
fn a_comparison_of_a_compiled_program_needs_measured_times() {
    let folder = Folder::new();
    let program = compiled(&folder, "apps/c/pingpong.c");
    let output = simrun!("compare --platform {CLUSTER} -n 2 {program}");
    let expected = "a compiled MPI program: expected --measured-times FILE, of runs with mpiexec";
    output.exits_with(2).reports_text(expected);
}

#[test]
fn the_time_between_calls_is_an_option_of_compiled_programs() {
    let program = program("cases");
    let ring = simrun!("-p {CLUSTER} --compute host {program}");
    let expected = "an option of compiled MPI programs";
    ring.exits_with(2).reports_text(expected);
}

#[test]
fn time_between_calls_is_computation_in_an_analysis() {
    let folder = Folder::new();
    let source = "crates/cmpi/tests/programs/compute.c";
    let counted = compile(SIMRUN, &folder, "--coverage-blocks", source);
    let (out, file) = (folder.path("analysis"), folder.path("times"));
    for compute in [
        "--compute none".to_owned(),
        "--compute blocks --flops-per-block 10".to_owned(),
        format!("--compute host --record-compute {file}"),
        format!("--replay-compute {file}"),
        "--compute host --host-speed 1e9".to_owned(),
    ] {
        let options = format!("-p {CLUSTER} -n 2 {compute} --analyse={out}");
        simrun!("{options} {counted} -- 1000000").exits_with(0);
        let analysis = json(&folder, "analysis");
        // 1e6 flop of SIMRUN_COMPUTE at each rank, beside the loops.
        let annotated = 2.0 * 27.777e-6;
        let computed = number(&analysis["computation_s"]);
        let is_none = compute == "--compute none";
        assert_eq!(
            computed > 2.0 * annotated,
            !is_none,
            "{compute}: {analysis}"
        );
        assert!(computed >= annotated, "{compute}: {analysis}");
        let slept = number(&analysis["mean_s"]["sleep"]);
        assert!(slept.is_nan() || slept == 0.0, "{compute}: {analysis}");
        let parallel = number(&analysis["efficiencies"]["parallel"]);
        assert!(parallel > 0.0 && parallel <= 1.0, "{compute}: {analysis}");
    }
}

#[test]
fn a_record_is_made_again_from_its_program() {
    let folder = Folder::new();
    let (program, out) = (compiled(&folder, "apps/c/ring.c"), folder.path("out"));
    let options = format!("-p {CLUSTER} -q -n 5 --out {out}");
    let first = simrun!("{options} {program} -- --size 99 --rounds 2");
    first.exits_with(0);
    let again = simrun!("rerun {out}");
    again.exits_with(0).prints_text("as recorded");
}

#[test]
fn the_schedule_of_a_compiled_program_is_replayed_as_printed() {
    let folder = Folder::new();
    let (program, schedule) = (
        compiled(&folder, "apps/c/ring.c"),
        folder.path("schedule.json"),
    );
    let made = simrun!("-p {CLUSTER} -n 3 --schedule {schedule} {program}");
    made.exits_with(0);
    let printed = made.stderr.lines().last().unwrap_or_default();
    let (command, arguments) = printed.trim().split_once(' ').unwrap();
    assert!(command.ends_with("/simrun"), "{printed}");
    assert!(
        arguments.starts_with(&format!("check {program} -n 3")),
        "{printed}"
    );
    simrun(arguments).exits_with(0);
}

/// Calls `simrun cc` or `cxx` with variables of the environment.
fn called(folder: &Folder, variables: &[(&str, &str)], arguments: &[&str]) -> Output {
    let mut command = command(SIMRUN);
    command.env("XDG_CACHE_HOME", folder.path("cache"));
    for variable in ["CC", "CXX", "SIMRUN_CC", "SIMRUN_CXX"] {
        command.env_remove(variable);
    }
    command.envs(variables.iter().copied());
    run(command.args(arguments))
}

#[test]
fn wrappers_are_compilers_under_the_names_that_builds_expect() {
    let folder = Folder::new();
    let made = called(&folder, &[], &["wrappers"]);
    made.exits_with(0);
    let wrappers = made.stdout.trim_end();
    let wrapper = |name: &str, arguments: &[&str]| {
        let mut command = command(format!("{wrappers}/{name}"));
        command.env("XDG_CACHE_HOME", folder.path("cache"));
        run(command.args(arguments))
    };
    let program = folder.path("ring");
    wrapper("mpicc", &["-O1", "-o", &program, "apps/c/ring.c"]).exits_with(0);
    simrun!("-p {CLUSTER} -n 2 {program}").exits_with(0);
    // The commands that Makefiles start programs with: options behind the program are its own.
    let words = ["-np", "2", "-p", CLUSTER, &program, "--size", "1024"];
    let first_line = |output: &Output| output.stdout.lines().next().map(str::to_owned);
    let started = wrapper("mpirun", &words);
    started.exits_with(0);
    let mut command = command(format!("{wrappers}/mpiexec"));
    command.env("SIMRUN_PLATFORM", CLUSTER);
    let again = run(command.args(["-n", "2", &program]));
    again.exits_with(0);
    assert_eq!(first_line(&again), first_line(&started));
    // The questions of CMake's FindMPI to the compilers of MPICH and of Open MPI.
    for (name, option, first, links) in [
        ("mpicc", "-show", "cc ", true),
        ("mpicxx", "-show", "c++ ", true),
        ("mpic++", "-link_info", "c++ ", true),
        ("mpicc", "-compile_info", "cc ", false),
        ("mpicc", "-showme:compile", "-f", false),
        ("mpicc", "-showme:link", "-f", true),
    ] {
        let shown = wrapper(name, &[option]);
        let is_right = shown.stdout.starts_with(first)
            && shown.stdout.contains(" -I")
            && shown.stdout.contains("-lmpi_abi") == links;
        assert!(shown.status == 0 && is_right, "{name} {option}: {shown:?}");
    }
}

#[test]
fn fortran_sources_that_call_mpi_are_refused() {
    let folder = Folder::new();
    let text = "program main\n  Use MPI\n  call MPI_Init(error)\nend program\n";
    let source = folder.write("main.F90", text);
    let output = called(&folder, &[], &["cc", "-c", &source]);
    output.refuses_with(&format!(
        "{source}: calls of MPI in Fortran are not supported: expected a source in C or C++"
    ));
}

#[test]
fn a_compiler_is_never_simrun() {
    let folder = Folder::new();
    let own = format!("{SIMRUN} cc");
    let path = format!(
        "{}:{}",
        SIMRUN.strip_suffix("/simrun").unwrap(),
        std::env::var_os("PATH").unwrap().display()
    );
    for (variables, compiler, expected) in [
        (&[] as &[(&str, &str)], "cc", "cc "),
        (&[("CC", "gcc")], "cc", "gcc "),
        (&[("CC", &own)], "cc", "cc "),
        (&[("CC", SIMRUN)], "cc", "cc "),
        (&[("CC", "simrun"), ("PATH", &path)], "cc", "cc "),
        (&[("CC", &own), ("SIMRUN_CC", "gcc")], "cc", "gcc "),
        (&[("CXX", "simrun cxx")], "cxx", "c++ "),
        (&[("SIMRUN_CXX", "g++"), ("CXX", "none")], "cxx", "g++ "),
    ] {
        let output = called(&folder, variables, &[compiler, "--show", "-c", "a.c"]);
        let is_found = output.status == 0 && output.stdout.starts_with(expected);
        assert!(is_found, "{variables:?}: {output:?}");
    }
    let output = called(&folder, &[("SIMRUN_CC", SIMRUN)], &["cc", "-c", "a.c"]);
    let expected = "SIMRUN_CC: simrun itself: expected a compiler, such as cc";
    let is_found = output.status == 2 && output.stderr.contains(expected);
    assert!(is_found, "{output:?}");
    // A script that calls simrun is called once.
    let script = folder.write("script", &format!("#!/bin/sh\nexec {own} \"$@\"\n"));
    std::fs::set_permissions(&script, Permissions::from_mode(0o755)).unwrap();
    let program = folder.path("ring");
    let arguments = ["cc", "-O1", "-o", &program, "apps/c/ring.c"];
    called(&folder, &[("CC", &script)], &arguments).exits_with(0);
    assert_eq!(simrun!("-p {CLUSTER} -n 2 {program}").status, 0);
}

#[test]
fn the_running_executable_analyses_and_draws() {
    let folder = Folder::new();
    let program = compiled(&folder, "apps/c/ring.c");
    let faulty = compiled(&folder, "crates/cmpi/tests/programs/deadlock.c");
    // The tools have been built before a copy of simrun can find them beside itself.
    simrun!("collectives").exits_with(2);
    let renamed = folder.path("simrun-1.0");
    std::fs::copy(SIMRUN, &renamed).unwrap();
    for name in ["simrun-tools", "simrun-compiled"] {
        let built = Path::new(SIMRUN).with_file_name(name);
        // A simrun with compiled programs in itself has no such file beside it.
        if built.is_file() {
            std::os::unix::fs::symlink(built, folder.path(name)).unwrap();
        }
    }
    let path = |name: &str| folder.path(name);
    let (trace, log, picture) = (path("run.pftrace"), path("run.log"), path("check.svg"));
    for line in [
        format!("-p {CLUSTER} -n 2 {program} --analyse"),
        format!("-p {CLUSTER} -n 2 {program} --trace {trace} --log-events {log}"),
        format!("check -p {CLUSTER} -n 2 {faulty} --timeline {picture}"),
    ] {
        for other in ["", "/no/simrun"] {
            let mut command = command(&renamed);
            command.env("PATH", "").env("SIMRUN", other);
            let output = run(command.args(line.split_whitespace()));
            assert!(matches!(output.status, 0 | 1), "{output:?}");
            assert_eq!(output.stderr.matches("error").count(), 0, "{output:?}");
        }
    }
    for file in [trace, picture] {
        assert!(Path::new(&file).is_file(), "{file}");
    }
}
