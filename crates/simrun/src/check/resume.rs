//! The checkpoint file of an interrupted search, from which the search continues.
//!
//! The file names the program, the arguments, the relevant options, and the revision and the
//! executable that made the file, and carries a checksum. A mismatch is refused, with the found and
//! the expected value. The file is written to a temporary name and renamed: a search that is killed
//! during the write leaves the previous file.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use explore::Checkpoint;
use files::{Output, OutputError};
use run::QueueNumbers;
use serde_json::{Value, json};
use sim_core::Digest;

use crate::REVISION;
use crate::rerun::{files_of_program, sha256_of};

/// A search that was interrupted.
pub(super) struct InterruptedSearch {
    pub(super) checkpoint: Checkpoint,
    pub(super) numbers: QueueNumbers,
}

/// Properties of the subject of a search, in the order of comparison.
const KEYS: [&str; 6] = [
    "program",
    "arguments",
    "options",
    "platform",
    "revision",
    "executable",
];

/// Returns the subject of a search. Searches with equal subjects can continue one another.
pub(super) fn search_identity(
    program: &str,
    options: &str,
    arguments: &[String],
    platform: &str,
) -> Value {
    let executable = files_of_program().and_then(|files| sha256_of(&files));
    json!({
        "program": program,
        "arguments": arguments,
        "options": options,
        "platform": format!("{:016x}", digest(platform.as_bytes())),
        "revision": REVISION,
        "executable": executable.unwrap_or_default(),
    })
}

/// The file of a search, and the subject of the search.
pub(super) struct SearchFile<'a> {
    path: &'a Path,
    identity: Value,
    every: f64,
}

impl<'a> SearchFile<'a> {
    /// The file at `path`, to be written every `every` seconds; neither read nor written here.
    pub(super) fn new(path: &'a Path, identity: Value, every: f64) -> Result<Self, OutputError> {
        Output::new(path).map(|_| Self {
            path,
            identity,
            every,
        })
    }

    /// Seconds after which the file is written again.
    pub(super) const fn every(&self) -> f64 {
        self.every
    }

    /// Reads the search in the file; `None` if there is no file.
    pub(super) fn read_checkpoint(&self) -> Result<Option<InterruptedSearch>, String> {
        let path = self.path;
        let text = match files::read_state(path) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(format!("{}: cannot read it: {error}", path.display())),
        };
        let damaged = || {
            format!(
                "{}: not a checkpoint file, or the file is corrupt",
                path.display()
            )
        };
        let value: Value = serde_json::from_str(&text).map_err(|_| damaged())?;
        for key in KEYS {
            let found = value["of"].get(key).ok_or_else(damaged)?;
            let expected = &self.identity[key];
            if found != expected {
                return Err(format!(
                    "{}: checkpoint has different {key}: {found}, expected {expected}",
                    path.display()
                ));
            }
        }
        read_search(&value["search"]).map(Some).ok_or_else(damaged)
    }

    /// Writes the file, and returns the name of the file.
    pub(super) fn write_checkpoint(
        &self,
        checkpoint: &Checkpoint,
        numbers: &QueueNumbers,
    ) -> Result<String, OutputError> {
        let search = write_search(checkpoint, numbers);
        let value = json!({ "of": self.identity, "search": search });
        files::write(self.path, format!("{value}\n"))?;
        Ok(self.path.display().to_string())
    }

    /// Takes the file away: everything was explored.
    pub(super) fn remove_file(&self) -> Result<(), String> {
        match fs::remove_file(self.path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(format!(
                "{}: cannot remove it: {error}",
                self.path.display()
            )),
            _ => Ok(()),
        }
    }
}

/// Reads a search; `None` if the file is damaged.
fn read_search(value: &Value) -> Option<InterruptedSearch> {
    let words: Vec<u64> = parse_numbers(&value["words"])?;
    let queues: Option<Vec<[u32; 5]>> = value["queues"].as_array()?.iter().map(queue).collect();
    let queues = queues?;
    let is_whole = value["checksum"] == checksum(&words, &queues);
    Some(InterruptedSearch {
        checkpoint: Checkpoint::from_words(words).filter(|_| is_whole)?,
        numbers: QueueNumbers::from_words(&queues),
    })
}

/// Returns a search to be written.
fn write_search(checkpoint: &Checkpoint, numbers: &QueueNumbers) -> Value {
    let (words, queues) = (checkpoint.words(), numbers.to_words());
    json!({
        "executions": checkpoint.statistics().executions,
        "queues": queues,
        "words": words,
        "checksum": checksum(words, &queues),
    })
}

fn parse_numbers(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

fn queue(value: &Value) -> Option<[u32; 5]> {
    let small = |word: u64| u32::try_from(word).ok();
    let all: Option<Vec<u32>> = parse_numbers(value)?.into_iter().map(small).collect();
    all?.try_into().ok()
}

fn checksum(words: &[u64], queues: &[[u32; 5]]) -> String {
    let mut digest = Digest::default();
    let queues = queues.iter().flatten().map(|&word| u64::from(word));
    for (word, position) in words.iter().copied().chain(queues).zip(0..) {
        digest.mix(word, position);
    }
    format!("{:016x}", digest.value())
}

fn digest(bytes: &[u8]) -> u64 {
    let mut digest = Digest::default();
    for (chunk, position) in bytes.chunks(8).zip(0..) {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        digest.mix(u64::from_le_bytes(word), position);
    }
    digest.mix(bytes.len() as u64, 0);
    digest.value()
}
