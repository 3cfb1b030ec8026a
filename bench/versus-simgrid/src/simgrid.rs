//! SimGrid's side: found where it is installed, compiled from `cpp/`, never installed by us.
//!
//! The programs run with stacks of 8 KiB without guard pages: with the default stacks a million
//! actors do not fit, with guard pages the kernel's limit of memory maps is reached at some 33 000.

use std::path::PathBuf;
use std::process::Command;

use crate::child;
use crate::flows::child::Task;
use crate::workload::Sample;

/// The Debian package with the headers and the library.
pub(crate) const PACKAGE: &str = "libsimgrid-dev";

const OPTIONS: [&str; 3] = [
    "--log=root.thres:error",
    "--cfg=contexts/stack-size:8",
    "--cfg=contexts/guard-size:0",
];

/// The programs, compiled.
pub(crate) struct SimGrid {
    folder: PathBuf,
    /// As the header tells it.
    pub(crate) version: String,
}

/// Compiles the programs of these names.
///
/// # Errors
/// Why there is no SimGrid.
pub(crate) fn prepare(programs: &[&str]) -> Result<SimGrid, String> {
    let folder = std::env::temp_dir().join(format!("versus-simgrid-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let version = version()?;
    for name in programs {
        let source = format!("{}/cpp/{name}.cpp", env!("CARGO_MANIFEST_DIR"));
        let output = Command::new("g++")
            .args(["-O2", "-std=c++17", "-o"])
            .arg(folder.join(name))
            .args([&source, "-lsimgrid"])
            .output()
            .map_err(|error| format!("g++ does not start: {error}"))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let first = text.lines().find(|line| line.contains("error"));
            return Err(format!(
                "{name}.cpp does not compile: {}",
                first.unwrap_or("without a message")
            ));
        }
    }
    Ok(SimGrid { folder, version })
}

/// What the header says: g++ expands the macros, so that the header is found where g++ finds it.
fn version() -> Result<String, String> {
    let mut command = Command::new("g++");
    command.args([
        "-E",
        "-P",
        "-include",
        "simgrid/version.h",
        "-x",
        "c++",
        "/dev/null",
        "-dM",
    ]);
    let output = command
        .output()
        .map_err(|error| format!("g++ does not start: {error}"))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let macro_of = |name: &str| {
        text.lines().find_map(|line| {
            let rest = line.strip_prefix("#define ")?.strip_prefix(name)?;
            Some(rest.trim().to_owned())
        })
    };
    match (
        macro_of("SIMGRID_VERSION_MAJOR "),
        macro_of("SIMGRID_VERSION_MINOR "),
    ) {
        (Some(major), Some(minor)) => Ok(format!("{major}.{minor}")),
        _ => Err("its headers are not there".to_owned()),
    }
}

impl SimGrid {
    /// Runs one program once.
    ///
    /// # Errors
    /// How it failed.
    pub(crate) fn run(&self, program: &str, model: &str, size: u64) -> Result<Sample, String> {
        let mut command = Command::new(self.folder.join(program));
        command
            .arg(size.to_string())
            .args(OPTIONS)
            .arg(format!("--cfg=network/model:{model}"));
        child::run(&mut command)
    }

    /// Runs random flows once; `optim` is `Lazy`, as by default, or `Full`.
    ///
    /// # Errors
    /// How it failed.
    pub(crate) fn run_flows(&self, task: &Task, optim: &str) -> Result<Sample, String> {
        let mut command = Command::new(self.folder.join("flows"));
        command
            .args(task.words())
            .args(OPTIONS)
            .arg("--cfg=network/model:LV08")
            .arg(format!("--cfg=network/optim:{optim}"));
        child::run(&mut command)
    }
}

impl Drop for SimGrid {
    fn drop(&mut self) {
        // A folder that is left among the temporary ones does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
