//! `simrun study slurm`: a batch script that runs a study, printed and not submitted.
//!
//! One job with a task per worker, never a job array with a task per point: the scheduler takes
//! longer for a task than simrun for a short run.

use std::process::ExitCode;

use clap::Args;
use simrun::{quoted, status};

use super::FolderArgs;
use super::plan::StudyPlan;

/// A study, and its job.
#[derive(Args, Clone, Debug)]
pub struct SlurmCommand {
    #[command(flatten)]
    study: FolderArgs,

    /// Number of workers, each on a processor
    #[arg(
        short = 'n',
        long,
        value_name = "N",
        default_value_t = 8,
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    tasks: u32,

    /// Time limit of the job, in Slurm's form
    #[arg(long, value_name = "TIME", default_value = "01:00:00", value_parser = time)]
    time: String,
}

/// Reads a time limit in one of Slurm's forms (`sbatch(1)`): minutes, minutes:seconds,
/// hours:minutes:seconds, days-hours, days-hours:minutes and days-hours:minutes:seconds.
fn time(text: &str) -> Result<String, String> {
    let is_number = |part: &str| !part.is_empty() && part.bytes().all(|it| it.is_ascii_digit());
    let (days, rest) = match text.split_once('-') {
        Some((days, rest)) => (Some(days), rest),
        None => (None, text),
    };
    let parts: Vec<&str> = rest.split(':').collect();
    if parts.len() <= 3 && parts.iter().copied().chain(days).all(is_number) {
        return Ok(text.to_owned());
    }
    Err("expected MINUTES, HOURS:MINUTES:SECONDS or DAYS-HOURS:MINUTES:SECONDS".to_owned())
}

pub(super) fn run_command(command: &SlurmCommand) -> Result<ExitCode, ExitCode> {
    let plan = StudyPlan::open(&command.study.folder)?;
    plan.check_revision()?;
    let folder = std::path::absolute(&command.study.folder).map_err(status::refuse)?;
    let name = folder.file_name().unwrap_or_default().to_string_lossy();
    // A line of the script must not end within a name.
    let name = name.replace(
        |letter: char| letter.is_whitespace() || letter.is_control(),
        "_",
    );
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_limit_has_a_form_of_slurm() {
        for right in ["90", "30:00", "01:00:00", "2-12", "2-12:30", "2-12:30:00"] {
            assert_eq!(time(right).as_deref(), Ok(right));
        }
        for wrong in ["", "1h", "01:00:00\nrm -r x", "1:2:3:4", "-1", "1-", "1::2"] {
            time(wrong).unwrap_err();
        }
    }
}
