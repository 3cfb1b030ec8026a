//! `simrun draw`: a figure that a program has written, or the topology of a platform, as a picture.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use files::Output;
use platform::Override;
use report::Figure;
use simrun::{load, status};

/// A picture to draw.
#[derive(Args, Clone, Debug)]
pub(crate) struct DrawCommand {
    /// A figure as JSON, such as `simrun check --timeline FILE.json` writes, or - for one on
    /// standard input; or a platform file
    #[arg(value_name = "INPUT")]
    input: PathBuf,

    /// Where the picture goes: SVG or PNG; - prints SVG
    #[arg(short, long, value_name = "FILE")]
    out: PathBuf,

    /// Maximum number of rows of a diagram of check; earlier steps are one row
    #[arg(long, value_name = "N", default_value_t = 40)]
    rows: usize,

    /// Change the platform before it is drawn, as for a run
    #[arg(long = "set", value_name = "PATH=VALUE")]
    changes: Vec<Override>,
}

/// Draws.
pub(crate) fn run_command(command: &DrawCommand) -> ExitCode {
    match draw_input(command) {
        Ok(code) | Err(code) => code,
    }
}

fn draw_input(command: &DrawCommand) -> Result<ExitCode, ExitCode> {
    let (input, out) = (command.input.as_path(), command.out.as_path());
    let to_stdout = out == Path::new("-");
    files::add_input(input);
    Output::new(out).map_err(status::refuse)?;
    let is_figure = input == Path::new("-") || input.extension().is_some_and(|end| end == "json");
    if is_figure {
        let figure = figure(input)?;
        if to_stdout {
            let picture = figure.svg(command.rows).map_err(status::refuse)?;
            return Ok(status::print(picture.trim_end()));
        }
        figure.plot(command.rows, out).map_err(status::refuse)?;
        return Ok(ExitCode::SUCCESS);
    }
    if to_stdout {
        return Err(status::refuse(
            "-: expected the name of a file for the picture of a platform",
        ));
    }
    let platform = load(input, &command.changes)?;
    report::plot_topology(&platform, out).map_err(status::refuse)?;
    Ok(status::print(format_args!("made {}", out.display())))
}

/// Reads a figure.
fn figure(input: &Path) -> Result<Figure, ExitCode> {
    let (name, text) = if input == Path::new("-") {
        ("standard input".to_owned(), files::read_stdin())
    } else {
        (input.display().to_string(), files::read_text(input))
    };
    let text =
        text.map_err(|error| status::refuse(format_args!("{name}: cannot read it: {error}")))?;
    let figure: Result<Figure, String> =
        serde_json::from_str(&text).map_err(|error| error.to_string());
    let checked = figure.and_then(|figure| figure.check_positions().map(|()| figure));
    checked.map_err(|problem| status::refuse(format_args!("{name}: not a figure: {problem}")))
}
