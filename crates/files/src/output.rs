//! Output files: a whole file or no file.
//!
//! [`Output::new`] chooses the destination of the output before the work begins:
//!
//! * `-` and `/dev/stdout` stream to standard output.
//! * A symbolic link is followed: the target file is written, and the link stays.
//! * An existing path that is no regular file (a folder, a device, a pipe, a socket) is refused.
//! * A file that this process reads, or that it executes, is refused under any name.
//!
//! A file is written under a temporary name beside it, brought to the disk and renamed, with the
//! permissions of the file that it replaces. A reader sees the old file or the new file. After an
//! error, the temporary file is removed; after a kill, the next output in the folder removes it.
//!
//! *Not modelled*: locks of the file itself. Of two processes that write one file at the same time,
//! the last one wins.

use std::fmt;
use std::fs::{self, File, FileType};
use std::io::{self, ErrorKind, Write};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};

use crate::input;
use crate::temporary::TemporaryFile;

/// Symbolic links that are followed one after the other, as Linux does (`path_resolution(7)`).
const LINKS_MAX: u32 = 40;

/// Where output goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Output {
    /// The path as given.
    path: PathBuf,
    /// The file to be replaced, after all links; `None` for standard output.
    file: Option<PathBuf>,
}

/// An output file that cannot be written, or is not one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputError {
    path: PathBuf,
    problem: String,
}

impl OutputError {
    pub(crate) fn new(path: &Path, problem: String) -> Self {
        Self {
            path: path.to_owned(),
            problem,
        }
    }
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path.display(), self.problem)
    }
}

impl std::error::Error for OutputError {}

impl fmt::Display for Output {
    /// Writes the path as given.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path.display().fmt(f)
    }
}

impl Output {
    /// Finds the file for the output called `path`. No file is created or written.
    pub fn new(path: &Path) -> Result<Self, OutputError> {
        let output = |file| Self {
            path: path.to_owned(),
            file,
        };
        if path == "-" || path == "/dev/stdout" {
            return Ok(output(None));
        }
        let file = follow_links(path).map_err(|error| output(None).cannot_write(&error))?;
        match fs::metadata(&file) {
            Ok(found) if !found.is_file() => {
                let kind = describe_kind(found.file_type());
                Err(output(None).error(format!("it is {kind}: expected the name of a file")))
            }
            _ => {
                let output = output(Some(file));
                output.check_inputs()?;
                Ok(output)
            }
        }
    }

    /// Refuses a file that this process reads or executes.
    fn check_inputs(&self) -> Result<(), OutputError> {
        let own = self
            .file
            .as_deref()
            .and_then(|file| fs::metadata(file).ok());
        match own.and_then(|own| input::same_input(&own)) {
            None => Ok(()),
            Some(input) => Err(self.error(format!(
                "it is also the input {}: expected another name",
                input.display()
            ))),
        }
    }

    /// Checks that the folder of the file exists and accepts a file, for outputs that do not create
    /// their folder. Leaves no file behind.
    pub fn can_be_written(&self) -> Result<(), OutputError> {
        let Some(file) = &self.file else {
            return Ok(());
        };
        match file.parent() {
            Some(folder) if folder != "" && !folder.is_dir() => Err(self.error(format!(
                "there is no folder {}: expected one that exists",
                folder.display()
            ))),
            _ => {
                // Permissions do not tell: of a read-only file system, or for root.
                TemporaryFile::create_beside(file)
                    .and_then(|temporary| fs::remove_file(&temporary.path))
                    .map_err(|error| self.cannot_write(&error))
            }
        }
    }

    /// Returns whether output streams to standard output, which other text should not mix with.
    pub const fn is_stdout(&self) -> bool {
        self.file.is_none()
    }

    /// Writes `bytes`, the whole output. Folders on the way are made.
    pub fn write(&self, bytes: impl AsRef<[u8]>) -> Result<(), OutputError> {
        let bytes = bytes.as_ref();
        let Some(file) = &self.file else {
            let mut stdout = io::stdout().lock();
            let written = stdout.write_all(bytes).and_then(|()| stdout.flush());
            return match written {
                // Nobody reads on, as in `… | head`.
                Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
                written => written.map_err(|error| self.cannot_write(&error)),
            };
        };
        self.replace(file, |temporary| {
            fs::write(temporary, bytes).map_err(|error| self.cannot_write(&error))
        })
    }

    /// Lets `draw` fill the file under a temporary name, which has the ending of the file's own.
    pub fn draw_file(
        &self,
        draw: impl FnOnce(&Path) -> Result<(), String>,
    ) -> Result<(), OutputError> {
        let Some(file) = &self.file else {
            return Err(self.error("a picture needs the name of a file".to_owned()));
        };
        self.replace(file, |temporary| {
            draw(temporary).map_err(|problem| self.error(problem))
        })
    }

    /// Creates the file, for writing piece by piece: readers see the file grow. The folder has to
    /// exist.
    pub fn create_file(&self) -> Result<File, OutputError> {
        let Some(file) = &self.file else {
            return Err(self.error("expected the name of a file".to_owned()));
        };
        self.check_inputs()?;
        File::create(file).map_err(|error| self.cannot_write(&error))
    }

    /// Fills a temporary file and renames it to `file`.
    fn replace(
        &self,
        file: &Path,
        fill: impl FnOnce(&Path) -> Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        // An input may have become known after the output.
        self.check_inputs()?;
        if let Some(folder) = file.parent() {
            fs::create_dir_all(folder).map_err(|error| self.cannot_write(&error))?;
        }
        let temporary =
            TemporaryFile::create_beside(file).map_err(|error| self.cannot_write(&error))?;
        let done = fill(&temporary.path).and_then(|()| {
            let rename = || {
                if let Ok(before) = fs::metadata(file) {
                    fs::set_permissions(&temporary.path, before.permissions())?;
                }
                temporary.file.sync_all()?;
                fs::rename(&temporary.path, file)
            };
            rename().map_err(|error| self.cannot_write(&error))
        });
        if done.is_err() {
            // The first error is the one to report.
            let _ = fs::remove_file(&temporary.path);
        }
        done
    }

    fn cannot_write(&self, error: &io::Error) -> OutputError {
        self.error(format!("cannot write it: {error}"))
    }

    fn error(&self, problem: String) -> OutputError {
        OutputError::new(&self.path, problem)
    }
}

/// Writes a whole file, or streams to standard output: see [`Output`].
pub fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<(), OutputError> {
    Output::new(path)?.write(bytes)
}

/// Returns the path after all symbolic links of its last part, also for a dangling link.
fn follow_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        let Ok(target) = fs::read_link(&path) else {
            return Ok(path);
        };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Returns the kind of a thing that exists in place of a file.
fn describe_kind(kind: FileType) -> &'static str {
    if kind.is_dir() {
        "a folder"
    } else if kind.is_char_device() || kind.is_block_device() {
        "a device"
    } else if kind.is_fifo() {
        "a pipe"
    } else if kind.is_socket() {
        "a socket"
    } else {
        "no regular file"
    }
}
