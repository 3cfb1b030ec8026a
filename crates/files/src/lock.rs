//! Folders in which one process works at a time, or several processes that share the work.
//!
//! The lock is a lock of the operating system on a file within the folder: a killed process leaves
//! no lock. The file has the number and the command of its owner, for the message.
//!
//! *Not modelled*: file systems without locks, such as some file systems of clusters. The folder is
//! then not locked.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::OutputError;

/// Name of the locked file within the folder.
pub const LOCK_FILE: &str = ".simrun.lock";

/// The right to work in a folder, until the lock is dropped or the process ends.
#[derive(Debug)]
pub struct FolderLock {
    path: PathBuf,
    file: File,
    is_exclusive: bool,
    is_held: AtomicBool,
}

impl FolderLock {
    /// Locks a folder that exists, for this process alone.
    pub fn exclusive(folder: &Path) -> Result<Self, OutputError> {
        Self::acquire(folder, true)
    }

    /// Locks a folder that exists, for this process and others that share the folder.
    pub fn shared(folder: &Path) -> Result<Self, OutputError> {
        Self::acquire(folder, false)
    }

    fn acquire(folder: &Path, is_exclusive: bool) -> Result<Self, OutputError> {
        let path = folder.join(LOCK_FILE);
        let failed = |error: io::Error| OutputError::new(&path, format!("cannot lock it: {error}"));
        loop {
            let mut options = File::options();
            let options = options.read(true).write(true).create(true).truncate(false);
            let mut file = options.open(&path).map_err(failed)?;
            let locked = match is_exclusive {
                true => file.try_lock(),
                false => file.try_lock_shared(),
            };
            if matches!(locked, Err(TryLockError::WouldBlock)) {
                let owner = owner(&path);
                return Err(OutputError::new(
                    folder,
                    format!(
                        "it is in use by {owner}: expected another directory, or the end of that \
                         process"
                    ),
                ));
            }
            // Its owner may have removed it between the two calls.
            if !is_file_at(&file, &path) {
                continue;
            }
            let command: Vec<String> = std::env::args().collect();
            let text = format!("{}\n{}\n", std::process::id(), command.join(" "));
            let written = file
                .set_len(0)
                .and_then(|()| file.write_all(text.as_bytes()));
            written.map_err(failed)?;
            return Ok(Self {
                path,
                file,
                is_exclusive,
                is_held: AtomicBool::new(true),
            });
        }
    }
}

impl FolderLock {
    /// Ends the right to work in the folder before the value is dropped.
    pub fn release_lock(&self) {
        if !self.is_held.swap(false, Ordering::Relaxed) {
            return;
        }
        if self.is_exclusive {
            // A file that stays is locked again by the next owner.
            let _ = fs::remove_file(&self.path);
        }
        let _ = self.file.unlock();
    }
}

impl Drop for FolderLock {
    fn drop(&mut self) {
        self.release_lock();
    }
}

/// Returns the owner of a lock in words.
fn owner(path: &Path) -> String {
    let text = fs::read(path).unwrap_or_default();
    let text = String::from_utf8_lossy(&text[..text.len().min(4096)]).into_owned();
    let mut lines = text.lines();
    let number = lines.next().and_then(|line| line.parse::<u32>().ok());
    match (number, lines.next()) {
        (Some(number), Some(command)) => format!("process {number} ({command})"),
        _ => "another process".to_owned(),
    }
}

/// Returns true if an open file is the one with this name.
pub(crate) fn is_file_at(file: &File, path: &Path) -> bool {
    let identity = |found: fs::Metadata| (found.dev(), found.ino());
    let (open, named) = (file.metadata(), fs::metadata(path));
    open.map(identity).ok() == named.map(identity).ok()
}
