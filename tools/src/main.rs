//! The commands of simrun that measure, calibrate, compare and draw.
//!
//! `simrun` starts this executable for them, so that simulating and checking need not wait until
//! what draws and fits curves is built.

mod calibrate;
mod compare;
mod draw;
mod limits;
mod measure;
mod measure_real;
mod statics;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::Parser;
use simrun::{VERSION, quoted, status};

/// The commands of simrun that measure, calibrate, compare and draw.
#[derive(Parser)]
#[command(name = "simrun", version = VERSION)]
enum Tool {
    /// Fit a network to measurements, and write it as a platform file
    Calibrate(calibrate::CalibrateCommand),
    /// Measure a network with ping-pongs, streams and their kin, for `calibrate`
    Measure(measure::MeasureCommand),
    /// Run a program for real, and tell how far its simulation is from that
    Compare(compare::CompareCommand),
    /// Draw a figure or a platform as SVG or PNG
    Draw(draw::DrawCommand),
}

fn main() -> ExitCode {
    let arguments: Vec<OsString> = std::env::args_os().skip(1).collect();
    if simrun::answers_handshake(&arguments) {
        return simrun::answer_handshake();
    }
    let name = OsString::from("simrun");
    match Tool::try_parse_from(std::iter::once(&name).chain(&arguments)) {
        Ok(Tool::Calibrate(command)) => calibrate::run(&command),
        Ok(Tool::Measure(command)) => measure::run(&command),
        Ok(Tool::Compare(command)) => compare::run(&command),
        Ok(Tool::Draw(command)) => draw::run(&command),
        Err(error) => status::show(&error),
    }
}

/// The command that makes a page again, as a shell reads it back.
fn command_line() -> String {
    let arguments = std::env::args_os().skip(1);
    let quoted = arguments.map(|argument| quoted(&argument.to_string_lossy()));
    let words: Vec<String> = std::iter::once("simrun".to_owned()).chain(quoted).collect();
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        super::Tool::command().debug_assert();
    }
}
