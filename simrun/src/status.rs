//! Exit statuses: what the shell learns of a run.

use std::process::ExitCode;

use sim_core::Outcome;

/// The program or the property under study failed.
pub(crate) const FAILED: u8 = 1;
/// Bad usage or bad input.
pub(crate) const USAGE: u8 = 2;
/// A limit stopped the run: no verdict.
pub(crate) const LIMIT: u8 = 3;
/// Interrupted: 128 and the number of SIGINT.
pub(crate) const INTERRUPTED: u8 = 130;

/// Prints `error: …` to standard error; the status of bad usage and bad input.
#[expect(clippy::print_stderr, reason = "diagnostics of the command line")]
pub(crate) fn refuse(message: impl std::fmt::Display) -> ExitCode {
    eprintln!("error: {message}");
    ExitCode::from(USAGE)
}

/// The status of a run that ended like this.
pub(crate) fn of(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Finished => 0,
        Outcome::Deadlock(_) | Outcome::Failed(_) | Outcome::ForeignFuture(_) => FAILED,
        Outcome::BadInput(_) => USAGE,
        Outcome::Limit(_) => LIMIT,
        Outcome::Interrupted | Outcome::Stopped => INTERRUPTED,
    }
}
