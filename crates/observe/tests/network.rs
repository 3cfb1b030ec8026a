//! Promise: events of the network are read as they were written, with numbers of links of the log.

use std::io::ErrorKind;

use observe::{
    Link, LinkSharing, LogEntry, LogReader, LogWriter, NetworkEvent, RECORD_BYTES, RankEvent,
};

/// Link 70 of a platform, and so on.
fn describe(link: u32) -> Link {
    Link {
        name: format!("a link with a name of more than one record, number {link}"),
        bandwidth: f64::from(link) * 1e9,
        latency_s: 1e-6,
        sharing: match link % 3 {
            0 => LinkSharing::Shared,
            1 => LinkSharing::Directed,
            _ => LinkSharing::Fatpipe,
        },
    }
}

fn begin(links: &[u32]) -> NetworkEvent<&[u32]> {
    NetworkEvent::Begin {
        flow: u32::MAX,
        bytes: 0.1,
        latency_s: 0.3,
        alone_s: f64::INFINITY,
        links,
    }
}

fn written() -> Vec<u8> {
    let mut writer = LogWriter::new(Vec::new(), 1);
    // Routes of no link, of as many as fit into one record, and of more.
    writer.network(0.5, &begin(&[]), describe);
    writer.network(1.0, &begin(&[70, 72, 71, 70, 73]), describe);
    writer.network(1.5, &begin(&[70, 71, 72, 73, 74, 75, 76, 77]), describe);
    writer.event(0, 1.5, RankEvent::Leave);
    for link in [None, Some(9), Some(72)] {
        let (flow, rate) = (3, 0.7);
        writer.network(2.0, &NetworkEvent::Rate { flow, rate, link }, describe);
    }
    writer.network(3.0, &NetworkEvent::End { flow: 4 }, describe);
    writer.finish(4.0).expect("memory can be written to")
}

#[test]
fn events_and_links_are_read_as_they_were_written() {
    let bytes = written();
    let mut reader = LogReader::new(&*bytes).expect("it begins with a header");
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_entry().expect("it is a log") {
        entries.push(entry);
    }
    let begin = |links: &[u32]| NetworkEvent::Begin {
        flow: u32::MAX,
        bytes: 0.1,
        latency_s: 0.3,
        alone_s: f64::INFINITY,
        links: links.to_vec(),
    };
    let rate = |link| NetworkEvent::Rate {
        flow: 3,
        rate: 0.7,
        link,
    };
    let expected = [
        LogEntry::Network(0.5, begin(&[])),
        LogEntry::Network(1.0, begin(&[0, 1, 2, 0, 3])),
        LogEntry::Network(1.5, begin(&[0, 2, 1, 3, 4, 5, 6, 7])),
        LogEntry::Rank(0, 1.5, RankEvent::Leave),
        LogEntry::Network(2.0, rate(None)),
        LogEntry::Network(2.0, rate(Some(8))),
        LogEntry::Network(2.0, rate(Some(1))),
        LogEntry::Network(3.0, NetworkEvent::End { flow: 4 }),
    ];
    assert_eq!(entries, expected);
    let links = [70, 72, 71, 73, 74, 75, 76, 77, 9].map(describe);
    assert_eq!(reader.links(), links);

    // Who wants events of ranks gets only those.
    let mut reader = LogReader::new(&*bytes).expect("it begins with a header");
    assert_eq!(
        reader.next_event().expect("a log"),
        Some((0, 1.5, RankEvent::Leave))
    );
    assert_eq!(reader.next_event().expect("a log"), None);
}

#[test]
fn a_log_that_is_cut_anywhere_is_read_up_to_there() {
    let bytes = written();
    let mut before = 0;
    for length in (RECORD_BYTES..=bytes.len()).step_by(RECORD_BYTES) {
        let mut reader = LogReader::new(&bytes[..length]).expect("it begins with a header");
        let mut count = 0;
        while reader.next_entry().expect("it is a log").is_some() {
            count += 1;
        }
        assert!(count >= before, "{count} entries of {length} bytes");
        before = count;
    }
    assert_eq!(before, 8);
}

#[test]
fn a_link_that_is_not_in_the_log_is_an_error() {
    let mut bytes = written();
    // The record of a link is the only one with this bandwidth.
    let bandwidth = 70e9_f64.to_le_bytes();
    let at = bytes.windows(8).position(|part| part == bandwidth);
    let record = at.expect("there is one") / RECORD_BYTES * RECORD_BYTES;
    // The last record of the route of two links that follows: numbers 0, 1, 2, 0, 3.
    let words = bytes[record..]
        .chunks(RECORD_BYTES)
        .position(|part| part[0] == 7);
    let words = record + words.expect("there is one") * RECORD_BYTES;
    bytes[words + 12..words + 16].copy_from_slice(&99_u32.to_le_bytes());
    let mut reader = LogReader::new(&*bytes).expect("it begins with a header");
    let error = loop {
        match reader.next_entry() {
            Ok(entry) => assert!(entry.is_some(), "no error"),
            Err(error) => break error,
        }
    };
    assert_eq!(error.kind(), ErrorKind::InvalidData);
    let error = error.to_string();
    assert!(error.contains("link 99: expected one of the"), "{error}");
}
