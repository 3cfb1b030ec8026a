//! Promise: the harness of emulated guests reports missing programs, with their Debian packages,
//! before it starts a guest. `crates/real/softroce/test.sh` checks in guests that the harness runs
//! commands.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Runs a script of the harness on a machine that has only the tools named.
fn run(script: &str, tools: &[&str], arguments: &[&str]) -> Output {
    // A folder for each call.
    let name = format!("softroce {script} {tools:?} {arguments:?}").replace('/', "");
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    for tool in tools {
        let here = Path::new("/usr/bin").join(tool);
        symlink(here, folder.join(tool)).expect("a link");
    }
    let script = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("softroce")
        .join(script);
    let mut command = Command::new("/bin/bash");
    command.arg(script).args(arguments).env("PATH", &folder);
    command.env("SOFTROCE_DIR", folder.join("cache"));
    command.output().expect("bash runs")
}

#[track_caller]
fn refuses(output: &Output, words: &[&str]) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    for word in words {
        assert!(said.contains(word), "{word}: {said}");
    }
}

#[test]
fn missing_tools_are_named_with_their_packages() {
    let output = run("run.sh", &["dirname"], &["true"]);
    refuses(
        &output,
        &[
            "missing: qemu-system-x86_64 cpio",
            "apt-get install qemu-system-x86 cpio",
        ],
    );
    // Those that are there are not.
    let output = run("image.sh", &["dirname", "ldd", "sha256sum"], &[]);
    refuses(&output, &["apt-get install apt apt dpkg", "cpio xz-utils"]);
    assert!(!String::from_utf8_lossy(&output.stderr).contains("ldd"));
}

#[test]
fn bad_arguments_are_refused() {
    let tools = ["dirname"];
    refuses(
        &run("run.sh", &tools, &[]),
        &["a command for the guest is missing"],
    );
    refuses(
        &run("run.sh", &tools, &["-n", "3", "true"]),
        &["-n 3: 1 or 2"],
    );
    refuses(
        &run("run.sh", &tools, &["-q", "true"]),
        &["see the head of"],
    );
}
