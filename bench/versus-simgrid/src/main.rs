//! Measures our side and SimGrid side by side and writes three pages: `results/versus-simgrid.md`,
//! the kernel and its messages, `results/flows.md` with its picture, random flows on large
//! platforms, and `results/messages.md`, programs of ranks. `versus-simgrid kernel`, `flows` or
//! `messages` writes one of them.
//!
//! Each workload of the kernel exists twice, in `src/workloads/` and in `cpp/`, with the same
//! actors, counts and random numbers. Both run as child processes, alternately (A B A B), and tell
//! their own user CPU time and peak memory from the moment at which the platform stands; the table
//! has medians. Nothing is installed: without SimGrid only our side is measured, and the table says
//! so.
//!
//! *Not measured*: wall time, which depends on what else the machine does, and the time that the
//! operating system takes to hand out memory (it is system time, not user time, on both sides).

mod child;
mod flows;
mod simgrid;
mod table;
mod workload;
mod workloads;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, ValueEnum};

use crate::workload::{Sample, Side, Workload};

/// A page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PageArg {
    /// Actors, synchronisation and messages: versus-simgrid.md
    Kernel,
    /// Random flows, their cost and dates: flows.md
    Flows,
    /// Programs of ranks: messages.md
    Messages,
}

/// Compares our side with SimGrid and writes tables.
#[derive(Parser)]
struct Arguments {
    /// Part to measure; everything if not given
    #[arg(value_enum)]
    part: Option<PageArg>,
    /// Small sizes and one run each: checks that everything works, measures nothing
    #[arg(long)]
    quick: bool,
    /// Runs of each side
    #[arg(long, default_value_t = 5)]
    runs: u32,
    /// Measure our side only
    #[arg(long)]
    ours_only: bool,
    /// Only workloads whose name contains this
    #[arg(long, default_value = "")]
    only: String,
    /// The folder for the pages; results/ if not given, or standard output with --quick or --only
    #[arg(long)]
    out: Option<PathBuf>,
    /// Runs one workload in this process and prints its figures
    #[arg(long, hide = true)]
    child: Option<String>,
    /// Runs random flows in this process and prints their figures
    #[arg(long, hide = true, num_args = 6)]
    flows_child: Option<Vec<String>>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(name) = &arguments.child {
        return child::serve(name, arguments.quick);
    }
    if let Some(words) = &arguments.flows_child {
        return flows::child::serve(words);
    }
    if let Err(message) = check_names(&arguments) {
        say(&format!("error: {message}"));
        // Bad input, as of the command simrun.
        return ExitCode::from(2);
    }
    match compare_parts(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&format!("error: {message}"));
            ExitCode::FAILURE
        }
    }
}

impl Arguments {
    fn wants(&self, part: PageArg) -> bool {
        self.part.is_none_or(|one| one == part)
    }
}

/// The workloads of a page that is a table of them.
const fn workloads_of(part: PageArg) -> &'static [Workload] {
    match part {
        PageArg::Kernel => workloads::ALL,
        PageArg::Messages => workloads::RANKS,
        PageArg::Flows => &[],
    }
}

const TABLES: [(PageArg, &str); 2] = [
    (PageArg::Kernel, "versus-simgrid.md"),
    (PageArg::Messages, "messages.md"),
];

/// The programs of SimGrid's side that are needed.
fn programs(arguments: &Arguments) -> Vec<Side> {
    let wanted = TABLES.iter().filter(|(part, _)| arguments.wants(*part));
    let workloads = wanted.flat_map(|(part, _)| workloads_of(*part));
    let mut sides: Vec<Side> = workloads
        .filter(|workload| workload.name.contains(&arguments.only))
        .map(|workload| workload.side)
        .collect();
    sides.dedup();
    if arguments.wants(PageArg::Flows) {
        sides.push(Side::Actors("flows"));
    }
    sides
}

/// Refuses names that no workload has.
fn check_names(arguments: &Arguments) -> Result<(), String> {
    let tables = TABLES.iter().filter(|(part, _)| arguments.wants(*part));
    let workloads = tables.flat_map(|(part, _)| workloads_of(*part));
    let mut names: Vec<&str> = workloads.map(|workload| workload.name).collect();
    if arguments.wants(PageArg::Flows) {
        names.extend(flows::workload_names());
    }
    let only = arguments.only.as_str();
    match names.iter().any(|name| name.contains(only)) {
        true => Ok(()),
        false => Err(format!(
            "--only {only}: no workload has this in its name: expected a part of {}",
            names.join(", ")
        )),
    }
}

fn compare_parts(arguments: &Arguments) -> Result<(), String> {
    let simgrid = if arguments.ours_only {
        Err("it was not asked for".to_owned())
    } else {
        simgrid::prepare_programs(&programs(arguments))
    };
    if let Err(reason) = &simgrid {
        say(&format!(
            "SimGrid's side is missing: {reason}. On Debian it comes with the package {}.",
            simgrid::PACKAGE
        ));
    }
    let simgrid = simgrid.ok();
    let runs = if arguments.quick { 1 } else { arguments.runs };
    let default = !arguments.quick && arguments.only.is_empty();
    let default =
        default.then(|| PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../results")));
    let folder = arguments.out.clone().or(default);
    for (part, page) in TABLES {
        if arguments.wants(part) {
            let path = folder.as_ref().map(|folder| folder.join(page));
            compare_workloads(arguments, part, simgrid.as_ref(), runs, path.as_deref())?;
        }
    }
    if arguments.wants(PageArg::Flows) {
        let (only, quick) = (&arguments.only, arguments.quick);
        flows::compare_flows(simgrid.as_ref(), only, runs, quick, folder.as_deref())?;
    }
    Ok(())
}

fn compare_workloads(
    arguments: &Arguments,
    part: PageArg,
    simgrid: Option<&simgrid::SimGrid>,
    runs: u32,
    page: Option<&Path>,
) -> Result<(), String> {
    let mut results = Vec::new();
    for workload in workloads_of(part)
        .iter()
        .filter(|workload| workload.name.contains(&arguments.only))
    {
        results.push(measure_workload(workload, simgrid, runs, arguments.quick)?);
    }
    if results.is_empty() {
        return Ok(());
    }
    let text = table::markdown(part, &results, simgrid, runs, arguments.quick);
    match page {
        Some(page) => write_file(page, &text),
        None => {
            print_result(&text);
            Ok(())
        }
    }
}

pub(crate) fn write_file(path: &Path, text: &str) -> Result<(), String> {
    let problem = |error: std::io::Error| format!("{} cannot be written: {error}", path.display());
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(problem)?;
    }
    let temporary = path.with_extension("part");
    std::fs::write(&temporary, text).map_err(problem)?;
    std::fs::rename(&temporary, path).map_err(problem)
}

/// The medians of one workload.
pub(crate) struct Measured {
    pub(crate) workload: &'static Workload,
    pub(crate) ours: Sample,
    /// SimGrid's side, or why there is none.
    pub(crate) theirs: Result<Sample, String>,
}

/// Time, in seconds, above which SimGrid runs a workload only once.
const LONG_S: f64 = 30.0;

fn measure_workload(
    workload: &'static Workload,
    simgrid: Option<&simgrid::SimGrid>,
    runs: u32,
    quick: bool,
) -> Result<Measured, String> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut missing = match (workload.side, simgrid) {
        (Side::None, _) => Some("not run".to_owned()),
        (_, None) => Some("not installed".to_owned()),
        _ => None,
    };
    for run in 1..=runs {
        say(&format!("{}: run {run} of {runs}", workload.name));
        ours.push(child::run_ours(workload, quick)?);
        let is_long = |sample: &Sample| sample.user_s > LONG_S;
        if let (Some(simgrid), None, false) = (simgrid, &missing, theirs.iter().any(is_long)) {
            match simgrid.run_program(workload, quick) {
                Ok(sample) => theirs.push(sample),
                Err(reason) => missing = Some(reason),
            }
        }
    }
    Ok(Measured {
        workload,
        ours: Sample::median(&ours),
        theirs: missing.map_or_else(|| Ok(Sample::median(&theirs)), Err),
    })
}

/// Tells a person how far it is.
#[expect(clippy::print_stderr, reason = "progress goes to standard error")]
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}

/// Prints a result.
#[expect(clippy::print_stdout, reason = "results go to standard output")]
pub(crate) fn print_result(text: &str) {
    print!("{text}");
}
