//! Measures our kernel and SimGrid side by side and writes the table of `results/versus-simgrid.md`.
//!
//! Each workload exists twice, in `src/workloads/` and in `cpp/`, with the same actors, counts and random numbers.
//! Both run as child processes, alternately (A B A B), and tell their own user CPU time and peak memory from the
//! moment at which the platform stands; the table has medians. Nothing is installed: without SimGrid only our side
//! is measured, and the table says so.
//!
//! *Not measured*: wall time, which depends on what else the machine does, and the time that the operating system
//! takes to hand out memory (it is system time, not user time, on both sides).

mod child;
mod simgrid;
mod table;
mod workload;
mod workloads;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Parser;

use crate::workload::{Sample, Workload};

/// Compares sim-core with SimGrid and writes a table.
#[derive(Parser)]
struct Arguments {
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
    /// Where the table goes; standard output if not given and --quick or --only is
    #[arg(long)]
    out: Option<PathBuf>,
    /// Runs one workload in this process and prints its figures
    #[arg(long, hide = true)]
    child: Option<String>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    if let Some(name) = &arguments.child {
        return child::serve(name, arguments.quick);
    }
    match compare(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            say(&format!("error: {message}"));
            ExitCode::FAILURE
        }
    }
}

fn compare(arguments: &Arguments) -> Result<(), String> {
    let simgrid = if arguments.ours_only {
        Err("it was not asked for".to_owned())
    } else {
        simgrid::prepare()
    };
    if let Err(reason) = &simgrid {
        say(&format!(
            "SimGrid's side is missing: {reason}. On Debian it comes with the package {}.",
            simgrid::PACKAGE
        ));
    }
    let simgrid = simgrid.ok();
    let runs = if arguments.quick { 1 } else { arguments.runs };
    let mut results = Vec::new();
    for workload in workloads::ALL
        .iter()
        .filter(|workload| workload.name.contains(&arguments.only))
    {
        results.push(measure(workload, simgrid.as_ref(), runs, arguments.quick)?);
    }
    let text = table::markdown(&results, simgrid.as_ref(), runs, arguments.quick);
    let default = (!arguments.quick && arguments.only.is_empty()).then(|| {
        PathBuf::from(concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/../../results/versus-simgrid.md"
        ))
    });
    match arguments.out.clone().or(default) {
        Some(path) => write(&path, &text),
        None => {
            print(&text);
            Ok(())
        }
    }
}

fn write(path: &std::path::Path, text: &str) -> Result<(), String> {
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

fn measure(
    workload: &'static Workload,
    simgrid: Option<&simgrid::SimGrid>,
    runs: u32,
    quick: bool,
) -> Result<Measured, String> {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let mut missing = match (workload.program, simgrid) {
        (None, _) => Some("not run".to_owned()),
        (_, None) => Some("not installed".to_owned()),
        _ => None,
    };
    for run in 1..=runs {
        say(&format!("{}: run {run} of {runs}", workload.name));
        ours.push(child::run_ours(workload, quick)?);
        if let (Some(program), Some(simgrid), None) = (workload.program, simgrid, &missing) {
            match simgrid.run(program, workload.size(quick)) {
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
pub(crate) fn print(text: &str) {
    print!("{text}");
}
