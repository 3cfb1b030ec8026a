//! Input files: read up to a limit, and remembered.
//!
//! A device or a pipe may have no end: the reader stops at a limit, and the error names the limit.
//! All names of inputs are kept for the whole process, because a command reads its inputs in many
//! places, and each output has to differ from all of them.
//!
//! *Not modelled*: limits of streams, such as event logs, which are read piece by piece.

use std::collections::BTreeMap;
use std::fs::{self, File, Metadata};
use std::io::{self, ErrorKind, Read};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Greatest length in bytes of an input that is read as a whole: 256 MiB. \[choice\]
pub const INPUT_MAX: u64 = 256 << 20;

/// Names of the inputs of this process, by their absolute names.
static INPUTS: Mutex<BTreeMap<PathBuf, PathBuf>> = Mutex::new(BTreeMap::new());

/// Remembers an input that is read later, or by another function: no output may replace the file.
pub fn add_input(path: &Path) {
    // The current folder may be gone: then a relative name leads to no file either.
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut inputs = INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    inputs.entry(absolute).or_insert_with(|| path.to_owned());
}

/// Opens an input that is read piece by piece.
pub fn open_input(path: &Path) -> io::Result<File> {
    let file = File::open(path)?;
    add_input(path);
    Ok(file)
}

/// Reads an input of at most `max` bytes.
pub fn read_bytes(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    read_up_to(open_input(path)?, max)
}

/// Reads an input of at most [`INPUT_MAX`] bytes as text.
pub fn read_text(path: &Path) -> io::Result<String> {
    as_text(read_bytes(path, INPUT_MAX)?)
}

/// Reads a file that the command keeps for itself and replaces: [`read_text`], but no input.
pub fn read_state(path: &Path) -> io::Result<String> {
    as_text(read_up_to(File::open(path)?, INPUT_MAX)?)
}

/// Reads standard input up to [`INPUT_MAX`] bytes as text.
pub fn read_stdin() -> io::Result<String> {
    as_text(read_up_to(io::stdin().lock(), INPUT_MAX)?)
}

fn read_up_to(input: impl Read, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    input.take(max.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        let limit = match max {
            mebibytes if max >= 1 << 20 => format!("{} MiB", mebibytes >> 20),
            _ => format!("{max} bytes"),
        };
        let problem = format!("it has more than {limit}: expected a file of at most {limit}");
        return Err(io::Error::new(ErrorKind::FileTooLarge, problem));
    }
    Ok(bytes)
}

fn as_text(bytes: Vec<u8>) -> io::Result<String> {
    String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
}

/// Returns the name of the input that is the file `output`, under whatever name.
pub(crate) fn same_input(output: &Metadata) -> Option<PathBuf> {
    let is_output = |path: &Path| {
        fs::metadata(path)
            .is_ok_and(|found| (found.dev(), found.ino()) == (output.dev(), output.ino()))
    };
    let inputs = INPUTS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some((_, name)) = inputs.iter().find(|(absolute, _)| is_output(absolute)) {
        return Some(name.clone());
    }
    std::env::current_exe()
        .ok()
        .filter(|program| is_output(program))
}
