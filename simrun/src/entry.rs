//! The entry of a program: its command line, the run, what it prints and its exit status.

use std::ffi::OsString;
use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::FromArgMatches as _;
use platform::{Override, Platform};
use run::{Folder, Mapping, Options, Origin, Output, Program, Record, Run, Stream};
use sim_core::{Outcome, Progress, Time};

use crate::args::{EXIT_STATUS, Format, Payload, RunArgs, mapping};
use crate::check::{self, CheckArgs};
use crate::platform_command::warn;
use crate::real::{self, RealArgs};
use crate::{App, REVISION, handshake, progress, status, summary};

/// Runs a program with the arguments of the process; `main!` calls this. A model checker makes it on several threads.
#[must_use]
pub fn run_app<Shape, A: App<Shape> + Clone + Sync>(name: &'static str, app: A) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if let [only] = &arguments[..]
        && only == handshake::ARGUMENT
    {
        return handshake::answer();
    }
    if let [first, rest @ ..] = &arguments[..]
        && first == "check"
    {
        return check_app(name, app, rest);
    }
    if let [first, rest @ ..] = &arguments[..]
        && first == "real"
    {
        return real_app(name, app, rest);
    }
    let parsed = command::<RunArgs>(name, A::command(), EXIT_STATUS)
        .try_get_matches_from(&arguments)
        .and_then(|matches| RunArgs::from_arg_matches(&matches))
        .and_then(|args| Ok((app.bind(name, &args.arguments)?, args)));
    match parsed {
        Ok((program, args)) => run(name, &*program, &args, &arguments),
        Err(error) => status::show(&error),
    }
}

/// Explores a program: what follows `check`.
fn check_app<Shape, A: App<Shape> + Clone + Sync>(
    name: &'static str,
    app: A,
    arguments: &[OsString],
) -> ExitCode {
    let parsed = command::<CheckArgs>(name, A::command(), check::EXIT_STATUS)
        .override_usage(format!("{name} check [OPTIONS] [-- ARGUMENTS OF {name}]"))
        .try_get_matches_from(arguments)
        .and_then(|matches| CheckArgs::from_arg_matches(&matches))
        .and_then(|args| app.clone().bind(name, &args.arguments).map(|_| args));
    let args = match parsed {
        Ok(args) => args,
        Err(error) => return status::show(&error),
    };
    let own = &args.arguments;
    let make = || {
        let bound = app.clone().bind(name, own);
        Rc::from(bound.expect("the arguments were right before"))
    };
    check::run(name, &make, &args)
}

/// Runs a program for real: what follows `real`.
fn real_app<Shape, A: App<Shape>>(name: &'static str, app: A, arguments: &[OsString]) -> ExitCode {
    let parsed = command::<RealArgs>(name, A::command(), real::EXIT_STATUS)
        .override_usage(format!("{name} real [OPTIONS] [-- ARGUMENTS OF {name}]"))
        .try_get_matches_from(arguments)
        .and_then(|matches| RealArgs::from_arg_matches(&matches))
        .and_then(|args| Ok((app.bind(name, &args.arguments)?, args)));
    match parsed {
        Ok((program, args)) => real::run(name, &*program, &args, arguments),
        Err(error) => status::show(&error),
    }
}

/// The command line of a program: the options of a run, and in the help the program's own arguments.
fn command<Options: clap::Args>(
    name: &'static str,
    own: Option<clap::Command>,
    exit_status: &str,
) -> clap::Command {
    let about = own.as_ref().and_then(|own| own.get_about().cloned());
    let mut sections = String::new();
    if let Some(own) = own {
        let mut own = own
            .disable_help_flag(true)
            .disable_version_flag(true)
            .help_template("{all-args}")
            .mut_args(|argument| argument.help_heading("Arguments of the program, after --"));
        sections = format!("{}\n", own.render_help().ansi());
    }
    let command = Options::augment_args(clap::Command::new(name))
        .no_binary_name(true)
        .version(VERSION)
        .override_usage(format!("{name} [OPTIONS] [-- ARGUMENTS OF {name}]"))
        .after_help(format!("{sections}{exit_status}"));
    match about {
        Some(about) => command.about(about),
        None => command,
    }
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
    let start = match Start::new(args) {
        Ok(start) => start,
        Err(code) => return code,
    };
    let Start { platform, path, .. } = &start;
    let stream = match args.format {
        Format::Json => Stream::Stderr,
        Format::Text => Stream::Stdout,
    };
    let mut output = Output::new(stream, args.prefix, args.log.clone());
    if start.folder.is_none() {
        output.stop_when_closed(Arc::clone(&start.stop));
    }
    let line = progress::show(&start.progress);
    if let Some(line) = line.clone() {
        output.write_inside(Box::new(move |write| line.without(write)));
    }
    let output = Rc::new(output);
    if args.verbose {
        let _ = writeln!(
            io::stderr().lock(),
            "{}",
            summary::parameters(platform, &start.options, args)
        );
    }
    let run = run::simulate(platform, program, &start.options, &output);
    if let Some(line) = line {
        line.finish();
    }
    let run = match run {
        Ok(run) => run,
        Err(error) => return status::refuse(error),
    };
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
    let kept = keep(&start, &run, &record);
    if let Some(problem) = output.problem() {
        if let Some(code) = status::output_failed(&problem) {
            return code;
        }
        if run.report.outcome == Outcome::Interrupted {
            // Nobody reads on, as in `… | head`: not an error, and nothing more to say.
            return ExitCode::SUCCESS;
        }
    }
    tell_problems(&run, args);
    if let Err(problem) = tell_results(&run, &record, args)
        && let Some(code) = status::output_failed(&problem)
    {
        return code;
    }
    match kept {
        Ok(()) => ExitCode::from(status::of(&run.report.outcome)),
        Err(error) => status::refuse(error),
    }
}

/// Everything that a run needs, checked before it starts.
struct Start {
    platform: Arc<Platform>,
    path: PathBuf,
    folder: Option<Folder>,
    stop: Arc<AtomicBool>,
    progress: Arc<Progress>,
    options: Options,
}

impl Start {
    fn new(args: &RunArgs) -> Result<Self, ExitCode> {
        let path = args.platform.clone().ok_or_else(|| {
            status::refuse(
                "no platform: expected --platform FILE, such as --platform platforms/cluster.toml",
            )
        })?;
        let platform = Arc::new(load(&path, &args.changes)?);
        let stop = watch_signals()
            .map_err(|error| status::refuse(format_args!("cannot watch for Ctrl-C: {error}")))?;
        let progress = Arc::new(Progress::default());
        let mut options = options(args, &stop).map_err(status::refuse)?;
        options.progress = Some(Arc::clone(&progress));
        let inputs = [path.as_path(), args.map.as_path()];
        let folder = args.out.as_deref();
        let folder = folder.map(|out| Folder::open(out, args.force, &inputs));
        let folder = folder.transpose();
        let folder = folder.map_err(status::refuse)?;
        Ok(Self {
            platform,
            path,
            folder,
            stop,
            progress,
            options,
        })
    }
}

/// A flag that becomes true at the first Ctrl-C or termination; the second one ends the process at once.
pub(crate) fn watch_signals() -> io::Result<Arc<AtomicBool>> {
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
        progress: None,
        stop: Some(Arc::clone(stop)),
    })
}

/// Writes the record, and what belongs to it: the platform, a mapping that no option can tell, the deadlock's graph.
fn keep(start: &Start, run: &Run, record: &Record) -> Result<(), run::RecordError> {
    let Some(folder) = &start.folder else {
        return Ok(());
    };
    let mut files = vec![("platform.toml", start.platform.to_toml())];
    if matches!(start.options.mapping, Mapping::File(_)) {
        let names = run
            .hosts
            .iter()
            .map(|&host| format!("{}\n", start.platform.host_name(host)));
        files.push(("hosts.txt", names.collect()));
    }
    if let Outcome::Deadlock(graph) = &run.report.outcome {
        files.push(("deadlock.dot", graph.to_dot()));
    }
    // Last: a folder with a record has all of it.
    files.push(("record.json", record.to_json() + "\n"));
    folder.write(&files)
}

/// Prints warnings and what went wrong to standard error, which may be closed.
fn tell_problems(run: &Run, args: &RunArgs) {
    let mut stderr = io::stderr().lock();
    if !args.quiet {
        for warning in &run.warnings {
            let _ = writeln!(stderr, "warning: {warning}");
        }
    }
    if let Some(problem) = summary::problem(&run.report) {
        let _ = writeln!(stderr, "{problem}");
    }
}

/// Prints the results to standard output.
fn tell_results(run: &Run, record: &Record, args: &RunArgs) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match args.format {
        Format::Json => writeln!(stdout, "{}", record.to_json())?,
        Format::Text if args.quiet => {}
        Format::Text => writeln!(stdout, "{}", summary::text(run, record))?,
    }
    stdout.flush()
}
