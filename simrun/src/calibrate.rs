//! `simrun calibrate`: from a file of measurements to a platform file and a report.

use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use validation::{CalibrateOptions, Calibration, calibrate, read, write_report};

use crate::size::Size;
use crate::status;

/// What is calibrated, and where the results go.
#[derive(Args, Clone, Debug)]
pub(crate) struct CalibrateCommand {
    /// The measurements: samples as CSV, or what an OSU benchmark or the PingPong of IMB printed
    measurements: PathBuf,

    /// Where the platform file goes
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// The folder for a report: a page, and pictures as SVG and PNG
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,

    /// From which size on messages go by rendezvous, if it is known; a break of the fit too
    #[arg(long, value_name = "SIZE")]
    eager_threshold: Option<Size>,

    /// A size at which another regime is known to begin; again for more
    #[arg(long = "break", value_name = "SIZE")]
    breaks: Vec<Size>,

    /// How many hosts the platform gets
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..))]
    hosts: u32,

    /// The seed of drawing samples again, for the intervals
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
}

/// Calibrates, writes what was asked for, and prints what there is to know.
pub(crate) fn run(command: &CalibrateCommand) -> ExitCode {
    match results(command) {
        Ok(text) => status::print(text.trim_end()),
        Err(problem) => status::refuse(problem),
    }
}

fn results(command: &CalibrateCommand) -> Result<String, String> {
    let file = command.measurements.display().to_string();
    let text = std::fs::read_to_string(&command.measurements).map_err(|error| {
        format!("{file}: cannot read it: {error}: expected measurements as text")
    })?;
    let measurements = read(&file, &text).map_err(|error| error.to_string())?;
    let options = CalibrateOptions {
        seed: command.seed,
        eager_threshold: command.eager_threshold.map(|size| size.0),
        breaks: command.breaks.iter().map(|size| size.0).collect(),
        hosts: command.hosts,
        ..CalibrateOptions::default()
    };
    let calibration = calibrate(&file, &text, &measurements, &options)
        .map_err(|error| format!("{file}: {error}"))?;
    let cannot = |path: &Path| {
        let path = path.display().to_string();
        move |error: io::Error| format!("{path}: cannot write it: {error}")
    };
    write(&command.out, &calibration.platform).map_err(cannot(&command.out))?;
    if let Some(folder) = &command.report {
        write_report(&calibration, folder).map_err(cannot(folder))?;
    }
    Ok(summary(&calibration))
}

/// Writes a whole file or nothing: to a temporary name, then renamed.
pub(crate) fn write(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let mut temporary = path.as_os_str().to_owned();
    temporary.push(".part");
    std::fs::write(&temporary, text)?;
    std::fs::rename(&temporary, path)
}

fn summary(calibration: &Calibration) -> String {
    let mut text = format!("{}\n", calibration.verdict());
    for warning in &calibration.warnings {
        let _ = writeln!(text, "{warning}");
    }
    let _ = writeln!(
        text,
        "{:>12} {:>12} {:>12} {:>10}  break",
        "above (B)", "a (us)", "b (ns/B)", "GB/s"
    );
    for (at, segment) in calibration.fit.segments().iter().enumerate() {
        let place = at
            .checked_sub(1)
            .map(|before| calibration.fit.breaks()[before]);
        let kind = place.map_or("-", |place| place.kind.name());
        let line = segment.line;
        let _ = writeln!(
            text,
            "{:>12} {:>12.4} {:>12.5} {:>10.3}  {kind}",
            place.map_or(0, |place| place.above),
            1e6 * line.intercept_s,
            1e9 * line.slope_s,
            1e-9 / line.slope_s
        );
    }
    text
}
