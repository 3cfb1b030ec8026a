//! The progress of a build by cargo, as lines where standard error is no terminal.
//!
//! On a terminal cargo itself draws a bar.

#![expect(clippy::disallowed_types, reason = "lines are printed some time apart")]

use std::io::{self, BufReader, Read as _, Write as _};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

/// Runs cargo where standard error is no terminal: prints the diagnostics, and in place of a bar
/// the progress of the build as lines.
pub(crate) fn output_in_short(command: &mut Command, name: &str) -> io::Result<Output> {
    command.env("CARGO_TERM_PROGRESS_WHEN", "always");
    command.env("CARGO_TERM_PROGRESS_WIDTH", "80");
    let mut child = command.spawn()?;
    let bytes = BufReader::new(child.stderr.take().expect("it is a pipe")).bytes();
    let mut progress = BuildProgress::new(name);
    let printer = std::thread::Builder::new().spawn(move || {
        let mut line = Vec::new();
        for byte in bytes.map_while(Result::ok) {
            // A bar ends with a return of the carriage.
            if byte != b'\n' && byte != b'\r' {
                line.push(byte);
                continue;
            }
            let text = String::from_utf8_lossy(&line);
            if let Some(message) = progress.progress_message(&text, Instant::now()) {
                // A closed standard error cannot be reported anywhere.
                let _ = writeln!(io::stderr().lock(), "{message}");
            }
            line.clear();
        }
    })?;
    let output = child.wait_with_output();
    // The thread has printed all messages.
    let _ = printer.join();
    output
}

/// Time between two lines about the progress of a build.
const PROGRESS_INTERVAL: Duration = Duration::from_secs(5);

/// Turns the lines of cargo into messages about a build.
struct BuildProgress {
    name: String,
    /// When the last line about the progress was printed; none before the first crate is compiled.
    printed: Option<Instant>,
}

impl BuildProgress {
    fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            printed: None,
        }
    }

    /// Returns the message to print for a line of cargo, if there is one.
    fn progress_message(&mut self, line: &str, now: Instant) -> Option<String> {
        let name = &self.name;
        if line.starts_with('[') && crates_done(line).is_some() {
            // A user who wants a quiet cargo (`CARGO_TERM_QUIET`) gets a bar without a word.
            return None;
        }
        let (word, rest) = line.trim_start().split_once(' ').unwrap_or((line, ""));
        match word {
            // Words of status stand at the right of a column of 12.
            _ if !line.starts_with(' ') || word.len() > 12 => Some(line.to_owned()),
            "Blocking" => Some(format!(
                "waiting to build {name}: another cargo has the lock of its target folder"
            )),
            "Compiling" if self.printed.is_none() => {
                self.printed = Some(now);
                Some(format!("building {name} and what it needs"))
            }
            "Building" => {
                let since = now.saturating_duration_since(self.printed?);
                let (done, all) = crates_done(rest).filter(|_| since >= PROGRESS_INTERVAL)?;
                self.printed = Some(now);
                Some(format!("building {name}: {done} of {all} crates"))
            }
            "Compiling" | "Finished" | "Downloading" | "Downloaded" | "Locking" | "Updating"
            | "Adding" | "Fresh" | "Removing" => None,
            _ => Some(line.to_owned()),
        }
    }
}

/// Returns the numbers in a bar of cargo, such as `[=====>    ] 1/4: libc`.
fn crates_done(bar: &str) -> Option<(u32, u32)> {
    let (_, counts) = bar.split_once("] ")?;
    let (counts, _) = counts.split_once(':').unwrap_or((counts, ""));
    let (done, all) = counts.trim().split_once('/')?;
    Some((done.parse().ok()?, all.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_build_says_that_it_starts_and_goes_on_and_waits() {
        let mut progress = BuildProgress::new("apps/ring");
        let start = Instant::now();
        let mut at = |second, line: &str| {
            progress.progress_message(line, start + Duration::from_secs(second))
        };
        let waits = "waiting to build apps/ring: another cargo has the lock of its target folder";
        let blocking = "    Blocking waiting for file lock on build directory";
        assert_eq!(at(0, blocking).as_deref(), Some(waits));
        // Without a crate to compile there is no build.
        let bar = "    Building [======>                      ] 11/42: libc(build), syn...   ";
        assert_eq!(at(9, bar), None);
        let starts = "building apps/ring and what it needs";
        assert_eq!(at(10, "   Compiling libc v0.2.0").as_deref(), Some(starts));
        assert_eq!(at(12, bar), None);
        let goes_on = "building apps/ring: 11 of 42 crates";
        assert_eq!(at(15, bar).as_deref(), Some(goes_on));
        assert_eq!(at(16, bar), None);
        assert_eq!(at(17, "   Compiling ring v0.1.0 (/a/ring)"), None);
        assert_eq!(at(18, "    Finished `release` profile in 3s"), None);
        let quiet = "[=========================> ] 98/99: barrier(bin)      ";
        assert_eq!(at(29, quiet), None);
        // Diagnostics are as they were.
        for text in [
            "error[E0425]: no x",
            " --> src/main.rs:1:1",
            "  | ^ here",
            "",
        ] {
            assert_eq!(at(30, text).as_deref(), Some(text));
        }
    }
}
