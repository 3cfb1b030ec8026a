//! Logs are read as they were written, whole or cut.

use source_location::SourceLocation;
use std::io;

use observe::{
    BackwardReader, LogEntry, LogEvent, LogReader, LogWriter, PacketKind, ProgramEvent,
    RECORD_BYTES, RankEvent,
};

/// An event of each kind, with extreme values.
fn all() -> Vec<ProgramEvent> {
    let place = SourceLocation::caller();
    let mut events = vec![
        RankEvent::Wait {
            call: "recv",
            place,
            elapses: true,
            request: Some(7),
        },
        RankEvent::Continue,
        RankEvent::Send {
            peer: 63,
            tag: u32::MAX,
            bytes: 1 << 53,
            place,
            collective: true,
            request: None,
        },
        RankEvent::Receive {
            peer: None,
            bytes: 7,
            place,
            collective: false,
            request: Some(u32::MAX - 1),
        },
        RankEvent::CollectiveCall {
            algorithm: "ring",
            root: Some(0),
            size: 64,
            first: 63,
            place,
        },
        RankEvent::Collective {
            name: "a name that is longer than the 31 bytes of one record",
            context: 1,
            number: 2,
            bytes: 3,
            request: Some(9),
        },
        RankEvent::CollectiveEnd {
            context: 1,
            number: 2,
        },
        RankEvent::Unexpected {
            peer: 1,
            tag: 3,
            bytes: 2,
        },
        RankEvent::Taken {
            peer: 1,
            tag: 3,
            bytes: 2,
        },
        RankEvent::Elapsed,
        RankEvent::Sent { operation: 9 },
        RankEvent::Enter { region: "solve" },
        RankEvent::Leave,
        RankEvent::Mark {
            name: "residual",
            value: -0.0,
        },
        RankEvent::End,
    ];
    events.extend(more());
    events.extend(packets());
    events
}

/// Events with other arguments.
fn more() -> [ProgramEvent; 3] {
    [
        RankEvent::Send {
            peer: 1,
            tag: 2,
            bytes: (1 << 48) - 1,
            place: SourceLocation::caller(),
            collective: true,
            request: Some(0xffff),
        },
        RankEvent::Incident {
            name: "connection",
            peer: Some(3),
            value: None,
        },
        RankEvent::Incident {
            name: "speed of the host",
            peer: None,
            value: Some(0.0),
        },
    ]
}

/// An event of each kind with each kind of packet.
fn packets() -> Vec<ProgramEvent> {
    let mut events = Vec::new();
    for packet in PacketKind::ALL {
        let (peer, key, bytes) = (3, 4, 5);
        events.push(RankEvent::Post {
            peer,
            packet,
            key,
            bytes,
        });
        events.push(RankEvent::Arrive {
            peer,
            packet,
            key,
            bytes,
        });
        events.push(RankEvent::Inject {
            peer,
            packet,
            key,
            bytes,
        });
    }
    events
}

fn written() -> Vec<u8> {
    let mut writer = LogWriter::new(Vec::new(), 64);
    let host = writer.write_host_name("node-2");
    writer.write_host(2, host);
    for (at, event) in (0_u32..).zip(all()) {
        writer.event(at % 3, f64::from(at) * 0.1, event);
    }
    writer.finish(9.0).expect("memory can be written to")
}

type Entries = Vec<(u32, f64, LogEvent)>;

fn read(bytes: &[u8]) -> (LogReader<&[u8]>, Entries) {
    let mut reader = LogReader::new(bytes).expect("it begins with a header");
    let mut entries = Vec::new();
    while let Some(entry) = reader.next_event().expect("it is a log") {
        entries.push(entry);
    }
    (reader, entries)
}

/// Returns an event without names; the log has numbers instead of names.
fn nameless<N, P>(event: RankEvent<N, P>) -> RankEvent<(), ()> {
    match event {
        RankEvent::Wait {
            elapses, request, ..
        } => RankEvent::Wait {
            call: (),
            place: (),
            elapses,
            request,
        },
        RankEvent::Continue => RankEvent::Continue,
        RankEvent::Send {
            peer,
            tag,
            bytes,
            collective,
            request,
            ..
        } => RankEvent::Send {
            peer,
            tag,
            bytes,
            place: (),
            collective,
            request,
        },
        RankEvent::Receive {
            peer,
            bytes,
            collective,
            request,
            ..
        } => RankEvent::Receive {
            peer,
            bytes,
            place: (),
            collective,
            request,
        },
        RankEvent::CollectiveCall {
            root, size, first, ..
        } => RankEvent::CollectiveCall {
            algorithm: (),
            root,
            size,
            first,
            place: (),
        },
        RankEvent::Collective {
            context,
            number,
            bytes,
            request,
            ..
        } => RankEvent::Collective {
            name: (),
            context,
            number,
            bytes,
            request,
        },
        RankEvent::Enter { .. } => RankEvent::Enter { region: () },
        RankEvent::Mark { value, .. } => RankEvent::Mark { name: (), value },
        RankEvent::Incident { peer, value, .. } => RankEvent::Incident {
            name: (),
            peer,
            value,
        },
        other => same(other),
    }
}

/// Returns an event that has no names.
fn same<N, P>(event: RankEvent<N, P>) -> RankEvent<(), ()> {
    match event {
        RankEvent::CollectiveEnd { context, number } => {
            RankEvent::CollectiveEnd { context, number }
        }
        RankEvent::Post {
            peer,
            packet,
            key,
            bytes,
        } => RankEvent::Post {
            peer,
            packet,
            key,
            bytes,
        },
        RankEvent::Arrive {
            peer,
            packet,
            key,
            bytes,
        } => RankEvent::Arrive {
            peer,
            packet,
            key,
            bytes,
        },
        RankEvent::Inject {
            peer,
            packet,
            key,
            bytes,
        } => RankEvent::Inject {
            peer,
            packet,
            key,
            bytes,
        },
        RankEvent::Unexpected { peer, tag, bytes } => RankEvent::Unexpected { peer, tag, bytes },
        RankEvent::Taken { peer, tag, bytes } => RankEvent::Taken { peer, tag, bytes },
        RankEvent::Elapsed => RankEvent::Elapsed,
        RankEvent::Sent { operation } => RankEvent::Sent { operation },
        RankEvent::Leave => RankEvent::Leave,
        RankEvent::End => RankEvent::End,
        _ => panic!("it has names"),
    }
}

/// Returns the names of an event.
fn names(reader: &LogReader<&[u8]>, event: LogEvent) -> Vec<String> {
    let names = match event {
        RankEvent::Wait { call, place, .. } => vec![call, place],
        RankEvent::Send { place, .. } | RankEvent::Receive { place, .. } => vec![place],
        RankEvent::CollectiveCall {
            algorithm, place, ..
        } => vec![algorithm, place],
        RankEvent::Collective { name, .. }
        | RankEvent::Mark { name, .. }
        | RankEvent::Incident { name, .. } => vec![name],
        RankEvent::Enter { region } => vec![region],
        _ => Vec::new(),
    };
    let text = |name| reader.text(name).to_owned();
    names.into_iter().map(text).collect()
}

#[test]
fn what_is_written_is_read() {
    let bytes = written();
    let (reader, entries) = read(&bytes);
    assert_eq!(reader.ranks(), 64);
    assert_eq!(reader.host_name(2), "node-2");
    assert_eq!(reader.host_name(0), "");
    let numbers = [0, 2, 3].map(|rank| reader.hosts().host_number(rank));
    assert_eq!(numbers, [None, Some(0), None]);
    assert_eq!(reader.end(), Some(9.0));
    assert_eq!(entries.len(), all().len());
    let mut found = Vec::new();
    for (at, (entry, event)) in (0_u32..).zip(entries.iter().zip(all())) {
        assert_eq!((entry.0, entry.1), (at % 3, f64::from(at) * 0.1));
        assert_eq!(nameless(entry.2), nameless(event));
        found.extend(names(&reader, entry.2));
    }
    found.retain(|name| !name.starts_with(file!()));
    let expected = [
        "recv",
        "ring",
        "a name that is longer than the 31 bytes of one record",
        "solve",
        "residual",
        "connection",
        "speed of the host",
    ];
    assert_eq!(found, expected);
}

#[test]
fn names_of_many_hosts_leave_the_numbers_of_texts_free() {
    let mut writer = LogWriter::new(Vec::new(), 70_000);
    for rank in 0..70_000 {
        let host = writer.write_host_name(&format!("host-{rank}"));
        writer.write_host(rank, host);
    }
    writer.event(69_999, 1.0, RankEvent::Enter { region: "solve" });
    let bytes = writer.finish(2.0).expect("memory can be written to");
    let (reader, entries) = read(&bytes);
    assert_eq!(names(&reader, entries[0].2), ["solve"]);
    let hosts = [0, 65_535, 69_999].map(|rank| reader.host_name(rank));
    assert_eq!(hosts, ["host-0", "host-65535", "host-69999"]);
}

#[test]
fn a_log_that_was_cut_is_valid_up_to_its_last_record() {
    let bytes = written();
    let (_, whole) = read(&bytes);
    for length in RECORD_BYTES..bytes.len() {
        let (reader, entries) = read(&bytes[..length]);
        assert_eq!(entries[..], whole[..entries.len()], "{length}");
        assert_eq!(reader.end(), None, "{length}");
    }
}

#[test]
fn what_is_no_log_is_refused() {
    let problem = LogReader::new(&[0_u8; 64][..]).expect_err("it is no log");
    assert_eq!(problem.to_string(), "not an event log of simrun");
    let mut other = written();
    other[24] = 9;
    let problem = LogReader::new(&other[..]).expect_err("it has another version");
    assert!(problem.to_string().contains("version 9"), "{problem}");
}

#[test]
fn a_record_that_is_no_event_is_an_error() {
    let mut bytes = written();
    let last = bytes.len() - 2 * RECORD_BYTES;
    bytes[last] = 200;
    let mut reader = LogReader::new(&bytes[..]).expect("it begins with a header");
    let problem = loop {
        match reader.next_event() {
            Ok(Some(_)) => {}
            Ok(None) => panic!("the record was read"),
            Err(problem) => break problem,
        }
    };
    let problem = problem.to_string();
    assert!(
        problem.ends_with(": a record of unknown kind 200"),
        "{problem}"
    );
}

#[test]
fn a_log_is_read_backwards_with_what_its_records_end() {
    let place = SourceLocation::caller();
    let mut writer = LogWriter::new(Vec::new(), 2);
    let wait = |call, elapses| RankEvent::Wait {
        call,
        place,
        elapses,
        request: None,
    };
    let (context, number) = (5, 3);
    let events = [
        (0, 1.0, RankEvent::Enter { region: "outer" }),
        (0, 2.0, RankEvent::Enter { region: "inner" }),
        (1, 2.5, wait("recv", false)),
        (0, 3.0, wait("compute", true)),
        (0, 4.0, RankEvent::Continue),
        (0, 4.0, RankEvent::Leave),
        (
            0,
            4.5,
            RankEvent::CollectiveCall {
                algorithm: "ring",
                root: None,
                size: 2,
                first: 1,
                place,
            },
        ),
        (
            0,
            4.5,
            RankEvent::Collective {
                name: "barrier",
                context,
                number,
                bytes: 0,
                request: None,
            },
        ),
        (0, 5.0, RankEvent::CollectiveEnd { context, number }),
        (1, 6.0, RankEvent::Continue),
        (0, 7.0, RankEvent::Leave),
    ];
    for (rank, time, event) in events {
        writer.event(rank, time, event);
    }
    let bytes = writer.finish(9.0).expect("memory");
    let (reader, forwards) = read(&bytes);
    // A record that was not written whole is left out.
    let cut = [&bytes[..], &[1; 5]].concat();
    let mut log = BackwardReader::new(io::Cursor::new(cut)).expect("a log");
    let (mut backwards, mut calls, mut regions, mut firsts) = (vec![], vec![], vec![], vec![]);
    while let Some(entry) = log.next_entry().expect("a log") {
        let LogEntry::Rank(rank, time, event) = entry.entry else {
            panic!("an event of a rank: {entry:?}");
        };
        backwards.push((rank, time, event));
        calls.extend((entry.call).map(|call| (reader.text(call.call), call.elapses, call.from)));
        regions.extend(entry.region.map(|region| reader.text(region)));
        firsts.extend(entry.first);
    }
    backwards.reverse();
    assert_eq!(backwards, forwards);
    assert_eq!(calls, [("recv", false, 2.5), ("compute", true, 3.0)]);
    assert_eq!(regions, ["outer", "inner"]);
    assert_eq!(firsts, [1]);
}

#[test]
fn a_request_that_has_no_room_is_left_out() {
    let mut writer = LogWriter::new(Vec::new(), 1);
    for (bytes, request) in [(1 << 48, 1), (5, 0x1_0000)] {
        let send = RankEvent::Send {
            peer: 0,
            tag: 0,
            bytes,
            place: SourceLocation::caller(),
            collective: false,
            request: Some(request),
        };
        writer.event(0, 0.0, send);
    }
    let bytes = writer.finish(0.0).expect("memory can be written to");
    let found = read(&bytes).1.into_iter().map(|entry| match entry.2 {
        RankEvent::Send { bytes, request, .. } => (bytes, request),
        other => panic!("{other:?}"),
    });
    assert_eq!(found.collect::<Vec<_>>(), [(1 << 48, None), (5, None)]);
}
