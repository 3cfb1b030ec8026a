//! Programs and files that the stages need beside Rust, with the Debian packages that have them.

use std::path::Path;

use super::{CiStage, is_installed};

/// A way to look for a need.
#[derive(Clone, Copy, Debug)]
enum Probe {
    /// A program on the path, or in `/usr/sbin`.
    Program(&'static str),
    /// A file.
    File(&'static str),
    /// A module of the system's Python.
    Module(&'static str),
    /// A file below `/usr/lib/llvm-VERSION/` with this prefix.
    Llvm(&'static str),
}

use CiStage::{Interop, Lint, Test, Verbs};
use Probe::{File, Llvm, Module, Program};

/// Stages, their needs, and the package of each need. Git tells the revision that `--version`
/// prints. Test: without the packages of interop, tests that compare with other programs are
/// skipped, unless environment variables `SIMRUN_REQUIRE_…` require these tests.
#[rustfmt::skip]
const NEEDS: &[(CiStage, Probe, &[&str])] = &[
    (Lint, Program("cc"), &["gcc", "libc6-dev"]),
    (Lint, Program("git"), &["git"]),
    (Test, Program("cc"), &["gcc", "libc6-dev"]),
    (Test, Program("git"), &["git"]),
    (Interop, Program("g++"), &["g++"]),
    (Interop, Program("valgrind"), &["valgrind"]),
    (Interop, File("/usr/include/simgrid/s4u.hpp"), &["libsimgrid-dev"]),
    (Interop, Program("ip"), &["iproute2"]),
    (Interop, Program("unshare"), &["util-linux"]),
    (Interop, Program("tshark"), &["tshark"]),
    (Interop, Program("pj_dump"), &["pajeng"]),
    (Interop, Program("slurmctld"), &["slurm-wlm"]),
    (Interop, Program("munged"), &["munge"]),
    (Interop, Program("mpirun"), &["mpich"]),
    (Interop, Program("parallel"), &["parallel"]),
    (Interop, Module("pip"), &["python3-pip"]),
    (Interop, Module("ensurepip"), &["python3-venv"]),
    (Interop, Program("chromium-headless-shell"), &["chromium-headless-shell"]),
    (Verbs, Program("cmake"), &["cmake"]),
    (Verbs, Program("pkg-config"), &["pkg-config"]),
    (Verbs, Program("qemu-system-x86_64"), &["qemu-system-x86"]),
    (Verbs, Program("cpio"), &["cpio"]),
    (Verbs, Program("xz"), &["xz-utils"]),
    (Verbs, Program("zstd"), &["zstd"]),
    (Verbs, Program("depmod"), &["kmod"]),
    (Verbs, File("/usr/include/infiniband/verbs.h"), &["libibverbs-dev"]),
    (Verbs, File("/usr/include/libnl3/netlink/netlink.h"), &["libnl-3-dev"]),
    (Verbs, File("/usr/include/libnl3/netlink/route/link.h"), &["libnl-route-3-dev"]),
    (Verbs, Llvm("lib/libclang-1"), &["libclang1-14"]),
    (Verbs, Llvm("lib/clang"), &["libclang-common-14-dev"]),
];

/// Returns the Debian packages that stages need and this machine lacks, each once.
pub(super) fn missing_packages(stages: &[CiStage]) -> Vec<&'static str> {
    let needed = NEEDS.iter().filter(|(stage, ..)| stages.contains(stage));
    let missing = needed.filter(|(_, probe, _)| !is_there(*probe));
    let mut packages: Vec<&str> = Vec::new();
    for package in missing.flat_map(|(.., packages)| *packages) {
        if !packages.contains(package) {
            packages.push(package);
        }
    }
    packages
}

fn is_there(probe: Probe) -> bool {
    match probe {
        // Debian has the browser under two names.
        Program(name @ "chromium-headless-shell") => is_installed(name) || is_installed("chromium"),
        Program(name) => is_installed(name),
        File(path) => Path::new(path).is_file(),
        Module(name) => {
            let python = std::process::Command::new("python3")
                .args(["-c", &format!("import {name}")])
                .stderr(std::process::Stdio::null())
                .status();
            python.is_ok_and(|status| status.success())
        }
        Llvm(start) => {
            let (folder, name) = start.rsplit_once('/').unwrap_or_default();
            let versions = std::fs::read_dir("/usr/lib")
                .into_iter()
                .flatten()
                .flatten();
            let mut versions = versions
                .filter(|entry| entry.file_name().to_string_lossy().starts_with("llvm-"))
                .map(|entry| entry.path().join(folder));
            versions.any(|folder| {
                let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
                let mut names = entries.map(|entry| entry.file_name());
                names.any(|found| found.to_string_lossy().starts_with(name))
            })
        }
    }
}
