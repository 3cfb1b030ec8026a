//! A timeline in Paje's format, for `pj_dump`, ViTE and PajeNG.
//!
//! Source: L. M. Schnorr, "Paje trace file format", version 1.2.5, and the events that `pj_dump`
//! accepts. Hosts and ranks are containers, calls are states of ranks, messages are links between
//! ranks, marks are events, and counters are variables.
//!
//! *Not written*: arguments of calls except the length of messages; operations that take no time,
//! since a state of length 0 is invisible; classes of waits, which are known only when the wait
//! ends and would have to be written in the order of their times.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Write as _};
use std::io::{self, Write};

use super::TraceSummary;
use super::sink::{Counter, Flight, Label, Sink, Slice, SliceKind};

/// Definitions of the events and of the types of containers and values.
const HEADER: &str = "\
%EventDef PajeDefineContainerType 0
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineStateType 1
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeDefineVariableType 2
% Alias string
% Type string
% Name string
% Color color
%EndEventDef
%EventDef PajeDefineLinkType 3
% Alias string
% Type string
% StartContainerType string
% EndContainerType string
% Name string
%EndEventDef
%EventDef PajeDefineEventType 4
% Alias string
% Type string
% Name string
%EndEventDef
%EventDef PajeCreateContainer 5
% Time date
% Alias string
% Type string
% Container string
% Name string
%EndEventDef
%EventDef PajeDestroyContainer 6
% Time date
% Type string
% Name string
%EndEventDef
%EventDef PajePushState 7
% Time date
% Type string
% Container string
% Value string
%EndEventDef
%EventDef PajePopState 8
% Time date
% Type string
% Container string
%EndEventDef
%EventDef PajeSetVariable 9
% Time date
% Type string
% Container string
% Value double
%EndEventDef
%EventDef PajeStartLink 10
% Time date
% Type string
% Container string
% StartContainer string
% Value string
% Key string
%EndEventDef
%EventDef PajeEndLink 11
% Time date
% Type string
% Container string
% EndContainer string
% Value string
% Key string
%EndEventDef
%EventDef PajeNewEvent 12
% Time date
% Type string
% Container string
% Value string
%EndEventDef
0 Run 0 Run
0 Host Run Host
0 Rank Host Rank
1 Call Rank Call
2 Unexpected Rank \"unexpected messages\" \"0 0 1\"
2 Posted Rank \"posted receives\" \"0 1 0\"
2 Waiting Run \"ranks that wait\" \"1 0 0\"
2 Messages Run \"messages in flight\" \"0 1 0\"
2 Bytes Run \"bytes in flight\" \"0 1 1\"
3 Message Run Rank Rank Message
4 Mark Rank Mark
5 0 run Run 0 run
";

/// A trace that is being written.
pub(crate) struct Paje<W: Write> {
    out: io::BufWriter<W>,
    limit: u64,
    bytes: u64,
    lines: u64,
    now: f64,
    line: String,
    texts: BTreeMap<Label, String>,
    hosts: BTreeMap<String, usize>,
    /// The number of the host of each rank that has been seen, and the ranks that have a container.
    ranks: BTreeMap<u32, usize>,
    drawn: BTreeSet<u32>,
    error: Option<io::Error>,
}

impl<W: Write> Paje<W> {
    pub(crate) fn new(out: W, limit: u64) -> Self {
        let mut trace = Self {
            out: io::BufWriter::new(out),
            limit,
            bytes: 0,
            lines: 0,
            now: 0.0,
            line: String::new(),
            texts: BTreeMap::new(),
            hosts: BTreeMap::new(),
            ranks: BTreeMap::new(),
            drawn: BTreeSet::new(),
            error: None,
        };
        trace.write_line(format_args!("{}", HEADER.trim_end()));
        trace
    }

    fn write_line(&mut self, line: fmt::Arguments<'_>) {
        self.line.clear();
        let _ = writeln!(self.line, "{line}");
        self.lines += 1;
        self.bytes += self.line.len() as u64;
        if self.error.is_none() {
            self.error = self.out.write_all(self.line.as_bytes()).err();
        }
    }

    /// Returns a text with the quotes of the format.
    fn quoted(text: &str) -> String {
        text.replace(['"', '\n'], "'")
    }

    /// Creates the container of a rank if the rank has none.
    fn create_container(&mut self, rank: u32) {
        if self.drawn.insert(rank) {
            let host = self.ranks.get(&rank).copied().unwrap_or_default();
            self.write_line(format_args!("5 0 r{rank} Rank h{host} \"rank {rank}\""));
        }
    }
}

impl<W: Write> Sink for Paje<W> {
    fn name(&mut self, label: Label, text: &str) {
        self.texts.insert(label, Self::quoted(text));
    }

    fn rank(&mut self, rank: u32, _number: Option<u32>, host: &str) {
        let number = if let Some(&number) = self.hosts.get(host) {
            number
        } else {
            let number = self.hosts.len();
            self.hosts.insert(host.to_owned(), number);
            let host = Self::quoted(if host.is_empty() { "ranks" } else { host });
            self.write_line(format_args!("5 0 h{number} Host run \"{host}\""));
            number
        };
        self.ranks.insert(rank, number);
    }

    fn begin(&mut self, rank: u32, time: f64, slice: &Slice) {
        self.create_container(rank);
        self.now = time;
        let text = self.texts.get(&slice.label).cloned().unwrap_or_default();
        self.write_line(format_args!("7 {time} Call r{rank} \"{text}\""));
    }

    fn end(&mut self, rank: u32, time: f64) {
        self.now = time;
        self.write_line(format_args!("8 {time} Call r{rank}"));
    }

    fn instant(&mut self, rank: u32, time: f64, slice: &Slice) {
        if slice.kind == SliceKind::Mark {
            self.create_container(rank);
            let text = self.texts.get(&slice.label).cloned().unwrap_or_default();
            let value = slice.value.unwrap_or_default();
            self.write_line(format_args!("12 {time} Mark r{rank} \"{text} {value}\""));
        }
    }

    fn add_part(&mut self, _rank: u32, _times: (f64, f64), _slice: &Slice) {}

    fn departs(&mut self, time: f64, flight: &Flight) -> u16 {
        self.create_container(flight.from);
        self.now = time;
        let Flight {
            id, from, bytes, ..
        } = flight;
        self.write_line(format_args!(
            "10 {time} Message run r{from} \"{bytes} bytes\" {id}"
        ));
        0
    }

    fn arrives(&mut self, time: f64, flight: &Flight, lane: Option<u16>) {
        if lane.is_some() {
            self.create_container(flight.to);
            self.now = time;
            let Flight { id, to, bytes, .. } = flight;
            self.write_line(format_args!(
                "11 {time} Message run r{to} \"{bytes} bytes\" {id}"
            ));
        }
    }

    fn counter(&mut self, time: f64, counter: Counter, value: u64) {
        match counter {
            Counter::Unexpected(rank) => {
                self.create_container(rank);
                self.write_line(format_args!("9 {time} Unexpected r{rank} {value}"));
            }
            Counter::Posted(rank) => {
                self.create_container(rank);
                self.write_line(format_args!("9 {time} Posted r{rank} {value}"));
            }
            Counter::Link(_)
            | Counter::LinkFlows(_)
            | Counter::UnexpectedBytes(_)
            | Counter::Events => {}
            Counter::Waiting => self.write_line(format_args!("9 {time} Waiting run {value}")),
            Counter::Messages => self.write_line(format_args!("9 {time} Messages run {value}")),
            Counter::Bytes => self.write_line(format_args!("9 {time} Bytes run {value}")),
        }
    }

    fn is_full(&self) -> bool {
        self.error.is_some() || self.bytes >= self.limit
    }

    fn finish(mut self: Box<Self>, end: f64) -> io::Result<TraceSummary> {
        let cut = self.is_full().then_some(self.now);
        let end = if cut.is_some() { self.now } else { end };
        for rank in std::mem::take(&mut self.drawn) {
            self.write_line(format_args!("6 {end} Rank r{rank}"));
        }
        for host in 0..self.hosts.len() {
            self.write_line(format_args!("6 {end} Host h{host}"));
        }
        self.write_line(format_args!("6 {end} Run run"));
        if let Some(error) = self.error {
            return Err(error);
        }
        self.out.flush()?;
        Ok(TraceSummary {
            bytes: self.bytes,
            packets: self.lines,
            cut,
            ..TraceSummary::default()
        })
    }
}

impl<W: Write> fmt::Debug for Paje<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Paje")
            .field("lines", &self.lines)
            .finish_non_exhaustive()
    }
}
