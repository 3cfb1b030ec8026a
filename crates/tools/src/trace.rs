//! `simrun trace`: timelines of runs from their event logs.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Subcommand};
use files::Output;
use observe::LogReader;
use platform::units::Duration;
use report::{TraceError, TraceFormat, TraceOptions, TraceSummary, TraceUnit};
use simrun::{Size, TraceArgs, status};

/// Records that are read at once: 8 Ki.
const BUFFER: usize = 256 * 1024;

/// Timelines.
#[derive(Subcommand, Clone, Debug)]
pub(crate) enum TraceCommand {
    /// Make a timeline of a run from its event log
    #[command(after_help = "Example:\n  simrun trace convert run.log --out run.pftrace")]
    Convert(ConvertCommand),
}

/// A timeline to make.
#[derive(Args, Clone, Debug)]
pub(crate) struct ConvertCommand {
    /// The event log, which a run writes with --log-events; - for standard input
    #[arg(value_name = "LOG")]
    log: PathBuf,

    /// The timeline: FILE.pftrace or FILE.pftrace.gz for Perfetto (ui.perfetto.dev),
    /// FILE.paje for pj_dump and ViTE, FILE.csv
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,

    #[command(flatten)]
    options: TraceArgs,
}

/// Runs a command.
pub(crate) fn run_command(command: &TraceCommand) -> ExitCode {
    let TraceCommand::Convert(command) = command;
    match convert(command) {
        Ok(code) => code,
        Err(problem) => status::refuse(problem),
    }
}

fn convert(command: &ConvertCommand) -> Result<ExitCode, String> {
    let (log, out) = (command.log.as_path(), command.out.as_path());
    let format = TraceFormat::from_path(out)?;
    let options = options_of(&command.options)?;
    files::add_input(log);
    let output = Output::new(out).map_err(|error| error.to_string())?;
    output.can_be_written().map_err(|error| error.to_string())?;
    let name = if log == Path::new("-") {
        "standard input".to_owned()
    } else {
        log.display().to_string()
    };
    let unreadable = |error: io::Error| format!("{name}: cannot read it: {error}");
    let input: Box<dyn Read> = if log == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(files::open_input(log).map_err(unreadable)?)
    };
    let reader = LogReader::new(BufReader::with_capacity(BUFFER, input));
    let mut reader = reader.map_err(|error| match error.kind() {
        io::ErrorKind::UnexpectedEof => format!("{name}: not an event log of simrun"),
        _ => format!("{name}: {error}"),
    })?;
    let mut summary = TraceSummary::default();
    let mut problem = String::new();
    let written = output.draw_file(|path| {
        let file = File::create(path).map_err(|error| error.to_string())?;
        let written = report::write_trace(&mut reader, file, format, &options);
        summary = written.map_err(|error| {
            problem = problem_of(&error, &name, &output);
            String::new()
        })?;
        Ok(())
    });
    if !problem.is_empty() {
        return Err(problem);
    }
    written.map_err(|error| error.to_string())?;
    warn_of(&summary, options.limit, &output);
    if reader.end().is_none() && summary.cut.is_none() && options.until.is_infinite() {
        status::warn(format_args!("{name}: the log breaks off"));
    }
    Ok(status::print(format_args!("made {}", out.display())))
}

/// Returns an error in words, with the name of the file that has failed: the log or the timeline.
pub(crate) fn problem_of(error: &TraceError, log: &str, timeline: &Output) -> String {
    match error {
        // An option that selects nothing is not a problem of the file.
        TraceError::Timeline(error) if error.kind() == io::ErrorKind::InvalidInput => {
            error.to_string()
        }
        TraceError::Timeline(error) => format!("{timeline}: cannot write it: {error}"),
        TraceError::Log(error) => format!("{log}: {error}"),
    }
}

/// Warns if a timeline does not have the whole run, or not the lengths of its calls.
pub(crate) fn warn_of(summary: &TraceSummary, limit: u64, out: &Output) {
    if let Some(last) = summary.cut {
        status::warn(format_args!(
            "{out}: it ends at {last} s of the run, where it reached --trace-limit {}",
            Size(limit)
        ));
    }
    if let Some(shortest) = summary.shortest {
        status::warn(format_args!(
            "{out}: the shortest call takes {:.3} ns, and times are rounded down to nanoseconds: --trace-unit ps has picoseconds",
            shortest * 1e9
        ));
    }
}

/// Returns the options of a timeline.
pub(crate) fn options_of(args: &TraceArgs) -> Result<TraceOptions, String> {
    let mut options = TraceOptions::default();
    if let Some(text) = &args.trace_limit {
        let size: Size = parsed("limit", text)?;
        options.limit = size.0;
    }
    if let Some(text) = &args.trace_ranks {
        options.ranks = parsed("ranks", text)?;
    }
    let (hosts, links) = (args.trace_hosts.as_deref(), args.trace_links.as_deref());
    options.hosts = hosts.map(|text| parsed("hosts", text)).transpose()?;
    options.links = links.map(|text| parsed("links", text)).transpose()?;
    if let Some(text) = &args.trace_from {
        options.from = parse_seconds("from", text)?;
    }
    if let Some(text) = &args.trace_until {
        options.until = parse_seconds("until", text)?;
    }
    if let Some(text) = &args.trace_only {
        options.contents = parsed("only", text)?;
    }
    if let Some(text) = &args.trace_shorter_than {
        let time = text.strip_suffix("=merge").ok_or_else(|| {
            format!("--trace-shorter-than {text}: expected a time and =merge, such as 1us=merge")
        })?;
        options.shorter_than = Some(parse_seconds("shorter-than", time)?);
    }
    options.aggregate = args.trace_aggregate;
    options.unit = match args.trace_unit.as_deref() {
        None | Some("ns") => TraceUnit::Nanosecond,
        Some("ps") => TraceUnit::Picosecond,
        Some(text) => return Err(format!("--trace-unit {text}: expected ns or ps")),
    };
    options.is_absolute = args.trace_absolute;
    Ok(options)
}

fn parsed<T: std::str::FromStr>(name: &str, text: &str) -> Result<T, String>
where
    T::Err: std::fmt::Display,
{
    text.parse()
        .map_err(|error| format!("--trace-{name} {text}: {error}"))
}

fn parse_seconds(name: &str, text: &str) -> Result<f64, String> {
    parsed(name, text).map(|time: Duration| time.as_secs())
}
