//! Everything that commands make of an event log.

use std::io::{self, Cursor};

use observe::{BackwardReader, LogEntry, LogReader};
use report::analysis::{Analysis, BackwardReport};
use report::network::NetworkAnalysis;
use report::{TraceFormat, TraceOptions, write_trace};

/// Reads a log, which may be damaged, forwards and backwards.
pub(crate) fn survive(log: &[u8]) {
    let _ = analyse(log);
    let perfetto = TraceFormat::Perfetto { compressed: false };
    // One of them, which depends on all bytes.
    let sum: usize = log.iter().map(|&byte| usize::from(byte)).sum();
    let format = [perfetto, TraceFormat::Paje, TraceFormat::Csv][sum % 3];
    if let Ok(mut reader) = LogReader::new(log) {
        let _ = write_trace(&mut reader, io::sink(), format, &TraceOptions::default());
    }
}

fn analyse(log: &[u8]) -> io::Result<()> {
    let mut reader = LogReader::new(log)?;
    let ranks = reader.ranks();
    let (mut analysis, mut network) = (Analysis::new(ranks), NetworkAnalysis::new(ranks));
    while let Some(entry) = reader.next_entry()? {
        match entry {
            LogEntry::Network(time, event) => {
                analysis.handle_network_event(&event);
                network.handle_network_event(time, &event);
            }
            LogEntry::Rank(rank, time, event) => {
                analysis.handle_event((rank, time, event), |number| reader.text(number));
                network.handle_event(rank, time, &event);
                let _ = analysis.ended_waits();
            }
        }
    }
    let mut analysis = analysis.finish_report(&reader);
    let network = network.finish_report(&reader);
    let backwards = BackwardReader::new(Cursor::new(log))?;
    analysis.add_backward(BackwardReport::from_log(
        backwards,
        &reader,
        analysis.end_s,
    )?);
    assert!(!format!("{analysis}{network}").is_empty());
    Ok(())
}
