//! The content of a timeline, in the form that each format takes.
//!
//! Times are seconds and do not decrease, except where stated.

use std::fmt;
use std::io;

use super::TraceSummary;

/// A name, as the number of a text that the sink has received.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub(crate) struct Label(pub u16);

/// Texts that every timeline knows, by their labels.
pub(crate) const KNOWN: [&str; 15] = [
    "(other)",
    "send",
    "recv",
    "arrives",
    "message",
    "the limit of the file is reached",
    "one unit is a picosecond",
    "short",
    "eager",
    "rendezvous",
    "cancellation",
    "bandwidth",
    "latency",
    "state",
    "slices are shorter than 10 ns: --trace-unit ps tells their times",
];

impl Label {
    pub(crate) const OTHER: Self = Self(0);
    pub(crate) const SEND: Self = Self(1);
    pub(crate) const RECEIVE: Self = Self(2);
    pub(crate) const ARRIVES: Self = Self(3);
    pub(crate) const MESSAGE: Self = Self(4);
    pub(crate) const LIMIT: Self = Self(5);
    pub(crate) const PICOSECONDS: Self = Self(6);
    pub(crate) const SHORT: Self = Self(7);
    pub(crate) const EAGER: Self = Self(8);
    pub(crate) const RENDEZVOUS: Self = Self(9);
    pub(crate) const CANCELLATION: Self = Self(10);
    pub(crate) const BANDWIDTH: Self = Self(11);
    pub(crate) const LATENCY: Self = Self(12);
    pub(crate) const STATE: Self = Self(13);
    pub(crate) const SHORT_SLICES: Self = Self(14);
    /// None.
    pub(crate) const NONE: Self = Self(u16::MAX);

    /// Returns the label of a name of a log.
    pub(crate) fn from_name(name: observe::NameId) -> Self {
        #[expect(clippy::cast_possible_truncation, reason = "15 texts are known")]
        let known = KNOWN.len() as u16;
        // The highest numbers are for classes of waits.
        match name.checked_add(known) {
            Some(label) if label < Self::CLASSES => Self(label),
            _ => Self::OTHER,
        }
    }

    /// The first label of classes of waits.
    pub(crate) const CLASSES: u16 = u16::MAX - 64;
}

/// The kind of a slice: the category of the slice.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
#[repr(u8)]
pub(crate) enum SliceKind {
    /// A computation or a sleep.
    Compute,
    /// A send.
    Send,
    /// A receive.
    Receive,
    /// Any other call.
    #[default]
    Wait,
    /// A collective operation.
    Collective,
    /// A region of the program.
    Region,
    /// A mark of the program.
    Mark,
    /// A class of waiting, within a call.
    Class,
    /// A message.
    Message,
    /// A packet of the message layer without a message, or an incident at a rank or a link.
    Control,
}

impl SliceKind {
    /// All kinds, by their numbers.
    pub(crate) const ALL: [Self; 10] = [
        Self::Compute,
        Self::Send,
        Self::Receive,
        Self::Wait,
        Self::Collective,
        Self::Region,
        Self::Mark,
        Self::Class,
        Self::Message,
        Self::Control,
    ];

    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Send => "send",
            Self::Receive => "receive",
            Self::Wait => "wait",
            Self::Collective => "collective",
            Self::Region => "region",
            Self::Mark => "mark",
            Self::Class => "wait state",
            Self::Message => "message",
            Self::Control => "control",
        }
    }

    /// Returns true for kinds of which a rank is in at most one at a time.
    pub(crate) const fn is_call(self) -> bool {
        matches!(
            self,
            Self::Compute | Self::Send | Self::Receive | Self::Wait | Self::Collective
        )
    }
}

/// A slice or an instant of a rank.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub(crate) struct Slice {
    pub label: Label,
    pub kind: SliceKind,
    pub peer: Option<u32>,
    pub bytes: Option<u64>,
    pub tag: Option<u32>,
    pub algorithm: Option<Label>,
    pub communicator: Option<u32>,
    /// Position among the collective operations of the communicator.
    pub number: Option<u32>,
    /// Number of the request of an operation, or of the one that a call waits for.
    pub request: Option<u32>,
    /// The value of a mark or of a change.
    pub value: Option<f64>,
    /// The link that changes.
    pub link: Option<u32>,
    /// The line of the program.
    pub line: Option<Label>,
    /// The message with an arrow that begins at this slice.
    pub message: Option<u64>,
}

impl Slice {
    pub(crate) fn new(kind: SliceKind, label: Label) -> Self {
        Self {
            label,
            kind,
            ..Self::default()
        }
    }
}

/// A message in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Flight {
    pub id: u64,
    pub from: u32,
    pub to: u32,
    pub bytes: u64,
    pub is_rendezvous: bool,
    /// True if an arrow goes to the arrival of the message.
    pub has_arrow: bool,
}

/// A counter.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Counter {
    /// Number of messages that wait at a rank for their receives.
    Unexpected(u32),
    /// Bytes of them.
    UnexpectedBytes(u32),
    /// Number of receives of a rank that are posted.
    Posted(u32),
    /// Use of a link in percent of the bandwidth of the link.
    Link(u32),
    /// Number of flows that cross a link.
    LinkFlows(u32),
    /// Number of ranks that wait for messages.
    Waiting,
    /// Number of messages in flight.
    Messages,
    /// Number of bytes in flight.
    Bytes,
    /// Number of events in the millisecond before.
    Events,
}

/// A timeline that is being written. Errors are kept until the end of the timeline.
pub(crate) trait Sink: fmt::Debug {
    /// Takes the text of a label, before the label is used.
    fn name(&mut self, label: Label, text: &str);

    /// Takes the host of a rank, before any event of the rank: number in the log, and name.
    fn rank(&mut self, rank: u32, number: Option<u32>, host: &str);

    /// Takes the name of a link that has a counter or changes. Formats without links ignore it.
    fn define_link(&mut self, _link: u32, _name: &str) {}

    /// Begins a slice. Slices are balanced and nested.
    fn begin(&mut self, rank: u32, time: f64, slice: &Slice);

    /// Ends the slice that began last.
    fn end(&mut self, rank: u32, time: f64);

    /// Takes an operation that takes no time.
    fn instant(&mut self, rank: u32, time: f64, slice: &Slice);

    /// Takes an event of the run as a whole. Formats without such events ignore the event.
    fn add_note(&mut self, _time: f64, _slice: &Slice) {}

    /// Takes a part of the call that began last. The part may be earlier than the previous slice.
    fn add_part(&mut self, rank: u32, (from, to): (f64, f64), slice: &Slice) {
        self.begin(rank, from, slice);
        self.end(rank, to);
    }

    /// Takes a message that leaves its sender. Returns the lane for [`Sink::arrives`].
    fn departs(&mut self, time: f64, flight: &Flight) -> u16;

    /// Takes a message that has arrived. Its lane is `None` if the message in flight is not drawn.
    fn arrives(&mut self, time: f64, flight: &Flight, lane: Option<u16>);

    /// Takes the value that a counter keeps from now on.
    fn counter(&mut self, time: f64, counter: Counter, value: u64);

    /// Returns true if the sink takes no further events.
    fn is_full(&self) -> bool;

    /// Ends the file. Slices that are open stay open.
    fn finish(self: Box<Self>, end: f64) -> io::Result<TraceSummary>;
}
