//! Input and output of a rank: standard input, lines of output and lines of the log.

use std::cell::RefCell;

use mpi::Level;

use super::Inner;
use crate::exports::descriptors::Descriptors;
use crate::exports::streams;

impl Inner {
    /// Returns true if the rank has the standard input of the process. Under a model checker, the
    /// second execution would find this input empty.
    pub(crate) fn has_input(&self) -> bool {
        self.world.rank() == 0 && !self.is_checked()
    }

    /// Returns the stream of standard input.
    pub(crate) const fn input(&self) -> *mut libc::FILE {
        self.input.get()
    }

    /// Sets the stream of standard input.
    pub(crate) fn set_input(&self, stream: *mut libc::FILE) {
        self.input.set(stream);
        self.image().set_input(stream);
        streams::set_input(stream);
    }

    /// Returns the descriptors of the rank.
    pub(crate) const fn descriptors(&self) -> &RefCell<Descriptors> {
        &self.descriptors
    }

    /// Writes bytes of standard output (0) or standard error (1), line by line.
    pub(crate) fn write(&self, stream: usize, bytes: &[u8]) {
        if self.is_called_back.get() {
            self.deferred.borrow_mut().push((stream, bytes.to_vec()));
            return;
        }
        self.write_deferred();
        let mut unfinished = self.unfinished.borrow_mut();
        let line = &mut unfinished[stream];
        let mut parts = bytes.split(|byte| *byte == b'\n');
        let last = parts.next_back().unwrap_or_default();
        for part in parts {
            line.extend_from_slice(part);
            self.print(stream, line);
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
        let lines = std::mem::take(&mut *self.unfinished.borrow_mut());
        for (stream, line) in lines
            .iter()
            .enumerate()
            .filter(|(_, line)| !line.is_empty())
        {
            self.print(stream, line);
        }
    }

    fn print(&self, stream: usize, line: &[u8]) {
        let text = String::from_utf8_lossy(line);
        if stream == 0 {
            self.world.println(format_args!("{text}"));
        } else {
            self.world.log(Level::Warn, format_args!("{text}"));
        }
    }
}
