//! Event logs of simulated programs, in memory.

use std::io;
use std::rc::Rc;
use std::sync::Arc;

use mpi::{Comm, Result};
use observe::{LogEntry, LogReader};
use platform::Platform;
use run::{EventLog, LogFilter, Options, Output, RankProgram, Stream, simulate};
use sim_core::Report;
use testing::memory::Memory;

/// Returns the event log of a run, and how the run ended.
pub(crate) fn observed<Fut>(
    platform: &str,
    ranks: u32,
    program: impl Fn(Comm) -> Fut + 'static,
) -> (Vec<u8>, Report)
where
    Fut: Future<Output = Result<()>> + 'static,
{
    let platform = Arc::new(Platform::parse("test.toml", platform).expect("a platform"));
    let memory = Memory::default();
    let log = EventLog::new(Box::new(memory.clone()), ranks);
    let options = Options {
        ranks: Some(ranks),
        event_log: Some(log.clone()),
        ..Options::default()
    };
    let output = Rc::new(Output::new(Stream::Nowhere, false, LogFilter::default()));
    let run = simulate(&platform, &RankProgram::new(program), &options, &output).expect("a run");
    log.finish_log(run.report.time.as_secs()).expect("memory");
    (memory.take_bytes(), run.report)
}

/// Calls `take` with each entry of a log. Returns the reader at the end of the log.
pub(crate) fn read(
    log: &[u8],
    mut take: impl FnMut(LogEntry, &LogReader<&[u8]>),
) -> LogReader<&[u8]> {
    let mut reader = LogReader::new(log).expect("a log");
    while let Some(entry) = reader.next_entry().expect("it is valid") {
        take(entry, &reader);
    }
    reader
}

/// Returns the text of a table.
pub(crate) fn table(write: impl Fn(&mut Vec<u8>) -> io::Result<()>) -> String {
    let mut bytes = Vec::new();
    write(&mut bytes).expect("memory can be written to");
    String::from_utf8(bytes).expect("it is text")
}
