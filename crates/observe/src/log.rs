//! The event log: a stream of records with the texts that they name.
//!
//! A text is written before the first record that names the text. A log that ends early, because
//! its run was killed, is valid up to its last whole record.

use source_location::SourceLocation;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};

use crate::event::{ProgramEvent, RunKind};
use crate::host_names::{HostNames, UNNAMED_MAX};
use crate::network::{self, IncidentPlace, Link, NetworkEvent};
use crate::numbering::{LogEvent, NameId, Word, numbered};
use crate::open::Open;
use crate::record::{
    FOOTER, HEADER, HOST, HOST_NAME, LINK, NOTE, RECORD_BYTES, Record, TEXT, TEXT_PART,
    TEXT_PART_BYTES, WORDS,
};
use crate::validity;

/// The version of the format.
const VERSION: u64 = 5;

/// Number of texts that are found without a search.
const RECENT: usize = 64;

/// The number of the text that stands for all texts above 65 535.
const OTHER: u16 = u16::MAX;

/// A writer of an event log.
pub struct LogWriter<W> {
    out: W,
    /// Numbers of names by address and length, and of lines by address.
    known: BTreeMap<(usize, usize), NameId>,
    /// Some of these numbers, each at the slot of its address.
    recent: [((usize, usize), NameId); RECENT],
    texts: BTreeMap<String, u32>,
    /// Number of names of hosts in the log.
    host_count: u32,
    /// For each link of the platform, its number in the log plus one; 0 if the link has none yet.
    links: Vec<u32>,
    /// Number of links in the log.
    link_count: u32,
    /// A buffer.
    route: Vec<u32>,
    /// Calls and regions in progress.
    open: Open,
    /// Number of records.
    written: u64,
    /// The first error; after an error no record is written.
    error: Option<io::Error>,
}

impl<W: Write> LogWriter<W> {
    /// Begins a log of a simulated run of this many ranks.
    pub fn new(out: W, ranks: u32) -> Self {
        Self::begin_log(RunKind::Simulated, out, ranks)
    }

    /// Begins a log of a run of this kind and this many ranks.
    pub fn begin_log(kind: RunKind, out: W, ranks: u32) -> Self {
        let mut writer = Self {
            out,
            known: BTreeMap::new(),
            recent: [((0, 0), OTHER); RECENT],
            texts: BTreeMap::new(),
            host_count: 0,
            links: Vec::new(),
            link_count: 0,
            route: Vec::new(),
            open: Open::default(),
            written: 0,
            error: None,
        };
        writer.put_record(Record {
            kind: HEADER,
            flag: u8::from(kind == RunKind::Real),
            a: ranks,
            c: VERSION,
            ..Record::default()
        });
        if kind == RunKind::Real {
            // Number 0: real time passes before the first call of a rank, in no call.
            writer.text_number("");
        }
        writer
    }

    fn put_record(&mut self, record: Record) {
        self.put_bytes(&record.to_bytes());
    }

    fn put_bytes(&mut self, bytes: &[u8; RECORD_BYTES]) {
        if self.error.is_none() {
            self.written += 1;
            self.error = self.out.write_all(bytes).err();
        }
    }

    /// Returns the number of a text; writes a new text.
    fn text_number(&mut self, text: &str) -> u32 {
        if let Some(&number) = self.texts.get(text) {
            return number;
        }
        let number = u32::try_from(self.texts.len()).expect("texts fit 32 bits");
        self.new_text(TEXT, number, text);
        self.texts.insert(text.to_owned(), number);
        number
    }

    /// Writes a text of this kind and number.
    fn new_text(&mut self, kind: u8, number: u32, text: &str) {
        self.put_record(Record {
            kind,
            a: number,
            c: text.len() as u64,
            ..Record::default()
        });
        self.write_text_parts(text);
    }

    fn write_text_parts(&mut self, text: &str) {
        for part in text.as_bytes().chunks(TEXT_PART_BYTES) {
            let mut bytes = [0; RECORD_BYTES];
            bytes[0] = TEXT_PART;
            bytes[1..=part.len()].copy_from_slice(part);
            self.put_bytes(&bytes);
        }
    }

    /// Returns the number of a link in the log; writes a new link.
    fn link_number(&mut self, link: u32, describe: impl Fn(u32) -> Link) -> u32 {
        let at = link as usize;
        if at >= self.links.len() {
            self.links.resize(at + 1, 0);
        }
        if let Some(number) = self.links[at].checked_sub(1) {
            return number;
        }
        let number = self.link_count;
        self.link_count += 1;
        self.links[at] = self.link_count;
        let link = describe(link);
        self.put_record(network::of_link(number, &link));
        self.write_text_parts(&link.name);
        number
    }

    /// Writes an event of the network at a time in seconds. `describe` returns a link of the
    /// platform by its number; in the log links have other numbers, in the order of their first
    /// use.
    pub fn network(
        &mut self,
        time: f64,
        event: &NetworkEvent<&[u32]>,
        describe: impl Fn(u32) -> Link,
    ) {
        match *event {
            NetworkEvent::Begin {
                flow,
                bytes,
                latency_s,
                alone_s,
                links,
            } => {
                let mut route = std::mem::take(&mut self.route);
                route.clear();
                route.extend(links.iter().map(|&link| self.link_number(link, &describe)));
                let event = NetworkEvent::Begin {
                    flow,
                    bytes,
                    latency_s,
                    alone_s,
                    links: &*route,
                };
                self.put_record(network::of_event(time, &event));
                network::put_words(latency_s, &route, |bytes| self.put_bytes(bytes));
                self.route = route;
            }
            NetworkEvent::Rate { flow, rate, link } => {
                let link = link.map(|link| self.link_number(link, describe));
                let event = NetworkEvent::Rate { flow, rate, link };
                self.put_record(network::of_event(time, &event));
            }
            NetworkEvent::LinkChange {
                link,
                parameter,
                value,
            } => {
                let link = self.link_number(link, describe);
                let event = NetworkEvent::LinkChange {
                    link,
                    parameter,
                    value,
                };
                self.put_record(network::of_event(time, &event));
            }
            NetworkEvent::End { .. } | NetworkEvent::Computation { .. } => {
                self.put_record(network::of_event(time, event));
            }
            NetworkEvent::Incident {
                at: IncidentPlace::Rank(rank),
                name,
                peer,
                value,
            } => self.event(rank, time, ProgramEvent::Incident { name, peer, value }),
            // The caller knows the ranks of the host.
            NetworkEvent::Incident { .. } => {}
        }
    }

    fn short_text_id(&mut self, text: &str) -> NameId {
        NameId::try_from(self.text_number(text)).unwrap_or(OTHER)
    }

    #[inline]
    fn name_id(&mut self, name: &'static str) -> NameId {
        self.address_id((name.as_ptr().addr(), name.len()), || name.to_owned())
    }

    #[inline]
    fn location_id(&mut self, place: SourceLocation) -> NameId {
        self.address_id((place.location_key(), usize::MAX), || place.to_string())
    }

    /// Returns the number of a text that is known by its address; writes a new text.
    #[inline]
    fn address_id(&mut self, key: (usize, usize), text: impl FnOnce() -> String) -> NameId {
        // Names have any address, and lines are at multiples of 8.
        let slot = (key.0 ^ key.0 >> 3) % RECENT;
        let (known, number) = self.recent[slot];
        if known == key {
            return number;
        }
        let number = match self.known.get(&key) {
            Some(&number) => number,
            None => self.short_text_id(&text()),
        };
        self.known.insert(key, number);
        self.recent[slot] = (key, number);
        number
    }

    /// Writes the name of a host. Returns its number in the log, for [`LogWriter::write_host`].
    /// Callers name each host once: a map of the names would keep all names in memory.
    pub fn write_host_name(&mut self, name: &str) -> u32 {
        let number = self.host_count;
        self.host_count += 1;
        self.new_text(HOST_NAME, number, name);
        number
    }

    /// Writes the host of a rank, by the number of the host in the log.
    pub fn write_host(&mut self, rank: u32, host: u32) {
        self.put_record(Record {
            kind: HOST,
            rank,
            a: host,
            ..Record::default()
        });
    }

    /// Writes a sentence about the run, which results made from the log show.
    pub fn write_note(&mut self, text: &str) {
        let number = self.text_number(text);
        self.put_record(Record {
            kind: NOTE,
            a: number,
            ..Record::default()
        });
    }

    /// Writes an event of a rank at a time in seconds.
    pub fn event(&mut self, rank: u32, time: f64, event: ProgramEvent) {
        let event = numbered(event, |word| match word {
            Word::Name(name) => self.name_id(name),
            Word::Place(place) => self.location_id(place),
        });
        self.put_event(Record::from_event(rank, time, &event));
    }

    /// Writes an event of another log at a time in seconds. `text` returns the texts of that log.
    pub fn copy_event<'a>(
        &mut self,
        (rank, time, event): (u32, f64, LogEvent),
        text: impl Fn(NameId) -> &'a str,
    ) {
        let event = numbered(event, |(Word::Name(number) | Word::Place(number))| {
            self.short_text_id(text(number))
        });
        self.put_event(Record::from_event(rank, time, &event));
    }

    fn put_event(&mut self, mut record: Record) {
        self.open.complete_record(&mut record);
        self.put_record(record);
    }

    /// Returns the number of records written so far.
    pub const fn records(&self) -> u64 {
        self.written
    }

    /// Ends the log at a time in seconds and returns the output of the writer.
    pub fn finish(mut self, time: f64) -> io::Result<W> {
        self.put_record(Record {
            kind: FOOTER,
            flag: 1,
            time,
            ..Record::default()
        });
        match self.error {
            Some(error) => Err(error),
            None => self.out.flush().map(|()| self.out),
        }
    }
}

fn invalid(text: String) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, text)
}

impl<W> std::fmt::Debug for LogWriter<W> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LogWriter")
            .field("written", &self.written)
            .finish_non_exhaustive()
    }
}

/// An entry of a log, with the time in seconds.
#[derive(Clone, PartialEq, Debug)]
pub enum LogEntry {
    /// An event of the rank with this number.
    Rank(u32, f64, LogEvent),
    /// An event of the network.
    Network(f64, NetworkEvent<Vec<u32>>),
}

impl LogEntry {
    /// Returns the entry of a record; `None` if the record has none. `next` returns the following
    /// records, one after the other.
    pub(crate) fn from_record(
        record: &Record,
        next: impl FnMut() -> io::Result<Option<[u8; RECORD_BYTES]>>,
    ) -> io::Result<Option<Self>> {
        if let Some(event) = network::rank_event(record, next)? {
            return Ok(Some(Self::Network(record.time, event)));
        }
        let event = record.rank_event();
        Ok(event.map(|event| Self::Rank(record.rank, record.time, event)))
    }
}

/// An event of a rank.
type Entry = (u32, f64, LogEvent);

/// A reader of an event log, from its beginning.
#[derive(Debug)]
pub struct LogReader<R> {
    input: R,
    kind: RunKind,
    ranks: u32,
    texts: Vec<String>,
    hosts: HostNames,
    links: Vec<Link>,
    /// Numbers of the notes.
    notes: Vec<u32>,
    /// The time of the end in seconds, after the end has been read.
    end: Option<f64>,
    /// Number of records that have been read.
    position: u64,
    /// The latest time of the events of each rank in seconds.
    latest: Vec<f64>,
    /// The latest time of the network in seconds.
    latest_of_network: f64,
}

impl<R: Read> LogReader<R> {
    /// Opens a log.
    pub fn new(input: R) -> io::Result<Self> {
        let mut reader = Self::of_rank(input)?;
        let ranks = reader.ranks;
        while ranks > UNNAMED_MAX && reader.hosts.placed_ranks() < ranks as usize {
            let found = match reader.next_record()? {
                Some(record) => reader.read_description(&record)?,
                None => false,
            };
            if !found {
                let named = reader.hosts.placed_ranks();
                return Err(reader.invalid(&format!(
                    "the hosts of {named} ranks: expected those of all {ranks} before the first \
                     event"
                )));
            }
        }
        Ok(reader)
    }

    /// Opens the log that one rank of a real run has written, which names no hosts.
    pub(crate) fn of_rank(mut input: R) -> io::Result<Self> {
        let mut bytes = [0; RECORD_BYTES];
        input.read_exact(&mut bytes)?;
        let header = Record::from_bytes(&bytes);
        if header.kind != HEADER {
            return Err(invalid("not an event log of simrun".to_owned()));
        }
        if header.c != VERSION {
            let version = header.c;
            return Err(invalid(format!(
                "an event log of version {version}: expected version {VERSION}"
            )));
        }
        Ok(Self {
            input,
            kind: match header.flag {
                0 => RunKind::Simulated,
                _ => RunKind::Real,
            },
            ranks: header.a,
            texts: Vec::new(),
            hosts: HostNames::default(),
            links: Vec::new(),
            notes: Vec::new(),
            end: None,
            position: 1,
            latest: Vec::new(),
            latest_of_network: 0.0,
        })
    }

    /// Returns the kind of the run.
    pub const fn kind(&self) -> RunKind {
        self.kind
    }

    /// Returns the input of the log.
    pub const fn input(&self) -> &R {
        &self.input
    }

    /// Returns the number of ranks.
    pub const fn ranks(&self) -> u32 {
        self.ranks
    }

    /// Returns a text by its number; empty if the log has no such text.
    pub fn text(&self, number: NameId) -> &str {
        self.text_of(u32::from(number))
    }

    /// Returns the name of the host of a rank; empty if the log has none.
    pub fn host_name(&self, rank: u32) -> &str {
        self.hosts.host_name(rank)
    }

    /// Returns the names of hosts that have been read.
    pub const fn hosts(&self) -> &HostNames {
        &self.hosts
    }

    fn text_of(&self, number: u32) -> &str {
        self.texts.get(number as usize).map_or("", |text| text)
    }

    /// Returns the notes about the run that have been read.
    pub fn notes(&self) -> impl Iterator<Item = &str> {
        self.notes.iter().map(|&number| self.text_of(number))
    }

    /// Returns the time of the end in seconds, after the end has been read; `None` if the log is
    /// truncated.
    pub const fn end(&self) -> Option<f64> {
        self.end
    }

    /// Returns the links that have been read, by number.
    pub fn links(&self) -> &[Link] {
        &self.links
    }

    /// Returns the next event of a rank: rank, time in seconds, event; `None` at the end.
    pub fn next_event(&mut self) -> io::Result<Option<Entry>> {
        loop {
            match self.next_entry()? {
                Some(LogEntry::Rank(rank, time, event)) => return Ok(Some((rank, time, event))),
                Some(LogEntry::Network(..)) => {}
                None => return Ok(None),
            }
        }
    }

    /// Returns the next event of a rank or of the network; `None` at the end.
    pub fn next_entry(&mut self) -> io::Result<Option<LogEntry>> {
        while let Some(record) = self.next_record()? {
            if !self.read_description(&record)? {
                return self.read_entry(&record).map(Some);
            }
        }
        Ok(None)
    }

    /// Reads a record that is not an event; returns false for an event.
    fn read_description(&mut self, record: &Record) -> io::Result<bool> {
        match record.kind {
            TEXT => {
                let text = self.read_text(record.c)?;
                self.texts.push(text);
            }
            HOST_NAME => {
                let name = self.read_text(record.c)?;
                self.hosts.add_name(&name);
            }
            HOST => {
                if !self.hosts.place_rank(record.rank, record.a) || record.rank >= self.ranks {
                    let rank = record.rank;
                    let problem = format!(
                        "the host of rank {rank}: expected ranks in their order, and a known host"
                    );
                    return Err(self.invalid(&problem));
                }
            }
            LINK => {
                let mut link = network::to_link(record);
                let checked = validity::check_link(&link);
                checked.map_err(|problem| self.invalid(&problem))?;
                link.name = self.read_text(u64::from(record.a))?;
                self.links.push(link);
            }
            NOTE => self.notes.push(record.a),
            FOOTER => {
                let checked = validity::check_seconds("end of the run", record.time);
                checked.map_err(|problem| self.invalid(&problem))?;
                self.end = Some(record.time);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the entry that begins with a record.
    fn read_entry(&mut self, record: &Record) -> io::Result<LogEntry> {
        let Self {
            input, position, ..
        } = self;
        let entry = LogEntry::from_record(record, || {
            *position += 1;
            next_part(input, WORDS)
        })?;
        let Some(entry) = entry else {
            let kind = record.kind;
            return Err(self.invalid(&format!("a record of unknown kind {kind}")));
        };
        let known = (self.ranks, self.links.len());
        let checked =
            validity::check_entry(record, &entry, known).and_then(|()| self.advance_times(&entry));
        checked.map_err(|problem| self.invalid(&problem))?;
        Ok(entry)
    }

    /// Keeps the latest times, which never fall.
    fn advance_times(&mut self, entry: &LogEntry) -> Result<(), String> {
        let (latest, time) = match *entry {
            LogEntry::Network(time, _) => (&mut self.latest_of_network, time),
            LogEntry::Rank(rank, time, _) => {
                let at = rank as usize;
                if at >= self.latest.len() {
                    self.latest.resize(at + 1, 0.0);
                }
                (&mut self.latest[at], time)
            }
        };
        if time < *latest {
            return Err(format!(
                "time {time}: expected at least {latest}, the time before"
            ));
        }
        *latest = time;
        Ok(())
    }

    fn read_text(&mut self, length: u64) -> io::Result<String> {
        let mut text = Vec::new();
        while (text.len() as u64) < length {
            let Some(bytes) = next_part(&mut self.input, TEXT_PART)? else {
                break;
            };
            self.position += 1;
            let left = usize::try_from(length).unwrap_or(usize::MAX) - text.len();
            text.extend_from_slice(&bytes[1..=left.min(TEXT_PART_BYTES)]);
        }
        Ok(String::from_utf8_lossy(&text).into_owned())
    }

    fn next_record(&mut self) -> io::Result<Option<Record>> {
        let bytes = next_bytes(&mut self.input)?;
        self.position += u64::from(bytes.is_some());
        Ok(bytes.map(|bytes| Record::from_bytes(&bytes)))
    }

    /// Returns the error of the record that was read last.
    fn invalid(&self, problem: &str) -> io::Error {
        invalid(format!("record {}: {problem}", self.position))
    }
}

/// Returns the next whole record, which has to be of a kind: further bytes of the one before.
fn next_part(input: &mut impl Read, kind: u8) -> io::Result<Option<[u8; RECORD_BYTES]>> {
    match next_bytes(input)? {
        Some(bytes) if bytes[0] != kind => Err(invalid(format!(
            "a record of kind {} within another: expected kind {kind}",
            bytes[0]
        ))),
        bytes => Ok(bytes),
    }
}

/// Returns the next whole record.
fn next_bytes(input: &mut impl Read) -> io::Result<Option<[u8; RECORD_BYTES]>> {
    let mut bytes = [0; RECORD_BYTES];
    match input.read_exact(&mut bytes) {
        Ok(()) => Ok(Some(bytes)),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(None),
        Err(error) => Err(error),
    }
}
