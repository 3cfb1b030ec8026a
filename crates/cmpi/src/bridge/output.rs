//! Input and output of a rank: standard input, lines of output and lines of the log.

use std::cell::{Cell, RefCell};
use std::ptr;

use mpi::Level;

use super::Inner;
use crate::host;
use crate::state::library::Descriptors;

/// Streams and descriptors of a rank.
pub(super) struct RankFiles {
    descriptors: RefCell<Descriptors>,
    /// The stream of standard input.
    pub(super) input: Cell<*mut libc::FILE>,
    /// Unfinished lines of standard output and standard error.
    unfinished: RefCell<[Vec<u8>; 2]>,
    /// Output of functions that the message layer has called.
    pub(super) deferred: RefCell<Vec<(usize, Vec<u8>)>>,
}

impl Default for RankFiles {
    fn default() -> Self {
        Self {
            descriptors: RefCell::default(),
            input: Cell::new(ptr::null_mut()),
            unfinished: RefCell::default(),
            deferred: RefCell::default(),
        }
    }
}

impl Inner {
    /// Returns true if the rank has the standard input of the process. Under a model checker, the
    /// second execution would find this input empty.
    pub(crate) fn has_input(&self) -> bool {
        self.world.rank() == 0 && !self.is_checked()
    }

    /// Returns the stream of standard input.
    pub(crate) const fn input_stream(&self) -> *mut libc::FILE {
        self.files.input.get()
    }

    /// Sets the stream of standard input.
    pub(crate) fn set_input(&self, stream: *mut libc::FILE) {
        self.files.input.set(stream);
        self.image().set_input(stream);
        host::set_input(stream);
    }

    /// Returns the descriptors of the rank.
    pub(crate) const fn descriptors(&self) -> &RefCell<Descriptors> {
        &self.files.descriptors
    }

    /// Writes bytes of standard output (0) or standard error (1), line by line.
    pub(crate) fn write_lines(&self, stream: usize, bytes: &[u8]) {
        if self.is_called_back.get() {
            self.files
                .deferred
                .borrow_mut()
                .push((stream, bytes.to_vec()));
            return;
        }
        self.write_deferred();
        let mut unfinished = self.files.unfinished.borrow_mut();
        let line = &mut unfinished[stream];
        let mut parts = bytes.split(|byte| *byte == b'\n');
        let last = parts.next_back().unwrap_or_default();
        for part in parts {
            line.extend_from_slice(part);
            self.print_line(stream, line);
            line.clear();
        }
        line.extend_from_slice(last);
    }

    /// Writes lines that have no end yet.
    pub(super) fn flush(&self) {
        if self.is_called_back.get() {
            return;
        }
        self.write_deferred();
        let lines = std::mem::take(&mut *self.files.unfinished.borrow_mut());
        for (stream, line) in lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.is_empty())
        {
            self.print_line(stream, line);
        }
    }

    fn print_line(&self, stream: usize, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if stream == 0 {
            self.world.println(format_args!("{text}"));
        } else {
            self.world.log(Level::Warn, format_args!("{text}"));
        }
    }
}
