//! The compilers that `simrun cc` and `simrun cxx` call.

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;

use crate::compiled::ran;
use crate::support::{Folder, Output, SIMRUN, command, run};

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
    let output = called(&folder, &[("CC", &script)], &arguments);
    assert_eq!(output.status, 0, "{output:?}");
    assert_eq!(ran(&program, "-n 2", "").status, 0);
}
