//! The executable `simrun-tools`, which measures, calibrates, compares, draws and fuzzes.
//!
//! It stands beside `simrun`. In a checkout it is built when it is needed first, so that nobody
//! waits for it who only simulates; one of another revision is built again. *Not noticed*: sources
//! that changed without a commit. `cargo run -p simrun-tools -- calibrate …` builds from those.

use std::ffi::OsString;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use simrun::drawing::COMMAND;
use simrun::{package, status};

use crate::new::CHECKOUT;

/// The name of the executable.
const NAME: &str = "simrun-tools";

/// The commands that it has.
pub(crate) const COMMANDS: [&str; 11] = [
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
    "whatif",
];

/// Returns true for arguments that are for the tools: one of their commands, or help about it.
pub(crate) fn are_meant(arguments: &[OsString]) -> bool {
    let is_ours = |argument: &OsString| COMMANDS.iter().any(|command| argument == command);
    match arguments {
        [help, command, ..] if help == "help" => is_ours(command),
        [command, ..] => is_ours(command),
        [] => false,
    }
}

/// Replaces this process by the tools.
pub(crate) fn hand_over(arguments: &[OsString]) -> ExitCode {
    let program = match program() {
        Ok(program) => program,
        Err(problem) => return status::refuse(problem),
    };
    let mut command = Command::new(&program);
    if let Ok(simrun) = std::env::current_exe() {
        // Programs that tools start ask it for analyses and pictures.
        command.env(COMMAND, simrun);
    }
    let error = command.args(arguments).exec();
    status::refuse(format_args!(
        "{}: cannot start it: {error}",
        program.display()
    ))
}

/// Returns the path of the tools, which are built if need be.
pub(crate) fn program() -> Result<PathBuf, String> {
    let simrun = std::env::current_exe();
    let simrun = simrun.map_err(|error| format!("cannot find simrun itself: {error}"))?;
    let program = simrun.with_file_name(NAME);
    // Where cargo builds, and the sources are still there.
    let folder = simrun.parent().unwrap_or(Path::new("."));
    let manifest = Path::new(CHECKOUT).join("tools/Cargo.toml");
    let can_build = folder.join(".fingerprint").is_dir() && manifest.is_file();
    if program.is_file() {
        if !can_build || package::is_of_this_revision(&program) {
            return Ok(program);
        }
    } else if !can_build {
        return Err(format!(
            "{}: there is no such file, and it measures, calibrates, compares, draws and fuzzes: expected it beside simrun, \
             where cargo install --path tools puts it in a checkout of simrun",
            program.display()
        ));
    }
    let is_release = folder.ends_with("release");
    let target = folder.parent().unwrap_or(folder);
    package::build_tools(&manifest, target, is_release).map_err(|error| error.to_string())
}
