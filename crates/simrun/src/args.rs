//! The options of a run: the same for `simrun run` and for a program that runs alone.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::str::FromStr;

use clap::{Args, ValueEnum};
use platform::units::Duration;
use platform::{Override, Platform};
use run::{Folder, LogFilter, Mapping, MessageProtocol, Options, RankMap, RecordError, Stream};

use crate::Size;
use crate::compute_args::ComputeArgs;
use crate::observation::ObservationArgs;
use crate::pcap::PcapArgs;
use crate::rerun::is_recorded_in;
use crate::{load, quoted, status};

/// Output format of results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Format {
    /// Human-readable text.
    #[default]
    Text,
    /// One JSON object on standard output; program output goes to standard error.
    Json,
}

impl Format {
    /// Returns a result in this format, of the functions that write the result.
    pub fn write_result(
        self,
        text: impl FnOnce() -> String,
        json: impl FnOnce() -> String,
    ) -> String {
        match self {
            Self::Text => text(),
            Self::Json => json(),
        }
    }

    /// Returns true if programs read the result, so that standard output has only the result.
    #[must_use]
    pub const fn is_for_programs(self) -> bool {
        !matches!(self, Self::Text)
    }

    /// Returns the stream of the output of the program that is run.
    pub(crate) const fn program_stream(self) -> Stream {
        match self.is_for_programs() {
            true => Stream::Stderr,
            false => Stream::Stdout,
        }
    }
}

/// Contents of message buffers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, ValueEnum)]
pub enum Payload {
    /// Buffers contain data.
    #[default]
    Real,
    /// Buffers have a length but no memory.
    Phantom,
}

/// Meanings of the exit statuses, for the end of help texts.
pub const EXIT_STATUS: &str = "\
Exit status: 0 finished, 1 program failed, 2 usage or input error, 3 limit reached, 130 interrupted.";

/// Options of the record of a run.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct RecordArgs {
    /// Write a record of the run to this directory
    #[arg(short, long, value_name = "DIR")]
    pub out: Option<PathBuf>,

    /// Replace an existing record in the directory of --out
    #[arg(long, requires = "out")]
    pub force: bool,
}

impl RecordArgs {
    /// Opens the directory of the record, if there is to be one.
    ///
    /// # Errors
    /// [`RecordError`] if the directory cannot be written or contains another record.
    pub(crate) fn open_record(&self) -> Result<Option<Folder>, RecordError> {
        let folder = self.out.as_deref();
        folder
            .map(|out| Folder::open_folder(out, self.force))
            .transpose()
    }

    /// Opens the directory as [`open`](Self::open) does, also if the record is one of the same
    /// command: a simulation is repeated after a mistake in a file.
    ///
    /// # Errors
    /// [`RecordError`] if the directory cannot be written or contains another record.
    pub(crate) fn open_for(&self, arguments: &[String]) -> Result<Option<Folder>, RecordError> {
        let is_same = |out: &PathBuf| is_recorded_in(out, arguments);
        let force = self.force || self.out.as_ref().is_some_and(is_same);
        Self {
            force,
            ..self.clone()
        }
        .open_record()
    }
}

/// Option of the lines that ranks print.
#[derive(Args, Clone, Copy, Debug)]
pub struct PrefixArgs {
    /// Prefix each line of program output with the rank
    /// [default: true in real runs, otherwise false]
    #[arg(
        long,
        value_name = "true|false",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "true",
        hide_possible_values = true,
        help_heading = "Output"
    )]
    pub prefix_rank: Option<bool>,
}

impl PrefixArgs {
    /// Returns the value of the option, or that of the command.
    pub(crate) fn unwrap_or(self, default: bool) -> bool {
        self.prefix_rank.unwrap_or(default)
    }
}

/// Output options of every command that executes a program.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Output")]
pub struct OutputArgs {
    /// Output format; with json, program output goes to standard error
    #[arg(
        long,
        value_name = "text|json",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub format: Format,

    /// Log filter: off, error, warn, info, debug or trace; per rank (or actor) as in
    /// info,3=debug,8-15=off
    #[arg(long, value_name = "FILTER", default_value = "warn")]
    pub log: LogFilter,

    /// Print only program output, findings and errors
    #[arg(short, long)]
    pub quiet: bool,
}

/// The subject of a simulation: the options that mean the same for every command that simulates.
#[derive(Args, Clone, Debug)]
pub struct SimulationArgs {
    /// Platform file: TOML, or SimGrid XML
    #[arg(short, long, value_name = "FILE")]
    pub platform: Option<PathBuf>,

    /// Set a platform value: PATH=VALUE or PATH*=FACTOR, as 'links.*.latency*=2'; repeatable
    #[arg(long = "set", value_name = "PATH=VALUE")]
    pub changes: Vec<Override>,

    /// Number of ranks [default: one per host, or the number in the mapping file; check: 2]
    #[arg(short = 'n', long, value_name = "N", allow_negative_numbers = true, value_parser = ranks)]
    pub ranks: Option<u32>,

    /// Mapping of ranks to hosts: block, block:N (N ranks on each host), cyclic, random,
    /// by-name (cyclic, in the order of names, as smpirun), a list HOST,HOST:COUNT, or a file
    /// with lines HOST, HOST:COUNT or HOST slots=COUNT
    #[arg(long, value_name = "MAP", default_value = "block")]
    pub map: PathBuf,

    /// Seed of the random streams
    #[arg(long, value_name = "N", default_value = "0")]
    pub seed: u64,

    /// Message protocol: eager (a send does not wait for its receive), rendezvous (it does)
    /// or threshold=SIZE (rendezvous from SIZE on) [default: by the platform; check: both]
    #[arg(long, value_name = "PROTOCOL", value_parser = protocol)]
    pub protocol: Option<MessageProtocol>,
}

impl SimulationArgs {
    /// Returns the platform with its changes.
    ///
    /// # Errors
    /// The status of bad input, after the mistakes have been printed.
    pub fn load_platform(&self) -> Result<Platform, ExitCode> {
        load(self.platform_file()?, &self.changes)
    }

    /// Returns the platform file.
    ///
    /// # Errors
    /// The status of bad input, after a message if the option is missing.
    pub fn platform_file(&self) -> Result<&Path, ExitCode> {
        self.platform.as_deref().ok_or_else(|| {
            status::refuse(
                "no platform: expected --platform FILE, such as --platform platforms/cluster.toml",
            )
        })
    }

    /// Returns the options of a run.
    ///
    /// # Errors
    /// If the mapping is a file that cannot be read, or names no hosts.
    pub fn run_options(&self) -> Result<Options, run::MappingError> {
        Ok(Options {
            ranks: self.ranks,
            mapping: mapping(&self.map)?,
            seed: self.seed,
            protocol: self.protocol,
            ..Options::default()
        })
    }

    /// Returns the options but for the platform and the number of ranks, as arguments.
    pub fn as_arguments(&self) -> Vec<String> {
        let mut arguments = vec![
            format!("--seed={}", self.seed),
            format!("--map={}", self.map.display()),
        ];
        arguments.extend(self.protocol.map(protocol_argument));
        arguments
    }

    /// Returns the options but for the number of ranks and the protocol, as `check` prints them.
    pub(crate) fn as_check_options(&self) -> String {
        let mut words: Vec<String> = Vec::new();
        let mut add =
            |option: &str, value: &str| words.push(format!(" {option} {}", quoted(value)));
        if let Some(platform) = &self.platform {
            add("--platform", &platform.to_string_lossy());
        }
        for change in &self.changes {
            add("--set", &change.to_string());
        }
        if self.has_mapping() {
            add("--map", &self.map.to_string_lossy());
        }
        if self.seed != 0 {
            add("--seed", &self.seed.to_string());
        }
        words.concat()
    }

    /// Returns true if the mapping is not the default.
    pub(crate) fn has_mapping(&self) -> bool {
        self.map != Path::new("block")
    }

    /// Returns the platform and the changes, as arguments.
    pub fn platform_arguments(&self) -> Vec<OsString> {
        let mut arguments = Vec::new();
        if let Some(platform) = &self.platform {
            arguments.extend(["--platform".into(), platform.into()]);
        }
        for change in &self.changes {
            arguments.extend(["--set".into(), change.to_string().into()]);
        }
        arguments
    }
}

/// The subject of the simulation of a program.
#[derive(Args, Clone, Debug)]
pub struct ProgramArgs {
    /// Options of every simulation.
    #[command(flatten)]
    pub simulation: SimulationArgs,

    /// Buffer contents: real, or phantom (length only, saves memory)
    #[arg(
        long,
        value_name = "real|phantom",
        value_enum,
        default_value_t,
        hide_possible_values = true
    )]
    pub payload: Payload,

    /// Options of compiled programs.
    #[command(flatten)]
    pub compute: ComputeArgs,
}

impl ProgramArgs {
    /// Returns the options but for the platform and the number of ranks, as arguments.
    pub fn as_arguments(&self) -> Vec<String> {
        let mut arguments = self.simulation.as_arguments();
        if self.payload == Payload::Phantom {
            arguments.push("--payload=phantom".to_owned());
        }
        arguments.extend(self.compute.given());
        arguments
    }
}

/// The options of a run.
#[derive(Args, Clone, Debug)]
pub struct RunArgs {
    /// Options that other commands have, too.
    #[command(flatten)]
    pub program: ProgramArgs,

    /// Stop at this simulated time, for example 10s or 5ms
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    pub until: Option<Duration>,

    /// Stop after this wall-clock time, for example 10s or 300s
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    pub max_time: Option<Duration>,

    /// Stop when a rank computes for this wall-clock time without awaiting anything
    /// [default: 60s with --until, else none]
    #[arg(long, value_name = "TIME", help_heading = "Limits")]
    pub max_busy: Option<Duration>,

    /// Stop after N events
    #[arg(long, value_name = "N", help_heading = "Limits")]
    pub max_events: Option<u64>,

    /// Output options.
    #[command(flatten)]
    pub output: OutputArgs,

    /// Record of the run.
    #[command(flatten)]
    pub record: RecordArgs,

    /// Write the schedule of this run to FILE, for check --replay; a run that check cannot
    /// replay is reported, with the first step that differs
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(crate) schedule: Option<PathBuf>,

    /// Options of timelines and analyses.
    #[command(flatten)]
    pub(crate) observation: ObservationArgs,

    /// Print where the time of simrun itself goes: kernel, models, message layer, programs,
    /// observer
    #[arg(long, help_heading = "Output")]
    pub profile: bool,

    /// Time between lines of progress where standard error is no terminal
    #[arg(
        long,
        value_name = "TIME",
        default_value = "60s",
        value_parser = period,
        help_heading = "Output"
    )]
    pub progress: Duration,

    /// Options of the capture of packets.
    #[command(flatten)]
    pub(crate) pcap: PcapArgs,

    /// Prefix of program output.
    #[command(flatten)]
    pub prefix: PrefixArgs,

    /// Show the parameters in force before the run
    #[arg(short, long, conflicts_with = "quiet", help_heading = "Output")]
    pub verbose: bool,

    /// Arguments of the program
    #[arg(trailing_var_arg = true, value_name = "ARGUMENTS OF APP", hide = true)]
    pub arguments: Vec<OsString>,
}

/// Real time in seconds for which a rank may keep the processor under `--until`. Our choice:
/// simulated programs compute in simulated time.
const BUSY: f64 = 60.0;

impl RunArgs {
    /// Real time in seconds for which a rank may keep the processor, if that is limited.
    pub fn max_busy(&self) -> Option<f64> {
        let asked = self.max_busy.as_ref().map(Duration::as_secs);
        asked.or(self.until.as_ref().map(|_| BUSY))
    }
}

/// Parses a number of ranks.
///
/// # Errors
/// A sentence that says what was expected.
pub fn ranks(text: &str) -> Result<u32, String> {
    let ranks = text.parse().ok().filter(|&ranks| ranks > 0);
    ranks.ok_or_else(|| format!("expected a whole number from 1 to {}", u32::MAX))
}

/// Parses the time between lines of progress: a shorter one would only fill the disk.
///
/// # Errors
/// A sentence that says what was expected.
pub(crate) fn period(text: &str) -> Result<Duration, String> {
    let period: Duration = text.parse().map_err(|error| format!("{error}"))?;
    if period.as_secs() < 1e-3 {
        return Err("expected 1ms or more".to_owned());
    }
    Ok(period)
}

/// Returns a message protocol as an argument that [`protocol`] reads.
pub(crate) fn protocol_argument(protocol: MessageProtocol) -> String {
    match protocol {
        MessageProtocol::Eager => "--protocol=eager".to_owned(),
        MessageProtocol::Rendezvous => "--protocol=rendezvous".to_owned(),
        MessageProtocol::Threshold(bytes) => format!("--protocol=threshold={bytes}B"),
    }
}

/// Parses a message protocol.
///
/// # Errors
/// A sentence that says what was expected.
pub fn protocol(text: &str) -> Result<MessageProtocol, String> {
    match text {
        "eager" => Ok(MessageProtocol::Eager),
        "rendezvous" => Ok(MessageProtocol::Rendezvous),
        _ => {
            let size = text
                .strip_prefix("threshold=")
                .ok_or("expected eager, rendezvous or threshold=SIZE")?;
            Size::from_str(size)
                .map(|size| MessageProtocol::Threshold(size.0))
                .map_err(|error| error.to_string())
        }
    }
}

/// The mapping that `--map` names.
///
/// # Errors
/// If it is a file that cannot be read, or names no hosts.
pub fn mapping(map: &Path) -> Result<Mapping, run::MappingError> {
    if let Some(found) = map.to_str().and_then(|map| map.strip_prefix("block:")) {
        let each = found.parse().ok().filter(|each| *each > 0);
        let wrong = || run::MappingError::Blocks {
            found: found.to_owned(),
        };
        return each.map(Mapping::Blocks).ok_or_else(wrong);
    }
    match map.to_str() {
        Some("block") => Ok(Mapping::Block),
        Some("cyclic") => Ok(Mapping::Cyclic),
        Some("random") => Ok(Mapping::Random),
        Some("by-name") => Ok(Mapping::ByName),
        _ => RankMap::read_map(map).map(Mapping::File),
    }
}
