//! `simrun analyse`: where a run spends its time and why, from its event log.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use files::Output;
use observe::{BackwardReader, LogEntry, LogReader};
use platform::{Override, Platform};
use report::analysis::{Analysis, AnalysisReport, BackwardReport, Class};
use report::html::{ReportPage, Table, TimelineOverview, write_comparison};
use report::network::{NetworkAnalysis, NetworkReport};
use report::{TraceError, TraceFormat, TraceOptions, TraceSummary, TraceWriter};
use simrun::args::SimulationArgs;
use simrun::{TraceArgs, status};

use crate::trace;

/// Size of the buffer of a log in bytes.
const BUFFER: usize = 1 << 20;

/// Name of the report in its folder.
const PAGE: &str = "report.html";

/// Name of the page of two runs.
const COMPARISON: &str = "comparison.html";

/// Lines of a page of text at most.
const LINES_MAX: usize = 60;

/// An analysis.
#[derive(Args, Clone, Debug)]
pub(crate) struct AnalyseCommand {
    /// An event log, such as simrun --log-events FILE writes, or - for one on standard input
    #[arg(value_name = "LOG")]
    log: PathBuf,

    /// The event log of a second run: comparison.html, in the directory of --out or the present
    /// one, has the differences of both runs
    #[arg(value_name = "LOG", conflicts_with_all = ["ideal", "trace", "no_text", "platform"])]
    second: Option<PathBuf>,

    /// The event log of the same run on an ideal network, for the efficiencies of serialisation
    /// and transfer
    #[arg(long, value_name = "LOG")]
    ideal: Option<PathBuf>,

    /// The platform file of the run: the report shows the topology, with the load of the links
    #[arg(short, long, value_name = "FILE", requires = "out")]
    platform: Option<PathBuf>,

    /// Change the platform as for the run
    #[arg(long = "set", value_name = "PATH=VALUE", requires = "platform")]
    changes: Vec<Override>,

    /// Write report.html, JSON and CSV files to this directory
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,

    /// Command of the run, for the report
    #[arg(long, value_name = "TEXT", hide = true)]
    title: Option<String>,

    /// Print no page of text
    #[arg(long, help_heading = "Output")]
    no_text: bool,

    /// Write a timeline, too: FILE.pftrace or FILE.pftrace.gz for Perfetto, FILE.paje, FILE.csv
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    trace: Option<PathBuf>,

    #[command(flatten)]
    trace_options: TraceArgs,

    /// Only check the options, for a log of this number of ranks, and make the directory
    #[arg(long, value_name = "RANKS", hide = true)]
    check_for: Option<u32>,
}

/// Analyses.
pub(crate) fn run_command(command: &AnalyseCommand) -> ExitCode {
    analysed(command).unwrap_or_else(status::refuse)
}

/// The results of a log.
struct Results {
    analysis: AnalysisReport,
    network: NetworkReport,
    timeline: TimelineOverview,
}

fn analysed(command: &AnalyseCommand) -> Result<ExitCode, String> {
    let logs = [
        Some(&command.log),
        command.ideal.as_ref(),
        command.second.as_ref(),
    ];
    logs.into_iter()
        .flatten()
        .for_each(|log| files::add_input(log));
    let timeline = command.trace.as_deref();
    let timeline = timeline.map(|path| TimelineFile::from_command(command, path));
    let timeline = timeline.transpose()?;
    if let (Some(ranks), Some(timeline)) = (command.check_for, &timeline) {
        timeline.options.check_selection(ranks)?;
    }
    let folder = command.out.as_deref();
    if let Some(folder) = folder {
        std::fs::create_dir_all(folder)
            .map_err(|error| format!("{}: {error}", folder.display()))?;
    }
    let page = match &command.second {
        Some(_) => Some(folder.unwrap_or(Path::new("")).join(COMPARISON)),
        None => folder.map(|folder| folder.join(PAGE)),
    };
    if let Some(page) = page {
        let page = Output::new(&page).map_err(|error| error.to_string())?;
        page.can_be_written().map_err(|error| error.to_string())?;
    }
    let platform = (command.platform.as_ref()).map(|path| load_platform(path, &command.changes));
    let platform = platform.transpose()?;
    if command.check_for.is_some() {
        return Ok(ExitCode::SUCCESS);
    }
    if let Some(second) = &command.second {
        return compare_runs(command, second);
    }
    let mut results = match timeline {
        Some(timeline) => traced(command, timeline)?,
        None => read_log(&command.log, None)?.0,
    };
    if let Some(ideal) = &command.ideal {
        let (ideal, _) = read_log(ideal, None)?;
        results.analysis.compare_with_ideal(&ideal.analysis);
    }
    if let (Some(path), Some(platform)) = (&command.platform, &platform) {
        check_links(path, platform, &results.network)?;
    }
    if let Some(folder) = folder {
        let title = command.title.as_deref();
        let title = title.unwrap_or("a run");
        write_files((&results, platform.as_ref()), title, folder, None)?;
    }
    if command.no_text {
        return Ok(ExitCode::SUCCESS);
    }
    let page = format!("{}\n{}", results.analysis, results.network);
    Ok(status::print(shortened(page.trim_end())))
}

/// Reads the platform of the run.
fn load_platform(path: &Path, changes: &[Override]) -> Result<Platform, String> {
    files::add_input(path);
    run::load_platform(path, changes).map_err(|error| error.to_string())
}

/// Refuses a platform that has no link of the log.
fn check_links(path: &Path, platform: &Platform, network: &NetworkReport) -> Result<(), String> {
    let mut links = network.links.iter().map(|link| link.name.as_str());
    let Some(first) = links.clone().next() else {
        return Ok(());
    };
    if links.any(|name| platform.link_by_name(name).is_some()) {
        return Ok(());
    }
    Err(format!(
        "--platform {}: the platform has no link of the log, such as {first:?}: expected the \
         platform and --set of the run",
        path.display()
    ))
}

/// Writes the page of two runs.
fn compare_runs(command: &AnalyseCommand, second: &Path) -> Result<ExitCode, String> {
    let page = command.out.clone().unwrap_or_default();
    let page = page.join(COMPARISON);
    let names = [&command.log, second].map(|log| log.display().to_string());
    let (one, other) = (read_log(&command.log, None)?.0, read_log(second, None)?.0);
    let runs = [(&names[0], &one), (&names[1], &other)];
    let runs = runs.map(|(name, run)| (name.as_str(), &run.analysis, &run.network));
    write_comparison(runs, &page)?;
    Ok(status::print(format_args!("{} written", page.display())))
}

/// Returns the first [`LINES_MAX`] lines of a page, which has the most important things first.
fn shortened(page: &str) -> String {
    let lines: Vec<&str> = page.lines().collect();
    if lines.len() <= LINES_MAX {
        return page.to_owned();
    }
    let (shown, more) = lines.split_at(LINES_MAX - 1);
    let count = more.len();
    format!(
        "{}\n{count} more lines: --analyse=DIR, or analyse LOG --out DIR, writes all results to files",
        shown.join("\n")
    )
}

/// A timeline to write.
struct TimelineFile {
    format: TraceFormat,
    options: TraceOptions,
    output: Output,
}

impl TimelineFile {
    fn from_command(command: &AnalyseCommand, path: &Path) -> Result<Self, String> {
        let format = TraceFormat::from_path(path)?;
        let options = trace::options_of(&command.trace_options)?;
        let output = Output::new(path).map_err(|error| error.to_string())?;
        output.can_be_written().map_err(|error| error.to_string())?;
        Ok(Self {
            format,
            options,
            output,
        })
    }
}

/// Analyses a log, and writes a timeline of it.
fn traced(command: &AnalyseCommand, timeline: TimelineFile) -> Result<Results, String> {
    let (format, options, output) = (timeline.format, timeline.options, timeline.output);
    let (mut results, mut problem) = (None, None);
    let written = output.draw_file(|temporary| {
        let file = File::create(temporary).map_err(|error| error.to_string())?;
        match read_log(&command.log, Some((file, &output, format, &options))) {
            Ok(read) => results = Some(read),
            // The log or an option is at fault, not the file.
            Err(error) => problem = Some(error),
        }
        problem.clone().map_or(Ok(()), Err)
    });
    if let Some(problem) = problem {
        return Err(problem);
    }
    written.map_err(|error| error.to_string())?;
    let (results, summary) = results.ok_or("the timeline was not written")?;
    trace::warn_of(&summary, options.limit, &output);
    Ok(results)
}

type Timeline<'a> = (File, &'a Output, TraceFormat, &'a TraceOptions);

/// Reads the log of this name, or the one on standard input.
fn read_log(
    path: &Path,
    timeline: Option<Timeline<'_>>,
) -> Result<(Results, TraceSummary), String> {
    let is_stdin = path == Path::new("-");
    let name = if is_stdin {
        "standard input".to_owned()
    } else {
        path.display().to_string()
    };
    let pipe = |pipe: Box<dyn Read>| LogInput::Pipe(pipe, tempfile::tempfile());
    let input = if is_stdin {
        pipe(Box::new(io::stdin()))
    } else {
        let file = files::open_input(path);
        let file = file.map_err(|error| format!("{name}: cannot read it: {error}"))?;
        match file.metadata().is_ok_and(|about| about.is_file()) {
            true => LogInput::File(file),
            false => pipe(Box::new(file)),
        }
    };
    let output = timeline.as_ref().map(|(_, output, ..)| *output);
    passes(input, timeline).map_err(|error| match (&error, output) {
        (TraceError::Log(error), _) if error.kind() == io::ErrorKind::UnexpectedEof => {
            format!("{name}: not an event log of simrun: it is empty")
        }
        (error, Some(output)) => trace::problem_of(error, &name, output),
        (error, None) => format!("{name}: {error}"),
    })
}

/// A log, which is kept until it has been read backwards.
enum LogInput {
    File(File),
    /// A pipe, and the file to which it is copied.
    Pipe(Box<dyn Read>, io::Result<File>),
}

impl Read for LogInput {
    fn read(&mut self, bytes: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::File(file) => file.read(bytes),
            Self::Pipe(pipe, copy) => {
                let count = pipe.read(bytes)?;
                if let Ok(file) = copy
                    && let Err(error) = file.write_all(&bytes[..count])
                {
                    *copy = Err(error);
                }
                Ok(count)
            }
        }
    }
}

/// Makes everything from a log: forwards, and what needs it backwards.
fn passes(
    input: LogInput,
    timeline: Option<Timeline<'_>>,
) -> Result<(Results, TraceSummary), TraceError> {
    let mut reader = LogReader::new(BufReader::with_capacity(BUFFER, input))?;
    let ranks = reader.ranks();
    let (mut analysis, mut network) = (Analysis::new(ranks), NetworkAnalysis::new(ranks));
    let mut overview = TimelineOverview::new(ranks);
    let trace =
        timeline.map(|(file, _, format, options)| TraceWriter::new(file, format, options, ranks));
    let mut trace = trace.transpose().map_err(TraceError::Timeline)?;
    while let Some(entry) = reader.next_entry()? {
        match entry {
            LogEntry::Network(time, event) => {
                analysis.handle_network_event(&event);
                network.handle_network_event(time, &event);
                if let Some(trace) = &mut trace {
                    trace.handle_network_event(time, &event, &reader);
                }
            }
            LogEntry::Rank(rank, time, event) => {
                analysis.handle_event((rank, time, event), |number| reader.text(number));
                network.handle_event(rank, time, &event);
                for wait in analysis.ended_waits() {
                    overview.wait_class(wait.rank, (wait.from, wait.to), wait.class);
                    // The slice of a computation or a sleep tells its class.
                    let elapses = matches!(wait.class, Class::Compute | Class::Sleep);
                    if let Some(trace) = trace.as_mut().filter(|_| !elapses) {
                        trace.wait_class(wait.rank, wait.from, wait.to, wait.class.name());
                    }
                }
                overview.event(rank, time, &event, |number| reader.text(number));
                if let Some(trace) = &mut trace {
                    trace.handle_event(rank, time, &event, &reader);
                }
            }
        }
    }
    // What has more of each rank goes first.
    let mut analysis = analysis.finish_report(&reader);
    let network = network.finish_report(&reader);
    let summary = trace
        .map(|trace| trace.finish_trace(analysis.end_s))
        .transpose()
        .map_err(TraceError::Timeline)?;
    overview.finish_overview(analysis.end_s);
    match reader.input().get_ref() {
        LogInput::File(file) | LogInput::Pipe(_, Ok(file)) => {
            let log = BackwardReader::new(file)?;
            analysis.add_backward(BackwardReport::from_log(log, &reader, analysis.end_s)?);
        }
        LogInput::Pipe(_, Err(error)) => {
            let folder = std::env::temp_dir();
            let folder = folder.display();
            let note = format!(
                "no slack, causes and derivatives: no copy of the log in {folder}: {error}"
            );
            analysis.notes.push(note);
        }
    }
    let results = Results {
        analysis,
        network,
        timeline: overview,
    };
    Ok((results, summary.unwrap_or_default()))
}

/// Analyses the log of a run, and writes the results to a directory. `checked`: derivatives that
/// runs have checked.
pub(crate) fn write_results(
    log: &Path,
    simulation: &SimulationArgs,
    title: &str,
    folder: &Path,
    checked: Table<'_>,
) -> Result<(), String> {
    let (results, _) = read_log(log, None)?;
    let platform = simulation.platform.as_ref();
    let platform = platform.map(|path| load_platform(path, &simulation.changes));
    write_files(
        (&results, platform.transpose()?.as_ref()),
        title,
        folder,
        Some(checked),
    )
}

type Writer<'a> = &'a dyn Fn(&mut Vec<u8>) -> io::Result<()>;

/// Writes the files of the results.
fn write_files(
    (results, platform): (&Results, Option<&Platform>),
    title: &str,
    folder: &Path,
    checked: Option<Table<'_>>,
) -> Result<(), String> {
    let (analysis, network) = (&results.analysis, &results.network);
    let page = ReportPage {
        title,
        command: title,
        analysis,
        network,
        timeline: Some(&results.timeline),
        platform,
        notes: analysis.notes.clone(),
        checked,
    };
    let content = page.page_content().map_err(|error| error.to_string())?;
    content.write_files(&folder.join(PAGE))?;
    let files: [(&str, Writer<'_>); 12] = [
        ("ranks.csv", &|out| analysis.write_ranks(out)),
        ("waits.csv", &|out| analysis.write_waits(out)),
        ("critical.csv", &|out| analysis.write_critical(out)),
        ("slack.csv", &|out| analysis.write_slack(out)),
        ("delays.csv", &|out| analysis.write_delays(out)),
        ("derivatives.csv", &|out| analysis.write_derivatives(out)),
        ("links.csv", &|out| network.write_links(out)),
        ("pairs.csv", &|out| network.write_pairs(out)),
        ("sizes.csv", &|out| network.write_sizes(out)),
        ("unexpected.csv", &|out| network.write_unexpected(out)),
        ("network.json", &|out| as_json(network, out)),
        ("analysis.json", &|out| as_json(analysis, out)),
    ];
    for (name, content) in files {
        let path = folder.join(name);
        let mut bytes = Vec::new();
        content(&mut bytes).map_err(|error| format!("{}: {error}", path.display()))?;
        files::write(&path, bytes).map_err(|error| error.to_string())?;
    }
    Ok(())
}

fn as_json(value: &impl serde::Serialize, out: &mut Vec<u8>) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    out.write_all(b"\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_has_a_number_of_lines_at_most() {
        let page = |lines: usize| vec!["a line"; lines].join("\n");
        assert_eq!(shortened(&page(60)), page(60));
        let long = shortened(&page(61));
        assert_eq!(long.lines().count(), LINES_MAX);
        assert!(
            long.ends_with(
                "2 more lines: --analyse=DIR, or analyse LOG --out DIR, writes all results to files"
            ),
            "{long}"
        );
    }
}
