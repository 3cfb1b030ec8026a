//! `simrun validate`: simulates the calls of a table of measurements of collective operations, and
//! tells the errors and the regret of the algorithms that the simulation would choose.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use accuracy::{
    AccuracyReport, FitSample, JobHosts, JudgedRow, MeasuredRow, PlatformFit, find_doubts,
    judge_rows, leave_out_large, summarise_errors, write_json, write_text,
};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use files::Output;
use measured_import::{JobSize, read_rows};
use platform::{Override, Platform};
use simrun::args::Format;
use simrun::{ProgressLine, Size, load, status};
use validation::{ErrorLimit, missed_limits};

use crate::command_line;
use crate::compare::percent;
use crate::message_costs::warn_of_free_messages;

/// A table of measurements and the platform to be judged.
#[derive(Args, Clone, Debug)]
pub(crate) struct ValidateCommand {
    /// Measured times of collective operations: output of OSU, IMB or nccl-tests; table of PICO
    #[arg(value_name = "DATA")]
    data: PathBuf,
    /// Platform file of the machine: TOML, or SimGrid XML
    #[arg(short, long, value_name = "FILE")]
    platform: PathBuf,
    /// Set a platform value: PATH=VALUE or PATH*=FACTOR; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE")]
    changes: Vec<Override>,
    /// Machine of the table, if the table has several
    #[arg(long, value_name = "NAME")]
    machine: Option<String>,
    /// Number of ranks, for the output of OSU; of IMB and nccl-tests, judge only this number
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(2..))]
    ranks: Option<u32>,
    /// Ranks on each node, for the output of OSU, IMB (default 1) and nccl-tests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    ppn: Option<u32>,
    /// Table of the hosts of jobs (docs/validation.md); other jobs take the first hosts
    #[arg(long, value_name = "FILE")]
    hosts: Option<PathBuf>,
    /// Fit these keys, as 'clusters.*.latency', to a part of the rows, and judge the others
    #[arg(
        long,
        value_name = "KEYS",
        value_delimiter = ',',
        requires = "out",
        help_heading = "Fit"
    )]
    fit: Vec<String>,
    /// Output platform file with the fitted values
    #[arg(long, value_name = "FILE", requires = "fit", help_heading = "Fit")]
    out: Option<PathBuf>,
    /// Part of the rows that the fit sees, drawn by operation and algorithm
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "15%", requires = "fit", help_heading = "Fit")]
    fit_share: f64,
    /// Draw only rows of jobs with a name that begins with one of these
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new(),
        requires = "fit",
        help_heading = "Fit"
    )]
    fit_job: Vec<String>,
    /// Draw no rows with more nodes
    #[arg(long, value_name = "N", requires = "fit", help_heading = "Fit")]
    fit_nodes: Option<u32>,
    /// Draw no larger sizes
    #[arg(long, value_name = "SIZE", requires = "fit", help_heading = "Fit")]
    fit_size: Option<Size>,
    /// Seed of the drawing
    #[arg(
        long,
        value_name = "N",
        default_value_t = 1,
        requires = "fit",
        help_heading = "Fit"
    )]
    seed: u64,
    /// Leave out rows of jobs, unless the name begins with one of these
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new()
    )]
    job: Vec<String>,
    /// Leave out rows with more ranks
    #[arg(long, value_name = "N", default_value_t = u32::MAX, hide_default_value = true)]
    max_ranks: u32,
    /// Exit with 1 above these errors: median, p90, worst, as median=10%,p90=40%
    #[arg(long, value_name = "LIMIT", value_delimiter = ',')]
    require: Vec<ErrorLimit>,
    /// Folder for pictures of the times and of their ratios
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    report: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, value_name = "text|json", hide_possible_values = true, default_value_t = Format::Text, help_heading = "Output")]
    format: Format,
}

/// Runs the command.
pub(crate) fn run_command(command: &ValidateCommand) -> ExitCode {
    files::add_input(&command.data);
    files::add_input(&command.platform);
    let output = match command.out.as_deref().map(Output::new).transpose() {
        Ok(output) => output,
        Err(problem) => return status::refuse(problem),
    };
    let folder = command.report.as_deref();
    let made = folder.map(|folder| (std::fs::create_dir_all(folder), folder.display()));
    if let Some((Err(error), folder)) = made {
        return status::refuse(format_args!("{folder}: {error}"));
    }
    let (report, platform) = match judge_table(command) {
        Ok(found) => found,
        Err(code) => return code,
    };
    if let Some(Err(error)) = folder.map(|folder| report.draw_pictures(folder)) {
        return status::refuse(error);
    }
    let text = (command.format).write_result(|| write_text(&report), || write_json(&report));
    let printed = match &output {
        Some(output) => {
            let toml = format!("# Fitted by: {}\n{}", command_line(), platform.to_toml());
            if let Err(error) = output.write(&toml) {
                return status::refuse(error);
            }
            status::print_beside(output, text.trim_end())
        }
        None => status::print(text.trim_end()),
    };
    match missed_limits(&command.require, summarise_errors(&report.judged).as_ref()) {
        Some(missed) => status::failed(missed),
        None => printed,
    }
}

/// Returns the report, and the platform with the fitted values.
fn judge_table(command: &ValidateCommand) -> Result<(AccuracyReport, Platform), ExitCode> {
    let platform = load(&command.platform, &command.changes)?;
    warn_of_free_messages(&command.platform, &platform);
    let name = command.data.display();
    let refuse = |problem: String| status::refuse(format_args!("{name}: {problem}"));
    let text = files::read_text(&command.data).map_err(|error| refuse(error.to_string()))?;
    let size = JobSize::new(command.ranks, command.ppn);
    let rows = read_rows(&text, command.machine.as_deref(), size);
    let mut rows = rows.map_err(|error| refuse(error.to_string()))?;
    let hosts = read_hosts(command.hosts.as_deref())?;
    check_jobs("--job", &command.job, &rows.rows)?;
    check_jobs("--fit-job", &command.fit_job, &rows.rows)?;
    rows.keep_faultless(|row| {
        let is_other = !row.is_of_jobs(&command.job);
        is_other.then(|| "of another job than --job".to_owned())
    });
    status::warn_all(&find_doubts(&rows.rows, &hosts));
    rows.keep_faultless(|row| {
        let most = command.max_ranks;
        (row.rank_count() > most).then(|| format!("more than {most} ranks"))
    });
    leave_out_large(&platform, &mut rows);
    let line = Mutex::new(ProgressLine::new());
    let show = |text: &dyn Fn() -> String| {
        if let Ok(mut line) = line.lock() {
            line.show(text);
        }
    };
    let (mut platform, mut lines, mut factors) = (platform, BTreeSet::new(), Vec::new());
    if !command.fit.is_empty() {
        let sample = FitSample {
            share: command.fit_share,
            jobs: command.fit_job.clone(),
            nodes_max: command.fit_nodes.unwrap_or(u32::MAX),
            bytes_max: command.fit_size.map_or(u64::MAX, |size| size.0),
            seed: command.seed,
        };
        let sample = sample.draw_rows(&rows);
        let count = AtomicUsize::new(0);
        let progress = || {
            let runs = count.fetch_add(1, Ordering::Relaxed);
            show(&|| format!("fit: {} rows, simulated {runs} times", sample.len()));
        };
        let found = PlatformFit::new(&platform, &command.fit, (&sample, &hosts), &progress);
        let found = found.map_err(|error| status::refuse(format_args!("--fit: {error}")))?;
        (platform, lines, factors) = (found.platform, found.lines, found.factors);
    }
    let progress = |done, all| show(&|| format!("{done} of {all} rows"));
    let judged = judge_rows(&platform, &mut rows, &hosts, &progress);
    drop(line);
    let judged = judged.map_err(|error| refuse(error.to_string()))?;
    let is_fitted = |judged: &JudgedRow| lines.contains(&judged.row.line);
    let (fitted, judged) = judged.into_iter().partition(is_fitted);
    let report = AccuracyReport::new(judged, (fitted, factors), rows);
    Ok((report, platform))
}

/// Number of jobs that a message names.
const JOBS_NAMED: usize = 4;

/// Refuses a beginning of names of jobs that no row has.
fn check_jobs(option: &str, names: &[String], rows: &[MeasuredRow]) -> Result<(), ExitCode> {
    let is_missing = |name: &&String| !rows.iter().any(|row| row.job.starts_with(name.as_str()));
    let Some(missing) = names.iter().find(is_missing) else {
        return Ok(());
    };
    let jobs: BTreeSet<&str> = rows.iter().map(|row| row.job.as_str()).collect();
    let more = if jobs.len() > JOBS_NAMED { ", …" } else { "" };
    let jobs = Vec::from_iter(jobs.into_iter().take(JOBS_NAMED)).join(", ");
    Err(status::refuse(format_args!(
        "{option} {missing}: no row of such a job: expected the beginning of {jobs}{more}"
    )))
}

fn read_hosts(path: Option<&Path>) -> Result<JobHosts, ExitCode> {
    let Some(path) = path else {
        return Ok(JobHosts::default());
    };
    files::add_input(path);
    let text = files::read_text(path).map_err(|error| error.to_string());
    let hosts = text.and_then(|text| JobHosts::read_table(&text));
    hosts.map_err(|problem| status::refuse(format_args!("{}: {problem}", path.display())))
}
