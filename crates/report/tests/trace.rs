//! Promise: the timeline of a log has each call, message and counter at its time, and readers show
//! the timeline as meant: balanced, nested, with arrows that go forward in time.

#![expect(clippy::unwrap_used, reason = "a test may panic")]

use observe::SourceLocation;
use std::io;

use observe::{LogReader, LogWriter, PacketKind, ProgramEvent, RankEvent};
use report::{Contents, TraceFormat, TraceOptions, TraceSummary, TraceWriter, write_trace};
use testing::memory::Memory;
use testing::trace::{Trace, TraceEvent};

pub(crate) const PERFETTO: TraceFormat = TraceFormat::Perfetto { compressed: false };

/// A log that is made by hand.
struct Log(LogWriter<Vec<u8>>);

impl Log {
    fn new(ranks: u32) -> Self {
        let mut log = LogWriter::new(Vec::new(), ranks);
        for rank in 0..ranks {
            if rank % 2 == 0 {
                log.write_host_name(&format!("node-{}", rank / 2));
            }
            log.write_host(rank, rank / 2);
        }
        Self(log)
    }

    fn at(&mut self, rank: u32, ns: f64, event: ProgramEvent) -> &mut Self {
        self.0.event(rank, ns / 1e9, event);
        self
    }

    fn end(self, ns: f64) -> Vec<u8> {
        self.0.finish(ns / 1e9).unwrap()
    }
}

#[track_caller]
fn wait(call: &'static str) -> ProgramEvent {
    RankEvent::Wait {
        call,
        place: SourceLocation::caller(),
        elapses: false,
        request: None,
    }
}

#[track_caller]
fn compute() -> ProgramEvent {
    let mut event = wait("compute");
    if let RankEvent::Wait { elapses, .. } = &mut event {
        *elapses = true;
    }
    event
}

/// The end of a collective operation.
const fn ended(number: u32) -> ProgramEvent {
    RankEvent::CollectiveEnd { context: 1, number }
}

const fn unexpected(bytes: u64) -> ProgramEvent {
    let (peer, tag) = (0, 7);
    RankEvent::Unexpected { peer, tag, bytes }
}

/// An unexpected message meets its receive.
const fn taken(bytes: u64) -> ProgramEvent {
    let (peer, tag) = (0, 7);
    RankEvent::Taken { peer, tag, bytes }
}

#[track_caller]
fn send(peer: u32, bytes: u64) -> ProgramEvent {
    RankEvent::Send {
        peer,
        tag: 7,
        bytes,
        place: SourceLocation::caller(),
        collective: false,
        request: Some(0),
    }
}

#[track_caller]
fn receive(peer: u32, bytes: u64) -> ProgramEvent {
    RankEvent::Receive {
        peer: Some(peer),
        bytes,
        place: SourceLocation::caller(),
        collective: false,
        request: Some(0),
    }
}

const fn post(peer: u32, packet: PacketKind, key: u32, bytes: u64) -> ProgramEvent {
    RankEvent::Post {
        peer,
        packet,
        key,
        bytes,
    }
}

const fn arrive(peer: u32, packet: PacketKind, key: u32, bytes: u64) -> ProgramEvent {
    RankEvent::Arrive {
        peer,
        packet,
        key,
        bytes,
    }
}

pub(crate) fn made(
    log: &[u8],
    format: TraceFormat,
    options: &TraceOptions,
) -> io::Result<(Vec<u8>, TraceSummary)> {
    let out = Memory::default();
    let summary = write_trace(&mut LogReader::new(log)?, out.clone(), format, options)?;
    let bytes = out.take_bytes();
    Ok((bytes, summary))
}

pub(crate) fn trace_of(log: &[u8], options: &TraceOptions) -> Trace {
    Trace::from_bytes(&made(log, PERFETTO, options).unwrap().0)
}

fn times(
    events: impl Iterator<Item = impl std::borrow::Borrow<TraceEvent>>,
) -> Vec<(u64, Option<u64>)> {
    events
        .map(|event| (event.borrow().time, event.borrow().end))
        .collect()
}

/// A receive is posted first, its message is sent later: a late sender.
fn late_sender() -> Vec<u8> {
    let mut log = Log::new(2);
    log.at(1, 0.0, receive(0, 100))
        .at(1, 0.0, wait("recv"))
        .at(0, 0.0, compute())
        .at(0, 50.0, RankEvent::Elapsed)
        .at(0, 50.0, RankEvent::Continue)
        .at(0, 50.0, send(1, 100))
        .at(0, 50.0, post(1, PacketKind::Eager, 0, 100))
        .at(0, 50.0, RankEvent::End)
        .at(1, 80.0, arrive(0, PacketKind::Eager, 0, 100))
        .at(1, 80.0, RankEvent::Continue)
        .at(1, 80.0, RankEvent::End);
    log.end(80.0)
}

#[test]
fn the_arrow_of_a_late_sender_goes_from_sender_to_receiver() {
    let trace = trace_of(&late_sender(), &TraceOptions::default());
    let [receive] = &trace.named("recv").collect::<Vec<_>>()[..] else {
        panic!("one receive");
    };
    assert_eq!((receive.time, receive.end), (0, Some(80)));
    assert_eq!(trace.track(receive), "rank 1");
    assert_eq!(receive.arguments["peer"], "0");
    assert_eq!(receive.arguments["bytes"], "100");
    assert!(
        receive.arguments["line"].contains("trace.rs:"),
        "{receive:?}"
    );
    assert!(receive.flows.is_empty() && receive.ending.is_empty());
    let [send] = &trace.named("send").collect::<Vec<_>>()[..] else {
        panic!("one send");
    };
    assert_eq!(
        (send.time, send.end, &send.flows[..]),
        (50, Some(50), &[1][..])
    );
    let [arrival] = &trace.named("arrives").collect::<Vec<_>>()[..] else {
        panic!("one arrival");
    };
    assert_eq!((arrival.time, trace.track(arrival)), (80, "rank 1"));
    assert_eq!(
        (&arrival.ending[..], &arrival.around[..]),
        (&[1][..], &["recv".to_owned()][..])
    );
    let flights: Vec<_> = trace.named("message").collect();
    assert_eq!(times(flights.iter().copied()), [(50, Some(80))]);
    assert_eq!(flights[0].arguments["protocol"], "eager");
    assert_eq!(times(trace.named("compute")), [(0, Some(50))]);
    let values = |name| -> Vec<(u64, f64)> {
        trace
            .events_on_track(name)
            .filter(|event| event.kind == 4)
            .map(|event| (event.time, event.value))
            .collect()
    };
    assert_eq!(values("ranks that wait"), [(0, 1.0), (80, 0.0)]);
    assert_eq!(values("bytes in flight"), [(50, 100.0), (80, 0.0)]);
    let hosts: Vec<&str> = trace
        .tracks
        .values()
        .filter(|track| track.1 == 0)
        .map(|track| &*track.0)
        .collect();
    assert!(hosts.contains(&"node-0"), "{hosts:?}");
}

/// Two rendezvous messages with data that cross their announcements, one message in parts.
#[test]
fn data_of_rendezvous_belong_to_their_sends() {
    let mut log = Log::new(2);
    log.at(0, 0.0, send(1, 10))
        .at(0, 0.0, post(1, PacketKind::Rts, 4, 10))
        .at(0, 0.0, send(1, 20))
        .at(0, 0.0, post(1, PacketKind::Rts, 5, 20))
        .at(0, 0.0, wait("waitall"))
        .at(1, 1.0, arrive(0, PacketKind::Rts, 4, 10))
        .at(1, 1.0, unexpected(10))
        .at(1, 2.0, arrive(0, PacketKind::Rts, 5, 20))
        .at(1, 2.0, post(0, PacketKind::Cts, 5, 0))
        .at(0, 3.0, arrive(1, PacketKind::Cts, 5, 0))
        .at(0, 3.0, post(1, PacketKind::Data, 9, 12))
        .at(0, 3.0, post(1, PacketKind::Data, 9, 8))
        .at(1, 5.0, arrive(0, PacketKind::Data, 9, 12))
        .at(1, 6.0, taken(10))
        .at(1, 6.0, post(0, PacketKind::Cts, 4, 0))
        .at(0, 7.0, arrive(1, PacketKind::Cts, 4, 0))
        .at(0, 7.0, post(1, PacketKind::Data, 3, 10))
        .at(1, 8.0, arrive(0, PacketKind::Data, 9, 8))
        .at(1, 9.0, arrive(0, PacketKind::Data, 3, 10))
        .at(0, 9.0, RankEvent::Continue);
    let trace = trace_of(&log.end(9.0), &TraceOptions::default());
    let flights: Vec<_> = trace.named("message").collect();
    assert_eq!(times(flights.iter().copied()), [(3, Some(8)), (7, Some(9))]);
    assert_eq!([&flights[0].flows[..], &flights[1].flows[..]], [[2], [1]]);
    assert_eq!(flights[0].arguments["protocol"], "rendezvous");
    // Both are in flight at once, on two lanes of one name.
    assert_ne!(flights[0].track, flights[1].track);
    let values: Vec<_> = trace
        .events_on_track("unexpected messages of rank 1")
        .map(|event| (event.time, event.value))
        .collect();
    assert_eq!(values, [(1, 1.0), (6, 0.0)]);
}

/// The first message of operation 3 is cancelled, the second arrives.
#[test]
fn a_cancelled_message_is_not_taken_for_a_later_one() {
    let mut log = Log::new(2);
    for at in [0.0, 10.0] {
        log.at(0, at, send(1, 8))
            .at(0, at, post(1, PacketKind::Rts, 3, 8))
            .at(1, at + 1.0, arrive(0, PacketKind::Rts, 3, 8));
    }
    log.at(1, 12.0, post(0, PacketKind::Cts, 3, 0))
        .at(0, 13.0, arrive(1, PacketKind::Cts, 3, 0))
        .at(0, 13.0, post(1, PacketKind::Data, 0, 8))
        .at(1, 15.0, arrive(0, PacketKind::Data, 0, 8));
    let trace = trace_of(&log.end(15.0), &TraceOptions::default());
    let flight = trace.named("message").next().unwrap();
    assert_eq!(
        (flight.time, flight.end, &flight.flows[..]),
        (13, Some(15), &[2][..])
    );
}

#[test]
fn packets_without_messages_are_instants() {
    let mut log = Log::new(2);
    let packet = PacketKind::Other;
    for (at, key) in (1_u32..).zip([observe::CREDITS, observe::CANCELLATION]) {
        log.at(0, f64::from(at) * 1000.0, post(1, packet, key, 0));
    }
    let (name, peer, value) = ("credits", Some(1), Some(3.0));
    log.at(0, 3000.0, RankEvent::Incident { name, peer, value });
    let trace = trace_of(&log.end(4000.0), &TraceOptions::default());
    assert_eq!(
        trace.named("credits").next().unwrap().arguments["value"],
        "3"
    );
    for (at, name) in [(2, "cancellation"), (3, "credits")] {
        let both = (at * 1000, Some(at * 1000));
        assert_eq!(times(trace.named(name)), [both], "{name}");
    }
}

fn collective(name: &'static str, number: u32) -> [ProgramEvent; 2] {
    [
        RankEvent::CollectiveCall {
            algorithm: "ring",
            root: None,
            size: 2,
            first: 0,
            place: SourceLocation::caller(),
        },
        RankEvent::Collective {
            name,
            context: 1,
            number,
            bytes: 8,
            request: Some(number + 40),
        },
    ]
}

#[test]
fn steps_are_nested_in_blocking_collective_operations() {
    let mut log = Log::new(2);
    for event in collective("allreduce", 0) {
        log.at(0, 0.0, event);
    }
    log.at(0, 0.0, send(1, 8))
        .at(0, 0.0, post(1, PacketKind::Eager, 0, 8))
        .at(0, 0.0, wait("allreduce"))
        .at(0, 4.0, receive(1, 8))
        .at(0, 5.0, ended(0))
        .at(0, 5.0, RankEvent::Continue);
    for event in collective("barrier", 1) {
        log.at(0, 5.0, event);
    }
    log.at(0, 5.0, send(1, 0)).at(0, 5.0, ended(1));
    for event in collective("bcast", 2) {
        log.at(0, 5.0, event);
    }
    log.at(0, 5.0, send(1, 0))
        .at(0, 5.0, wait("wait"))
        .at(0, 9.0, ended(2))
        .at(0, 9.0, RankEvent::Continue)
        .at(0, 9.0, RankEvent::End);
    let trace = trace_of(&log.end(9.0), &TraceOptions::default());
    assert_eq!(times(trace.named("allreduce")), [(0, Some(5))]);
    assert_eq!(times(trace.named("barrier")), [(5, Some(5))]);
    // One that does not block is two instants.
    assert_eq!(times(trace.named("bcast")), [(5, Some(5)), (9, Some(9))]);
    assert_eq!(times(trace.named("wait")), [(5, Some(9))]);
    let around: Vec<_> = trace
        .named("send")
        .map(|send| send.around.join(" "))
        .collect();
    assert_eq!(around, ["allreduce", "barrier", ""]);
    let around: Vec<_> = trace
        .named("recv")
        .map(|event| event.around.join(" "))
        .collect();
    assert_eq!(around, ["allreduce"]);
    let allreduce = trace.named("allreduce").next().unwrap();
    assert_eq!(allreduce.arguments["algorithm"], "ring");
}

/// A region that begins while the rank waits, and one that ends then.
#[test]
fn regions_and_waits_do_not_cross() {
    let mut log = Log::new(1);
    log.at(0, 0.0, RankEvent::Enter { region: "solve" })
        .at(0, 1.0, wait("recv"))
        .at(0, 2.0, RankEvent::Enter { region: "inner" })
        .at(0, 3.0, RankEvent::Continue)
        .at(0, 4.0, RankEvent::Leave)
        .at(0, 5.0, wait("waitall"))
        .at(0, 6.0, RankEvent::Leave)
        .at(
            0,
            6.0,
            RankEvent::Mark {
                name: "residual",
                value: 0.5,
            },
        )
        .at(0, 7.0, RankEvent::Continue)
        .at(0, 7.0, RankEvent::End);
    let trace = trace_of(&log.end(7.0), &TraceOptions::default());
    assert_eq!(times(trace.named("solve")), [(0, Some(6))]);
    assert_eq!(times(trace.named("recv")), [(1, Some(3))]);
    assert_eq!(times(trace.named("inner")), [(2, Some(3)), (3, Some(4))]);
    assert_eq!(times(trace.named("waitall")), [(5, Some(6)), (6, Some(7))]);
    assert_eq!(
        trace.named("residual").next().unwrap().arguments["value"],
        "0.5"
    );
}

#[test]
fn a_call_that_never_ends_stays_open() {
    let mut log = Log::new(1);
    log.at(0, 0.0, receive(0, 1)).at(0, 0.0, wait("recv"));
    let trace = trace_of(&log.end(5.0), &TraceOptions::default());
    assert_eq!(times(trace.named("recv")), [(0, None)]);
}

#[test]
fn classes_of_waits_are_nested_in_their_calls() {
    let log = late_sender();
    let mut reader = LogReader::new(&log[..]).unwrap();
    let out = Memory::default();
    let options = TraceOptions::default();
    let mut writer = TraceWriter::new(out.clone(), PERFETTO, &options, 2).unwrap();
    while let Some((rank, time, event)) = reader.next_event().unwrap() {
        if (rank, event) == (1, RankEvent::Continue) {
            writer.wait_class(1, 0.0, 50e-9, "late sender");
            writer.wait_class(1, 50e-9, 80e-9, "transfer");
        }
        writer.handle_event(rank, time, &event, &reader);
    }
    writer.finish_trace(80e-9).unwrap();
    let trace = Trace::from_bytes(&out.take_bytes());
    let late = trace.named("waits: late sender").next().unwrap();
    assert_eq!(
        (late.time, late.end, &late.around[..]),
        (0, Some(50), &["recv".to_owned()][..])
    );
    assert_eq!(times(trace.named("waits: transfer")), [(50, Some(80))]);
}

#[test]
fn selections_keep_their_part_and_refuse_what_selects_nothing() {
    let log = late_sender();
    let only = |set: &dyn Fn(&mut TraceOptions)| {
        let mut options = TraceOptions::default();
        set(&mut options);
        options
    };
    let trace = trace_of(&log, &only(&|options| options.ranks = "1".parse().unwrap()));
    assert_eq!(trace.events_on_track("rank 0").count(), 0);
    assert_eq!(times(trace.named("recv")), [(0, Some(80))]);
    // A window ends what is open, and begins what has begun before.
    let trace = trace_of(
        &log,
        &only(&|options| (options.from, options.until) = (20e-9, 60e-9)),
    );
    assert_eq!(times(trace.named("recv")), [(20, Some(60))]);
    assert_eq!(times(trace.named("compute")), [(20, Some(50))]);
    let contents: Contents = "calls".parse().unwrap();
    let trace = trace_of(&log, &only(&|options| options.contents = contents));
    assert_eq!(
        trace.named("message").count() + trace.named("arrives").count(),
        0
    );
    assert!(trace.events.iter().all(|event| event.kind != 4));
    for (set, expected) in [
        (
            &(|options: &mut TraceOptions| options.ranks = "5-9".parse().unwrap())
                as &dyn Fn(&mut TraceOptions),
            "--trace-ranks 5-9: the run has none of these ranks: expected ranks from 0 to 1",
        ),
        (
            &|options| options.hosts = Some("rack*".parse().unwrap()),
            "--trace-hosts rack*: nothing of the run is selected",
        ),
        (
            &|options| options.links = Some("wan*".parse().unwrap()),
            "--trace-links wan*: the run uses no link with such a name",
        ),
        (
            &|options| options.from = 1.0,
            "--trace-from 1 s: nothing of the run is selected",
        ),
        (
            &|options| (options.from, options.until) = (2.0, 1.0),
            "--trace-from 2 s is behind --trace-until 1 s: expected an earlier time",
        ),
        (
            &|options| options.contents = "flows".parse().unwrap(),
            "--trace-only flows: arrows begin at slices: expected also calls or flight",
        ),
    ] {
        let error = made(&log, PERFETTO, &only(set)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput);
        assert_eq!(error.to_string(), expected);
    }
}

/// Rank 0 computes a thousand times for a nanosecond, then for a microsecond.
fn many_short() -> Vec<u8> {
    let mut log = Log::new(1);
    for step in 0..1000_u32 {
        log.at(0, f64::from(step), compute())
            .at(0, f64::from(step + 1), RankEvent::Continue);
    }
    log.at(0, 1000.0, compute())
        .at(0, 2000.0, RankEvent::Continue)
        .at(0, 2000.0, RankEvent::End);
    log.end(2000.0)
}

#[test]
fn merged_slices_keep_the_sum_of_durations() {
    let mut options = TraceOptions {
        shorter_than: Some(100e-9),
        ..TraceOptions::default()
    };
    let trace = trace_of(&many_short(), &options);
    let short: Vec<_> = trace
        .events
        .iter()
        .filter(|event| event.name.ends_with(" short"))
        .collect();
    assert!((5..=12).contains(&short.len()), "{}", short.len());
    let sum: f64 = short
        .iter()
        .map(|event| event.arguments["compute"].parse::<f64>().unwrap())
        .sum();
    assert!((sum - 1e-6).abs() < 1e-15, "{sum}");
    let count: u32 = short
        .iter()
        .map(|event| {
            event
                .name
                .strip_suffix(" short")
                .unwrap()
                .parse::<u32>()
                .unwrap()
        })
        .sum();
    assert_eq!(count, 1000);
    assert_eq!(times(trace.named("compute")), [(1000, Some(2000))]);
    options.shorter_than = None;
    assert_eq!(
        trace_of(&many_short(), &options).named("compute").count(),
        1001
    );
}

#[test]
fn a_trace_ends_at_its_limit_and_says_so() {
    let options = TraceOptions {
        limit: 4000,
        ..TraceOptions::default()
    };
    let (bytes, summary) = made(&many_short(), PERFETTO, &options).unwrap();
    assert!((4000..4200).contains(&bytes.len()), "{}", bytes.len());
    assert_eq!(summary.bytes, bytes.len() as u64);
    let trace = Trace::from_bytes(&bytes);
    let last = trace.events.last().unwrap();
    assert_eq!(last.name, "the limit of the file is reached");
    let cut = summary.cut.unwrap();
    assert!(cut > 0.0 && cut < 1e-6, "{cut}");
}

#[test]
fn sums_of_groups_are_the_sums_of_ranks() {
    // 600 ranks on 300 hosts: groups of two hosts.
    let mut log = Log::new(600);
    for rank in 0..600 {
        log.at(rank, 0.0, compute());
    }
    for rank in 0..600 {
        log.at(rank, f64::from(1000 + rank), RankEvent::Continue)
            .at(rank, f64::from(1000 + rank), RankEvent::End);
    }
    let options = TraceOptions {
        aggregate: Some(true),
        ..TraceOptions::default()
    };
    let trace = trace_of(&log.end(1599.0), &options);
    let hosts = trace
        .tracks
        .values()
        .filter(|track| track.1 == 0 && !track.0.is_empty())
        .count();
    assert_eq!(hosts, 150);
    assert!(
        trace
            .tracks
            .values()
            .any(|track| track.0 == "node-0 to node-1")
    );
    // The integral of the mean numbers of ranks over time.
    let mut tracks: std::collections::BTreeMap<u64, Vec<(u64, f64)>> =
        std::collections::BTreeMap::new();
    for event in trace.events_on_track("ranks that compute") {
        tracks
            .entry(event.track)
            .or_default()
            .push((event.time, event.value));
    }
    let mut sum = 0.0;
    for mut values in tracks.into_values() {
        values.push((1599, 0.0));
        for pair in values.windows(2) {
            sum += (pair[1].0 - pair[0].0) as f64 * pair[0].1;
        }
    }
    let expected: f64 = (0..600).map(|rank| f64::from(1000 + rank)).sum();
    assert!((sum / expected - 1.0).abs() < 1e-9, "{sum} {expected}");
}

#[test]
fn many_ranks_are_summed_unless_some_are_selected() {
    let mut options = TraceOptions::default();
    assert!(!options.aggregates(4096) && options.aggregates(4097));
    options.ranks = "0-63".parse().unwrap();
    assert!(!options.aggregates(1_000_000));
    options.aggregate = Some(true);
    assert!(options.aggregates(2));
}

#[test]
fn a_compressed_trace_has_the_same_packets() {
    let compressed = TraceFormat::Perfetto { compressed: true };
    let options = TraceOptions::default();
    let (plain, _) = made(&many_short(), PERFETTO, &options).unwrap();
    let (small, _) = made(&many_short(), compressed, &options).unwrap();
    let mut read = Vec::new();
    io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&small[..]), &mut read).unwrap();
    assert!(
        read == plain && small.len() * 4 < plain.len(),
        "{} {}",
        small.len(),
        plain.len()
    );
}

#[test]
fn every_form_of_time_tells_the_same() {
    let whole = TraceOptions {
        is_absolute: true,
        ..TraceOptions::default()
    };
    let (bytes, _) = made(&late_sender(), PERFETTO, &whole).unwrap();
    let (plain, _) = made(&late_sender(), PERFETTO, &TraceOptions::default()).unwrap();
    assert!(bytes.len() > plain.len() / 2);
    let picoseconds = TraceOptions {
        unit: report::TraceUnit::Picosecond,
        ..TraceOptions::default()
    };
    let trace = trace_of(&late_sender(), &picoseconds);
    assert_eq!(trace.events[0].name, "one unit is a picosecond");
    assert_eq!(trace.named("recv").next().unwrap().end, Some(80_000));
}

/// An unexpected message, and a flow on a link.
fn counters() -> Vec<u8> {
    let mut log = Log::new(1);
    log.at(0, 0.0, unexpected(1));
    let link = |_| observe::Link {
        name: "link".to_owned(),
        bandwidth: 1.0,
        latency_s: 0.0,
        sharing: observe::LinkSharing::Shared,
    };
    let begin = observe::NetworkEvent::Begin {
        flow: 0,
        bytes: 1.0,
        latency_s: 0.0,
        alone_s: 1.0,
        links: &[0][..],
    };
    let (flow, rate) = (0, 1.0);
    let limit = observe::NetworkEvent::Rate {
        flow,
        rate,
        link: None,
    };
    log.0.network(0.0, &begin, link);
    log.0.network(0.0, &limit, link);
    log.end(1.0)
}

/// Traces that have all messages of the schema, one behind the other, against the schema that
/// Google publishes: the package `perfetto` of PyPI, which `.ci/run` installs.
#[test]
fn the_schema_is_that_of_perfetto() {
    let mut marks = Log::new(2);
    let (name, value) = ("residual", 0.5);
    marks.at(0, 0.0, RankEvent::Mark { name, value });
    let (name, peer, value) = ("credits", Some(0), Some(3.0));
    marks.at(0, 0.0, RankEvent::Incident { name, peer, value });
    for event in collective("allreduce", 0) {
        marks.at(0, 0.0, event);
    }
    marks.at(0, 1.0, RankEvent::End);
    let (marks, plain) = (marks.end(1.0), TraceOptions::default());
    let merged = TraceOptions {
        shorter_than: Some(100e-9),
        unit: report::TraceUnit::Picosecond,
        ..plain.clone()
    };
    let sums = TraceOptions {
        aggregate: Some(true),
        ..plain.clone()
    };
    let counters = counters();
    let traces = [
        (&marks, &plain),
        (&counters, &plain),
        (&late_sender(), &plain),
        (&late_sender(), &merged),
        (&many_short(), &merged),
        (&many_short(), &sums),
    ];
    let bytes = traces.map(|(log, options)| made(log, PERFETTO, options).unwrap().0);
    let file = std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("all.pftrace");
    std::fs::write(&file, bytes.concat()).unwrap();
    let has = |import: &str| {
        let python = std::process::Command::new("python3")
            .args(["-c", import])
            .output();
        python.is_ok_and(|output| output.status.success())
    };
    if !has("import perfetto.protos.perfetto.trace.perfetto_trace_pb2") {
        let required = std::env::var_os("SIMRUN_REQUIRE_PERFETTO").is_some();
        assert!(!required, "python3 has no package perfetto");
        println!("skipped: python3 has no package perfetto");
        return;
    }
    let checked = std::process::Command::new("python3")
        .args(["tests/schema.py", "src/trace/perfetto/schema.rs"])
        .arg(&file)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&checked.stdout).into_owned();
    assert!(
        checked.status.success(),
        "{said}{}",
        String::from_utf8_lossy(&checked.stderr)
    );
    assert!(
        said.contains(" packets, 0 unknown fields, 0 unused fields"),
        "{said}"
    );
}

#[test]
fn a_table_has_a_row_for_each_slice_and_message() {
    let (bytes, _) = made(&late_sender(), TraceFormat::Csv, &TraceOptions::default()).unwrap();
    let text = String::from_utf8(bytes).unwrap();
    let starts = |start: &str| text.lines().filter(|line| line.starts_with(start)).count();
    assert!(
        text.starts_with("kind,name,rank,host,begin_s,end_s,peer,bytes,tag,"),
        "{text}"
    );
    assert_eq!(
        starts("receive,recv,1,node-0,0,0.00000008,0,100,"),
        1,
        "{text}"
    );
    assert_eq!(
        starts("compute,compute,0,node-0,0,0.00000005,"),
        1,
        "{text}"
    );
    assert_eq!(
        starts("message,eager,0,node-0,0.00000005,0.00000008,1,100,"),
        1,
        "{text}"
    );
}
