//! Exit statuses: what the shell learns of a run.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, ErrorKind, IsTerminal as _, Write};
use std::process::ExitCode;

use sim_core::Outcome;

use crate::help::wrap_help;

/// Everything is as it should be.
pub const SUCCESS: u8 = 0;
/// The program or the property under study failed.
pub const FAILED: u8 = 1;
/// Bad usage or bad input.
pub const USAGE: u8 = 2;
/// A limit stopped the run: no verdict.
pub const LIMIT: u8 = 3;
/// A bug of ours: the status of a process that panics.
pub const BUG: u8 = 101;
/// Interrupted: 128 and the number of SIGINT.
pub const INTERRUPTED: u8 = 130;

/// Prints `error: …` to standard error; the status of bad usage and bad input.
pub fn refuse(message: impl fmt::Display) -> ExitCode {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(io::stderr().lock(), "error: {message}");
    ExitCode::from(USAGE)
}

/// Prints a report that says itself that it is about errors; the status of bad input.
pub fn refuse_with(report: &str) -> ExitCode {
    // Nobody can be told that standard error is closed.
    let _ = write!(io::stderr().lock(), "{report}");
    ExitCode::from(USAGE)
}

/// Returns true if reports on standard error have colours: on a terminal, unless `NO_COLOR`,
/// `CLICOLOR=0` or `TERM=dumb` is set; with `CLICOLOR_FORCE` everywhere.
#[must_use]
pub fn has_colours() -> bool {
    let value = |name: &str| std::env::var_os(name);
    are_wanted(&value, io::stderr().is_terminal())
}

fn are_wanted(value: &dyn Fn(&str) -> Option<OsString>, is_terminal: bool) -> bool {
    let is_set = |name: &str| value(name).is_some_and(|value| !value.is_empty() && value != "0");
    let is_refused = value("NO_COLOR").is_some_and(|value| !value.is_empty());
    let is_plain = value("CLICOLOR").is_some_and(|value| value == "0")
        || value("TERM").is_some_and(|value| value == "dumb");
    !is_refused && (is_set("CLICOLOR_FORCE") || (is_terminal && !is_plain))
}

/// Prints `warning: …` to standard error.
pub fn warn(message: impl fmt::Display) {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(io::stderr().lock(), "warning: {message}");
}

/// Prints a warning per note to standard error, such as an unsupported element of SimGrid's
/// XML.
pub fn warn_all(notes: &[impl fmt::Display]) {
    for note in notes {
        warn(note);
    }
}

/// Prints `note: …` to standard error.
pub fn print_note(message: impl fmt::Display) {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(io::stderr().lock(), "note: {message}");
}

/// Prints what failed to standard error; the status of a study that failed.
pub fn failed(message: impl fmt::Display) -> ExitCode {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(io::stderr().lock(), "failed: {message}");
    ExitCode::from(FAILED)
}

/// Prints which limit was reached to standard error; the status of a limit.
pub fn limited(message: impl fmt::Display) -> ExitCode {
    // Nobody can be told that standard error is closed.
    let _ = writeln!(io::stderr().lock(), "{message}: no verdict");
    ExitCode::from(LIMIT)
}

/// Shows what is wrong with a command line, or the help that was asked for.
pub fn show_usage_error(error: &clap::Error) -> ExitCode {
    if error.kind() == clap::error::ErrorKind::DisplayHelp {
        return print(wrap_help(&error.to_string()).trim_end());
    }
    match error.print() {
        Err(problem) if !error.use_stderr() => output_failed(&problem).unwrap_or(ExitCode::SUCCESS),
        _ if error.use_stderr() => ExitCode::from(USAGE),
        _ => ExitCode::SUCCESS,
    }
}

/// Prints a result to standard output.
pub fn print(result: impl fmt::Display) -> ExitCode {
    let mut stdout = io::stdout().lock();
    let written = writeln!(stdout, "{result}").and_then(|()| stdout.flush());
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(problem) => output_failed(&problem).unwrap_or(ExitCode::SUCCESS),
    }
}

/// Prints a result to standard output, or to standard error where `output` has streamed to standard
/// output.
pub fn print_beside(output: &files::Output, result: impl fmt::Display) -> ExitCode {
    if !output.is_stdout() {
        return print(result);
    }
    // Nobody can be told that standard error is closed.
    let _ = writeln!(io::stderr().lock(), "{result}");
    ExitCode::SUCCESS
}

/// Says that results could not be written. A reader that has gone away, as in `… | head`, is no
/// failure.
pub fn output_failed(problem: &io::Error) -> Option<ExitCode> {
    (problem.kind() != ErrorKind::BrokenPipe)
        .then(|| refuse(format_args!("standard output: cannot write: {problem}")))
}

/// The status of a run that ended like this.
pub fn from_outcome(outcome: &Outcome) -> u8 {
    match outcome {
        Outcome::Finished => 0,
        Outcome::Deadlock(_) | Outcome::Failed(_) | Outcome::ForeignFuture(_) => FAILED,
        Outcome::BadInput(_) => USAGE,
        Outcome::Limit(_) => LIMIT,
        Outcome::Interrupted | Outcome::Stopped => INTERRUPTED,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_refused_and_forced_by_variables() {
        let check = |variables: &[(&str, &str)], expected: [bool; 2]| {
            let value = |name: &str| {
                let found = variables.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| OsString::from(value))
            };
            let found = [true, false].map(|is_terminal| are_wanted(&value, is_terminal));
            assert_eq!(found, expected, "{variables:?}");
        };
        check(&[], [true, false]);
        check(&[("TERM", "xterm"), ("NO_COLOR", "")], [true, false]);
        check(&[("CLICOLOR", "1"), ("CLICOLOR_FORCE", "0")], [true, false]);
        for variable in [("NO_COLOR", "1"), ("CLICOLOR", "0"), ("TERM", "dumb")] {
            check(&[variable], [false, false]);
        }
        check(&[("CLICOLOR_FORCE", "1"), ("TERM", "dumb")], [true, true]);
        check(
            &[("CLICOLOR_FORCE", "1"), ("NO_COLOR", "1")],
            [false, false],
        );
    }
}
