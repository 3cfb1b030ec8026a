//! `simrun calibrate`: fits a model to measurements; writes a platform file and a report.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use files::Output;
use measured_import::convert_samples;
use platform::Override;
use simrun::args::Format;
use simrun::{Size, status};
use validation::{
    CalibrateOptions, Calibration, ErrorLimit, Measurements, Preset, RendezvousCost, Statistic,
    calibrate, calibration_as_json, missed_limits, read, write_report,
};

use crate::{command_line, fit_keys};

/// A calibration: its samples, and where the results go.
#[derive(Args, Clone, Debug)]
pub(crate) struct CalibrateCommand {
    /// Samples as CSV, SimGrid's calibration, or the output of OSU or of IMB's PingPong
    pub(crate) measurements: PathBuf,

    /// Output platform file
    #[arg(long, value_name = "FILE")]
    out: PathBuf,

    /// Fit keys of this platform by simulated ping-pongs, instead of a model of its own
    #[arg(short, long, value_name = "FILE", requires = "fit", conflicts_with_all = ["report", "model"])]
    platform: Option<PathBuf>,

    /// Key of the platform to fit, as 'network.verbs.dma_read' or 'clusters.*.latency'; repeatable
    #[arg(long, value_name = "PATH", requires = "platform")]
    pub(crate) fit: Vec<String>,

    /// Change the platform before the fit, as for a run; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE", requires = "platform")]
    pub(crate) changes: Vec<Override>,

    /// Report directory: HTML page, JSON data, SVG and PNG pictures
    #[arg(long, value_name = "DIR", help_heading = "Output")]
    report: Option<PathBuf>,

    /// Network model to calibrate: flow (latency and bandwidth, with factors by size), smpi
    /// (factors, envelope, cross-traffic and window of TCP) or loggops (L, o, g, G, O, S)
    #[arg(long, value_enum, value_name = "MODEL", hide_possible_values = true, default_value_t = ModelArg::Flow)]
    model: ModelArg,

    /// Rendezvous cost: included in the tables, or by simulated control messages
    #[arg(long, value_enum, default_value_t = RendezvousCostArg::InTable, help_heading = "Fit")]
    rendezvous_cost: RendezvousCostArg,

    /// Eager threshold, if known; also used as a breakpoint of the fit
    #[arg(long, value_name = "SIZE", help_heading = "Fit")]
    eager_threshold: Option<Size>,

    /// Known breakpoint; repeatable
    #[arg(long = "breakpoint", value_name = "SIZE", help_heading = "Fit")]
    breaks: Vec<Size>,

    /// Statistic that summarizes the samples of a size
    #[arg(long, value_enum, default_value_t = StatisticArg::P10, help_heading = "Fit")]
    statistic: StatisticArg,

    /// Reduce the weight of outliers (Huber weights)
    #[arg(long, help_heading = "Fit")]
    huber: bool,

    /// Number of hosts of the platform
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..))]
    platform_hosts: u32,

    /// Seed of the bootstrap
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = "Fit")]
    seed: u64,

    /// Fail on any warning
    #[arg(long, help_heading = "Limits")]
    strict: bool,

    /// Maximum errors, for example median=5%,worst=15%; exit with status 1 if exceeded
    #[arg(
        long,
        value_name = "LIMITS",
        value_delimiter = ',',
        help_heading = "Limits"
    )]
    pub(crate) require: Vec<ErrorLimit>,

    /// Maximum errors for the measured programs (kernel ringN)
    #[arg(
        long,
        value_name = "LIMITS",
        value_delimiter = ',',
        help_heading = "Limits"
    )]
    require_programs: Vec<ErrorLimit>,

    /// Output format
    #[arg(long, value_enum, value_name = "text|json", hide_possible_values = true, default_value_t = Format::Text, help_heading = "Output")]
    pub(crate) format: Format,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum ModelArg {
    Flow,
    Smpi,
    Loggops,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum RendezvousCostArg {
    InTable,
    Simulated,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
enum StatisticArg {
    Min,
    P10,
    P25,
    Median,
}

/// Calibrates, writes what was asked for, and prints what there is to know.
pub(crate) fn run_command(command: &CalibrateCommand) -> ExitCode {
    files::add_input(&command.measurements);
    if let Some(platform) = &command.platform {
        files::add_input(platform);
    }
    let output = match Output::new(&command.out) {
        Ok(output) => output,
        Err(problem) => return status::refuse(problem),
    };
    if let Some(platform) = &command.platform {
        return fit_keys::run_fit(command, platform, &output);
    }
    let calibration = match results(command, &output) {
        Ok(calibration) => calibration,
        Err(problem) => return status::refuse(problem),
    };
    let json = || calibration_as_json(&calibration);
    let text = (command.format).write_result(|| summary_text(&calibration), json);
    let printed = status::print_beside(&output, text.trim_end());
    match too_large(command, &calibration) {
        Some(missed) => status::failed(missed),
        None => printed,
    }
}

/// Returns what is wrong, line by line, if any error is larger than was required.
fn too_large(command: &CalibrateCommand, calibration: &Calibration) -> Option<String> {
    let mut all = Vec::from_iter(missed_limits(
        &command.require,
        calibration.errors().as_ref(),
    ));
    let limits = &command.require_programs;
    if calibration.programs.is_empty() {
        all.extend(missed_limits(limits, None));
    }
    for program in &calibration.programs {
        let missed = missed_limits(limits, program.errors().as_ref());
        all.extend(missed.map(|missed| format!("{}: {missed}", program.name())));
    }
    (!all.is_empty()).then(|| all.join("\n"))
}

impl CalibrateCommand {
    /// Returns the text of the file, and the measurements in the text.
    pub(crate) fn read_measurements(&self) -> Result<(String, Measurements), String> {
        let file = self.measurements.display().to_string();
        let text = files::read_text(&self.measurements).map_err(|error| {
            format!("{file}: cannot read it: {error}: expected measurements as text")
        })?;
        let samples = convert_samples(&text).map_err(|error| format!("{file}: {error}"))?;
        let measurements = read(&file, &samples).map_err(|error| error.to_string())?;
        Ok((text, measurements))
    }

    fn calibrate_options(&self) -> CalibrateOptions {
        CalibrateOptions {
            statistic: match self.statistic {
                StatisticArg::Min => Statistic::Min,
                StatisticArg::P10 => Statistic::P10,
                StatisticArg::P25 => Statistic::P25,
                StatisticArg::Median => Statistic::Median,
            },
            seed: self.seed,
            eager_threshold: self.eager_threshold.map(|size| size.0),
            breaks: self.breaks.iter().map(|size| size.0).collect(),
            hosts: self.platform_hosts,
            preset: match self.model {
                ModelArg::Flow => Preset::Flow,
                ModelArg::Smpi => Preset::Smpi,
                ModelArg::Loggops => Preset::LogGops,
            },
            handshake: match self.rendezvous_cost {
                RendezvousCostArg::InTable => RendezvousCost::InTable,
                RendezvousCostArg::Simulated => RendezvousCost::Simulated,
            },
            robust: self.huber,
        }
    }
}

fn results(command: &CalibrateCommand, output: &Output) -> Result<Calibration, String> {
    let file = command.measurements.display().to_string();
    let (text, measurements) = command.read_measurements()?;
    let calibration = calibrate(&file, &text, &measurements, &command.calibrate_options())
        .map_err(|error| format!("{file}: {error}"))?;
    if command.strict && !calibration.warnings.is_empty() {
        let warnings: Vec<String> = calibration
            .warnings
            .iter()
            .map(ToString::to_string)
            .collect();
        return Err(format!(
            "{file}: refused, as --strict asks:\n{}",
            warnings.join("\n")
        ));
    }
    output
        .write(&calibration.platform)
        .map_err(|error| error.to_string())?;
    if let Some(folder) = &command.report {
        write_report(&calibration, &command_line(), folder).map_err(|error| error.to_string())?;
    }
    Ok(calibration)
}

fn summary_text(calibration: &Calibration) -> String {
    let mut text = format!("{}\n", calibration.verdict());
    for program in &calibration.programs {
        let _ = writeln!(text, "{}", program.verdict());
    }
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
    let (_, predictions) = calibration.predictions();
    let mut worst = predictions.to_vec();
    worst.sort_by(|one, other| other.error().abs().total_cmp(&one.error().abs()));
    if !worst.is_empty() {
        let _ = writeln!(
            text,
            "{:>12} {:>12} {:>12} {:>10}  the worst predictions",
            "size (B)", "measured", "predicted", "error"
        );
    }
    for one in worst.iter().take(5) {
        let _ = writeln!(
            text,
            "{:>12} {:>12.4} {:>12.4} {:>8.1} %  {}",
            one.size,
            1e6 * one.measured_s,
            1e6 * one.predicted_s,
            100.0 * one.error(),
            calibration.describe_place(one.size)
        );
    }
    text
}
