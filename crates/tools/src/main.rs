//! The commands of simrun that measure, calibrate, compare, draw and fuzz.
//!
//! `simrun` starts this executable for them, so that simulating and checking need not wait until
//! what draws and fits curves is built. In a checkout `simrun` builds this executable for
//! the first of these commands, and again for another revision. Cargo features of one executable
//! would link `simrun` again at each change between commands with and without drawing.
//!
//! *Not noticed*: sources that changed without a commit; `cargo run -p simrun-tools -- COMMAND`
//! builds from these.

mod analyse;
mod calibrate;
mod collectives;
mod compare;
mod draw;
mod fit_keys;
mod measure;
mod measure_real;
mod message_costs;
mod statics;
mod trace;
mod validate;
mod whatif;

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches as _, Parser};
use files::OutputError;
use fuzz::command_line::{FuzzCommand, WorkerCommand};
use simrun::{VERSION, prepare_help, quoted, status};
use study::campaign::{self, OptimiseCommand, StudyCommand};

/// The commands of simrun that measure, calibrate, compare, draw and fuzz.
#[derive(Parser)]
#[command(name = "simrun", version = VERSION)]
enum Tool {
    /// Analyse the event log of a run: where the time is spent, and why
    #[command(after_help = "Example:\n  simrun analyse run.log --out analysis")]
    Analyse(analyse::AnalyseCommand),
    /// Fit a network model to measurements and write a platform file
    #[command(after_help = "Example:\n  simrun calibrate samples.csv --out fitted.toml")]
    Calibrate(calibrate::CalibrateCommand),
    /// Measure a network for `calibrate`
    #[command(after_help = "Example:\n  simrun measure --backend tcp --out samples.csv")]
    Measure(measure::MeasureCommand),
    /// Compare the simulation of a program with real runs
    #[command(after_help = "Example:\n  simrun compare apps/pingpong --platform fitted.toml -n 2")]
    Compare(Box<compare::CompareCommand>),
    /// List, explain and tune algorithms of collective operations
    #[command(subcommand)]
    Collectives(collectives::CollectivesCommand),
    /// Draw a figure or a platform as SVG or PNG
    #[command(after_help = "Example:\n  simrun draw platforms/cluster.toml --out cluster.svg")]
    Draw(draw::DrawCommand),
    /// Search the best point of a parameter space within a number of runs
    Optimise(OptimiseCommand),
    /// Run a program at all points of a parameter space
    #[command(subcommand)]
    Study(Box<StudyCommand>),
    /// Make timelines of runs from their event logs
    #[command(subcommand)]
    Trace(trace::TraceCommand),
    /// Run random interactions over endpoints, and shrink what fails
    #[command(after_help = "Example:\n  simrun fuzz --tries 100 --faults loss=1%")]
    Fuzz(Box<FuzzCommand>),
    /// Judge a platform by published times of collective operations
    #[command(
        after_help = "Example:\n  simrun validate table.csv -p platforms/cluster.toml --machine lumi"
    )]
    Validate(validate::ValidateCommand),
    /// Vary each parameter of a platform, and print its effect on the time of a program
    #[command(after_help = "Example:\n  simrun whatif apps/ring -p platforms/cluster.toml -n 4")]
    Whatif(Box<whatif::WhatifCommand>),
    /// Be a worker of `fuzz`
    #[command(hide = true)]
    FuzzWorker(WorkerCommand),
    /// Write the man pages of these commands: `simrun man` asks for them
    #[command(hide = true)]
    Man { folder: PathBuf },
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if simrun::answers_handshake(&arguments) {
        return simrun::answer_handshake([]);
    }
    let name = OsString::from("simrun");
    let found = prepare_help(Tool::command(), &arguments)
        .try_get_matches_from(std::iter::once(&name).chain(&arguments))
        .and_then(|matches| Tool::from_arg_matches(&matches));
    match found {
        Ok(Tool::Analyse(command)) => analyse::run_command(&command),
        Ok(Tool::Calibrate(command)) => calibrate::run_command(&command),
        Ok(Tool::Measure(command)) => measure::run_command(&command),
        Ok(Tool::Compare(command)) => compare::run_command(&command),
        Ok(Tool::Collectives(command)) => collectives::run_command(&command),
        Ok(Tool::Draw(command)) => draw::run_command(&command),
        Ok(Tool::Optimise(command)) => campaign::optimise(&command),
        Ok(Tool::Study(command)) => campaign::run_command(&command),
        Ok(Tool::Trace(command)) => trace::run_command(&command),
        Ok(Tool::Fuzz(command)) => fuzz::command_line::run_command(&command),
        Ok(Tool::Validate(command)) => validate::run_command(&command),
        Ok(Tool::Whatif(command)) => whatif::run_command(&command),
        Ok(Tool::FuzzWorker(command)) => fuzz::command_line::run_worker(&command),
        Ok(Tool::Man { folder }) => match man_pages(&folder) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => status::refuse(error),
        },
        Err(error) => status::show_usage_error(&error),
    }
}

/// Writes the man page of each command into a folder.
fn man_pages(folder: &Path) -> Result<(), OutputError> {
    let mut command = Tool::command();
    command.build();
    let shown = command
        .get_subcommands()
        .filter(|one| !one.is_hide_set() && one.get_name() != "help");
    for one in shown {
        let man = clap_mangen::Man::new(one.clone());
        let mut page = Vec::new();
        man.render(&mut page).expect("memory can be written to");
        files::write(&folder.join(man.get_filename()), page)?;
    }
    Ok(())
}

/// The command that makes a page again, as a shell reads it back.
fn command_line() -> String {
    let arguments = std::env::args_os().skip(1);
    let quoted = arguments.map(|argument| quoted(&argument.to_string_lossy()));
    let words: Vec<String> = std::iter::once("simrun".to_owned()).chain(quoted).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use clap::{Args as _, Command, CommandFactory as _};
    use simrun::CheckArgs;
    use simrun::args::{ProgramArgs, RunArgs, SimulationArgs};

    /// Checks that commands have the options of a group, with the same texts and defaults.
    fn check_group(group: &Command, commands: &[&Command]) {
        for command in commands {
            for option in group.get_arguments() {
                let found = command
                    .get_arguments()
                    .find(|found| found.get_id() == option.get_id());
                let facts = |option: &clap::Arg| format!("{option:?}");
                let found = found.map(facts);
                assert_eq!(found, Some(facts(option)), "{}", command.get_name());
            }
        }
    }

    #[test]
    fn commands_that_simulate_have_the_same_options() {
        let tool = super::Tool::command();
        let [whatif, compare, collectives] =
            ["whatif", "compare", "collectives"].map(|name| tool.find_subcommand(name).unwrap());
        let tune = collectives.find_subcommand("tune").unwrap();
        // Studies and optimisations parse `options` of a file as those of a run.
        let run = RunArgs::augment_args(Command::new("run"));
        let check = CheckArgs::augment_args(Command::new("check"));
        let group = SimulationArgs::augment_args(Command::new("group"));
        check_group(&group, &[&run, &check, whatif, compare, tune]);
        let group = ProgramArgs::augment_args(Command::new("group"));
        check_group(&group, &[&run, whatif]);
    }

    #[test]
    fn the_command_line_is_well_formed() {
        super::Tool::command().debug_assert();
    }
}
