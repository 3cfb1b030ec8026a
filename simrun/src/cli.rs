//! The command line of `simrun` itself.

use std::ffi::OsString;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use clap::{Parser, Subcommand};

use crate::args::RunArgs;
use crate::entry::VERSION;
use crate::platform_command::{self, PlatformCommand};
use crate::{new, package, status};

/// Simulates message-passing programs on machines that do not exist.
#[derive(Parser)]
#[command(name = "simrun", version = VERSION, args_conflicts_with_subcommands = true, arg_required_else_help = true)]
#[command(after_help = "simrun APP without a subcommand means simrun run APP.")]
struct Cli {
    #[command(subcommand)]
    command: Option<Sub>,

    #[command(flatten)]
    run: RunCommand,
}

#[derive(clap::Args)]
struct RunCommand {
    /// The folder of a package, or a built program.
    #[arg(value_name = "APP")]
    app: Option<PathBuf>,

    #[command(flatten)]
    _options: RunArgs,
}

#[derive(Subcommand)]
enum Sub {
    /// Simulate a program on a platform.
    Run(Box<RunCommand>),
    /// Look at platform files.
    #[command(subcommand)]
    Platform(PlatformCommand),
    /// Make a package of one's own that runs at once.
    New {
        /// The folder to make; its last part is the name of the package.
        name: PathBuf,
    },
}

/// `simrun`, with the arguments of the process.
#[must_use]
pub fn simrun() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().collect();
    let cli = Cli::parse_from(&arguments);
    match cli.command {
        Some(Sub::Run(run)) => hand_over(run.app.as_deref(), &arguments[2..]),
        Some(Sub::Platform(command)) => platform_command::run(&command),
        Some(Sub::New { name }) => new::new(&name),
        None => hand_over(cli.run.app.as_deref(), &arguments[1..]),
    }
}

/// Replaces this process by the program, so that signals and statuses are the program's own.
fn hand_over(app: Option<&Path>, arguments: &[OsString]) -> ExitCode {
    let Some(app) = app else {
        return status::refuse(
            "no APP: give the folder of a package, such as apps/ring, or a built program",
        );
    };
    let program = match package::program(app) {
        Ok(program) => program,
        Err(error) => return status::refuse(error),
    };
    let error = Command::new(&program)
        .args(without_app(app, arguments))
        .exec();
    status::refuse(format_args!(
        "{}: cannot start it: {error}",
        program.display()
    ))
}

/// The arguments but for APP: the first one before `--` that is APP and not the value of an option.
fn without_app(app: &Path, arguments: &[OsString]) -> Vec<OsString> {
    let mut kept = arguments.to_vec();
    let end = arguments
        .iter()
        .position(|argument| argument == "--")
        .unwrap_or(arguments.len());
    for position in (0..end).filter(|&position| Path::new(&arguments[position]) == app) {
        let mut rest = arguments.to_vec();
        rest.remove(position);
        if Rest::try_parse_from(&rest).is_ok() {
            kept = rest;
        }
    }
    kept
}

/// What is left of a command line without APP.
#[derive(Parser)]
#[command(no_binary_name = true)]
struct Rest {
    #[command(flatten)]
    _options: RunArgs,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn app_is_found_wherever_it_stands() {
        let check = |line: &str, expected: &str| {
            let arguments: Vec<OsString> = line.split(' ').map(OsString::from).collect();
            let rest = without_app(Path::new("ring"), &arguments);
            let rest: Vec<&str> = rest
                .iter()
                .map(|argument| argument.to_str().unwrap())
                .collect();
            assert_eq!(rest.join(" "), expected, "{line}");
        };
        check("--platform p.toml ring", "--platform p.toml");
        check("ring --platform p.toml", "--platform p.toml");
        check("--platform ring ring -n 3", "--platform ring -n 3");
        check("ring --platform ring", "--platform ring");
        check("-q ring -- ring --size 1", "-q -- ring --size 1");
    }

    #[test]
    fn the_command_line_is_well_formed() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
