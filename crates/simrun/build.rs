//! Puts the revision of the checkout into the program, for `--version` and for the records of runs.
//! A build without access to the checkout's `.git`, as in a container, has the revision from the
//! variable `SIMRUN_SOURCE_REVISION`.

use std::path::Path;
use std::process::Command;

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    (output.status.success() && !text.trim().is_empty()).then(|| text.trim().to_owned())
}

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-env-changed=SIMRUN_SOURCE_REVISION");
    let revision = std::env::var_os("SIMRUN_SOURCE_REVISION")
        .and_then(|given| given.into_string().ok())
        .filter(|given| !given.is_empty())
        .or_else(|| git(&["rev-parse", "--short=12", "HEAD"]))
        .unwrap_or_else(|| "unknown".to_owned());
    println!("cargo:rustc-env=SIMRUN_REVISION={revision}");
    for name in ["HEAD", "logs/HEAD"] {
        if let Some(path) = git(&["rev-parse", "--git-path", name])
            && Path::new(&path).exists()
        {
            println!("cargo:rerun-if-changed={path}");
        }
    }
}
