//! Executables beside `simrun`: the tools, and the loader of compiled MPI programs.
//!
//! In a checkout `simrun` builds such an executable when a command first needs the executable, so
//! that a user who only simulates does not wait; an executable of another revision is built again.
//! A debug build of `simrun` uses debug builds of these executables. *Not noticed*: sources that
//! changed without a commit. `cargo run -p simrun-tools -- calibrate …` builds from changed
//! sources.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use simrun::drawing::COMMAND;
use simrun::{package, status};

use crate::new::CHECKOUT;

/// An executable beside `simrun`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Companion {
    /// The name of the executable.
    name: &'static str,
    /// The folder of the package in a checkout.
    folder: &'static str,
    /// The actions of the executable, for a message about a missing executable.
    purpose: &'static str,
    /// The command that installs the executable from a checkout.
    installation: &'static str,
}

/// Measures, calibrates, compares, draws and fuzzes.
pub(crate) const TOOLS: Companion = Companion {
    name: "simrun-tools",
    folder: "crates/tools",
    purpose: "measures, calibrates, compares, draws and fuzzes",
    installation: "cargo install --path crates/tools, or pip install ./python/tools,",
};

/// Compiles MPI programs, and runs compiled ones.
#[cfg(not(feature = "compiled"))]
pub(crate) const COMPILED: Companion = Companion {
    name: "simrun-compiled",
    folder: "crates/cmpi",
    purpose: "compiles and runs MPI programs in C and C++",
    installation: "cargo install --path crates/cmpi",
};

/// The commands of the tools.
const TOOL_COMMANDS: [&str; 12] = [
    "analyse",
    "calibrate",
    "collectives",
    "compare",
    "draw",
    "fuzz",
    "measure",
    "optimise",
    "study",
    "trace",
    "validate",
    "whatif",
];

/// Returns true for arguments that begin with a command of the tools, or ask for help about one.
pub(crate) fn are_for_tools(arguments: &[OsString]) -> bool {
    let is_tool = |argument: &OsString| TOOL_COMMANDS.iter().any(|command| argument == command);
    match arguments {
        [help, command, ..] if help == "help" => is_tool(command),
        [command, ..] => is_tool(command),
        [] => false,
    }
}

impl Companion {
    /// Replaces this process by the executable.
    pub(crate) fn hand_over(self, arguments: &[OsString]) -> ExitCode {
        let program = match self.program_path() {
            Ok(program) => program,
            Err(problem) => return status::refuse(problem),
        };
        let mut command = Command::new(&program);
        // Programs that tools start ask simrun for analyses and pictures.
        command.envs(package::simrun().map(|simrun| (COMMAND, simrun)));
        let error = command.args(arguments).exec();
        status::refuse(format_args!(
            "{}: cannot start it: {error}",
            program.display()
        ))
    }

    /// Returns the path of the executable, which is built if need be.
    pub(crate) fn program_path(self) -> Result<PathBuf, String> {
        let simrun = std::env::current_exe();
        let simrun = simrun.map_err(|error| format!("cannot find simrun itself: {error}"))?;
        // Where cargo builds, and the sources are still there.
        let folder = simrun.parent().unwrap_or(Path::new("."));
        let target = folder.parent().unwrap_or(folder);
        let manifest = Path::new(CHECKOUT).join(self.folder).join("Cargo.toml");
        let can_build = folder.join(".fingerprint").is_dir() && manifest.is_file();
        let is_release = folder.ends_with("release");
        let program = folder.join(self.name);
        if program.is_file() {
            if !can_build || package::is_of_this_revision(&program) {
                return Ok(program);
            }
        } else if !can_build {
            return Err(format!(
                "{}: there is no such file, and it {}: expected it beside simrun, where {} puts it \
                 in a checkout of simrun",
                program.display(),
                self.purpose,
                self.installation
            ));
        }
        let options = Vec::from_iter(is_release.then(|| "--release".into()));
        package::build_into(target, self.name, &manifest, options)
            .map_err(|error| error.to_string())
    }
}
