//! Files that are no programs: no such run succeeds.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use crate::support::{CLUSTER, Folder, program, simrun};

/// Refuses a file as a program in every command that starts one; gives the message.
#[track_caller]
fn refused(file: &str, begins: &str) {
    for line in [
        format!("-p {CLUSTER} {file}"),
        format!("check {file}"),
        format!("real -n 2 {file}"),
        format!("compare --platform {CLUSTER} -n 2 {file}"),
        format!("{file} --help"),
    ] {
        let ran = simrun(&line);
        assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{line} {ran:?}");
        let expected = format!("error: {file}: {begins}");
        assert!(ran.stderr.starts_with(&expected), "{line} {ran:?}");
    }
}

#[test]
fn a_program_says_who_it_is() {
    let folder = Folder::new();
    let executable = |name: &str, bytes: &[u8]| {
        let file = folder.path(name);
        fs::write(&file, bytes).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
        file
    };
    let else_ = "not a program of simrun: asked who it is, it did not give the answer: expected a program that is built with simrun";
    refused("/bin/ls", else_);
    refused(&executable("script", b"#!/bin/sh\necho fine\n"), else_);
    let other = executable(
        "other",
        b"#!/bin/sh\necho 'simrun-program 9.9.9 (0123456789ab)'\n",
    );
    let version = env!("CARGO_PKG_VERSION");
    refused(
        &other,
        &format!("it is built with simrun 9.9.9 (0123456789ab), and this is simrun {version} ("),
    );
    // A binary that is cut short.
    let whole = fs::read(program("actors")).unwrap();
    let file = executable("short", &whole[..100_000]);
    let ran = simrun(&format!("-p {CLUSTER} {file}"));
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""), "{ran:?}");
    assert!(
        ran.stderr.contains(
            "; this binary of 100000 bytes may be cut short, or for another machine: build it again"
        ),
        "{ran:?}"
    );
}
