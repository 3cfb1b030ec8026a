//! Destination of the output and the log of the program.
//!
//! Output lines go to standard output, or to standard error when standard output is for JSON; with
//! a rank prefix on request. Log lines go to standard error, with virtual time, rank and host. When
//! the reader of standard output has gone away (`simrun … | head`), no more lines are written
//! there, and the run can be asked to stop. A closed standard error has no effect.

use std::cell::RefCell;
use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sim_core::{ActorId, Console, Level, LogLine};

/// Where output lines go.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Stream {
    /// Standard output.
    #[default]
    Stdout,
    /// Standard error.
    Stderr,
    /// Nowhere.
    Nowhere,
}

/// Filter of log lines: a level, and per rank or range of ranks another one, as in
/// `warn,3=debug,8-15=info`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LogFilter {
    level: Option<Level>,
    ranks: Vec<(u32, u32, Option<Level>)>,
}

impl Default for LogFilter {
    fn default() -> Self {
        Self {
            level: Some(Level::Warn),
            ranks: Vec::new(),
        }
    }
}

/// A text that is not a log filter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseLogFilterError(String);

impl fmt::Display for ParseLogFilterError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "\"{}\" is not a log filter: expected off, error, warn, info, debug or trace, or RANK=LEVEL or FIRST-LAST=LEVEL",
            self.0
        )
    }
}

impl std::error::Error for ParseLogFilterError {}

fn level(text: &str) -> Option<Option<Level>> {
    Some(match text {
        "off" => None,
        "error" => Some(Level::Error),
        "warn" => Some(Level::Warn),
        "info" => Some(Level::Info),
        "debug" => Some(Level::Debug),
        "trace" => Some(Level::Trace),
        _ => return None,
    })
}

impl FromStr for LogFilter {
    type Err = ParseLogFilterError;

    fn from_str(text: &str) -> Result<Self, ParseLogFilterError> {
        let mut filter = Self::default();
        for part in text.split(',') {
            let bad = || ParseLogFilterError(part.to_owned());
            let Some((ranks, wanted)) = part.split_once('=') else {
                filter.level = level(part.trim()).ok_or_else(bad)?;
                continue;
            };
            let (first, last) = ranks.split_once('-').unwrap_or((ranks, ranks));
            let number = |text: &str| text.trim().parse::<u32>().map_err(|_| bad());
            filter.ranks.push((
                number(first)?,
                number(last)?,
                level(wanted.trim()).ok_or_else(bad)?,
            ));
        }
        Ok(filter)
    }
}

impl LogFilter {
    /// Returns true if a line of this level of this rank is wanted; the last entry that names the
    /// rank decides.
    pub fn wants(&self, level: Level, rank: u32) -> bool {
        let entry = self
            .ranks
            .iter()
            .rev()
            .find(|(first, last, _)| (first..=last).contains(&&rank));
        let wanted = entry.map_or(self.level, |&(_, _, wanted)| wanted);
        wanted.is_some_and(|wanted| level <= wanted)
    }
}

/// Calls its argument; meanwhile, other contents are removed from the terminal.
pub type TerminalGuard = Box<dyn Fn(&mut dyn FnMut())>;

/// The program's output and log.
pub struct Output {
    stream: Stream,
    prefix: bool,
    filter: LogFilter,
    stop: Option<Arc<AtomicBool>>,
    around: Option<TerminalGuard>,
    problem: RefCell<Option<io::Error>>,
}

impl Output {
    /// Output to `stream`, with a rank `prefix` or without, and with the log lines that `filter`
    /// wants.
    pub const fn new(stream: Stream, prefix: bool, filter: LogFilter) -> Self {
        Self {
            stream,
            prefix,
            filter,
            stop: None,
            around: None,
            problem: RefCell::new(None),
        }
    }

    /// Sets `flag` to true when standard output has no reader any more.
    pub fn stop_when_closed(&mut self, flag: Arc<AtomicBool>) {
        self.stop = Some(flag);
    }

    /// Writes every line inside of `around`.
    pub fn set_guard(&mut self, around: TerminalGuard) {
        self.around = Some(around);
    }

    /// Returns the error of writing to standard output, if there was one.
    pub fn problem(&self) -> Option<io::Error> {
        self.problem.take()
    }

    fn write(&self, stream: Stream, line: fmt::Arguments<'_>) {
        match &self.around {
            Some(around) => around(&mut || self.write_line(stream, line)),
            None => self.write_line(stream, line),
        }
    }

    fn write_line(&self, stream: Stream, line: fmt::Arguments<'_>) {
        match stream {
            Stream::Stdout => {
                if self.problem.borrow().is_some() {
                    return;
                }
                if let Err(problem) = writeln!(io::stdout().lock(), "{line}") {
                    self.problem.replace(Some(problem));
                    if let Some(stop) = &self.stop {
                        stop.store(true, Ordering::Relaxed);
                    }
                }
            }
            // Nobody can be told that standard error is closed.
            Stream::Stderr => drop(writeln!(io::stderr().lock(), "{line}")),
            Stream::Nowhere => {}
        }
    }
}

impl fmt::Debug for Output {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("stream", &self.stream)
            .finish_non_exhaustive()
    }
}

impl Console for Output {
    fn print(&self, actor: ActorId, text: fmt::Arguments<'_>) {
        if self.prefix {
            self.write(self.stream, format_args!("[{}] {text}", actor_rank(actor)));
        } else {
            self.write(self.stream, text);
        }
    }

    fn wants(&self, level: Level, actor: ActorId) -> bool {
        self.filter.wants(level, actor_rank(actor))
    }

    fn log(&self, line: &LogLine<'_>) {
        let name = match line.level {
            Level::Error => "error",
            Level::Warn => "warn",
            Level::Info => "info",
            Level::Debug => "debug",
            Level::Trace => "trace",
        };
        if self.stream != Stream::Nowhere {
            let (time, who, host, text) = (line.time.as_secs(), line.name, line.host, line.text);
            self.write(
                Stream::Stderr,
                format_args!("[{time:.9}] [{who} on {host}] {name}: {text}"),
            );
        }
    }
}

/// Returns the rank of an actor; for actor programs, the number of the actor counted from 0.
const fn actor_rank(actor: ActorId) -> u32 {
    actor.number() - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_by_level_and_rank() {
        let filter: LogFilter = "info,3=debug,8-15=off".parse().unwrap();
        assert!(filter.wants(Level::Info, 0) && !filter.wants(Level::Debug, 0));
        assert!(filter.wants(Level::Debug, 3));
        assert!(!filter.wants(Level::Error, 9));
        for wrong in ["loud", "3=", "x=info", "1-=info"] {
            assert!(wrong.parse::<LogFilter>().is_err(), "{wrong}");
        }
    }
}
