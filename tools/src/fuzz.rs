//! `simrun fuzz`: random interactions over endpoints; what fails is shrunk, shown and kept.
//!
//! Exit status 0 if no property was violated, 1 if one was, 2 for bad input.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use fuzz::{
    Attribute, CampaignReport, CampaignSettings, EndpointSettings, Failure, Faults,
    GeneratorSettings, Interaction, campaign, check,
};
use simrun::args::Format;
use simrun::{quoted, status};

/// Interactions to generate, or one to replay.
#[derive(Args, Clone, Debug)]
pub(crate) struct FuzzCommand {
    /// Number of interactions
    #[arg(long, value_name = "N", default_value_t = 300)]
    tries: u32,

    /// Number of failures after which to stop
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    errors: u32,

    /// Number of workers
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=64))]
    processes: u32,

    /// Messages of each connection
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(..=10_000))]
    sends: u32,

    /// Shortest message in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 16)]
    min_len: u32,

    /// Longest message in bytes, at most 4096
    #[arg(long, value_name = "BYTES", default_value_t = 16, value_parser = clap::value_parser!(u32).range(..=4096))]
    max_len: u32,

    /// Connections that each worker initiates
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..=100))]
    runs_per_process: u32,

    /// Attributes of connections: reliable ordered, reliable unordered, unreliable unordered
    #[arg(
        long,
        value_enum,
        value_name = "LIST",
        value_delimiter = ',',
        default_value = "ro"
    )]
    attributes: Vec<ConnectionAttribute>,

    /// Share of requests that are rejected, such as 10%
    #[arg(long, value_name = "PERCENT", default_value = "0%", value_parser = percent)]
    reject: f64,

    /// Faults of the network: loss, duplicate and reorder, such as loss=1%,reorder=5%
    #[arg(long, value_name = "LIST", value_parser = faults, default_value = "")]
    faults: Faults,

    /// Seed of all interactions and faults
    #[arg(long, value_name = "N", default_value_t = 0)]
    seed: u64,

    /// Run the interaction in FILE instead
    #[arg(long, value_name = "FILE")]
    replay: Option<PathBuf>,

    /// Folder for failures: each as it was generated and shrunk
    #[arg(long, value_name = "DIR", default_value = "fuzz-failures")]
    out: PathBuf,

    /// Output format
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

#[derive(ValueEnum, Clone, Copy, Debug)]
enum ConnectionAttribute {
    Ro,
    Ru,
    Uu,
}

impl From<ConnectionAttribute> for Attribute {
    fn from(attribute: ConnectionAttribute) -> Self {
        match attribute {
            ConnectionAttribute::Ro => Self::Ro,
            ConnectionAttribute::Ru => Self::Ru,
            ConnectionAttribute::Uu => Self::Uu,
        }
    }
}

fn percent(text: &str) -> Result<f64, String> {
    let number = text
        .strip_suffix('%')
        .and_then(|number| number.parse::<f64>().ok());
    let number = number.filter(|number| (0.0..=100.0).contains(number));
    let percent = number.ok_or_else(|| "expected a percentage from 0% to 100%".to_owned())?;
    Ok(percent / 100.0)
}

fn faults(text: &str) -> Result<Faults, String> {
    let mut faults = Faults::default();
    for part in text.split(',').filter(|part| !part.is_empty()) {
        let known = "expected loss, duplicate or reorder, as in loss=1%";
        let (name, value) = part.split_once('=').ok_or_else(|| known.to_owned())?;
        let value = percent(value)?;
        match name {
            "loss" => faults.loss = value,
            "duplicate" => faults.duplicate = value,
            "reorder" => faults.reorder = value,
            _ => return Err(format!("{name:?}: {known}")),
        }
    }
    Ok(faults)
}

/// Runs a campaign, or replays an interaction.
pub(crate) fn run(command: &FuzzCommand) -> ExitCode {
    let ran = match &command.replay {
        Some(file) => replay(file),
        None => fuzz(command),
    };
    ran.unwrap_or_else(status::refuse)
}

fn replay(file: &Path) -> Result<ExitCode, String> {
    let text =
        std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let interaction =
        Interaction::from_toml(&text).map_err(|error| format!("{}: {error}", file.display()))?;
    let steps = interaction.steps.len();
    Ok(match check(&interaction, EndpointSettings::default())? {
        None => status::print(format_args!("{steps} steps: no property violated")),
        Some((property, how)) => {
            let _ = status::print(format_args!("{steps} steps: {property}: {how}"));
            ExitCode::from(status::FAILED)
        }
    })
}

fn fuzz(command: &FuzzCommand) -> Result<ExitCode, String> {
    if command.min_len > command.max_len {
        return Err(format!(
            "--min-len {}: expected at most --max-len {}",
            command.min_len, command.max_len
        ));
    }
    let settings = CampaignSettings {
        generator: GeneratorSettings {
            processes: command.processes,
            sends: command.sends,
            lengths: (command.min_len, command.max_len),
            runs_per_process: command.runs_per_process,
            attributes: command.attributes.iter().copied().map(Into::into).collect(),
            reject: command.reject,
            faults: command.faults,
        },
        endpoints: EndpointSettings::default(),
        seed: command.seed,
        tries: command.tries,
        errors: command.errors,
        shrink_budget: SHRINK_BUDGET,
    };
    let report = campaign(&settings)?;
    let mut kept = Vec::new();
    for failure in &report.failures {
        kept.push(keep(&command.out, failure)?);
    }
    let text = match command.format {
        Format::Text => text(&report, &kept, command.seed),
        Format::Json => json(&report, &kept, command.seed),
    };
    let _ = status::print(text);
    let status = if report.failures.is_empty() {
        status::SUCCESS
    } else {
        status::FAILED
    };
    Ok(ExitCode::from(status))
}

/// Runs that shrinking a failure may take.
const SHRINK_BUDGET: u32 = 20_000;

/// Writes a failure as it was generated and shrunk; returns the file of the shrunk one.
fn keep(folder: &Path, failure: &Failure) -> Result<PathBuf, String> {
    let name = |kind: &str| folder.join(format!("{}-{kind}.toml", failure.attempt));
    let head = format!(
        "# {}: {}\n",
        failure.property,
        failure.description.replace('\n', " ")
    );
    for (kind, interaction) in [("original", &failure.original), ("shrunk", &failure.shrunk)] {
        let text = format!("{head}{}", interaction.to_toml());
        files::write(&name(kind), text).map_err(|error| error.to_string())?;
    }
    Ok(name("shrunk"))
}

fn text(report: &CampaignReport, kept: &[PathBuf], seed: u64) -> String {
    let mut text = String::new();
    for (failure, file) in report.failures.iter().zip(kept) {
        let (before, after) = (failure.original.steps.len(), failure.shrunk.steps.len());
        let _ = writeln!(
            text,
            "{}: {}\n  shrunk from {before} to {after} steps in {} runs; run it again with\n  simrun fuzz --replay {}",
            failure.property,
            failure.description,
            failure.runs,
            quoted(&file.to_string_lossy())
        );
    }
    let count = report.failures.len();
    let _ = write!(
        text,
        "{} interactions, {} steps, seed {seed}: {count} failures",
        report.tries, report.steps
    );
    text
}

fn json(report: &CampaignReport, kept: &[PathBuf], seed: u64) -> String {
    let failures = report.failures.iter().zip(kept).map(|(failure, file)| {
        serde_json::json!({
            "attempt": failure.attempt,
            "property": failure.property,
            "description": failure.description,
            "steps_before": failure.original.steps.len(),
            "steps_after": failure.shrunk.steps.len(),
            "shrink_runs": failure.runs,
            "file": file,
        })
    });
    let value = serde_json::json!({
        "tries": report.tries,
        "steps": report.steps,
        "seed": seed,
        "failures": failures.collect::<Vec<_>>(),
    });
    format!("{value:#}")
}
