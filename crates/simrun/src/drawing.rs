//! Pictures, drawn by the command `simrun`: a program links no drawing code.
//!
//! The command `simrun` passes the path of `simrun` to a program in the variable `SIMRUN`; a
//! program that was started alone looks for `simrun` in its own folder, and then in `PATH`. A
//! compiled MPI program runs in the process of the command.

use std::io::{BufWriter, ErrorKind};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde::Serialize;

use crate::{package, status};

/// The variable with the path of the command that started a program.
pub const COMMAND: &str = "SIMRUN";

/// Draws a figure into a file: `.svg` or `.png`, or `-` for SVG on standard output.
///
/// `figure`: serializes as a `report::Figure`.
///
/// # Errors
/// The status of bad input, after the problem has been printed.
pub fn draw_figure(figure: &impl Serialize, out: &Path) -> Result<(), ExitCode> {
    let command = package::simrun().unwrap_or_else(|| PathBuf::from("simrun"));
    draw_by(&command, figure, out)
}

/// Draws a figure as [`draw_figure`] does, by the command at `command`.
///
/// # Errors
/// The status of bad input, after the problem has been printed.
pub fn draw_by(command: &Path, figure: &impl Serialize, out: &Path) -> Result<(), ExitCode> {
    let name = command.display();
    let refuse = |problem: String| status::refuse(format_args!("{}: {problem}", out.display()));
    let mut child = Command::new(command)
        .args(["draw", "-", "--out"])
        .arg(out)
        .stdin(Stdio::piped())
        .spawn()
        .map_err(|error| match error.kind() {
            ErrorKind::NotFound => refuse(format!(
                "pictures are drawn by the command {name}, which is not found: expected it in PATH, or a name that ends with .dot or .json"
            )),
            _ => refuse(format!("cannot start {name}, which draws: {error}")),
        })?;
    if let Some(input) = child.stdin.take() {
        // If it does not read all, it says why by itself.
        let _ = serde_json::to_writer(BufWriter::new(input), figure);
    }
    match child.wait() {
        Ok(ended) if ended.success() => Ok(()),
        Ok(ended) => Err(ended
            .code()
            .and_then(|code| u8::try_from(code).ok())
            .map_or_else(
                || refuse(format!("{name} ended with {ended}")),
                ExitCode::from,
            )),
        Err(error) => Err(refuse(error.to_string())),
    }
}

/// Checks that the file of a figure can be written.
///
/// # Errors
/// A sentence that names the expected form.
pub(crate) fn check(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    let ending = path.extension().and_then(|ending| ending.to_str());
    match ending {
        Some("svg" | "png" | "dot" | "json") => {
            let output = files::Output::new(&path);
            output.map(|_| path).map_err(|error| error.to_string())
        }
        _ => Err("expected a name that ends with .svg, .png, .dot or .json".to_owned()),
    }
}
