//! `simrun study`: many runs of a program, at all points of a parameter space.
//!
//! The other modules have points, keys, results and statistics. Here are the commands, and the
//! processes that run the points.

mod claims;
mod init;
mod optimise;
mod outcome;
mod place;
mod plan;
mod queue;
mod report;
mod runner;
mod share;
mod signals;
mod slurm;
mod text_table;
mod views;
mod worker;

use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Subcommand};
use simrun::status;

pub use optimise::OptimiseCommand;
use plan::{Choice, StudyPlan};
use runner::{Runner, Start};
use share::Share;

/// Meanings of the exit statuses, for the end of help texts.
const EXIT_STATUS: &str = "\
Examples:
  simrun study run studies/pingpong.toml --out pingpong
  simrun study work pingpong
  simrun study retry pingpong --failed

Exit status: 0 each point has its results, 1 some runs failed or are pending, 2 usage or input error, 130 interrupted.";

/// The commands of studies.
#[derive(Subcommand, Clone, Debug)]
pub enum StudyCommand {
    /// Write a commented study file for a program
    #[command(after_help = "Example:\n  simrun study init apps/ring -p platforms/cluster.toml")]
    Init(init::InitCommand),
    /// Run a study, or continue it: no result is computed twice
    #[command(after_help = EXIT_STATUS)]
    Run(RunCommand),
    /// Run a share of the points of a study that exists, on this machine
    #[command(after_help = EXIT_STATUS)]
    Work(WorkCommand),
    /// Run again what has failed
    #[command(after_help = EXIT_STATUS)]
    Retry(RetryCommand),
    /// Print the progress of a study
    #[command(after_help = "Example:\n  simrun study status pingpong")]
    Status(views::StatusCommand),
    /// Print the results of a study
    #[command(after_help = "Example:\n  simrun study table pingpong --csv")]
    Table(views::TableCommand),
    /// Write report.html: tables, and curves over the parameters
    #[command(after_help = "Example:\n  simrun study report pingpong")]
    Report(report::ReportCommand),
    /// Print the keys of the points, for job arrays and GNU parallel
    #[command(after_help = "Example:\n  simrun study points pingpong")]
    Points(FolderArgs),
    /// Print a batch script for Slurm
    #[command(after_help = "Example:\n  simrun study slurm pingpong -n 2")]
    Slurm(slurm::SlurmCommand),
}

/// The folder of a study.
#[derive(Args, Clone, Debug)]
pub struct FolderArgs {
    /// Directory of the study
    #[arg(value_name = "DIR")]
    folder: PathBuf,
}

/// Study file and folder.
#[derive(Args, Clone, Debug)]
pub struct RunCommand {
    /// Study file
    #[arg(value_name = "STUDY.toml")]
    file: PathBuf,

    /// Directory of the study, which has or gets its results
    #[arg(short, long, value_name = "DIR")]
    out: PathBuf,

    /// Make the directory of the study for simrun study work, and run nothing
    #[arg(long)]
    no_run: bool,

    #[command(flatten)]
    jobs: JobArgs,
}

/// Number of processes.
#[derive(Args, Clone, Copy, Debug)]
struct JobArgs {
    /// Number of runs at a time [default: the processors that simrun may use, and fewer for runs
    /// that need much memory]
    #[arg(short, long, value_name = "N")]
    jobs: Option<NonZeroUsize>,
}

/// A share of the points.
#[derive(Args, Clone, Debug)]
pub struct WorkCommand {
    #[command(flatten)]
    study: FolderArgs,

    /// Take the points whose position is I modulo N [default: as Slurm, PMI or Open MPI number
    /// the processes of a job, else all]
    #[arg(long, value_name = "I/N", conflicts_with = "point")]
    worker: Option<Share>,

    /// Take the point with this key, as simrun study points prints it
    #[arg(long, value_name = "KEY")]
    point: Option<String>,

    /// When done, take points of other workers that have neither results nor a claim
    #[arg(long, conflicts_with = "point")]
    steal: bool,

    #[command(flatten)]
    jobs: JobArgs,
}

/// Runs that failed.
#[derive(Args, Clone, Debug)]
pub struct RetryCommand {
    #[command(flatten)]
    study: FolderArgs,

    /// Run nothing but what has failed
    #[arg(long)]
    failed: bool,

    #[command(flatten)]
    jobs: JobArgs,
}

/// Runs a command of studies.
pub fn run_command(command: &StudyCommand) -> ExitCode {
    let done = match command {
        StudyCommand::Init(command) => init::run_command(command),
        StudyCommand::Run(command) => begin_study(command),
        StudyCommand::Work(command) => work_on_study(command),
        StudyCommand::Retry(command) => retry(command),
        StudyCommand::Status(command) => views::print_status(command),
        StudyCommand::Table(command) => views::print_table(command),
        StudyCommand::Report(command) => report::run_command(command),
        StudyCommand::Points(command) => points(command),
        StudyCommand::Slurm(command) => slurm::run_command(command),
    };
    done.unwrap_or_else(|code| code)
}

/// Runs an optimisation.
pub fn optimise(command: &OptimiseCommand) -> ExitCode {
    optimise::run_command(command).unwrap_or_else(|code| code)
}

fn begin_study(command: &RunCommand) -> Result<ExitCode, ExitCode> {
    let (plan, _) = StudyPlan::begin_study(&command.file, &command.out, Choice::All)?;
    if command.no_run {
        let (points, out) = (plan.points.len(), command.out.display());
        return Ok(status::print(format_args!(
            "{points} points; next: simrun study work {out}"
        )));
    }
    Runner::new(&plan, command.jobs.jobs, false, Start::Pending)?.run_share(&Share::ALL)
}

fn work_on_study(command: &WorkCommand) -> Result<ExitCode, ExitCode> {
    let mut plan = StudyPlan::open(&command.study.folder)?;
    plan.check_revision()?;
    plan.lock_folder(false)?;
    let share = match (&command.worker, &command.point) {
        (Some(share), _) => share.clone(),
        (None, Some(key)) => plan.share_of_point(key)?,
        (None, None) => Share::of_job().map_err(status::refuse)?,
    };
    // Slurm starts one worker per processor.
    let single = (share != Share::ALL).then_some(NonZeroUsize::MIN);
    let jobs = command.jobs.jobs.or(single);
    Runner::new(&plan, jobs, command.steal, Start::Pending)?.run_share(&share)
}

fn retry(command: &RetryCommand) -> Result<ExitCode, ExitCode> {
    let mut plan = StudyPlan::open(&command.study.folder)?;
    plan.check_revision()?;
    plan.lock_folder(true)?;
    let start = Start::Failed {
        only: command.failed,
    };
    Runner::new(&plan, command.jobs.jobs, false, start)?.run_share(&Share::ALL)
}

fn points(command: &FolderArgs) -> Result<ExitCode, ExitCode> {
    let plan = StudyPlan::open(&command.folder)?;
    let keys = plan.points.iter().map(|point| point.key.as_str());
    Ok(status::print(keys.collect::<Vec<_>>().join("\n")))
}
