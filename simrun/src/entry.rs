//! The entry of a program: its command line, the run, what it prints and its exit status.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::{CommandFactory, FromArgMatches, Parser};
use platform::{Override, Platform};
use run::{Folder, Options, Origin, Output, Program, Record, Run, Stream};
use sim_core::{Outcome, Time};

use crate::args::{Format, Payload, RunArgs, mapping};
use crate::platform_command::warn;
use crate::{App, REVISION, status, summary};

/// The command line of a program that runs alone.
#[derive(Parser)]
struct Alone {
    #[command(flatten)]
    run: RunArgs,
}

/// Runs a program with the arguments of the process; `main!` calls this.
#[must_use]
pub fn run_app<Shape, A: App<Shape>>(name: &'static str, app: A) -> ExitCode {
    let mut arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if arguments.first().is_some_and(|first| first == "run") {
        arguments.remove(0);
    }
    let about = A::command()
        .and_then(|own| own.get_about().map(ToString::to_string))
        .unwrap_or_default();
    let own_help = format!("Arguments of the program itself: {name} -- --help");
    let command = Alone::command()
        .name(name)
        .no_binary_name(true)
        .version(VERSION)
        .about(about)
        .after_help(own_help);
    let matches = command.get_matches_from(&arguments);
    let args = match Alone::from_arg_matches(&matches) {
        Ok(alone) => alone.run,
        Err(error) => error.exit(),
    };
    let program = app
        .bind(name, &args.arguments)
        .unwrap_or_else(|error| error.exit());
    run(name, &*program, &args, &arguments)
}

/// The version with the revision, such as `0.1.0 (0123456789ab)`.
pub(crate) const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("SIMRUN_REVISION"),
    ")"
);

/// Reads a platform and changes it, or prints what is wrong with it.
pub(crate) fn load(path: &Path, changes: &[Override]) -> Result<Platform, ExitCode> {
    let platform = Platform::load_with(path, changes)
        .map_err(|error| status::refuse(error.report(io::stderr().is_terminal()).trim_end()))?;
    warn(platform.notes());
    Ok(platform)
}

fn run(name: &str, program: &dyn Program, args: &RunArgs, arguments: &[OsString]) -> ExitCode {
    let Some(path) = &args.platform else {
        return status::refuse(
            "no platform: give one with --platform FILE, such as platforms/cluster.toml",
        );
    };
    let platform = match load(path, &args.changes) {
        Ok(platform) => Arc::new(platform),
        Err(code) => return code,
    };
    let folder = match args.out.as_deref().map(Folder::open).transpose() {
        Ok(folder) => folder,
        Err(error) => return status::refuse(error),
    };
    let stop = match watch_signals() {
        Ok(stop) => stop,
        Err(error) => return status::refuse(format_args!("cannot watch for Ctrl-C: {error}")),
    };
    let options = match options(args, &stop) {
        Ok(options) => options,
        Err(error) => return status::refuse(error),
    };
    let stream = if args.format == Format::Json {
        Stream::Stderr
    } else {
        Stream::Stdout
    };
    let output = Rc::new(Output::new(stream, args.prefix, args.log.clone(), stop));
    let run = match run::simulate(&platform, program, &options, &output) {
        Ok(run) => run,
        Err(error) => return status::refuse(error),
    };
    if output.is_closed() {
        // Nobody reads on, as in `… | head`: not an error, and nothing more to say.
        return ExitCode::SUCCESS;
    }
    let origin = Origin {
        seed: args.seed,
        revision: REVISION.to_owned(),
        program: name.to_owned(),
        arguments: arguments
            .iter()
            .map(|argument| argument.to_string_lossy().into_owned())
            .collect(),
        platform: path.display().to_string(),
    };
    let record = Record::new(&run, origin);
    if let Err(error) = keep(folder.as_ref(), &record, &platform) {
        tell(&run, &record, args, &platform);
        return status::refuse(error);
    }
    tell(&run, &record, args, &platform);
    ExitCode::from(status::of(&run.report.outcome))
}

/// A flag that becomes true at the first Ctrl-C or termination; the second one ends the process at once.
fn watch_signals() -> io::Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGINT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGINT, SIGTERM] {
        let status = i32::from(status::INTERRUPTED);
        signal_hook::flag::register_conditional_shutdown(signal, status, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

fn options(args: &RunArgs, stop: &Arc<AtomicBool>) -> Result<Options, run::MappingError> {
    Ok(Options {
        ranks: args.ranks,
        mapping: mapping(&args.map)?,
        seed: args.seed,
        send_mode: args.send_mode,
        phantom: args.payload == Payload::Phantom,
        until: args
            .until
            .as_ref()
            .map(|until| Time::from_secs(until.as_secs())),
        events_max: args.max_events,
        stop: Some(Arc::clone(stop)),
    })
}

fn keep(
    folder: Option<&Folder>,
    record: &Record,
    platform: &Platform,
) -> Result<(), run::RecordError> {
    let Some(folder) = folder else { return Ok(()) };
    folder.write("platform.toml", &platform.to_toml())?;
    folder.write("record.json", &(record.to_json() + "\n"))
}

/// Prints the results to standard output and the problems to standard error. A closed output is no problem.
fn tell(run: &Run, record: &Record, args: &RunArgs, platform: &Platform) {
    let mut stderr = io::stderr().lock();
    for warning in &run.warnings {
        let _ = writeln!(stderr, "warning: {warning}");
    }
    if let Some(problem) = summary::problem(&run.report.outcome) {
        let is_error = !matches!(
            run.report.outcome,
            Outcome::Limit(_) | Outcome::Interrupted | Outcome::Stopped
        );
        let _ = writeln!(stderr, "{}{problem}", if is_error { "error: " } else { "" });
    }
    let mut stdout = io::stdout().lock();
    let _ = match args.format {
        Format::Json => writeln!(stdout, "{}", record.to_json()),
        Format::Text if args.quiet => Ok(()),
        Format::Text if args.verbose => writeln!(
            stdout,
            "{}\n{}",
            platform.summary(),
            summary::text(run, record)
        ),
        Format::Text => writeln!(stdout, "{}", summary::text(run, record)),
    };
    let _ = stdout.flush();
}
