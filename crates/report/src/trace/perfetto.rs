//! A timeline as a trace of Perfetto: hosts are processes, ranks are threads.
//!
//! Tracks have small numbers and are described before their first event; tracks without events are
//! not described. Messages in flight are on lanes of the host of their sender. A message takes the
//! lowest free lane. Its arrow ends at an instant of the receiver, and not at the receive call,
//! which often begins before the message leaves: readers would turn the arrow round.
//!
//! Perfetto's format is open and has arrows, counters, SQL, and a viewer without installation. The
//! twelve messages are declared by hand for `prost`: crates that record for Perfetto use the clock
//! of the running process, need `protoc`, or link C++. OTF2 has no crate in Rust.
//!
//! *Not drawn*: more than 65 534 messages in flight at one host; their arrows are drawn.

mod aggregate;
mod lanes;
mod merge;
mod packets;
mod schema;

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

pub(super) use self::aggregate::Aggregate;
use self::lanes::{HostNumbers, Lanes};
pub(super) use self::merge::Merge;
use self::packets::{Argument, PacketWriter, iid};
use self::schema::{
    CounterDescriptor, DebugAnnotation, ProcessDescriptor, ThreadDescriptor, TrackDescriptor,
    TrackEvent, kind, unit,
};
use super::TraceSummary;
use super::options::TraceOptions;
use super::sink::{Counter, Flight, Label, Sink, Slice, SliceKind};

/// A lane that is none.
const NO_LANE: u16 = u16::MAX;

/// A host.
#[derive(Debug)]
struct Host {
    /// Name of the host, until the host has a track.
    name: Box<str>,
    /// Track of the host; 0 until the host has a track.
    track: u32,
    lanes: Lanes,
}

/// A rank: 20 bytes.
#[derive(Clone, Copy, Debug, Default)]
struct RankTrack {
    host: u32,
    /// Track of the rank; 0 until the rank has a track.
    track: u32,
    /// Tracks of the counters, in the order of [`own_counter`]; 0 until a counter has a track.
    counters: [u32; 3],
}

/// A trace that is being written.
pub(crate) struct Perfetto<W> {
    packets: PacketWriter<W>,
    hosts: Vec<Host>,
    numbers: HostNumbers,
    ranks: Vec<RankTrack>,
    /// Tracks of counters of links and of the run.
    counters: BTreeMap<Counter, u32>,
    /// Names of the counters of links.
    links: BTreeMap<u32, String>,
    /// Texts by labels.
    texts: Vec<String>,
    /// Number of tracks so far, without the root.
    tracks: u32,
}

impl<W: Write> Perfetto<W> {
    pub(crate) fn new(out: W, options: &TraceOptions, ranks: u32) -> Self {
        Self {
            packets: PacketWriter::new(out, options),
            hosts: Vec::new(),
            numbers: HostNumbers::default(),
            ranks: vec![RankTrack::default(); ranks as usize],
            counters: BTreeMap::new(),
            links: BTreeMap::new(),
            texts: Vec::new(),
            tracks: 0,
        }
    }

    /// Describes a track. Returns the number of the track.
    fn describe_track(&mut self, track: TrackDescriptor) -> u32 {
        self.tracks += 1;
        self.packets.track(TrackDescriptor {
            uuid: Some(u64::from(self.tracks)),
            ..track
        });
        self.tracks
    }

    /// Returns the track of a host.
    fn host_track(&mut self, host: u32) -> u32 {
        let described = self.hosts[host as usize].track;
        if described != 0 {
            return described;
        }
        let name = String::from(std::mem::take(&mut self.hosts[host as usize].name));
        let track = self.describe_track(TrackDescriptor {
            sibling_order_rank: Some(signed(host)),
            process: Some(ProcessDescriptor {
                // 0 is the idle process.
                pid: Some(signed(host) + 1),
                process_name: Some(name),
            }),
            ..TrackDescriptor::default()
        });
        self.hosts[host as usize].track = track;
        track
    }

    /// Returns the track of a rank.
    fn rank_track(&mut self, rank: u32) -> u32 {
        let RankTrack { host, track, .. } = self.ranks[rank as usize];
        if track != 0 {
            return track;
        }
        let parent = self.host_track(host);
        let width = self.ranks.len().saturating_sub(1).to_string().len();
        // No thread has the number of a process: it would be the main thread of that. There are
        // not more hosts than ranks.
        let tid = self.ranks.len() as i64 + 1 + i64::from(rank);
        let track = self.describe_track(TrackDescriptor {
            parent_uuid: Some(u64::from(parent)),
            sibling_order_rank: Some(signed(rank)),
            thread: Some(ThreadDescriptor {
                pid: Some(signed(host) + 1),
                tid: Some(tid),
                thread_name: Some(format!("rank {rank:width$}")),
            }),
            ..TrackDescriptor::default()
        });
        self.ranks[rank as usize].track = track;
        track
    }

    /// Returns the name of a counter of a link.
    fn link_counter(&self, of: &str, link: u32) -> String {
        let name = self.links.get(&link).map_or("", |name| name);
        format!("{of} of {name}")
    }

    /// Returns the track of a counter.
    fn counter_track(&mut self, counter: Counter) -> u32 {
        let known = *self.known_track(counter);
        if known != 0 {
            return known;
        }
        let track = self.describe_counter(counter);
        *self.known_track(counter) = track;
        track
    }

    /// Returns the track of a counter that has one; the caller sets a track that is 0.
    fn known_track(&mut self, counter: Counter) -> &mut u32 {
        match own_counter(counter) {
            Some((rank, at)) => &mut self.ranks[rank as usize].counters[at],
            None => self.counters.entry(counter).or_insert(0),
        }
    }

    fn describe_counter(&mut self, counter: Counter) -> u32 {
        let (parent, name, unit) = match counter {
            Counter::Unexpected(rank) => {
                let host = self.ranks[rank as usize].host;
                let host = self.host_track(host);
                let name = format!("unexpected messages of rank {rank}");
                (host, name, unit::COUNT)
            }
            Counter::Posted(rank) => {
                let host = self.ranks[rank as usize].host;
                let host = self.host_track(host);
                (host, format!("posted receives of rank {rank}"), unit::COUNT)
            }
            Counter::UnexpectedBytes(rank) => {
                let host = self.ranks[rank as usize].host;
                let host = self.host_track(host);
                (
                    host,
                    format!("unexpected bytes of rank {rank}"),
                    unit::BYTES,
                )
            }
            Counter::Link(link) => (0, self.link_counter("use", link), unit::COUNT),
            Counter::LinkFlows(link) => (0, self.link_counter("flows", link), unit::COUNT),
            Counter::Waiting => (0, "ranks that wait".to_owned(), unit::COUNT),
            Counter::Messages => (0, "messages in flight".to_owned(), unit::COUNT),
            Counter::Bytes => (0, "bytes in flight".to_owned(), unit::BYTES),
            Counter::Events => (0, "events per simulated ms".to_owned(), unit::COUNT),
        };
        // Counters of one kind have one scale.
        let scale = match counter {
            Counter::Unexpected(_) => Some("unexpected"),
            Counter::UnexpectedBytes(_) => Some("unexpected bytes"),
            Counter::Posted(_) => Some("posted"),
            Counter::Link(_) => Some("links"),
            Counter::LinkFlows(_) => Some("flows"),
            _ => None,
        };
        let is_percent = matches!(counter, Counter::Link(_));
        self.describe_track(TrackDescriptor {
            parent_uuid: Some(u64::from(parent)),
            name: Some(name),
            counter: Some(CounterDescriptor {
                unit: Some(unit),
                unit_name: is_percent.then(|| "%".to_owned()),
                y_axis_share_key: scale.map(str::to_owned),
            }),
            ..TrackDescriptor::default()
        })
    }

    /// Takes the lowest free lane of a host. Returns the lane with its track.
    fn lane(&mut self, host: u32) -> Option<(u16, u32)> {
        let lane = self.hosts[host as usize].lanes.take_lane();
        let Some(number) = u16::try_from(lane).ok().filter(|lane| *lane != NO_LANE) else {
            self.hosts[host as usize].lanes.free_lane(lane);
            return None;
        };
        let known = *self.hosts[host as usize].lanes.track(lane);
        if known != 0 {
            return Some((number, known));
        }
        let parent = self.host_track(host);
        let track = self.describe_track(TrackDescriptor {
            parent_uuid: Some(u64::from(parent)),
            name: Some("messages in flight".to_owned()),
            ..TrackDescriptor::default()
        });
        *self.hosts[host as usize].lanes.track(lane) = track;
        Some((number, track))
    }

    /// Writes slices of a rank that became one: their number, and the seconds of each name.
    pub(crate) fn merged(
        &mut self,
        rank: u32,
        (begin, end): (f64, f64),
        count: u64,
        sums: &[(Label, f64)],
    ) {
        let track = self.rank_track(rank);
        let mut event = event_of(&Slice::new(SliceKind::Wait, Label::SHORT), kind::BEGIN);
        event.name_iid = None;
        event.name = Some(format!("{count} short"));
        for &(label, seconds) in sums {
            event.debug_annotations.push(DebugAnnotation {
                name: Some(self.texts[usize::from(label.0)].clone()),
                double_value: Some(seconds),
                ..DebugAnnotation::default()
            });
        }
        self.write_event(begin, track, event);
        let event = TrackEvent {
            kind: Some(kind::END),
            ..TrackEvent::default()
        };
        self.write_event(end, track, event);
    }

    fn write_event(&mut self, time: f64, track: u32, event: TrackEvent) {
        let track_uuid = Some(u64::from(track));
        self.packets.write_event(
            time,
            TrackEvent {
                track_uuid,
                ..event
            },
        );
    }
}

/// Returns the rank of a counter, and the number of the counter within this rank; `None` for a
/// counter of a link or of the run.
const fn own_counter(counter: Counter) -> Option<(u32, usize)> {
    match counter {
        Counter::Unexpected(rank) => Some((rank, 0)),
        Counter::UnexpectedBytes(rank) => Some((rank, 1)),
        Counter::Posted(rank) => Some((rank, 2)),
        _ => None,
    }
}

/// Returns the number of a host or rank in the integer type of the schema.
fn signed(number: u32) -> i32 {
    i32::try_from(number).unwrap_or(i32::MAX)
}

/// Returns the event of a slice, of a kind.
fn event_of(slice: &Slice, kind: i32) -> TrackEvent {
    let number =
        |argument: Argument, value: Option<u64>| value.map(|it| argument.number_annotation(it));
    let text =
        |argument: Argument, value: Option<Label>| value.map(|it| argument.text_annotation(it));
    let arguments = [
        number(Argument::Peer, slice.peer.map(u64::from)),
        number(Argument::Bytes, slice.bytes),
        number(Argument::Tag, slice.tag.map(u64::from)),
        text(Argument::Algorithm, slice.algorithm),
        number(Argument::Communicator, slice.communicator.map(u64::from)),
        number(Argument::Number, slice.number.map(u64::from)),
        number(Argument::Request, slice.request.map(u64::from)),
        slice.value.map(|value| Argument::Value.real(value)),
        text(Argument::Line, slice.line),
    ];
    TrackEvent {
        kind: Some(kind),
        name_iid: Some(iid(slice.label)),
        category_iid: Some(slice.kind as u64 + 1),
        debug_annotations: arguments.into_iter().flatten().collect(),
        flow_id: slice.message.map(|message| message + 1),
        ..TrackEvent::default()
    }
}

impl<W: Write> Sink for Perfetto<W> {
    fn name(&mut self, label: Label, text: &str) {
        let at = usize::from(label.0);
        if at >= self.texts.len() {
            self.texts.resize(at + 1, String::new());
        }
        text.clone_into(&mut self.texts[at]);
        if usize::from(label.0) >= super::sink::KNOWN.len() {
            self.packets.define_label(label, text);
        }
    }

    fn rank(&mut self, rank: u32, number: Option<u32>, host: &str) {
        let (number, is_new) = self.numbers.number_of_host(number);
        if is_new {
            let name = if host.is_empty() { "ranks" } else { host };
            self.hosts.push(Host {
                name: name.into(),
                track: 0,
                lanes: Lanes::default(),
            });
        }
        self.ranks[rank as usize].host = number;
    }

    fn define_link(&mut self, link: u32, name: &str) {
        self.links.insert(link, name.to_owned());
    }

    fn begin(&mut self, rank: u32, time: f64, slice: &Slice) {
        let track = self.rank_track(rank);
        self.write_event(time, track, event_of(slice, kind::BEGIN));
    }

    fn end(&mut self, rank: u32, time: f64) {
        let track = self.rank_track(rank);
        let event = TrackEvent {
            kind: Some(kind::END),
            ..TrackEvent::default()
        };
        self.write_event(time, track, event);
    }

    fn instant(&mut self, rank: u32, time: f64, slice: &Slice) {
        let track = self.rank_track(rank);
        self.write_event(time, track, event_of(slice, kind::INSTANT));
    }

    fn add_note(&mut self, time: f64, slice: &Slice) {
        let mut event = event_of(slice, kind::INSTANT);
        if let Some(link) = slice.link {
            event.name = Some(self.link_counter(&self.texts[usize::from(slice.label.0)], link));
            event.name_iid = None;
        }
        self.write_event(time, 0, event);
    }

    fn departs(&mut self, time: f64, flight: &Flight) -> u16 {
        let host = self.ranks[flight.from as usize].host;
        let Some((lane, track)) = self.lane(host) else {
            return NO_LANE;
        };
        let protocol = if flight.is_rendezvous {
            Label::RENDEZVOUS
        } else {
            Label::EAGER
        };
        let slice = Slice {
            peer: Some(flight.to),
            bytes: Some(flight.bytes),
            message: flight.has_arrow.then_some(flight.id),
            ..Slice::new(SliceKind::Message, Label::MESSAGE)
        };
        let mut event = event_of(&slice, kind::BEGIN);
        event
            .debug_annotations
            .push(Argument::Protocol.text_annotation(protocol));
        self.write_event(time, track, event);
        lane
    }

    fn arrives(&mut self, time: f64, flight: &Flight, lane: Option<u16>) {
        if flight.has_arrow {
            let track = self.rank_track(flight.to);
            let slice = Slice {
                peer: Some(flight.from),
                bytes: Some(flight.bytes),
                ..Slice::new(SliceKind::Message, Label::ARRIVES)
            };
            let event = TrackEvent {
                terminating_flow_id: Some(flight.id + 1),
                ..event_of(&slice, kind::INSTANT)
            };
            self.write_event(time, track, event);
        }
        if let Some(lane) = lane {
            let host = &mut self.hosts[self.ranks[flight.from as usize].host as usize];
            let track = *host.lanes.track(usize::from(lane));
            host.lanes.free_lane(usize::from(lane));
            let event = TrackEvent {
                kind: Some(kind::END),
                ..TrackEvent::default()
            };
            self.write_event(time, track, event);
        }
    }

    fn counter(&mut self, time: f64, counter: Counter, value: u64) {
        let track = self.counter_track(counter);
        let event = TrackEvent {
            kind: Some(kind::COUNTER),
            counter_value: Some(i64::try_from(value).unwrap_or(i64::MAX)),
            ..TrackEvent::default()
        };
        self.write_event(time, track, event);
    }

    fn is_full(&self) -> bool {
        self.packets.is_full()
    }

    fn finish(self: Box<Self>, _end: f64) -> io::Result<TraceSummary> {
        let cut = self.packets.is_full().then(|| self.packets.latest_time());
        let (bytes, packets, _) = self.packets.finish_file()?;
        Ok(TraceSummary {
            bytes,
            packets,
            cut,
            ..TraceSummary::default()
        })
    }
}

impl<W> fmt::Debug for Perfetto<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Perfetto")
            .field("tracks", &self.tracks)
            .finish_non_exhaustive()
    }
}
