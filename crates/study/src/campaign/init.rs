//! `simrun study init`: a study file with the arguments of a program.

use std::path::PathBuf;
use std::process::{ExitCode, Stdio};

use clap::Args;
use simrun::package::{self, Executable};
use simrun::{load, status};

use crate::{ProgramArgument, initial_file};

/// A program, and the file to be made.
#[derive(Args, Clone, Debug)]
pub struct InitCommand {
    /// Package directory or executable
    #[arg(value_name = "APP")]
    app: PathBuf,

    /// Platform file of the study
    #[arg(
        short,
        long,
        value_name = "FILE",
        default_value = "platforms/cluster.toml"
    )]
    platform: PathBuf,

    /// Study file to be made
    #[arg(short, long, value_name = "FILE", default_value = "STUDY.toml")]
    out: PathBuf,
}

pub(super) fn run_command(command: &InitCommand) -> Result<ExitCode, ExitCode> {
    let out = command.out.display();
    if command.out.symlink_metadata().is_ok() {
        return Err(status::refuse(format_args!(
            "{out}: it is there already: expected a new file"
        )));
    }
    // A study whose platform is not there could not run.
    load(&command.platform, &[])?;
    files::Output::new(&command.out).map_err(status::refuse)?;
    let program = package::executable(&command.app, false, &[]);
    let program = program.map_err(|error| status::refuse(error.to_string()))?;
    let arguments = arguments(&program)
        .map_err(|problem| status::refuse(format_args!("{}: {problem}", command.app.display())))?;
    let text = initial_file(
        &command.app.to_string_lossy(),
        &command.platform.to_string_lossy(),
        &arguments,
    );
    files::write(&command.out, text).map_err(status::refuse)?;
    Ok(status::print(format_args!(
        "{out} written; next: simrun study run {out} --out FOLDER"
    )))
}

/// Asks a program for its arguments.
fn arguments(program: &Executable) -> Result<Vec<ProgramArgument>, String> {
    let output = program
        .program_command()
        .arg("study-arguments")
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|error| format!("cannot start it: {error}"))?;
    serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("it does not tell its arguments: {error}"))
}
