//! Claims of workers on runs, for `--steal`.
//!
//! A claim is a file that only one worker can create (`O_EXCL`). A claim is dead when older than
//! three times the longest run. Ages are differences of two timestamps of the file system, so
//! clocks of nodes that differ have no effect.
//!
//! *Not excluded*: a run that takes longer than three times all others is computed twice, with the
//! same result.

use std::fs::{self, OpenOptions};
use std::io::{self, ErrorKind, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::Key;

/// Age of a dead claim, relative to the longest run.
const DEAD_AFTER: f64 = 3.0;

/// Smallest age of a dead claim in seconds: shorter runs have no cost from claims. \[choice\]
const DEAD_MIN: f64 = 10.0;

/// The claims of one worker.
#[derive(Debug)]
pub(super) struct Claims {
    folder: PathBuf,
    worker: String,
}

impl Claims {
    /// Opens the claims within the folder of a study.
    pub(super) fn open(study: &Path, worker: &str) -> io::Result<Self> {
        let folder = study.join("claims");
        fs::create_dir_all(&folder)?;
        Ok(Self {
            folder,
            worker: worker.to_owned(),
        })
    }

    /// Claims a run; returns false if another worker has a claim that is not dead.
    pub(super) fn claim(&self, key: &Key, longest_s: f64) -> io::Result<bool> {
        let path = self.folder.join(key.as_str());
        if self.create_claim(&path)? || self.is_own(&path) {
            return Ok(true);
        }
        let dead = (DEAD_AFTER * longest_s).max(DEAD_MIN);
        if self.age(&path)?.as_secs_f64() < dead {
            return Ok(false);
        }
        // Another worker may remove it at the same time: one of both creates it again.
        match fs::remove_file(&path) {
            Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
            _ => self.create_claim(&path),
        }
    }

    fn create_claim(&self, path: &Path) -> io::Result<bool> {
        match OpenOptions::new().write(true).create_new(true).open(path) {
            Ok(mut file) => {
                writeln!(file, "{}", self.worker)?;
                Ok(true)
            }
            Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn is_own(&self, path: &Path) -> bool {
        files::read_state(path).is_ok_and(|holder| holder.trim_end() == self.worker)
    }

    /// Returns the age of a file, by the clock of the file system.
    fn age(&self, path: &Path) -> io::Result<Duration> {
        let now = self.folder.join(format!(".{}", self.worker));
        fs::write(&now, "")?;
        let date = fs::metadata(&now)?.modified()?;
        let modified = match fs::metadata(path) {
            Ok(metadata) => metadata.modified()?,
            // It was removed in between.
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Duration::MAX),
            Err(error) => return Err(error),
        };
        Ok(date.duration_since(modified).unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use crate::{KeyContent, sha256};

    use super::*;

    #[test]
    fn a_run_is_claimed_once_until_the_claim_is_dead() {
        let name = format!("simrun-study-claims-{}", std::process::id());
        let study = std::env::temp_dir().join(name);
        let open = |worker| Claims::open(&study, worker).expect("a folder");
        let (one, other) = (open("a-1"), open("b-2"));
        let content = KeyContent {
            arguments: Vec::new(),
            map_sha256: None,
            options: Vec::new(),
            platform_sha256: sha256(b""),
            program_sha256: sha256(b""),
            ranks: 1,
            revision: String::new(),
        };
        let key = content.key(0);
        assert!(one.claim(&key, 0.0).expect("written"));
        assert!(one.claim(&key, 0.0).expect("its own"));
        assert!(!other.claim(&key, 0.0).expect("read"));
        let file = fs::File::options()
            .write(true)
            .open(study.join("claims").join(key.as_str()))
            .expect("a claim");
        let age = |seconds| {
            let modified = file
                .metadata()
                .and_then(|it| it.modified())
                .expect("a date");
            file.set_modified(modified - Duration::from_secs(seconds))
                .expect("an older date");
        };
        age(15);
        assert!(!other.claim(&key, 20.0).expect("read"));
        assert!(other.claim(&key, 4.0).expect("taken over"));
        assert!(!one.claim(&key, 4.0).expect("read"));
        fs::remove_dir_all(study).expect("removed");
    }
}
