//! Output of a rank: lines of its output and its log.

use mpi::Level;

use super::Inner;

impl Inner {
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
