//! The record of a run, complete enough to repeat the run.
//!
//! The same keys are printed by `--format json` and written to `record.json` in the folder of
//! `--out`, beside `platform.toml`, the platform of the run. Files are written under a temporary
//! name and renamed, so a killed run leaves no incomplete file that looks complete.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use files::{FolderLock, Output, OutputError};
use serde::{Deserialize, Serialize};
use sim_core::{Limit, Outcome};

use crate::{ConnectionTotals, Run, Stall};

/// The facts of a run, in the order in which they are printed.
#[derive(Clone, Debug, Serialize)]
pub struct RunRecord {
    /// `finished`, `deadlock`, `failed`, `limit`, `interrupted` or `invalid_input`.
    pub outcome: &'static str,
    /// The timestamp of the end of the run, in seconds.
    pub simulated_s: f64,
    /// Duration of the run in seconds of real time.
    pub wall_s: f64,
    /// The number of ranks.
    pub ranks: u32,
    /// Messages sent.
    pub messages: u64,
    /// Their bytes.
    pub bytes: f64,
    /// Dates popped from the queue.
    pub events: u64,
    /// Events per second of real time.
    pub events_per_s: f64,
    /// The seed of all random streams.
    pub seed: u64,
    /// Random numbers drawn from all streams: without any, every seed gives the same run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub draws: Option<u64>,
    /// The fingerprint of the run; `None` if the run was stopped from outside of its loop.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub digest: Option<String>,
    /// The revision of simrun.
    pub revision: String,
    /// The program's name.
    pub program: String,
    /// The command line as given, without the program itself.
    pub arguments: Vec<String>,
    /// The path of the platform file as given.
    pub platform: String,
    /// Name of the network model, as in a platform file.
    pub network_model: &'static str,
    /// Source of the time between calls of a compiled program: `none`, `blocks`, `host` or
    /// `replay`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub compute: Option<&'static str>,
    /// The data to repeat the run, together with the other files in the folder of the record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rerun: Option<Rerun>,
    /// The actor that failed, if one did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub failure: Option<FailureRecord>,
    /// Waits of all actors, if there is a deadlock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deadlock: Option<Vec<BlockedRecord>>,
    /// The deadlock of the packet network in words: the cause, then a line for each buffer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub network_deadlock: Vec<String>,
    /// The limit that stopped the run.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// Things to check before the result is trusted.
    pub warnings: Vec<String>,
    /// Time that connections waited for packet buffers and credits, and messages for connections,
    /// the longest first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stalls: Vec<Stall>,
    /// Counts of the connections of all ranks, if they had to be made.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub connections: Option<ConnectionTotals>,
}

/// The data to repeat a run, in addition to the platform and the hosts in the folder of the record.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Rerun {
    /// The path of the program.
    pub program: String,
    /// The SHA-256 of the program, in hexadecimal digits.
    pub sha256: String,
    /// The working directory of the run.
    pub working_directory: String,
    /// The options that determine the result, except the platform and a mapping file.
    pub options: Vec<String>,
    /// The program's own arguments.
    pub arguments: Vec<String>,
}

impl Rerun {
    /// Reads the data from a record; `None` if the record has none.
    pub fn from_record(record: &serde_json::Value) -> Option<Self> {
        Self::deserialize(record.get("rerun")?).ok()
    }
}

/// An actor that failed.
#[derive(Clone, Debug, Serialize)]
pub struct FailureRecord {
    /// The rank, or for an actor program the actor's number less one.
    pub rank: u32,
    /// The actor's name.
    pub name: String,
    /// The host's name.
    pub host: String,
    /// When, in seconds.
    pub time_s: f64,
    /// The panic's message or the error's text.
    pub message: String,
}

/// A blocked actor.
#[derive(Clone, Debug, Serialize)]
pub struct BlockedRecord {
    /// The rank, or for an actor program the actor's number less one.
    pub rank: u32,
    /// The actor's name.
    pub name: String,
    /// The host's name.
    pub host: String,
    /// The operation or object for which the actor waits.
    pub operation: String,
    /// The line of the program, as `file:line`.
    pub location: String,
    /// The ranks that could end the wait.
    pub waits_for: Vec<u32>,
}

/// Facts for the record that the run does not know.
#[derive(Clone, Debug)]
pub struct Origin {
    /// The seed.
    pub seed: u64,
    /// The revision of simrun.
    pub revision: String,
    /// The program's name.
    pub program: String,
    /// The command line without the program itself.
    pub arguments: Vec<String>,
    /// The path of the platform file as given.
    pub platform: String,
    /// Name of the network model, as in a platform file.
    pub network_model: &'static str,
    /// Source of the time between calls of a compiled program.
    pub compute: Option<&'static str>,
    /// Command and options that make the run again.
    pub rerun: Option<Rerun>,
}

impl RunRecord {
    /// The record of a run.
    pub fn new(run: &Run, origin: Origin) -> Self {
        let report = &run.report;
        #[expect(clippy::cast_precision_loss, reason = "a rate for people")]
        let events_per_s = if run.wall_s > 0.0 {
            report.events as f64 / run.wall_s
        } else {
            0.0
        };
        Self {
            outcome: outcome_name(&report.outcome),
            simulated_s: report.time.as_secs(),
            wall_s: run.wall_s,
            ranks: run.ranks,
            messages: report.messages,
            bytes: report.bytes,
            events: report.events,
            events_per_s,
            seed: origin.seed,
            draws: run.draws,
            digest: Some(report.digest.to_string()),
            revision: origin.revision,
            program: origin.program,
            arguments: origin.arguments,
            platform: origin.platform,
            network_model: origin.network_model,
            compute: origin.compute,
            rerun: origin.rerun,
            failure: failure(&report.outcome),
            deadlock: deadlock(&report.outcome),
            network_deadlock: run.network_deadlock.clone(),
            limit: limit_text(&report.outcome),
            warnings: run.warnings.clone(),
            stalls: run.stalls.clone(),
            connections: run.connections,
        }
    }

    /// The record as JSON, one key per line.
    ///
    /// # Panics
    /// Never: all keys are known to be expressible.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).expect("a record has only keys that JSON knows")
    }
}

fn outcome_name(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Finished => "finished",
        Outcome::Deadlock(_) => "deadlock",
        Outcome::Failed(_) | Outcome::ForeignFuture(_) => "failed",
        Outcome::Limit(_) => "limit",
        Outcome::Interrupted | Outcome::Stopped => "interrupted",
        Outcome::BadInput(_) => "invalid_input",
    }
}

fn failure(outcome: &Outcome) -> Option<FailureRecord> {
    let (Outcome::Failed(failure) | Outcome::ForeignFuture(failure)) = outcome else {
        return None;
    };
    Some(FailureRecord {
        rank: failure.actor.number() - 1,
        name: failure.name.clone(),
        host: failure.host.clone(),
        time_s: failure.time.as_secs(),
        message: failure.message.clone(),
    })
}

fn deadlock(outcome: &Outcome) -> Option<Vec<BlockedRecord>> {
    let Outcome::Deadlock(graph) = outcome else {
        return None;
    };
    let record = |blocked: &sim_core::Blocked| BlockedRecord {
        rank: blocked.actor.number() - 1,
        name: blocked.name.clone(),
        host: blocked.host.clone(),
        operation: blocked.waits_in.clone(),
        location: blocked.location.clone(),
        waits_for: blocked
            .waits_for
            .iter()
            .map(|actor| actor.number() - 1)
            .collect(),
    };
    Some(graph.blocked.iter().map(record).collect())
}

fn limit_text(outcome: &Outcome) -> Option<String> {
    match outcome {
        Outcome::Limit(Limit::Time(time)) => Some(format!("--until {}s", time.as_secs())),
        Outcome::Limit(Limit::Events(events)) => Some(format!("--max-events {events}")),
        Outcome::Limit(Limit::Overflow(date)) => {
            Some(format!("time overflow at {:e} s", date.as_secs()))
        }
        Outcome::Limit(Limit::RealTime(seconds)) => Some(format!("--max-time {seconds}s")),
        Outcome::Limit(Limit::Busy(seconds)) => Some(format!("--max-busy {seconds}s")),
        Outcome::Limit(Limit::Memory(bytes)) => Some(format!("memory: {bytes} B more")),
        Outcome::Limit(Limit::Unreceived {
            bytes, location, ..
        }) => Some(format!(
            "messages that no receive has met: more than {bytes} B of one rank, at {location}"
        )),
        Outcome::Limit(Limit::Standstill(polls)) => Some(format!(
            "--until: simulated time does not advance, {polls} steps at one timestamp"
        )),
        _ => None,
    }
}

/// A folder that a record can be written to.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
    /// Of two runs at the same time, one would replace the record of the other.
    lock: Arc<FolderLock>,
}

/// The files that a record may consist of.
const NAMES: [&str; 4] = ["record.json", "platform.toml", "hosts.txt", "deadlock.dot"];

/// A record that cannot be written.
#[derive(Debug)]
pub enum RecordError {
    /// The folder cannot be made or written to.
    Folder(PathBuf, io::Error),
    /// The folder holds the record of another command.
    Exists(PathBuf),
    /// A file cannot be written, or is an input.
    Output(OutputError),
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path, error) => {
                write!(f, "{}: cannot write there: {error}", path.display())
            }
            Self::Exists(path) => write!(
                f,
                "{}: it holds the record of another command: expected another folder, or --force to replace the record",
                path.display()
            ),
            Self::Output(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for RecordError {}

impl Folder {
    /// Creates the folder if it does not exist, and checks that a record can be written to the
    /// folder: before a long run, not after. An existing record is replaced only with `force`.
    pub fn open_folder(path: &Path, force: bool) -> Result<Self, RecordError> {
        let fail = |error| RecordError::Folder(path.to_owned(), error);
        fs::create_dir_all(path).map_err(fail)?;
        let lock = FolderLock::exclusive(path).map_err(RecordError::Output)?;
        if !force && path.join(NAMES[0]).symlink_metadata().is_ok() {
            return Err(RecordError::Exists(path.to_owned()));
        }
        for name in NAMES {
            let output = Output::new(&path.join(name));
            let checked = output.and_then(|output| output.can_be_written());
            checked.map_err(RecordError::Output)?;
        }
        Ok(Self {
            path: path.to_owned(),
            lock: Arc::new(lock),
        })
    }

    /// Returns the end in simulated seconds of the run in the existing record, if this run finished
    /// and had the same program, platform file and number of ranks.
    pub fn earlier_end(&self, program: &str, platform: &Path, ranks: u32) -> Option<f64> {
        #[derive(serde::Deserialize)]
        struct Earlier {
            outcome: String,
            program: String,
            platform: String,
            ranks: u32,
            simulated_s: f64,
        }
        let text = files::read_state(&self.path.join(NAMES[0])).ok()?;
        // What cannot be read will be replaced all the same.
        let earlier: Earlier = serde_json::from_str(&text).ok()?;
        let is_same = earlier.outcome == "finished"
            && earlier.program == program
            && Path::new(&earlier.platform) == platform
            && earlier.ranks == ranks;
        is_same.then_some(earlier.simulated_s)
    }

    /// Writes files by name, each as a whole, and removes the other files of an earlier record.
    pub fn write_files(&self, files: &[(&str, String)]) -> Result<(), RecordError> {
        let fail = |error| RecordError::Folder(self.path.clone(), error);
        let is_old = |name: &&str| files.iter().all(|(new, _)| new != name);
        for name in NAMES.iter().filter(|name| is_old(name)) {
            match fs::remove_file(self.path.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
                _ => {}
            }
        }
        for (name, text) in files {
            files::write(&self.path.join(name), text).map_err(RecordError::Output)?;
        }
        // The guard of the run may keep the folder until the process ends.
        self.lock.release_lock();
        Ok(())
    }
}
