//! The tests of commands that read and write files, in one executable.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

mod damaged_files;
mod draw;
mod full_disk;
mod options;
mod readers;
mod trace;
mod validate;
