//! Timelines of runs, made from event logs: for Perfetto, for Paje's readers, or as a table.
//!
//! [`TraceWriter`] takes one event after the other, so that analyses can read the same stream.
//! [`write_trace`] reads a whole log.
//!
//! *Not in a timeline*: the actions of a program between its calls in a real run.

mod calls;
mod messages;
mod options;
mod paje;
mod perfetto;
mod sink;
mod table;

use std::fmt;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use observe::{LogEntry, LogEvent, LogReader, NetworkEvent};

use self::calls::Calls;
use self::paje::Paje;
use self::perfetto::{Aggregate, Merge, Perfetto};
use self::sink::Sink;
use self::table::TableWriter;

pub use self::options::{Contents, ParseTraceError, RankSet, TraceOptions, TraceUnit};

/// The format of a timeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TraceFormat {
    /// Perfetto's trace packets.
    Perfetto {
        /// True if they are compressed with gzip.
        compressed: bool,
    },
    /// Paje.
    Paje,
    /// A table with one row for each slice, message and value of a counter.
    Csv,
}

impl TraceFormat {
    /// Returns the format that the ending of a file name stands for.
    pub fn from_path(path: &Path) -> Result<Self, String> {
        let name = path.to_string_lossy();
        for (ending, format) in [
            (".pftrace", Self::Perfetto { compressed: false }),
            (".pftrace.gz", Self::Perfetto { compressed: true }),
            (".paje", Self::Paje),
            (".csv", Self::Csv),
        ] {
            if name.ends_with(ending) {
                return Ok(format);
            }
        }
        Err(format!(
            "{name}: unknown ending: expected .pftrace, .pftrace.gz, .paje or .csv"
        ))
    }
}

/// A timeline that was written.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
#[non_exhaustive]
pub struct TraceSummary {
    /// Number of events of the log.
    pub events: u64,
    /// Number of packets, lines or rows.
    pub packets: u64,
    /// Number of bytes, before they are compressed.
    pub bytes: u64,
    /// The time in seconds at which the file ends, if the file reached its size limit.
    pub cut: Option<f64>,
    /// Length in seconds of the shortest call that takes time, if this length is below 10 ns.
    pub shortest: Option<f64>,
}

/// A file. It is flushed once, at the end of the file.
enum TraceOutput<W: Write> {
    Plain(W),
    Compressed(GzEncoder<W>),
}

impl<W: Write> Write for TraceOutput<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Plain(out) => out.write(bytes),
            Self::Compressed(out) => out.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Plain(out) => out.flush(),
            Self::Compressed(out) => {
                out.try_finish()?;
                out.get_mut().flush()
            }
        }
    }
}

/// A writer of a timeline, which takes the events of a log in their order.
#[derive(Debug)]
pub struct TraceWriter(Calls);

impl TraceWriter {
    /// Begins a timeline of a run of this many ranks.
    pub fn new(
        out: impl Write + 'static,
        format: TraceFormat,
        options: &TraceOptions,
        ranks: u32,
    ) -> io::Result<Self> {
        let invalid = |text| io::Error::new(io::ErrorKind::InvalidInput, text);
        options.check_selection(ranks).map_err(invalid)?;
        let aggregates = options.aggregates(ranks);
        let is_perfetto = matches!(format, TraceFormat::Perfetto { .. });
        if !is_perfetto && (options.shorter_than.is_some() || options.aggregate == Some(true)) {
            let text = "--trace-shorter-than and --trace-aggregate: expected a file .pftrace";
            return Err(invalid(text.to_owned()));
        }
        let out = match format {
            TraceFormat::Perfetto { compressed: true } => {
                TraceOutput::Compressed(GzEncoder::new(out, Compression::fast()))
            }
            _ => TraceOutput::Plain(out),
        };
        let sink: Box<dyn Sink> = match format {
            TraceFormat::Perfetto { .. } if aggregates => {
                Box::new(Aggregate::new(out, options, ranks))
            }
            TraceFormat::Perfetto { .. } => {
                let trace = Perfetto::new(out, options, ranks);
                match options.shorter_than {
                    Some(shorter) => Box::new(Merge::new(trace, shorter)),
                    None => Box::new(trace),
                }
            }
            TraceFormat::Paje => Box::new(Paje::new(out, options.limit)),
            TraceFormat::Csv => Box::new(TableWriter::new(out, options.limit)),
        };
        let rounds = is_perfetto && !aggregates && options.unit == TraceUnit::Nanosecond;
        Ok(Self(Calls::new(sink, options.clone(), ranks, rounds)))
    }

    /// Takes an event of a rank at a time in seconds. `names`: the log that the event is from.
    pub fn handle_event<R: Read>(
        &mut self,
        rank: u32,
        time: f64,
        event: &LogEvent,
        names: &LogReader<R>,
    ) {
        self.0.handle_event(rank, time, event, names);
    }

    /// Takes an event of the network at a time in seconds. `names`: the log that the event is from.
    pub fn handle_network_event<R: Read>(
        &mut self,
        time: f64,
        event: &NetworkEvent<Vec<u32>>,
        names: &LogReader<R>,
    ) {
        self.0.handle_network_event(time, event, names);
    }

    /// Takes the class of a part of a rank's wait, in seconds: a slice "waits: `class`" within the
    /// slice of the call. Call it before [`TraceWriter::handle_event`] takes the event that ends
    /// the wait.
    pub fn wait_class(&mut self, rank: u32, from: f64, to: f64, class: &'static str) {
        self.0.wait_class(rank, (from, to), class);
    }

    /// Returns true if no later event changes the timeline.
    pub fn is_over(&self) -> bool {
        self.0.is_over()
    }

    /// Ends the timeline at a time in seconds. Slices that are open stay open.
    pub fn finish_trace(self, end: f64) -> io::Result<TraceSummary> {
        self.0.finish_trace(end)
    }
}

/// Writes the timeline of a log.
pub fn write_trace<R: Read>(
    log: &mut LogReader<R>,
    out: impl Write + 'static,
    format: TraceFormat,
    options: &TraceOptions,
) -> Result<TraceSummary, TraceError> {
    let writer = TraceWriter::new(out, format, options, log.ranks());
    let mut writer = writer.map_err(TraceError::Timeline)?;
    let mut last = 0.0;
    // To the end, also of what is left out: the log may be a pipe, whose writer continues.
    while let Some(entry) = log.next_entry().map_err(TraceError::Log)? {
        match entry {
            LogEntry::Rank(rank, time, event) => {
                last = time;
                writer.handle_event(rank, time, &event, log);
            }
            LogEntry::Network(time, event) => writer.handle_network_event(time, &event, log),
        }
    }
    let finished = writer.finish_trace(log.end().unwrap_or(last));
    finished.map_err(TraceError::Timeline)
}

/// An error of one of the two files.
#[derive(Debug)]
pub enum TraceError {
    /// The log cannot be read.
    Log(io::Error),
    /// The timeline cannot be written, or an option selects no part of the run.
    Timeline(io::Error),
}

impl From<io::Error> for TraceError {
    fn from(error: io::Error) -> Self {
        Self::Log(error)
    }
}

impl From<TraceError> for io::Error {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Log(error) | TraceError::Timeline(error) => error,
        }
    }
}

impl fmt::Display for TraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Log(error) | Self::Timeline(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for TraceError {}

impl<W: Write> fmt::Debug for TraceOutput<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TraceOutput")
    }
}
