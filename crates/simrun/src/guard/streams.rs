//! Standard output and standard error as files: whether they are still the same, and past their
//! locks.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;

/// The device and the number of the file that is standard output.
pub(super) fn stdout_identity() -> Option<(u64, u64)> {
    let file = File::from(io::stdout().as_fd().try_clone_to_owned().ok()?);
    let metadata = file.metadata().ok()?;
    Some((metadata.dev(), metadata.ino()))
}

/// Returns a separate stream to standard output or standard error, without the lock that a busy
/// rank may hold. Output is discarded if the program has closed the stream.
pub(crate) fn unlocked(stream: &impl AsFd) -> Box<dyn Write> {
    match stream.as_fd().try_clone_to_owned() {
        Ok(stream) => Box::new(File::from(stream)),
        Err(_) => Box::new(io::sink()),
    }
}
