//! The file in which an interrupted search is kept, and from which it goes on.
//!
//! It names the program, its arguments, the options that matter, and the revision and the executable that made it, and carries a
//! checksum: whatever does not fit is refused, with what is found and what was expected. Written to a temporary name and renamed:
//! a search that is killed while it writes leaves the file of before.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use explore::Checkpoint;
use run::QueueNumbers;
use serde_json::{Value, json};
use sim_core::Digest;

use crate::REVISION;

/// One of the searches of a check.
pub(super) struct Part {
    pub(super) checkpoint: Checkpoint,
    pub(super) numbers: QueueNumbers,
}

/// What a search is of, in the order in which it is compared.
const KEYS: [&str; 6] = [
    "program",
    "arguments",
    "options",
    "platform",
    "revision",
    "executable",
];

/// What a search is of: the same for those that can go on where another was.
pub(super) fn identity(
    program: &str,
    options: &str,
    arguments: &[String],
    platform: &str,
) -> Value {
    let executable = std::env::current_exe().and_then(fs::read);
    let executable = executable.map_or(0, |bytes| digest(&bytes));
    json!({
        "program": program,
        "arguments": arguments,
        "options": options,
        "platform": format!("{:016x}", digest(platform.as_bytes())),
        "revision": REVISION,
        "executable": format!("{executable:016x}"),
    })
}

/// Reads the searches in the file, the first one first; nothing if there is none.
pub(super) fn read(path: &Path, identity: &Value) -> Result<Option<Vec<Part>>, String> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(format!("{}: cannot read it: {error}", path.display())),
    };
    let damaged = || {
        format!(
            "{}: this is not a search that was kept, or it was damaged",
            path.display()
        )
    };
    let value: Value = serde_json::from_str(&text).map_err(|_| damaged())?;
    for key in KEYS {
        let found = value["of"].get(key).ok_or_else(damaged)?;
        let expected = &identity[key];
        if found != expected {
            return Err(format!(
                "{}: this search is of another {key}: found {found}, expected {expected}",
                path.display()
            ));
        }
    }
    let parts = value["searches"].as_array().ok_or_else(damaged)?.iter();
    let parts: Option<Vec<Part>> = parts.map(read_part).collect();
    Ok(Some(parts.ok_or_else(damaged)?))
}

/// One of the searches; nothing if it was damaged.
fn read_part(value: &Value) -> Option<Part> {
    let words: Vec<u64> = numbers(&value["search"])?;
    let queues: Option<Vec<[u32; 5]>> = value["queues"].as_array()?.iter().map(queue).collect();
    let queues = queues?;
    let is_whole = value["checksum"] == checksum(&words, &queues);
    Some(Part {
        checkpoint: Checkpoint::from_words(words).filter(|_| is_whole)?,
        numbers: QueueNumbers::from_words(&queues),
    })
}

/// One of the searches, to be written.
fn write_part(part: &Part) -> Value {
    let (words, queues) = (part.checkpoint.words(), part.numbers.to_words());
    json!({
        "traces": part.checkpoint.traces(),
        "queues": queues,
        "search": words,
        "checksum": checksum(words, &queues),
    })
}

/// Writes the file.
pub(super) fn write(path: &Path, identity: &Value, parts: &[Part]) -> Result<(), String> {
    let searches: Vec<Value> = parts.iter().map(write_part).collect();
    let value = json!({ "of": identity, "searches": searches });
    files::write(
        path,
        format!(
            "{value}
"
        ),
    )
    .map_err(|error| error.to_string())
}

/// Takes the file away: everything was explored.
pub(super) fn remove(path: &Path) -> Result<(), String> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(format!("{}: cannot remove it: {error}", path.display()))
        }
        _ => Ok(()),
    }
}

fn numbers(value: &Value) -> Option<Vec<u64>> {
    value.as_array()?.iter().map(Value::as_u64).collect()
}

fn queue(value: &Value) -> Option<[u32; 5]> {
    let small = |word: u64| u32::try_from(word).ok();
    let all: Option<Vec<u32>> = numbers(value)?.into_iter().map(small).collect();
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
