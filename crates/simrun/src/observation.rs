//! `--log-events`, `--trace` and `--analyse`: the events of a run, and what is made of them.
//!
//! A program writes its event log and nothing else: to a file, or through a pipe to the command
//! `simrun analyse`, which makes timelines and analyses while the program runs.
//!
//! That command judges the options before the run begins.
//!
//! *Not noticed*: an analysis that fails before the run ends. The run continues, and the problem is
//! told at its end.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::fs;
use std::io::{self, BufWriter, Write};
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::rc::Rc;

use clap::Args;
use real::{FailureKind, RealOutcome, RealRun};
use run::{EventLog, LogFilter, Options, Output, Program, Run, Stream};

use crate::args::{OutputArgs, RunArgs, SimulationArgs};
use crate::entry::Start;
use crate::package;
use crate::quoted;
use crate::status;
use crate::trace_args::TraceArgs;

/// Why an option of a run refuses `-`.
pub(crate) const STDOUT_TAKEN: &str =
    "standard output has the output of the program: expected the name of a file";

/// Size of the buffer of a log in bytes: 8 Ki records.
const BUFFER: usize = 256 * 1024;

/// The options of the observation of a run, simulated or real.
#[derive(Args, Clone, Debug)]
pub(crate) struct EventArgs {
    /// Print an analysis of the run: where the time is spent, and why; with DIR, write
    /// analysis.json, CSV files and a report there
    #[arg(
        long,
        value_name = "DIR",
        num_args = 0..=1,
        require_equals = true,
        help_heading = "Observation"
    )]
    analyse: Option<Option<PathBuf>>,

    /// Write a timeline for Perfetto (https://ui.perfetto.dev): FILE.pftrace or FILE.pftrace.gz
    #[arg(long, value_name = "FILE", help_heading = "Observation")]
    trace: Option<PathBuf>,

    /// Options of the timeline.
    #[command(flatten)]
    trace_options: TraceArgs,

    /// Write the event log of the run, which simrun analyse reads
    #[arg(long, value_name = "FILE", help_heading = "Observation")]
    log_events: Option<PathBuf>,
}

/// The options of the observation of a simulated run.
#[derive(Args, Clone, Debug)]
pub(crate) struct ObservationArgs {
    #[command(flatten)]
    events: EventArgs,

    /// With --analyse: also simulate the run on an ideal network, without latency, limits of
    /// bandwidth and software costs, for the efficiencies of serialisation and transfer
    #[arg(long, requires = "analyse", help_heading = "Observation")]
    ideal_network: bool,
}

impl EventArgs {
    pub(crate) fn is_empty(&self) -> bool {
        let has_output =
            self.analyse.is_some() || self.trace.is_some() || self.log_events.is_some();
        !has_output && self.trace_options.arguments().is_empty()
    }

    /// Returns the arguments of `simrun analyse`; `None` if it is not needed. `ideal`: the log of
    /// the run on an ideal network. `simulation`: of a simulated run.
    fn of_analysis(
        &self,
        input: &OsStr,
        ideal: Option<&TemporaryFile>,
        simulation: Option<&SimulationArgs>,
    ) -> Option<Vec<OsString>> {
        let mut arguments = vec![OsString::from("analyse"), input.to_owned()];
        match (&self.analyse, &self.trace) {
            (None, None) => return None,
            (None, Some(_)) => arguments.push("--no-text".into()),
            (Some(folder), _) => {
                if let Some(folder) = folder {
                    let line = command_line();
                    arguments.extend(["--out".into(), folder.into()]);
                    arguments.extend(["--title".into(), line.into()]);
                    arguments.extend(simulation.and_then(readable_platform).unwrap_or_default());
                }
            }
        }
        if let Some(TemporaryFile(path)) = ideal {
            arguments.extend(["--ideal".into(), path.into()]);
        }
        if let Some(trace) = &self.trace {
            arguments.extend(["--trace".into(), trace.into()]);
            arguments.extend(self.trace_options.arguments());
        }
        Some(arguments)
    }

    /// Checks the options and the names of the outputs before the run, and makes the folder of
    /// `--analyse=DIR`. The folder of a file has to exist. `ranks`: number of ranks of the run.
    ///
    /// # Errors
    /// The status of bad input, after the problem has been printed.
    pub(crate) fn check_options(
        &self,
        ranks: u32,
        simulation: Option<&SimulationArgs>,
    ) -> Result<(), u8> {
        self.check_files().map_err(refused)?;
        let Some(mut arguments) = self.of_analysis(OsStr::new("-"), None, simulation) else {
            return Ok(());
        };
        // The command that reads the options judges them, or the run would be lost for a typo.
        arguments.extend(["--check-for".into(), ranks.to_string().into()]);
        let mut judge = start_simrun(&arguments, Stdio::null(), false).map_err(refused)?;
        wait_for(&mut judge)
    }

    /// Checks the names of the files that are written.
    fn check_files(&self) -> Result<(), String> {
        if let (None, Some(option)) = (&self.trace, self.trace_options.arguments().first()) {
            let option = option.display();
            return Err(format!(
                "{option}: expected --trace FILE, the timeline that it is for"
            ));
        }
        if let (Some(log), Some(trace)) = (&self.log_events, &self.trace)
            && log == trace
        {
            let path = log.display();
            return Err(format!(
                "{path}: it is also the file of --log-events: expected another name for --trace"
            ));
        }
        for path in self.log_events.iter().chain(&self.trace) {
            let output = files::Output::new(path).map_err(|error| error.to_string())?;
            if output.is_stdout() {
                let path = path.display();
                return Err(format!("{path}: {STDOUT_TAKEN}"));
            }
            output.can_be_written().map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Writes the event log of a real run, and makes a timeline and an analysis of it.
    ///
    /// # Errors
    /// The status of bad input or of the analysis, after the problem has been printed.
    pub(crate) fn finish_real(&self, run: &RealRun, output: &OutputArgs) -> Result<(), u8> {
        let has_begun = match &run.outcome {
            RealOutcome::Missing { .. } | RealOutcome::Unheard => false,
            RealOutcome::Failed(failure) => failure.kind != FailureKind::Refusal,
            _ => true,
        };
        if self.is_empty() || !has_begun {
            return Ok(());
        }
        let (mut name, mut input) = (OsStr::new("-"), Stdio::piped());
        if let Some(path) = &self.log_events {
            (name, input) = (path.as_os_str(), Stdio::null());
            let out = create_log(path).map_err(refused)?;
            let written = run.write_events(out);
            written.map_err(|error| refused(format_args!("--log-events: {error}")))?;
        }
        let Some(arguments) = self.of_analysis(name, None, None) else {
            return Ok(());
        };
        let mut analysis = start_simrun(&arguments, input, prints(output)).map_err(refused)?;
        if let Some(input) = analysis.stdin.take()
            && let Err(error) = run.write_events(BufWriter::with_capacity(BUFFER, input))
            && error.kind() != io::ErrorKind::BrokenPipe
        {
            refused(format_args!("events of the ranks: {error}"));
        }
        // An analysis that ended early has told why.
        wait_for(&mut analysis)
    }
}

/// Returns the platform and the changes as arguments, if the analysis can read the file: a pipe
/// cannot be read twice, and the analysis has another standard input.
fn readable_platform(simulation: &SimulationArgs) -> Option<Vec<OsString>> {
    let path = simulation.platform.as_ref()?.canonicalize().ok()?;
    let simulation = SimulationArgs {
        platform: Some(path).filter(|path| path.is_file()),
        ..simulation.clone()
    };
    simulation
        .platform
        .is_some()
        .then(|| simulation.platform_arguments())
}

/// Returns true if an analysis is printed.
fn prints(output: &OutputArgs) -> bool {
    !output.format.is_for_programs() && !output.quiet
}

/// Waits for the end of an analysis.
///
/// # Errors
/// Its status, if it has failed.
fn wait_for(analysis: &mut Child) -> Result<(), u8> {
    match analysis.wait() {
        Ok(ended) if ended.success() => Ok(()),
        Ok(ended) => {
            let code = ended.code().and_then(|code| u8::try_from(code).ok());
            Err(code.unwrap_or(status::USAGE))
        }
        Err(error) => Err(refused(error)),
    }
}

/// Prints a problem; the status of bad input.
fn refused(problem: impl Display) -> u8 {
    status::refuse(problem);
    status::USAGE
}

/// The observation of a run.
#[derive(Debug)]
pub(crate) struct RunObservation {
    log: EventLog,
    /// The analysis that reads the log, and its command.
    analysis: Option<Child>,
    /// The arguments of the analysis that begins at the end.
    later: Option<Vec<OsString>>,
    prints: bool,
    /// The log of the run on an ideal network, until the analysis has read it.
    _ideal: Option<TemporaryFile>,
}

/// A file that is removed when it is dropped.
#[derive(Debug)]
struct TemporaryFile(PathBuf);

impl Drop for TemporaryFile {
    fn drop(&mut self) {
        // It may never have been made.
        let _ = fs::remove_file(&self.0);
    }
}

/// Simulates a program on an ideal network, without its output, and writes its event log.
fn simulate_ideal(program: &dyn Program, begin: &Start) -> Result<TemporaryFile, String> {
    let name = format!("simrun-ideal-{}.log", std::process::id());
    let file = TemporaryFile(std::env::temp_dir().join(name));
    let out = create_log(&file.0)?;
    let log = EventLog::new(out, begin.ranks());
    let options = Options {
        event_log: Some(log.clone()),
        ideal_network: true,
        profile: None,
        progress: None,
        capture: None,
        ..begin.options.clone()
    };
    let output = Rc::new(Output::new(Stream::Nowhere, false, LogFilter::default()));
    let run = run::simulate(&begin.platform, program, &options, &output);
    let run = run.map_err(|error| error.to_string())?;
    let ended = log.finish_log(run.report.time.as_secs());
    ended.map_err(|error| format!("{}: {error}", file.0.display()))?;
    Ok(file)
}

/// Creates the file of a log.
fn create_log(path: &Path) -> Result<Box<dyn Write + Send>, String> {
    let file = files::Output::new(path).and_then(|output| output.create_file());
    Ok(Box::new(file.map_err(|error| error.to_string())?))
}

/// Returns the command of the run, with a program below the current folder named from there.
fn command_line() -> String {
    let (mut words, arguments) = package::split_command_line(None);
    if let (Ok(folder), Some(program)) = (std::env::current_dir(), words.first_mut())
        && let Ok(relative) = Path::new(&*program).strip_prefix(folder)
    {
        *program = relative.as_os_str().to_owned();
    }
    let words = words.iter().chain(&arguments);
    let words = words.map(|word| quoted(&word.to_string_lossy()));
    words.collect::<Vec<_>>().join(" ")
}

fn simrun_command() -> OsString {
    package::simrun().map_or_else(|| OsString::from("simrun"), OsString::from)
}

/// Starts the command `simrun` with these arguments. `prints`: its results go to standard output.
fn start_simrun(arguments: &[OsString], input: Stdio, prints: bool) -> Result<Child, String> {
    let simrun = simrun_command();
    let name = simrun.display().to_string();
    let output = if prints {
        Stdio::inherit()
    } else {
        Stdio::null()
    };
    let mut command = Command::new(simrun);
    command.args(arguments).stdin(input).stdout(output);
    // Ctrl-C ends the run, whose analysis then says how far it went.
    let child = command.process_group(0).spawn();
    child.map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => format!(
            "--analyse and --trace need the command {name}, which is not found: expected it in PATH"
        ),
        _ => format!("cannot start {name}: {error}"),
    })
}

impl RunObservation {
    /// Finds the files of `--log-events`, `--trace` and `--analyse`, and lets the run write its
    /// log.
    ///
    /// # Errors
    /// The status of bad input, after the reason has been printed.
    pub(crate) fn asked_for(
        args: &RunArgs,
        program: &dyn Program,
        begin: &mut Start,
    ) -> Result<Option<Self>, u8> {
        let asked = &args.observation.events;
        if asked.is_empty() {
            return Ok(None);
        }
        if !program.has_ranks() {
            return Err(refused(
                "--analyse, --trace and --log-events: the program has no ranks, and only ranks are observed",
            ));
        }
        let simulation = Some(&args.program.simulation);
        asked.check_options(begin.ranks(), simulation)?;
        let ideal = if args.observation.ideal_network {
            Some(simulate_ideal(program, begin).map_err(refused)?)
        } else {
            None
        };
        let prints = prints(&args.output);
        let (mut analysis, mut later) = (None, None);
        let out: Box<dyn Write + Send> = if let Some(path) = &asked.log_events {
            later = asked.of_analysis(path.as_os_str(), ideal.as_ref(), simulation);
            create_log(path).map_err(refused)?
        } else {
            let arguments = asked.of_analysis(OsStr::new("-"), ideal.as_ref(), simulation);
            let arguments = arguments.unwrap_or_default();
            let mut child = start_simrun(&arguments, Stdio::piped(), prints).map_err(refused)?;
            let input = child.stdin.take();
            analysis = Some(child);
            Box::new(input.ok_or_else(|| refused("the analysis has no standard input"))?)
        };
        let log = EventLog::new(out, begin.ranks());
        begin.options.event_log = Some(log.clone());
        Ok(Some(Self {
            log,
            analysis,
            later,
            prints,
            _ideal: ideal,
        }))
    }

    /// Ends the log of a run, and waits for its analysis.
    ///
    /// # Errors
    /// The status of bad input or of the analysis, after the problem has been printed.
    pub(crate) fn finish_log(self, run: &Run) -> Result<(), ExitCode> {
        let ended = self.log.finish_log(run.report.time.as_secs());
        // An analysis that ended early has told why.
        if self.analysis.is_none() {
            ended.map_err(|error| status::refuse(format_args!("--log-events: {error}")))?;
        }
        let analysis = match (self.analysis, self.later) {
            (Some(child), _) => Some(child),
            (None, Some(arguments)) => {
                let child = start_simrun(&arguments, Stdio::null(), self.prints);
                Some(child.map_err(status::refuse)?)
            }
            (None, None) => None,
        };
        let Some(mut analysis) = analysis else {
            return Ok(());
        };
        wait_for(&mut analysis).map_err(ExitCode::from)
    }
}
