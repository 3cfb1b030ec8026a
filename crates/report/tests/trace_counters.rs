//! Promise: counters of links and of posted receives, requests, incidents and changes have the
//! values known by hand.

use observe::{
    Link, LinkParameter, LinkSharing, LogWriter, NetworkEvent, PacketKind, ProgramEvent, RankEvent,
    SourceLocation,
};
use report::{TraceFormat, TraceOptions, TraceUnit};
use testing::trace::Trace;

use crate::trace::{PERFETTO, made, trace_of};

/// Returns the table of a log.
fn csv(log: &[u8], options: &TraceOptions) -> String {
    let (bytes, _) = made(log, TraceFormat::Csv, options).expect("memory");
    String::from_utf8(bytes).expect("a table")
}

/// Returns times in nanoseconds and values of a counter.
fn values(log: &[u8], options: &TraceOptions, name: &str) -> Vec<(u64, f64)> {
    let trace = trace_of(log, options);
    let events = trace.events_on_track(name);
    events.map(|event| (event.time, event.value)).collect()
}

const fn begin(flow: u32, links: &[u32]) -> NetworkEvent<&[u32]> {
    NetworkEvent::Begin {
        flow,
        bytes: 100.0,
        latency_s: 0.0,
        alone_s: 1.0,
        links,
    }
}

/// A flow over `count` links of 200 bytes per second, and a second flow that shares link 1 with it.
fn flows(count: u32) -> Vec<u8> {
    let mut log = LogWriter::new(Vec::new(), 1);
    let describe = |link| Link {
        name: format!("link-{link}"),
        bandwidth: 200.0,
        latency_s: 0.0,
        sharing: LinkSharing::Directed,
    };
    let mut at = |ns: f64, event: NetworkEvent<&[u32]>| log.network(ns / 1e9, &event, describe);
    let rate = |flow, rate| NetworkEvent::Rate {
        flow,
        rate,
        link: None,
    };
    let all: Vec<u32> = (0..count).collect();
    at(0.0, begin(0, &all));
    at(10.0, rate(0, 100.0));
    at(20.0, begin(1, &[1]));
    // Two changes at one time: the last value counts.
    at(30.0, rate(0, 50.0));
    at(30.0, rate(1, 150.0));
    at(40.0, NetworkEvent::End { flow: 1 });
    at(40.0, rate(0, 100.0));
    at(50.0, NetworkEvent::End { flow: 0 });
    log.event(0, 60e-9, RankEvent::End);
    log.finish(60e-9).expect("memory")
}

#[test]
fn the_use_of_a_link_is_the_sum_of_its_flows() {
    let (log, plain) = (flows(3), TraceOptions::default());
    let both = [(10, 50.0), (30, 100.0), (40, 50.0), (50, 0.0)];
    assert_eq!(values(&log, &plain, "use of link-1"), both);
    let alone = [(10, 50.0), (30, 25.0), (40, 50.0), (50, 0.0)];
    assert_eq!(values(&log, &plain, "use of link-0"), alone);
    let text = csv(&log, &plain);
    assert!(text.contains("counter,% of bandwidth of link-2,"), "{text}");
}

#[test]
fn the_first_links_have_counters_or_those_selected() {
    let log = flows(70);
    let plain = TraceOptions::default();
    assert_eq!(values(&log, &plain, "use of link-63").len(), 4);
    assert!(values(&log, &plain, "use of link-64").is_empty());
    let selected = TraceOptions {
        links: Some("link-6[49]".parse().expect("a pattern")),
        ..plain
    };
    assert_eq!(values(&log, &selected, "use of link-64").len(), 4);
    assert_eq!(values(&log, &selected, "use of link-69").len(), 4);
    assert!(values(&log, &selected, "use of link-63").is_empty());
}

#[test]
fn selected_links_count_their_flows() {
    let log = flows(3);
    let selected = TraceOptions {
        links: Some("link-[01]".parse().expect("a pattern")),
        ..TraceOptions::default()
    };
    // One flow crosses both, and another one link-1.
    let name = "flows of link-1";
    let both = [(0, 1.0), (20, 2.0), (40, 1.0), (50, 0.0)];
    assert_eq!(values(&log, &selected, name), both);
    let alone = [(0, 1.0), (50, 0.0)];
    assert_eq!(values(&log, &selected, "flows of link-0"), alone);
    assert!(values(&log, &selected, "flows of link-2").is_empty());
    assert!(values(&log, &TraceOptions::default(), name).is_empty());
    let text = csv(&log, &selected);
    assert!(text.contains("counter,flows of link-1,"), "{text}");
}

#[test]
fn events_are_counted_by_millisecond() {
    let mut log = LogWriter::new(Vec::new(), 1);
    // 3 in the first ms, none in the second, 1 in the third, and the last in the fourth.
    for ms in [0.1, 0.1, 0.9, 2.5, 3.1] {
        log.event(0, ms / 1e3, RankEvent::Elapsed);
    }
    let log = log.finish(3.2e-3).expect("memory");
    let counted = values(&log, &TraceOptions::default(), "events per simulated ms");
    assert_eq!(
        counted,
        [(1_000_000, 3.0), (2_000_000, 0.0), (3_000_000, 1.0)]
    );
}

#[test]
fn receives_are_posted_until_their_messages_arrive() {
    let mut log = LogWriter::new(Vec::new(), 2);
    let place = SourceLocation::caller();
    let receive = RankEvent::Receive {
        peer: Some(0),
        bytes: 8,
        place,
        collective: false,
        request: None,
    };
    let arrive = |packet| RankEvent::Arrive {
        peer: 0,
        packet,
        key: 0,
        bytes: 8,
    };
    let (peer, tag, bytes) = (0, 0, 8);
    let events: [(f64, ProgramEvent); 9] = [
        (0.0, receive),
        (0.0, receive),
        (10.0, arrive(PacketKind::Eager)),
        (20.0, arrive(PacketKind::Rts)),
        (30.0, arrive(PacketKind::Data)),
        // An unexpected message, and its receive.
        (40.0, arrive(PacketKind::Eager)),
        (40.0, RankEvent::Unexpected { peer, tag, bytes }),
        (50.0, receive),
        (50.0, RankEvent::Taken { peer, tag, bytes }),
    ];
    for (ns, event) in events {
        log.event(1, ns / 1e9, event);
    }
    let log = log.finish(60e-9).expect("memory");
    let plain = TraceOptions::default();
    let posted = values(&log, &plain, "posted receives of rank 1");
    assert_eq!(posted, [(0, 2.0), (10, 1.0), (20, 0.0)]);
    let unexpected = values(&log, &plain, "unexpected messages of rank 1");
    assert_eq!(unexpected, [(40, 1.0), (50, 0.0)]);
    let bytes = values(&log, &plain, "unexpected bytes of rank 1");
    assert_eq!(bytes, [(40, 8.0), (50, 0.0)]);
}

fn wait(call: &'static str, elapses: bool, request: Option<u32>) -> ProgramEvent {
    RankEvent::Wait {
        call,
        place: SourceLocation::caller(),
        elapses,
        request,
    }
}

#[test]
fn operations_and_the_calls_that_wait_for_them_have_their_request() {
    let mut log = LogWriter::new(Vec::new(), 2);
    let send = RankEvent::Send {
        peer: 1,
        tag: 7,
        bytes: 100,
        place: SourceLocation::caller(),
        collective: false,
        request: Some(5),
    };
    log.event(0, 10e-9, send);
    log.event(0, 30e-9, wait("wait", false, Some(5)));
    log.event(0, 60e-9, RankEvent::Continue);
    // One that blocks is a slice, one that does not is an instant where it begins and ends.
    for (number, name, at) in [(0, "allreduce", 60e-9), (1, "ibcast", 80e-9)] {
        let collective = RankEvent::Collective {
            name,
            context: 1,
            number,
            bytes: 8,
            request: Some(6 + number),
        };
        log.event(0, at, collective);
        let call = if number == 0 { name } else { "waitall" };
        log.event(0, at, wait(call, false, None));
        log.event(
            0,
            at + 10e-9,
            RankEvent::CollectiveEnd { context: 1, number },
        );
        log.event(0, at + 10e-9, RankEvent::Continue);
    }
    let log = log.finish(100e-9).expect("memory");
    let trace = trace_of(&log, &TraceOptions::default());
    let requests = |name| {
        let found = trace.named(name).map(|slice| &*slice.arguments["request"]);
        found.collect::<Vec<_>>()
    };
    assert_eq!(requests("allreduce"), ["6"]);
    assert_eq!(requests("ibcast"), ["7", "7"]);
    for name in ["send", "wait"] {
        assert_eq!(requests(name), ["5"], "{name}");
    }
    let table = csv(&log, &TraceOptions::default());
    let row = "send,send,0,,0.00000001,0.00000001,1,100,7,,,,5,";
    assert!(table.contains(row), "{table}");
}

#[test]
fn incidents_of_ranks_and_changes_of_links_are_instants() {
    let mut log = LogWriter::new(Vec::new(), 2);
    let of = |name, peer, value| RankEvent::Incident { name, peer, value };
    log.event(0, 100e-9, of("connection", Some(1), None));
    log.event(1, 200e-9, of("speed of the host", None, Some(0.5)));
    let change = NetworkEvent::LinkChange {
        link: 0,
        parameter: LinkParameter::Bandwidth,
        value: 1e9,
    };
    let describe = |_| Link {
        name: "trunk".to_owned(),
        bandwidth: 2e9,
        latency_s: 0.0,
        sharing: LinkSharing::Shared,
    };
    log.network(300e-9, &change, describe);
    let log = log.finish(400e-9).expect("memory");
    let trace = trace_of(&log, &TraceOptions::default());
    let found = |name: &str| {
        let [event] = &trace.named(name).collect::<Vec<_>>()[..] else {
            panic!("one {name}: {:?}", trace.events);
        };
        let argument = |name| event.arguments.get(name).map_or("", |text| &**text);
        let (peer, value) = (argument("peer"), argument("value"));
        format!("{} {} {peer} {value}", event.time, trace.track(event))
    };
    assert_eq!(found("connection"), "100 rank 0 1 ");
    assert_eq!(found("speed of the host"), "200 rank 1  0.5");
    assert_eq!(found("bandwidth of trunk"), "300   1000000000");
    let table = csv(&log, &TraceOptions::default());
    let row = "control,bandwidth of trunk,,,0.0000003,0.0000003,,,,,,,,1000000000,\n";
    assert!(table.contains(row), "{table}");
    let other = TraceOptions {
        links: Some("no-*".parse().expect("a pattern")),
        ..TraceOptions::default()
    };
    // Changes of links that are not selected are left out, and no link has a counter then.
    let refused = made(&log, PERFETTO, &other).expect_err("nothing is selected");
    assert!(refused.to_string().contains("no-*"), "{refused}");
}

#[test]
fn calls_that_are_too_short_for_nanoseconds_are_told() {
    let mut log = LogWriter::new(Vec::new(), 2);
    for (rank, end) in [(0, 0.5e-9), (1, 20e-9)] {
        log.event(rank, 0.0, wait("compute", true, None));
        log.event(rank, end, RankEvent::Continue);
    }
    let log = log.finish(100e-9).expect("memory");
    let told = |unit| {
        let options = TraceOptions {
            unit,
            ..TraceOptions::default()
        };
        let (bytes, summary) = made(&log, PERFETTO, &options).expect("memory");
        let trace = Trace::from_bytes(&bytes);
        let notes = trace.events.iter();
        let notes = notes.filter(|event| event.name.contains("10 ns")).count();
        (notes, summary.shortest)
    };
    assert_eq!(told(TraceUnit::Nanosecond), (1, Some(0.5e-9)));
    assert_eq!(told(TraceUnit::Picosecond), (0, None));
    // A table has whole times.
    let table = made(&log, TraceFormat::Csv, &TraceOptions::default());
    assert_eq!(table.expect("memory").1.shortest, None);
}
