//! Temporary names of output files, and the removal of files that a killed process has left.
//!
//! The writer holds a lock of the operating system on its temporary file. A file without a lock has
//! no living writer, on this machine or on another machine that shares the folder; the next output
//! in the folder removes this file.
//!
//! *Not modelled*: file systems without locks: temporary files of killed processes stay there.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::lock::is_file_at;

/// Part of all temporary names.
const MARK: &str = ".simrun-part";

/// A temporary file, with a lock as a sign that the writer lives.
#[derive(Debug)]
pub(crate) struct TemporaryFile {
    pub(crate) path: PathBuf,
    pub(crate) file: File,
}

impl TemporaryFile {
    /// Creates the temporary file of `file`, and removes files that killed processes have left
    /// beside it.
    pub(crate) fn create_beside(file: &Path) -> io::Result<Self> {
        remove_abandoned(file.parent().unwrap_or(Path::new("")));
        let path = name_beside(file);
        loop {
            let file = File::create(&path)?;
            // Without locks, files of killed processes stay.
            let _ = file.lock();
            // Another process may have removed it before it was locked.
            if is_file_at(&file, &path) {
                return Ok(Self { path, file });
            }
        }
    }
}

/// Returns a hidden name beside `file`, unique to this process, with the extension of `file`, by
/// which canvases choose the format.
fn name_beside(file: &Path) -> PathBuf {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let number = std::process::id();
    let ending = match file.extension() {
        Some(ending) => format!(".{}", ending.to_string_lossy()),
        None => String::new(),
    };
    file.with_file_name(format!(".{name}.{number}{MARK}{ending}"))
}

/// Returns true for names that [`name_beside`] makes.
fn is_temporary(name: &str) -> bool {
    let Some((before, ending)) = name.rsplit_once(MARK) else {
        return false;
    };
    let number = before.rsplit_once('.').map(|(_, number)| number);
    let is_number = number.is_some_and(|number| number.parse::<u32>().is_ok());
    name.starts_with('.') && is_number && (ending.is_empty() || ending.starts_with('.'))
}

/// Removes temporary files without a living writer. Errors are no reason to end: the folder may not
/// be ours.
fn remove_abandoned(folder: &Path) {
    let folder = match folder.as_os_str().is_empty() {
        true => Path::new("."),
        false => folder,
    };
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_name().to_str().is_some_and(is_temporary) {
            continue;
        }
        let path = entry.path();
        let is_file = entry.file_type().is_ok_and(|kind| kind.is_file());
        if let Some(file) = is_file.then(|| File::open(&path)).and_then(Result::ok)
            && file.try_lock().is_ok()
            && is_file_at(&file, &path)
        {
            let _ = fs::remove_file(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn temporary_names_are_recognized() {
        for file in ["out.csv", "out", "a.tar.gz", ".hidden"] {
            let name = name_beside(Path::new(file));
            assert!(is_temporary(name.to_str().expect("text")), "{file}");
        }
        for name in [
            "out.csv",
            ".out.csv.part",
            ".out.12.part",
            "out.csv.12.simrun-part.csv",
            ".out.simrun-part",
            ".out.12.simrun-parts",
        ] {
            assert!(!is_temporary(name), "{name}");
        }
    }
}
