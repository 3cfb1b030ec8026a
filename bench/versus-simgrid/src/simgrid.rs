//! SimGrid's side: the installed SimGrid, with programs compiled from `cpp/`; never installed here.
//!
//! The programs run with stacks of 8 KiB without guard pages. With the default stacks a million
//! actors do not fit; with guard pages some 33 000 actors reach the kernel's limit of memory maps.

use std::path::PathBuf;
use std::process::Command;

use crate::child;
use crate::flows::child::Task;
use crate::workload::{Sample, Side, Workload};

/// The Debian package with the headers and the library.
pub(crate) const PACKAGE: &str = "libsimgrid-dev";

const OPTIONS: [&str; 3] = [
    "--log=root.thres:error",
    "--cfg=contexts/stack-size:8",
    "--cfg=contexts/guard-size:0",
];

const RANK_OPTIONS: [&str; 3] = [
    "--log=root.thres:error",
    "--cfg=smpi/privatization:no",
    "--cfg=smpi/simulate-computation:no",
];

/// An MPI program that takes longer, in seconds, is ended.
const LIMIT_S: &str = "120";

/// The programs, compiled.
pub(crate) struct SimGrid {
    folder: PathBuf,
    /// The version in the header of SimGrid.
    pub(crate) version: String,
}

/// Compiles the programs of these sides.
pub(crate) fn prepare_programs(sides: &[Side]) -> Result<SimGrid, String> {
    let folder = std::env::temp_dir().join(format!("versus-simgrid-{}", std::process::id()));
    std::fs::create_dir_all(&folder).map_err(|error| error.to_string())?;
    let simgrid = SimGrid {
        version: version()?,
        folder,
    };
    for side in sides {
        match side {
            Side::None => {}
            Side::Actors(name) => {
                let options = ["-O2", "-std=c++17", "-lsimgrid"];
                simgrid.compile("g++", &format!("{name}.cpp"), name, &options)?;
            }
            Side::Smpi(name, _) => {
                simgrid.compile("smpicc", &format!("{name}.c"), name, &["-O2"])?;
            }
        }
    }
    Ok(simgrid)
}

/// Version in the header: g++ expands the macros, so that g++'s own search finds the header.
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
    fn compile(
        &self,
        compiler: &str,
        source: &str,
        name: &str,
        options: &[&str],
    ) -> Result<(), String> {
        let path = format!("{}/cpp/{source}", env!("CARGO_MANIFEST_DIR"));
        let output = Command::new(compiler)
            .arg("-o")
            .arg(self.folder.join(name))
            .arg(&path)
            .args(options)
            .output()
            .map_err(|error| format!("{compiler} does not start: {error}"))?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stderr);
        let first = text.lines().find(|line| line.contains("error"));
        Err(format!(
            "{source} does not compile: {}",
            first.unwrap_or("without a message")
        ))
    }

    /// Runs one program once.
    pub(crate) fn run_program(&self, workload: &Workload, quick: bool) -> Result<Sample, String> {
        let size = workload.size(quick);
        match workload.side {
            Side::None => Err("not run".to_owned()),
            Side::Actors(program) => {
                let mut command = Command::new(self.folder.join(program));
                command
                    .arg(size.to_string())
                    .args(OPTIONS)
                    .arg(format!("--cfg=network/model:{}", workload.model));
                child::run_child(&mut command)
            }
            Side::Smpi(program, rounds) => self.run_ranks(program, size, rounds),
        }
    }

    /// Runs an MPI program on a crossbar of as many hosts as ranks.
    fn run_ranks(&self, program: &str, ranks: u64, rounds: u64) -> Result<Sample, String> {
        let platform = self.folder.join(format!("crossbar-{ranks}.xml"));
        let hosts = self.folder.join(format!("hosts-{ranks}"));
        let problem = |error: std::io::Error| error.to_string();
        let last = ranks - 1;
        let text = format!(
            "<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n\
             <platform version=\"4.1\">\n<cluster id=\"nodes\" prefix=\"node-\" suffix=\"\" radical=\"0-{last}\" \
             speed=\"1Gf\" bw=\"1.25GBps\" lat=\"10us\"/>\n</platform>\n"
        );
        std::fs::write(&platform, text).map_err(problem)?;
        let names: String = (0..ranks).map(|rank| format!("node-{rank}\n")).collect();
        std::fs::write(&hosts, names).map_err(problem)?;
        let mut command = Command::new("timeout");
        command
            .args([LIMIT_S, "smpirun", "-np", &ranks.to_string(), "-platform"])
            .arg(&platform)
            .arg("-hostfile")
            .arg(&hosts)
            .args(RANK_OPTIONS)
            .arg(self.folder.join(program))
            .arg(rounds.to_string());
        child::run_child(&mut command)
    }

    /// Runs random flows once; `optim` is `Lazy`, as by default, or `Full`.
    pub(crate) fn run_flows(&self, task: &Task, optim: &str) -> Result<Sample, String> {
        let mut command = Command::new(self.folder.join("flows"));
        command
            .args(task.to_arguments())
            .args(OPTIONS)
            .arg("--cfg=network/model:LV08")
            .arg(format!("--cfg=network/optim:{optim}"));
        child::run_child(&mut command)
    }
}

impl Drop for SimGrid {
    fn drop(&mut self) {
        // A folder that is left among the temporary ones does no harm.
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
