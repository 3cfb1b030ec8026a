//! `simrun study slurm`: a batch script that runs a study, printed and not submitted.
//!
//! One job with a task per worker, never a job array with a task per point: the scheduler takes
//! longer for a task than simrun for a short run.

use std::process::ExitCode;

use clap::Args;
use simrun::{quoted, status};

use super::FolderArgs;
use super::plan::Plan;

/// A study, and its job.
#[derive(Args, Clone, Debug)]
pub(crate) struct SlurmCommand {
    #[command(flatten)]
    study: FolderArgs,

    /// Number of workers, each on a processor
    #[arg(short = 'n', long, value_name = "N", default_value_t = 8)]
    tasks: u32,

    /// Time limit of the job, in Slurm's form
    #[arg(long, value_name = "TIME", default_value = "01:00:00")]
    time: String,
}

pub(super) fn run(command: &SlurmCommand) -> Result<ExitCode, ExitCode> {
    let plan = Plan::open(&command.study.folder)?;
    plan.check_revision()?;
    let folder = std::path::absolute(&command.study.folder).map_err(status::refuse)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    let (tasks, time) = (command.tasks, &command.time);
    let folder = quoted(&folder.to_string_lossy());
    // srun passes the termination on, 60 s before the end, to its tasks.
    Ok(status::print(format_args!(
        "#!/bin/sh
# The points of a study, divided among {tasks} workers. Submitted again, it continues.
#SBATCH --job-name={name}
#SBATCH --ntasks={tasks}
#SBATCH --cpus-per-task=1
#SBATCH --time={time}
#SBATCH --requeue
#SBATCH --signal=TERM@60
srun --cpus-per-task=1 simrun study work {folder} --steal"
    )))
}
