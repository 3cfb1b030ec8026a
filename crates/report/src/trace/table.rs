//! A timeline as a table: one row for each slice, instant, message and value of a counter.
//!
//! Rows are in the order of their ends; slices and messages that have not ended come last, without
//! an end.

use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};

use super::TraceSummary;
use super::sink::{Counter, Flight, Label, Sink, Slice, SliceKind};

/// The columns.
const COLUMNS: [&str; 15] = [
    "kind",
    "name",
    "rank",
    "host",
    "begin_s",
    "end_s",
    "peer",
    "bytes",
    "tag",
    "algorithm",
    "communicator",
    "number",
    "request",
    "value",
    "line",
];

/// A table that is being written.
pub(crate) struct TableWriter<W: Write> {
    out: csv::Writer<Counted<W>>,
    limit: u64,
    rows: u64,
    now: f64,
    texts: BTreeMap<Label, String>,
    hosts: BTreeMap<u32, String>,
    /// Slices that have not ended, by rank.
    open: BTreeMap<u32, Vec<(f64, Slice)>>,
    /// Messages in flight with their begins, by number.
    flights: BTreeMap<u64, (f64, Flight)>,
    /// Names of links with counters.
    links: BTreeMap<u32, String>,
    error: Option<io::Error>,
}

/// Counts the bytes that are written.
struct Counted<W> {
    out: W,
    bytes: u64,
}

impl<W: Write> Write for Counted<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.out.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        // The file is flushed at its end only.
        Ok(())
    }
}

impl<W: Write> TableWriter<W> {
    pub(crate) fn new(out: W, limit: u64) -> Self {
        let mut table = Self {
            out: csv::Writer::from_writer(Counted { out, bytes: 0 }),
            limit,
            rows: 0,
            now: 0.0,
            texts: BTreeMap::new(),
            hosts: BTreeMap::new(),
            open: BTreeMap::new(),
            flights: BTreeMap::new(),
            links: BTreeMap::new(),
            error: None,
        };
        table.write_record(&COLUMNS.map(str::to_owned));
        table
    }

    fn write_record(&mut self, row: &[String]) {
        if self.error.is_none() {
            self.rows += 1;
            self.error = self.out.write_record(row).err().map(io::Error::other);
        }
    }

    fn label_text(&self, label: Label) -> String {
        self.texts.get(&label).cloned().unwrap_or_default()
    }

    fn write_row(&mut self, rank: Option<u32>, begin: f64, end: Option<f64>, slice: &Slice) {
        let number = |value: Option<u64>| value.map(|it| it.to_string()).unwrap_or_default();
        let small = |value: Option<u32>| number(value.map(u64::from));
        let text = |label: Option<Label>| label.map(|it| self.label_text(it)).unwrap_or_default();
        let host = rank.and_then(|rank| self.hosts.get(&rank));
        let mut name = self.label_text(slice.label);
        if let Some(link) = slice.link.and_then(|link| self.links.get(&link)) {
            name = format!("{name} of {link}");
        }
        let row = [
            slice.kind.name().to_owned(),
            name,
            small(rank),
            host.cloned().unwrap_or_default(),
            begin.to_string(),
            end.map(|time| time.to_string()).unwrap_or_default(),
            small(slice.peer),
            number(slice.bytes),
            small(slice.tag),
            text(slice.algorithm),
            small(slice.communicator),
            small(slice.number),
            small(slice.request),
            slice.value.map(|it| it.to_string()).unwrap_or_default(),
            text(slice.line),
        ];
        self.write_record(&row);
    }

    fn write_message(&mut self, begin: f64, end: Option<f64>, flight: &Flight) {
        let protocol = if flight.is_rendezvous {
            Label::RENDEZVOUS
        } else {
            Label::EAGER
        };
        let slice = Slice {
            peer: Some(flight.to),
            bytes: Some(flight.bytes),
            number: u32::try_from(flight.id).ok(),
            ..Slice::new(SliceKind::Message, protocol)
        };
        self.write_row(Some(flight.from), begin, end, &slice);
    }
}

impl<W: Write> Sink for TableWriter<W> {
    fn name(&mut self, label: Label, text: &str) {
        self.texts.insert(label, text.to_owned());
    }

    fn rank(&mut self, rank: u32, _number: Option<u32>, host: &str) {
        self.hosts.insert(rank, host.to_owned());
    }

    fn add_note(&mut self, time: f64, slice: &Slice) {
        self.write_row(None, time, Some(time), slice);
    }

    fn begin(&mut self, rank: u32, time: f64, slice: &Slice) {
        self.open.entry(rank).or_default().push((time, *slice));
    }

    fn end(&mut self, rank: u32, time: f64) {
        self.now = self.now.max(time);
        if let Some((begin, slice)) = self.open.entry(rank).or_default().pop() {
            self.write_row(Some(rank), begin, Some(time), &slice);
        }
    }

    fn instant(&mut self, rank: u32, time: f64, slice: &Slice) {
        self.now = self.now.max(time);
        self.write_row(Some(rank), time, Some(time), slice);
    }

    fn departs(&mut self, time: f64, flight: &Flight) -> u16 {
        self.flights.insert(flight.id, (time, *flight));
        0
    }

    fn arrives(&mut self, time: f64, flight: &Flight, _lane: Option<u16>) {
        self.now = self.now.max(time);
        if let Some((begin, _)) = self.flights.remove(&flight.id) {
            self.write_message(begin, Some(time), flight);
        }
    }

    fn define_link(&mut self, link: u32, name: &str) {
        self.links.insert(link, name.to_owned());
    }

    fn counter(&mut self, time: f64, counter: Counter, value: u64) {
        let (rank, name) = match counter {
            Counter::Unexpected(rank) => (rank.to_string(), "unexpected messages"),
            Counter::UnexpectedBytes(rank) => (rank.to_string(), "unexpected bytes"),
            Counter::Posted(rank) => (rank.to_string(), "posted receives"),
            Counter::Link(_) => (String::new(), "% of bandwidth of "),
            Counter::LinkFlows(_) => (String::new(), "flows of "),
            Counter::Waiting => (String::new(), "ranks that wait"),
            Counter::Messages => (String::new(), "messages in flight"),
            Counter::Bytes => (String::new(), "bytes in flight"),
            Counter::Events => (String::new(), "events per simulated ms"),
        };
        let mut row = COLUMNS.map(|_| String::new());
        row[0] = "counter".to_owned();
        row[1] = name.to_owned();
        if let Counter::Link(link) | Counter::LinkFlows(link) = counter
            && let Some(link) = self.links.get(&link)
        {
            row[1].push_str(link);
        }
        row[2] = rank;
        row[4] = time.to_string();
        row[5] = time.to_string();
        row[12] = value.to_string();
        self.write_record(&row);
    }

    fn is_full(&self) -> bool {
        self.error.is_some() || self.out.get_ref().bytes >= self.limit
    }

    fn finish(mut self: Box<Self>, _end: f64) -> io::Result<TraceSummary> {
        let cut = self.is_full().then_some(self.now);
        for (rank, slices) in std::mem::take(&mut self.open) {
            for (begin, slice) in slices {
                self.write_row(Some(rank), begin, None, &slice);
            }
        }
        for (begin, flight) in std::mem::take(&mut self.flights).into_values() {
            self.write_message(begin, None, &flight);
        }
        if let Some(error) = self.error {
            return Err(error);
        }
        let counted = self.out.into_inner().map_err(|error| error.into_error());
        let mut counted = counted?;
        counted.out.flush()?;
        Ok(TraceSummary {
            bytes: counted.bytes,
            packets: self.rows,
            cut,
            ..TraceSummary::default()
        })
    }
}

impl<W: Write> fmt::Debug for TableWriter<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Table")
            .field("rows", &self.rows)
            .finish_non_exhaustive()
    }
}
