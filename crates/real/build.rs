//! With the feature `verbs`: reports missing packages at once, with Debian's package names. Without
//! this check, the build of `ibverbs-sys` would report them later, in a long message.
//!
//! A machine that the script cannot check passes. `SIMRUN_VERBS_UNCHECKED=1` skips all checks.

use std::env;
use std::path::Path;
use std::process::{Command, Stdio};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=SIMRUN_VERBS_UNCHECKED");
    println!("cargo::rerun-if-env-changed=LIBCLANG_PATH");
    if env::var_os("CARGO_FEATURE_VERBS").is_none()
        || env::var_os("SIMRUN_VERBS_UNCHECKED").is_some()
    {
        return;
    }
    let checks: [(bool, &str, &str); 6] = [
        (runs("cmake"), "cmake", "cmake"),
        (runs("pkg-config"), "pkg-config", "pkg-config"),
        (
            has_libclang(),
            "libclang",
            "libclang1-14 libclang-common-14-dev",
        ),
        (has_library("libnl-3.0"), "libnl-3", "libnl-3-dev"),
        (
            has_library("libnl-route-3.0"),
            "libnl-route-3",
            "libnl-route-3-dev",
        ),
        (has_library("libibverbs"), "libibverbs", "libibverbs-dev"),
    ];
    let missing: Vec<_> = checks.iter().filter(|(is_there, ..)| !is_there).collect();
    if missing.is_empty() {
        return;
    }
    let names: Vec<&str> = missing.iter().map(|(_, name, _)| *name).collect();
    let packages: Vec<&str> = missing.iter().map(|(.., package)| *package).collect();
    println!(
        "cargo::error=the feature `verbs` needs {}, which is not found. On Debian: apt-get install {}. \
         (If it is there all the same: SIMRUN_VERBS_UNCHECKED=1. See docs/verbs.md.)",
        names.join(", "),
        packages.join(" ")
    );
}

fn runs(program: &str) -> bool {
    let mut command = Command::new(program);
    command
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// Returns true if pkg-config knows the library; true without pkg-config, which is reported then.
fn has_library(name: &str) -> bool {
    let mut command = Command::new("pkg-config");
    command.args(["--exists", name]);
    command.status().map_or(true, |status| status.success())
}

/// Returns true if libclang is in a directory that bindgen searches.
fn has_libclang() -> bool {
    if env::var_os("LIBCLANG_PATH").is_some() || runs("llvm-config") {
        return true;
    }
    let has = |folder: &Path| {
        let entries = folder.read_dir().into_iter().flatten().flatten();
        let mut names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
        names.any(|name| {
            (name.starts_with("libclang.so") || name.starts_with("libclang-"))
                && name.contains(".so")
        })
    };
    let mut folders = vec![
        "/usr/lib".into(),
        "/usr/lib64".into(),
        "/usr/local/lib".into(),
    ];
    for folder in ["/usr/lib"] {
        let entries = Path::new(folder).read_dir().into_iter().flatten().flatten();
        for path in entries.map(|entry| entry.path()) {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            if name.starts_with("llvm") {
                folders.push(path.join("lib"));
            } else if name.ends_with("-linux-gnu") {
                folders.push(path);
            }
        }
    }
    folders.iter().any(|folder| has(folder))
}
