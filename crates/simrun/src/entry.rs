//! The entry of a program: its command line, the run, what it prints and its exit status.

use sim_core::SourceLocation;
use std::ffi::OsString;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use clap::FromArgMatches as _;
use platform::units::Duration;
use platform::{Override, Platform};
use run::{Folder, Mapping, Options, Origin, Output, Program, Run, RunError, RunRecord};
use sim_core::{Limit, Outcome, RunProgress, Time};

use crate::args::{EXIT_STATUS, OutputArgs, Payload, RunArgs};
use crate::check::{self, CheckArgs};
use crate::guard::{self, Guard, Misdeed, Watched};
use crate::help::{HelpRequest, prepare_help};
use crate::memory::{self, Estimate};
use crate::observation::RunObservation;
use crate::pcap::PcapFile;
use crate::profile::Sampler;
use crate::real_command::{self, RealArgs};
use crate::schedule::ScheduleFile;
use crate::{App, REVISION, handshake, profile, progress, rerun, status, study_worker, summary};

/// Runs a program with the arguments of the process; `main!` calls this. A model checker makes it
/// on several threads.
#[must_use]
#[track_caller]
pub fn run_app<Shape, A: App<Shape> + Clone + Sync>(name: &'static str, app: A) -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    run_app_with(name, app, &arguments)
}

/// Runs a program with these arguments instead of those of the process.
#[must_use]
#[track_caller]
pub fn run_app_with<Shape, A: App<Shape> + Clone + Sync>(
    name: &'static str,
    app: A,
    arguments: &[OsString],
) -> ExitCode {
    // Of the macro that calls this, in the program.
    let place = SourceLocation::caller();
    if handshake::is_asked(arguments) {
        return handshake::answer_handshake([]);
    }
    if let [first, rest @ ..] = arguments
        && first == "check"
    {
        return check_app((name, place), app, rest);
    }
    if let [first, rest @ ..] = arguments
        && first == "real"
    {
        return real_app((name, place), app, rest);
    }
    if arguments == [study_worker::WORKER] {
        return study_worker::run_worker((name, place), &app);
    }
    if arguments == [study_worker::ARGUMENTS] {
        return study_worker::describe_arguments(A::command().as_ref());
    }
    match watch_signals() {
        Ok(stop) => run_command((name, place), app, arguments, stop),
        Err(error) => status::refuse(format_args!("cannot watch for Ctrl-C: {error}")),
    }
}

/// Simulates a program with the options and arguments of a command line. `stop`: ends the run when
/// it becomes true.
pub(crate) fn run_command<Shape, A: App<Shape>>(
    (name, place): (&'static str, SourceLocation),
    app: A,
    arguments: &[OsString],
    stop: Arc<AtomicBool>,
) -> ExitCode {
    let parsed = build_command::<RunArgs>(name, A::command(), EXIT_STATUS, arguments)
        .try_get_matches_from(arguments)
        .and_then(|matches| RunArgs::from_arg_matches(&matches))
        .and_then(|args| {
            let app = app.with_compute(&args.program.compute)?;
            Ok((app.bind((name, place), &args.arguments)?, args))
        });
    let compute = |args: &RunArgs| A::IS_COMPILED.then(|| args.program.compute.name());
    match parsed {
        Ok((program, args)) => {
            let named = (name, compute(&args));
            run_program(named, &Rc::from(program), &args, arguments, stop)
        }
        Err(error) => status::show_usage_error(&error),
    }
}

/// Explores a program: what follows `check`.
fn check_app<Shape, A: App<Shape> + Clone + Sync>(
    (name, place): (&'static str, SourceLocation),
    app: A,
    arguments: &[OsString],
) -> ExitCode {
    let parsed = build_command::<CheckArgs>(name, A::command(), check::EXIT_STATUS, arguments)
        .override_usage(format!("{name} check [OPTIONS] [ARGUMENTS OF {name}]"))
        .try_get_matches_from(arguments)
        .and_then(|matches| CheckArgs::from_arg_matches(&matches))
        .and_then(|args| {
            app.clone()
                .bind((name, place), &args.arguments)
                .map(|_| args)
        });
    let args = match parsed {
        Ok(args) => args,
        Err(error) => return status::show_usage_error(&error),
    };
    let own = &args.arguments;
    let make = || {
        let bound = app.clone().bind((name, place), own);
        Rc::from(bound.expect("the arguments were right before"))
    };
    check::run_check(name, &make, &args)
}

/// Runs a program for real: what follows `real`.
fn real_app<Shape, A: App<Shape>>(
    (name, place): (&'static str, SourceLocation),
    app: A,
    arguments: &[OsString],
) -> ExitCode {
    let parsed =
        build_command::<RealArgs>(name, A::command(), real_command::EXIT_STATUS, arguments)
            .override_usage(format!("{name} real [OPTIONS] [ARGUMENTS OF {name}]"))
            .try_get_matches_from(arguments)
            .and_then(|matches| RealArgs::from_arg_matches(&matches))
            .and_then(|args| Ok((app.bind((name, place), &args.arguments)?, args)));
    match parsed {
        Ok((program, args)) => real_command::run_real(name, &*program, &args, arguments),
        Err(error) => status::show_usage_error(&error),
    }
}

/// The command line of a program: the options of a run, and in the help the program's own
/// arguments.
fn build_command<Options: clap::Args>(
    name: &'static str,
    own: Option<clap::Command>,
    exit_status: &'static str,
    arguments: &[OsString],
) -> clap::Command {
    let about = own.as_ref().and_then(|own| own.get_about().cloned());
    let mut sections = String::new();
    if let Some(own) = own
        && HelpRequest::from_arguments(arguments) != HelpRequest::Absent
    {
        let mut own = own
            .disable_help_flag(true)
            .disable_version_flag(true)
            .help_template("{all-args}")
            .mut_args(|argument| argument.help_heading("Arguments of the program, after --"));
        sections = format!("{}\n", own.render_help());
    }
    let command = Options::augment_args(clap::Command::new(name))
        .no_binary_name(true)
        .version(VERSION)
        .override_usage(format!("{name} [OPTIONS] [ARGUMENTS OF {name}]"))
        .after_help(exit_status);
    let command = match about {
        Some(about) => command.about(about),
        None => command,
    };
    let command = prepare_help(command, arguments);
    let end = command.get_after_help().map(ToString::to_string);
    command.after_help(sections + &end.unwrap_or_default())
}

/// The version with the revision, such as `0.1.0 (0123456789ab)`.
pub const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION"),
    " (",
    env!("SIMRUN_REVISION"),
    ")"
);

/// Reads a platform and changes it.
///
/// # Errors
/// The status of bad input, after the mistakes have been printed.
pub fn load(path: &Path, changes: &[Override]) -> Result<Platform, ExitCode> {
    let platform = run::load_platform(path, changes)
        .map_err(|error| status::refuse_with(&error.report(status::has_colours())))?;
    status::warn_all(platform.notes());
    Ok(platform)
}

fn run_program(
    (name, compute): (&str, Option<&'static str>),
    program: &Rc<dyn Program>,
    args: &RunArgs,
    arguments: &[OsString],
    stop: Arc<AtomicBool>,
) -> ExitCode {
    let mut start = match Start::new(args, &as_text(arguments), stop) {
        Ok(start) => start,
        Err(code) => return code,
    };
    let (pcap, schedule, observation) = match extra_files(args, &**program, &mut start) {
        Ok(files) => files,
        Err(code) => return code,
    };
    if program.has_ranks()
        && let Err(code) = estimate_memory(start.ranks(), args)
    {
        return code;
    }
    let job = Arc::new(RequestedRun {
        name: name.to_owned(),
        compute,
        args: args.clone(),
        arguments: arguments.to_vec(),
        start,
    });
    let guard = job.guard(program.has_ranks());
    let start = &job.start;
    let stream = args.output.format.program_stream();
    let prefixes = args.prefix.unwrap_or(false);
    let mut output = Output::new(stream, prefixes, args.output.log.clone());
    if start.folder.is_none() {
        output.stop_when_closed(Arc::clone(&start.stop));
    }
    let line = progress::of_run(name, args, start);
    let around = line.clone();
    output.set_guard(Box::new(move |write| match &around {
        _ if guard::is_child() => {}
        Some(line) => line.without(write),
        None => write(),
    }));
    let output = Rc::new(output);
    if args.verbose {
        let parameters = summary::parameters(&start.platform, &start.options, args);
        let _ = writeln!(io::stderr().lock(), "{parameters}");
    }
    let sampler = Sampler::from_start(start);
    let run = simulate(&**program, start, &output, schedule.as_ref());
    let profile = sampler.map(Sampler::finish_sampling);
    let misdeed = guard.end_watch();
    if let Some(line) = line {
        line.remove_line();
    }
    let mut run = match run {
        Ok(run) => run,
        Err(error) => return status::refuse(error),
    };
    if run.report.outcome == Outcome::Interrupted
        && let Some(allowed) = guard.time_that_was_up()
    {
        run.report.outcome = Outcome::Limit(Limit::RealTime(allowed));
    }
    let is_whole = misdeed.is_none();
    let code = job.finish_run(&mut run, misdeed, &output);
    profile::print_profile(profile);
    let captured = pcap.map_or(Ok(()), |file| file.write_capture(run.capture.take()));
    let written = captured.and_then(|()| match schedule.filter(|_| is_whole) {
        Some(file) => file.write_schedule(&job, program, &run),
        None => Ok(()),
    });
    let analysed = observation.map_or(Ok(()), |observation| observation.finish_log(&run));
    let code = analysed.err().unwrap_or(code);
    written.map_or_else(status::refuse, |()| code)
}

type ExtraFiles = (
    Option<PcapFile>,
    Option<ScheduleFile>,
    Option<RunObservation>,
);

/// Finds the files of `--pcap`, `--schedule` and those of the observation.
fn extra_files(
    args: &RunArgs,
    program: &dyn Program,
    start: &mut Start,
) -> Result<ExtraFiles, ExitCode> {
    let pcap = PcapFile::asked_for(args, program.has_ranks(), start).map_err(status::refuse)?;
    let schedule = ScheduleFile::asked_for(args, start).map_err(status::refuse)?;
    let observation = RunObservation::asked_for(args, program, start).map_err(ExitCode::from)?;
    Ok((pcap, schedule, observation))
}

fn simulate(
    program: &dyn Program,
    start: &Start,
    output: &Rc<Output>,
    schedule: Option<&ScheduleFile>,
) -> Result<Run, RunError> {
    let (platform, options) = (&start.platform, &start.options);
    match schedule {
        None => run::simulate(platform, program, options, output),
        Some(file) => run::simulate_recorded(platform, program, options, output, file.recording()),
    }
}

/// Ends a run that needs more memory than there is, before it begins.
fn estimate_memory(ranks: u32, args: &RunArgs) -> Result<(), ExitCode> {
    match memory::estimate(ranks) {
        Estimate::TooLarge(text) => Err(status::limited(format_args!("out of memory: {text}"))),
        Estimate::Notable(text) if !args.output.quiet => {
            // Nobody can be told that standard error is closed.
            let _ = writeln!(io::stderr().lock(), "note: {text}");
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Returns arguments as a record has them.
fn as_text(arguments: &[OsString]) -> Vec<String> {
    let text = |argument: &OsString| argument.to_string_lossy().into_owned();
    arguments.iter().map(text).collect()
}

/// A run as it was asked for.
pub(crate) struct RequestedRun {
    name: String,
    /// Source of the time between calls, of a compiled program.
    compute: Option<&'static str>,
    pub(crate) args: RunArgs,
    arguments: Vec<OsString>,
    pub(crate) start: Start,
}

impl RequestedRun {
    /// Begins to watch the run.
    fn guard(self: &Arc<Self>, has_ranks: bool) -> Guard {
        let (platform, job) = (Arc::clone(&self.start.platform), Arc::clone(self));
        let max_time = self.args.max_time.as_ref();
        let guard = Guard::new(Watched {
            has_ranks,
            host_name: Box::new(move |host| platform.host_name(host).into_owned()),
            stop: Arc::clone(&self.start.stop),
            max_time: max_time.map(Duration::as_secs),
            max_busy: self.args.max_busy(),
            is_timed: true,
            conclude: Box::new(move |stopped| job.conclude(stopped)),
        });
        guard.add_kernel(Arc::clone(&self.start.progress));
        guard
    }

    pub(crate) fn origin(&self) -> Origin {
        Origin {
            seed: self.args.program.simulation.seed,
            revision: REVISION.to_owned(),
            program: self.name.clone(),
            arguments: as_text(&self.arguments),
            platform: self.start.path.display().to_string(),
            network_model: self.start.platform.network_model().name(),
            compute: self.compute,
            rerun: self.start.folder.as_ref().and_then(|_| {
                let ranks = self.start.ranks();
                rerun::of_this_run(&self.args, ranks, &self.start.options.mapping)
            }),
        }
    }

    /// Keeps and tells what a run that came to its end has to tell.
    fn finish_run(&self, run: &mut Run, misdeed: Option<Misdeed>, output: &Output) -> ExitCode {
        let closed = matches!(misdeed, Some(Misdeed::Stdout));
        if let Some(Misdeed::Forked(failure)) = misdeed {
            run.report.outcome = Outcome::Failed(failure);
        }
        if closed {
            run.warnings.push(guard::CLOSED.to_owned());
        }
        let mut record = RunRecord::new(run, self.origin());
        if closed {
            record.outcome = "failed";
        }
        let kept = write_record(&self.start, run, &record);
        if let Some(problem) = output.problem() {
            if let Some(code) = status::output_failed(&problem) {
                return code;
            }
            if run.report.outcome == Outcome::Interrupted {
                // Nobody reads on, as in `… | head`: not an error, and nothing more to say.
                return ExitCode::SUCCESS;
            }
        }
        tell_problems(run, &self.args, &mut io::stderr().lock());
        if closed {
            return status::failed(guard::CLOSED);
        }
        if let Err(problem) = tell_results(run, &record, &self.args, &mut io::stdout().lock())
            && let Some(code) = status::output_failed(&problem)
        {
            return code;
        }
        match kept {
            Ok(()) => ExitCode::from(status::from_outcome(&run.report.outcome)),
            Err(error) => status::refuse(error),
        }
    }
}

/// Everything that a run needs, checked before it starts.
pub(crate) struct Start {
    pub(crate) platform: Arc<Platform>,
    pub(crate) path: PathBuf,
    pub(crate) folder: Option<Folder>,
    stop: Arc<AtomicBool>,
    pub(crate) progress: Arc<RunProgress>,
    pub(crate) options: Options,
}

impl Start {
    fn new(args: &RunArgs, arguments: &[String], stop: Arc<AtomicBool>) -> Result<Self, ExitCode> {
        let simulation = &args.program.simulation;
        let path = simulation.platform_file()?.to_owned();
        let platform = Arc::new(simulation.load_platform()?);
        let progress = Arc::new(RunProgress::default());
        let mut options = run_options(args, &stop).map_err(status::refuse)?;
        options.progress = Some(Arc::clone(&progress));
        let folder = args.record.open_for(arguments).map_err(status::refuse)?;
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

impl Start {
    /// The number of ranks, given or not.
    pub(crate) fn ranks(&self) -> u32 {
        let hosts = self.platform.host_count();
        let options = &self.options;
        options
            .ranks
            .unwrap_or_else(|| options.mapping.default_ranks(hosts))
    }
}

/// A flag that becomes true at the first Ctrl-C, termination or loss of the terminal; the second
/// one ends the process at once.
///
/// # Errors
/// If the system refuses.
pub fn watch_signals() -> io::Result<Arc<AtomicBool>> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    let stop = Arc::new(AtomicBool::new(false));
    // Under nohup, the loss of the terminal continues to be ignored.
    let lost = (!is_ignored(SIGHUP)).then_some(SIGHUP);
    for signal in [SIGINT, SIGTERM].into_iter().chain(lost) {
        let status = i32::from(status::INTERRUPTED);
        signal_hook::flag::register_conditional_shutdown(signal, status, Arc::clone(&stop))?;
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    Ok(stop)
}

/// Returns true for a signal that was ignored when the process began, as far as the system tells.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}

fn run_options(args: &RunArgs, stop: &Arc<AtomicBool>) -> Result<Options, run::MappingError> {
    Ok(Options {
        phantom: args.program.payload == Payload::Phantom,
        until: args
            .until
            .as_ref()
            .map(|until| Time::from_secs(until.as_secs())),
        events_max: args.max_events,
        stop: Some(Arc::clone(stop)),
        profile: args.profile.then(Arc::default),
        ..args.program.simulation.run_options()?
    })
}

/// Writes the record, and what belongs to it: the platform, a mapping that no option can tell, the
/// deadlock's graph.
pub(crate) fn write_record(
    start: &Start,
    run: &Run,
    record: &RunRecord,
) -> Result<(), run::RecordError> {
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
    folder.write_files(&files)
}

/// Prints warnings and what went wrong to standard error, which may be closed.
fn tell_problems(run: &Run, args: &RunArgs, stderr: &mut dyn Write) {
    if !args.output.quiet {
        for warning in &run.warnings {
            let _ = writeln!(stderr, "warning: {warning}");
        }
    }
    if let Some(problem) = summary::problem(run) {
        let _ = writeln!(stderr, "{problem}");
    }
}

/// Prints the results to standard output.
pub(crate) fn tell_results(
    run: &Run,
    record: &RunRecord,
    args: &RunArgs,
    stdout: &mut dyn Write,
) -> io::Result<()> {
    let OutputArgs { format, quiet, .. } = args.output;
    if format.is_for_programs() || !quiet {
        let summary = || summary::summary_text(run, record);
        let result = format.write_result(summary, || record.to_json());
        writeln!(stdout, "{result}")?;
    }
    stdout.flush()
}
