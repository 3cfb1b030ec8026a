//! The options of a run: the same for `simrun run` and for a program that runs alone.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use clap::{Args, ValueEnum};
use platform::Override;
use platform::units::Duration;
use run::{LogFilter, MapFile, Mapping, SendMode};

use crate::Size;

/// How results are printed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    #[default]
    Text,
    /// One JSON object on standard output; the program's own output goes to standard error.
    Json,
}

/// Whether messages carry bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub(crate) enum Payload {
    /// Buffers hold bytes.
    #[default]
    Real,
    /// Buffers have only a length: a large study moves no memory.
    Phantom,
}

/// The options of a run.
#[derive(Args, Clone, Debug)]
pub(crate) struct RunArgs {
    /// The platform: a TOML file, or SimGrid's XML.
    #[arg(short, long, value_name = "FILE")]
    pub(crate) platform: Option<PathBuf>,

    /// Change the platform: PATH=VALUE, or PATH*=FACTOR, such as 'links.*.latency*=2'; may be given several times.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub(crate) changes: Vec<Override>,

    /// Number of ranks [default: one per host, or as many as the mapping file places].
    #[arg(short = 'n', long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) ranks: Option<u32>,

    /// Which rank runs on which host: block, cyclic, random, or a file with a line `HOST` or `HOST:COUNT` per rank.
    #[arg(long, value_name = "block|cyclic|random|FILE", default_value = "block")]
    pub(crate) map: PathBuf,

    /// Seed of all random streams.
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) seed: u64,

    /// How messages are sent: eager, rendezvous, or threshold=SIZE [default: as the platform says].
    #[arg(long, value_name = "MODE", value_parser = send_mode)]
    pub(crate) send_mode: Option<SendMode>,

    /// Whether messages carry bytes or only a length.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) payload: Payload,

    /// Stop at this simulated time, such as 10s or 5ms; exit status 3.
    #[arg(long, value_name = "TIME")]
    pub(crate) until: Option<Duration>,

    /// Stop after so many events; exit status 3.
    #[arg(long, value_name = "N")]
    pub(crate) max_events: Option<u64>,

    /// How results are printed.
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: Format,

    /// Write a record of the run to this folder.
    #[arg(short, long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Begin each line of the program's output with its rank.
    #[arg(long)]
    pub(crate) prefix: bool,

    /// Log lines to show: a level (off, error, warn, info, debug, trace), and RANK=LEVEL or FIRST-LAST=LEVEL.
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    pub(crate) log: LogFilter,

    /// Show more: the parameters in force.
    #[arg(short, long, conflicts_with = "quiet")]
    pub(crate) verbose: bool,

    /// Show only the program's own output and errors.
    #[arg(short, long)]
    pub(crate) quiet: bool,

    /// Arguments for the program, after `--`.
    #[arg(last = true, value_name = "APP ARGS")]
    pub(crate) arguments: Vec<OsString>,
}

fn send_mode(text: &str) -> Result<SendMode, String> {
    match text {
        "eager" => Ok(SendMode::Eager),
        "rendezvous" => Ok(SendMode::Rendezvous),
        _ => {
            let size = text
                .strip_prefix("threshold=")
                .ok_or("expected eager, rendezvous or threshold=SIZE")?;
            Size::from_str(size)
                .map(|size| SendMode::Threshold(size.0))
                .map_err(|error| error.to_string())
        }
    }
}

/// The mapping that `--map` names.
pub(crate) fn mapping(map: &Path) -> Result<Mapping, run::MappingError> {
    match map.to_str() {
        Some("block") => Ok(Mapping::Block),
        Some("cyclic") => Ok(Mapping::Cyclic),
        Some("random") => Ok(Mapping::Random),
        _ => MapFile::read(map).map(Mapping::File),
    }
}
