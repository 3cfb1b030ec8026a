//! Results on the disk: JSON lines, one per finished run.
//!
//! Each worker appends to a separate file, since neither `O_APPEND` nor `flock` can be trusted
//! between nodes on NFS or Lustre. A line is one `write`, then `fdatasync`: a run with a line in a
//! file is never repeated, whenever the worker is killed. A torn last line is cut when the owner of
//! the file opens the file again, and ignored by all other workers.
//!
//! *Not modelled*: a file system that loses data after `fdatasync`. Such a run is done again.

use std::collections::BTreeMap;
use std::fmt;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::key::Key;
use crate::point::Assignment;

/// The folder of results within the folder of a study.
pub const RESULTS_FOLDER: &str = "results";

/// Greatest length of a file of results in bytes: 4 GiB, about ten million runs. \[choice\]
const RESULTS_MAX: u64 = 4 << 30;

/// The outcome of a run that finished normally.
pub const FINISHED: &str = "finished";

/// The result of one run: one line.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub struct ResultLine {
    /// The key of the run.
    pub key: Key,
    /// Values of the parameters.
    pub parameters: Assignment,
    /// The seed.
    pub seed: u64,
    /// `finished`, `deadlock`, `failed`, `limit` and so on, as in the record.
    pub outcome: String,
    /// Numbers by the names of their columns.
    pub measures: BTreeMap<String, f64>,
    /// Batch means of measures in batches, by the names of their columns.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub batches: BTreeMap<String, Vec<f64>>,
    /// Random numbers that the run drew, if they were counted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub draws: Option<u64>,
    /// The digest of the run, if the run has one.
    pub digest: Option<String>,
    /// The revision of simrun.
    pub revision: String,
    /// Real time in seconds.
    pub wall_s: f64,
    /// The reason of another outcome than `finished`, or of a missing measure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

impl ResultLine {
    /// Returns true if the run finished and has all measures.
    pub fn succeeded(&self) -> bool {
        self.outcome == FINISHED && self.message.is_none()
    }
}

/// The file of one worker, open for appending.
#[derive(Debug)]
pub struct ResultWriter {
    file: File,
    path: PathBuf,
    /// Bytes of all whole lines.
    length: u64,
}

impl ResultWriter {
    /// Opens the file of a worker in the folder of a study; a torn last line is cut.
    ///
    /// `worker`: a name that no other running worker has, such as `HOST-PID`.
    pub fn open(study: &Path, worker: &str) -> Result<Self, ResultError> {
        let folder = study.join(RESULTS_FOLDER);
        fs::create_dir_all(&folder).map_err(|error| ResultError::at_path(&folder, &error))?;
        let path = folder.join(format!("{worker}.jsonl"));
        Self::open_file(&path)
            .map(|(file, length)| Self {
                file,
                path: path.clone(),
                length,
            })
            .map_err(|error| ResultError::at_path(&path, &error))
    }

    fn open_file(path: &Path) -> io::Result<(File, u64)> {
        let mut options = OpenOptions::new();
        let mut file = options.read(true).append(true).create(true).open(path)?;
        let mut content = Vec::new();
        file.seek(SeekFrom::Start(0))?;
        file.read_to_end(&mut content)?;
        let whole = whole_lines(&content);
        if whole < content.len() {
            file.set_len(whole as u64)?;
        }
        Ok((file, whole as u64))
    }

    /// Appends a result; [`sync`](Self::sync) writes the result to the disk.
    pub fn append(&mut self, result: &ResultLine) -> Result<(), ResultError> {
        self.append_line(result)
            .map_err(|error| ResultError::at_path(&self.path, &error))
    }

    fn append_line(&mut self, result: &ResultLine) -> io::Result<()> {
        let mut line = serde_json::to_vec(result)?;
        line.push(b'\n');
        // Not write_all: it would hide that a line was written in two parts.
        let written = self.file.write(&line);
        if !matches!(written, Ok(length) if length == line.len()) {
            self.file.set_len(self.length)?;
            written?;
            return Err(io::Error::new(
                io::ErrorKind::WriteZero,
                "the line was written in part only: expected space on the disk",
            ));
        }
        self.length += line.len() as u64;
        Ok(())
    }

    /// Brings all results to the disk.
    pub fn sync(&self) -> Result<(), ResultError> {
        let synced = self.file.sync_data();
        synced.map_err(|error| ResultError::at_path(&self.path, &error))
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

/// Returns the length of all lines that end with a newline.
fn whole_lines(content: &[u8]) -> usize {
    let newline = content.iter().rposition(|byte| *byte == b'\n');
    newline.map_or(0, |at| at + 1)
}

/// Two results with the same key and different digests: a defect of simrun.
#[derive(Clone, PartialEq, Debug)]
pub struct Conflict {
    /// The key.
    pub key: Key,
    /// Digest and file of each.
    pub results: [(String, PathBuf); 2],
}

impl fmt::Display for Conflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [(first, one), (second, other)] = &self.results;
        write!(
            f,
            "the run {} has digest {first} in {} and {second} in {}: expected one digest; this is a \
             defect of simrun",
            self.key,
            one.display(),
            other.display()
        )
    }
}

/// All results of a study.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct ResultSet {
    results: BTreeMap<Key, (ResultLine, PathBuf)>,
    conflicts: Vec<Conflict>,
}

impl ResultSet {
    /// Reads the files of all workers, in the order of their names.
    ///
    /// A study without results has an empty set. Of two results of one key, the one that succeeded
    /// stays, else the first.
    pub fn read(study: &Path) -> Result<Self, ResultError> {
        let folder = study.join(RESULTS_FOLDER);
        let error = |error: &io::Error| ResultError::at_path(&folder, error);
        let mut paths = Vec::new();
        match fs::read_dir(&folder) {
            Ok(entries) => {
                for entry in entries {
                    let path = entry.map_err(|it| error(&it))?.path();
                    if path.extension().is_some_and(|it| it == "jsonl") {
                        paths.push(path);
                    }
                }
            }
            Err(found) if found.kind() == io::ErrorKind::NotFound => {}
            Err(found) => return Err(error(&found)),
        }
        paths.sort();
        let mut set = Self::default();
        for path in &paths {
            let content = files::read_bytes(path, RESULTS_MAX)
                .map_err(|error| ResultError::at_path(path, &error))?;
            set.add_file(path, &content)?;
        }
        Ok(set)
    }

    fn add_file(&mut self, path: &Path, content: &[u8]) -> Result<(), ResultError> {
        let whole = &content[..whole_lines(content)];
        for (number, line) in whole.split_inclusive(|byte| *byte == b'\n').enumerate() {
            let result = serde_json::from_slice(line).map_err(|error| {
                ResultError(format!(
                    "{}:{}: no result ({error}): expected a line of simrun",
                    path.display(),
                    number + 1
                ))
            })?;
            self.add_result(result, path);
        }
        Ok(())
    }

    /// Adds a result of a file.
    pub fn add_result(&mut self, result: ResultLine, path: &Path) {
        let Some((known, known_path)) = self.results.get_mut(&result.key) else {
            let key = result.key.clone();
            self.results.insert(key, (result, path.to_owned()));
            return;
        };
        if let (Some(first), Some(second)) = (&known.digest, &result.digest)
            && first != second
        {
            self.conflicts.push(Conflict {
                key: result.key.clone(),
                results: [
                    (first.clone(), known_path.clone()),
                    (second.clone(), path.to_owned()),
                ],
            });
        }
        if result.succeeded() && !known.succeeded() {
            *known = result;
            path.clone_into(known_path);
        }
    }

    /// Returns the result of a run.
    pub fn get(&self, key: &Key) -> Option<&ResultLine> {
        self.results.get(key).map(|(result, _)| result)
    }

    /// Returns all results in the order of their keys.
    pub fn iter(&self) -> impl Iterator<Item = &ResultLine> {
        self.results.values().map(|(result, _)| result)
    }

    /// Returns the results of one key with different digests.
    pub fn conflicts(&self) -> &[Conflict] {
        &self.conflicts
    }
}

/// Reason why results cannot be read or written, with the path.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ResultError(String);

impl ResultError {
    /// A problem with a file.
    pub fn at_path(path: &Path, problem: impl fmt::Display) -> Self {
        Self(format!("{}: {problem}", path.display()))
    }
}

impl From<files::OutputError> for ResultError {
    fn from(error: files::OutputError) -> Self {
        Self(error.to_string())
    }
}

impl fmt::Display for ResultError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ResultError {}

#[cfg(test)]
mod tests;
