//! Progress of many runs on standard error, shown by the thread that starts the runs.
//!
//! *Not here*: progress within a run, which `progress` shows from a separate thread.

#![expect(clippy::disallowed_types, reason = "progress is of real time")]

use std::io::{IsTerminal as _, Write as _};
use std::time::{Duration, Instant};

/// Progress on standard error: each second on a terminal, on one line that is written over, else
/// each minute.
#[derive(Debug)]
pub struct ProgressLine {
    begin: Instant,
    shown: Option<Instant>,
}

impl ProgressLine {
    /// Returns the line at the begin of the work.
    #[expect(clippy::new_without_default, reason = "it reads the clock")]
    #[must_use]
    pub fn new() -> Self {
        Self {
            begin: Instant::now(),
            shown: None,
        }
    }

    /// Returns the time since the begin.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.begin.elapsed()
    }

    /// Shows a text, if the period since the last text has passed.
    pub fn show(&mut self, text: impl FnOnce() -> String) {
        let is_terminal = std::io::stderr().is_terminal();
        let every = Duration::from_secs(if is_terminal { 1 } else { 60 });
        if self.shown.unwrap_or(self.begin).elapsed() < every {
            return;
        }
        self.shown = Some(Instant::now());
        let text = text();
        let mut stderr = std::io::stderr().lock();
        // Standard error may be closed, and there is no other place for it.
        let _ = if is_terminal {
            write!(stderr, "\r\x1b[K{text}")
        } else {
            writeln!(stderr, "{text}")
        };
        let _ = stderr.flush();
    }
}

impl Drop for ProgressLine {
    /// Clears the line, so that other output can be written there.
    fn drop(&mut self) {
        if self.shown.is_some() && std::io::stderr().is_terminal() {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
