//! `cargo xtask`: the checks of the repository that neither the compiler nor clippy makes.
//!
//! `tidy` reads files, `instructions` runs programs under valgrind, `same-runs` compares two
//! executables, `ci` runs stages of continuous integration. Exit status: 0 nothing found, 1 found,
//! 2 it could not look.

mod ci;
mod instructions;
mod same_runs;
mod tidy;

use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// Keeps the repository in order
#[derive(Parser)]
#[command(name = "cargo xtask")]
struct Cli {
    #[command(subcommand)]
    command: Task,
}

#[derive(Subcommand)]
enum Task {
    /// Check the graph of packages, names, comments and sizes of files
    Tidy {
        /// Store the counts found, if all together they have not risen
        #[arg(long)]
        bless: bool,
    },
    /// Count instructions per message and per transition, and compare with results/instructions.md
    Instructions {
        /// Store the counts found
        #[arg(long)]
        bless: bool,
        /// Only workloads whose name contains this
        #[arg(long, value_name = "NAME", default_value = "")]
        only: String,
    },
    /// Compare the results of two executables: all apps, and random programs
    SameRuns {
        /// target/release/simrun of the checkout before a change
        old: PathBuf,
        /// target/release/simrun of the checkout after it
        new: PathBuf,
        /// Random programs of each layer of the fuzzer
        #[arg(long, value_name = "N", default_value_t = 1200)]
        programs: u32,
    },
    /// Run stages of continuous integration; .ci/run installs what they need before
    Ci {
        #[arg(required = true)]
        stages: Vec<ci::CiStage>,
        /// Print the Debian packages that the stages need and this machine lacks, and run nothing
        #[arg(long)]
        missing: bool,
    },
}

/// The result of a task: true if nothing was found.
type Verdict = Result<bool, String>;

fn main() -> ExitCode {
    let verdict = match Cli::parse().command {
        Task::Tidy { bless } => tidy::run_checks(&root(), bless),
        Task::Instructions { bless, only } => instructions::count_workloads(&root(), &only, bless),
        Task::SameRuns { old, new, programs } => {
            same_runs::compare_runs(&root(), &old, &new, programs)
        }
        Task::Ci {
            stages,
            missing: true,
        } => ci::print_missing(&stages),
        Task::Ci { stages, .. } => ci::run_stages(&root(), &stages),
    };
    match verdict {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            // Nobody can be told that standard error is closed.
            let _ = writeln!(io::stderr().lock(), "error: {error}");
            ExitCode::from(2)
        }
    }
}

/// Returns the root of the repository.
fn root() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    folder.parent().unwrap_or(folder).to_owned()
}

/// Prints a line.
fn print(line: &str) {
    // Nobody can be told that standard output is closed; the status says what was found.
    let _ = writeln!(io::stdout().lock(), "{line}");
}

/// Reads a file of the repository.
fn read(root: &Path, path: &str) -> Result<String, String> {
    std::fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))
}

/// Writes a file of the repository.
fn write_file(root: &Path, path: &str, text: &str) -> Result<(), String> {
    std::fs::write(root.join(path), text).map_err(|error| format!("{path}: {error}"))
}
