//! Options of `simrun fuzz`, and the settings that follow from them.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use platform::units::Duration;
use simrun::args::Format;

use super::backend::WITHOUT_ADAPTER;
use super::layers::LayerArgs;
use crate::{
    Attribute, EndpointSettings, Faults, GeneratorSettings, Mode, NetworkSettings, ProgressDriver,
    RunSettings,
};

/// Interactions to generate, or one to replay.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Interactions")]
pub struct FuzzCommand {
    #[command(flatten)]
    pub(super) campaign: CampaignArgs,

    /// Number of workers
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(2..=64))]
    processes: u32,

    /// Messages of each connection, and with --rma as many transfers
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

    /// Reliable connections read and write remote memory, too
    #[arg(long)]
    rma: bool,

    /// Attributes of connections: reliable ordered, reliable unordered, unreliable unordered
    #[arg(long, value_enum, value_delimiter = ',', default_value = "ro")]
    attributes: Vec<ConnectionAttribute>,

    /// Share of requests that are rejected, such as 10% [default: differs between interactions]
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    reject: Option<f64>,

    /// Time after which requests that are not answered are given up
    #[arg(long, value_name = "TIME", default_value = "5ms")]
    connect_timeout: Duration,

    /// Faults of the network: loss, duplicate, reorder and flap, such as loss=1%,reorder=5%
    #[arg(long, value_name = "LIST", value_parser = faults, default_value = "", hide_default_value = true)]
    faults: Faults,

    /// Endpoints of the workers: simulated, or of processes over TCP or libibverbs; with --layer
    /// verbs the adapters
    #[arg(long, value_enum, value_name = "KIND", default_value = "simulated")]
    pub(super) backend: BackendKind,

    /// Adapter of libibverbs [default: the first one]
    #[arg(long, value_name = "NAME")]
    pub(super) device: Option<String>,

    /// Polling of workers: during their commands, or all the time
    #[arg(long, value_enum, value_name = "MODE", default_value = "lockstep")]
    mode: PollingMode,

    /// Progress of endpoints: by a thread, or only when their worker polls
    #[arg(long, value_enum, value_name = "KIND", default_value = "thread")]
    progress: ProgressKind,

    /// Send buffers of each connection
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(4..=1024))]
    send_buffers: u32,

    /// Receive buffers of each connection
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u32).range(4..=1024))]
    receive_buffers: u32,

    /// Overwrite buffers that are given back
    #[arg(long)]
    check_memory: bool,

    /// Folder for failures: each as it was generated and shrunk
    #[arg(long, value_name = "DIR", default_value = "fuzz-failures")]
    pub(super) out: PathBuf,

    /// Also write the result as JUnit XML
    #[arg(long, value_name = "FILE", conflicts_with = "replay")]
    pub(super) junit: Option<PathBuf>,

    /// Output format
    #[arg(
        long,
        value_name = "text|json",
        hide_possible_values = true,
        default_value = "text"
    )]
    pub(super) format: Format,

    #[command(flatten)]
    pub(super) layers: LayerArgs,
}

/// Number of interactions, and when to stop.
#[derive(Args, Clone, Debug)]
pub(super) struct CampaignArgs {
    /// Number of interactions
    #[arg(long, value_name = "N", default_value_t = 300)]
    pub(super) tries: u64,

    /// Number of failures after which to stop
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u32).range(1..))]
    pub(super) errors: u32,

    /// Seed of all interactions and faults
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(super) seed: u64,

    /// Number of threads
    #[arg(short, long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub(super) jobs: u16,

    /// Run larger and larger interactions until interrupted; continues where it was
    #[arg(long, conflicts_with_all = ["tries", "replay"])]
    pub(super) endless: bool,

    /// Real time after which to stop, such as 90s, 30min or 1h
    #[arg(long, value_name = "TIME", value_parser = real_time, conflicts_with = "replay")]
    pub(super) budget: Option<std::time::Duration>,

    /// Run the interaction in FILE instead
    #[arg(long, value_name = "FILE")]
    pub(super) replay: Option<PathBuf>,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
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

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum BackendKind {
    Simulated,
    Tcp,
    Verbs,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum PollingMode {
    Lockstep,
    Polling,
}

#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
enum ProgressKind {
    Thread,
    Polling,
}

/// Reads a time that also has minutes and hours.
fn real_time(text: &str) -> Result<std::time::Duration, String> {
    let long = [("min", 60.0), ("h", 3600.0)];
    let long = long.iter().find_map(|(unit, seconds)| {
        let number: f64 = text.strip_suffix(unit)?.trim().parse().ok()?;
        Some(number * seconds)
    });
    let seconds = long.or_else(|| Some(text.parse::<Duration>().ok()?.as_secs()));
    let time = seconds.and_then(|seconds| std::time::Duration::try_from_secs_f64(seconds).ok());
    time.ok_or_else(|| "expected a time, such as 90s, 30min or 1h".to_owned())
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
        let known = "expected loss, duplicate, reorder or flap, as in loss=1%";
        let (name, value) = part.split_once('=').ok_or_else(|| known.to_owned())?;
        let value = percent(value)?;
        let rate = faults.rate_mut(name);
        *rate.ok_or_else(|| format!("{name:?}: {known}"))? = value;
    }
    Ok(faults)
}

/// Time after which a silent peer is reported where it is a process, in microseconds: longer than
/// one may wait for a processor. \[choice\]
const REAL_KEEPALIVE: u64 = 300_000;

/// Messages of a connection that are left for completion messages of transfers.
const RESERVED: u32 = 6;

impl FuzzCommand {
    /// Returns an option that only the layer of endpoints has, if one is set.
    pub(super) fn of_endpoints(&self) -> Option<&'static str> {
        let defaults = GeneratorSettings::default();
        let endpoints = EndpointSettings::default();
        let is_verbs = self.layers.is_verbs();
        let set = [
            ("--processes", self.processes != defaults.processes),
            ("--sends", self.sends != defaults.sends),
            ("--min-len", self.min_len != defaults.lengths.0),
            ("--max-len", self.max_len != defaults.lengths.1),
            (
                "--runs-per-process",
                self.runs_per_process != defaults.runs_per_process,
            ),
            ("--rma", self.rma),
            ("--attributes", self.attributes != [ConnectionAttribute::Ro]),
            ("--reject", self.reject.is_some()),
            (
                "--connect-timeout",
                microseconds(&self.connect_timeout) != Ok(defaults.connect_timeout),
            ),
            ("--faults", self.faults != defaults.faults),
            (
                "--backend",
                self.backend != BackendKind::Simulated && !is_verbs,
            ),
            ("--device", self.device.is_some() && !is_verbs),
            ("--mode", self.mode != PollingMode::Lockstep),
            ("--progress", self.progress != ProgressKind::Thread),
            (
                "--send-buffers",
                self.send_buffers != endpoints.send_buffers,
            ),
            (
                "--receive-buffers",
                self.receive_buffers != endpoints.receive_buffers,
            ),
            ("--check-memory", self.check_memory),
            ("--jobs", self.campaign.jobs != 1),
            ("--endless", self.campaign.endless),
            ("--junit", self.junit.is_some()),
        ];
        set.iter()
            .find(|(_, is_set)| *is_set)
            .map(|(name, _)| *name)
    }

    /// Returns the adapter of libibverbs that the layer of verbs uses, if it uses one: its name, or
    /// `None` for the first one.
    pub(super) fn layer_adapter(&self) -> Result<Option<Option<&str>>, String> {
        if !self.layers.is_verbs() {
            return Ok(None);
        }
        match self.backend {
            BackendKind::Tcp => Err("--backend tcp: expected --layer endpoint".to_owned()),
            BackendKind::Simulated if self.device.is_some() => Err(WITHOUT_ADAPTER.to_owned()),
            BackendKind::Simulated => Ok(None),
            BackendKind::Verbs => Ok(Some(self.device.as_deref())),
        }
    }

    /// Returns the parameters of the interactions.
    pub(super) fn generator_settings(&self) -> Result<GeneratorSettings, String> {
        if self.min_len > self.max_len {
            return Err(format!(
                "--min-len {}: expected at most --max-len {}",
                self.min_len, self.max_len
            ));
        }
        if self.rma
            && self
                .attributes
                .iter()
                .all(|one| *one == ConnectionAttribute::Uu)
        {
            return Err(
                "--rma: expected a reliable connection: --attributes uu has none".to_owned(),
            );
        }
        let buffers = self.send_buffers.max(self.receive_buffers);
        let reserved = if self.rma { RESERVED } else { 0 };
        let endpoints = EndpointSettings::default();
        Ok(GeneratorSettings {
            processes: self.processes,
            sends: self.sends,
            lengths: (self.min_len, self.max_len),
            longest: endpoints.max_send_size,
            outstanding: buffers.saturating_sub(reserved).max(1),
            runs_per_process: self.runs_per_process,
            attributes: self.attributes.iter().copied().map(Into::into).collect(),
            reject: self.reject,
            connect_timeout: microseconds(&self.connect_timeout)?,
            keepalive: if self.backend == BackendKind::Simulated {
                GeneratorSettings::default().keepalive
            } else {
                REAL_KEEPALIVE
            },
            rma: self.rma,
            polling: self.progress == ProgressKind::Polling,
            faults: self.faults,
        })
    }

    /// Returns the arguments of workers that are processes.
    pub(super) fn worker_arguments(&self) -> Result<Vec<String>, String> {
        if self.faults.is_faulty() {
            return Err("--faults: expected with --backend simulated only".to_owned());
        }
        let mut arguments = vec![
            format!("--send-buffers={}", self.send_buffers),
            format!("--receive-buffers={}", self.receive_buffers),
        ];
        if let Some(device) = &self.device {
            arguments.push(format!("--device={device}"));
        }
        for (flag, is_set) in [
            ("--verbs", self.backend == BackendKind::Verbs),
            ("--polls", self.mode == PollingMode::Polling),
            ("--no-thread", self.progress == ProgressKind::Polling),
            ("--poison", self.check_memory),
        ] {
            if is_set {
                arguments.push(flag.to_owned());
            }
        }
        Ok(arguments)
    }

    /// Returns the parameters of simulated runs.
    pub(super) fn run_settings(&self) -> RunSettings {
        let mut endpoints = EndpointSettings {
            send_buffers: self.send_buffers,
            receive_buffers: self.receive_buffers,
            poisons: self.check_memory,
            ..EndpointSettings::default()
        };
        if self.receive_buffers < self.send_buffers {
            // Receivers run out of buffers, and may not poll for a long time.
            endpoints.queue_pairs.rnr_retry = 7;
        }
        let progress = match self.progress {
            ProgressKind::Thread => ProgressDriver::Thread,
            ProgressKind::Polling => ProgressDriver::Polling,
        };
        RunSettings {
            network: NetworkSettings {
                endpoints,
                progress,
                ..NetworkSettings::default()
            },
            mode: match self.mode {
                PollingMode::Lockstep => Mode::Lockstep,
                PollingMode::Polling => Mode::Polling,
            },
        }
    }
}

/// Returns a duration in microseconds.
fn microseconds(duration: &Duration) -> Result<u64, String> {
    let microseconds = duration.as_secs() * 1e6;
    if !(1.0..=1e9).contains(&microseconds) {
        return Err(format!(
            "--connect-timeout {duration}: expected 1us to 1000s"
        ));
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "from 1 to 1e9"
    )]
    Ok(microseconds.round() as u64)
}
