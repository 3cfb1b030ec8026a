//! Calls, regions, messages and counters, made from the events of a log.
//!
//! The operations that a rank begins without waiting are kept until the next event of the rank
//! shows whether a call waits for them. A receive in a call that waits is one slice; a receive in a
//! call that continues is an instant. A blocking collective operation contains its steps.
//!
//! *Not known*: whether an operation that took no time was a blocking call; `isend` and an eager
//! `send` look the same. Non-blocking collective operations are two instants. Regions that begin
//! while a rank waits end the slice of the wait. After these regions, a new slice begins.

mod links;
mod slices;
mod window;

use std::collections::BTreeMap;
use std::io::{self, Read};

use observe::{LogEvent, LogReader, NameId, RankEvent};

use links::LinkRates;

use super::TraceSummary;
use super::messages::Messages;
use super::options::TraceOptions;
use super::sink::{Counter, KNOWN, Label, Sink, Slice, SliceKind};

/// Largest number of events that are kept for the slice of one collective operation.
const KEPT_MAX: usize = 4096;

/// State of a rank: 16 bytes.
#[derive(Clone, Copy, Debug)]
struct RankState {
    /// The call in which the rank waits.
    call: Label,
    flags: u8,
    /// Number of regions that began within the call.
    above: u8,
    unexpected: u32,
    /// The number of unexpected messages that the sink has.
    unexpected_told: u32,
    /// Number of posted receives, and the value that the sink has. The number is below 0 between
    /// the arrival of a message and the event that reports this message as unexpected.
    posted: i16,
    posted_told: i16,
}

/// Length of a slice in seconds below which rounding to nanoseconds is told.
const SHORT_S: f64 = 10e-9;

/// The rank has had an event.
const SEEN: u8 = 1;
const SELECTED: u8 = 2;
/// The counter of the rank has changed.
const COUNTED: u8 = 4;
/// The time of the rank passes without messages.
const ELAPSES: u8 = 8;

impl RankState {
    const fn has_flag(self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Returns the kind of the call, as far as the kind is stored.
    const fn call_kind(self) -> SliceKind {
        if self.has_flag(ELAPSES) {
            SliceKind::Compute
        } else {
            SliceKind::Wait
        }
    }
}

/// Values of the counters of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
struct Totals {
    waiting: u64,
    messages: u64,
    bytes: u64,
}

impl Totals {
    const fn each(self) -> [(Counter, u64); 3] {
        [
            (Counter::Waiting, self.waiting),
            (Counter::Messages, self.messages),
            (Counter::Bytes, self.bytes),
        ]
    }
}

/// Events of the current millisecond.
#[derive(Clone, Copy, Debug)]
struct EventRate {
    /// End of the millisecond in seconds.
    end_s: f64,
    events: u64,
    /// The value that the sink has.
    told: u64,
}

impl EventRate {
    /// Returns the end of the millisecond that a time in seconds is in.
    fn end_after(time: f64) -> f64 {
        ((time * 1e3).floor() + 1.0) / 1e3
    }
}

impl Default for EventRate {
    fn default() -> Self {
        Self {
            end_s: 1e-3,
            events: 0,
            told: 0,
        }
    }
}

/// Operations of one rank at one time, before their slices are known.
#[derive(Debug, Default)]
struct Kept {
    rank: u32,
    events: Vec<LogEvent>,
}

/// The state of all ranks, and the sink that takes their slices.
#[derive(Debug)]
pub(crate) struct Calls {
    sink: Box<dyn Sink>,
    options: TraceOptions,
    ranks: Vec<RankState>,
    /// Regions that are open, by rank.
    regions: BTreeMap<u32, Vec<Label>>,
    /// Kinds of the calls of names, once their texts are known.
    kinds: Vec<Option<SliceKind>>,
    classes: BTreeMap<&'static str, Label>,
    kept: Kept,
    /// Arguments of the collective operation that begins next.
    arguments: Slice,
    /// Names and requests of non-blocking collective operations, by rank, communicator and number.
    pending: BTreeMap<(u32, u32, u32), (Label, Option<u32>)>,
    messages: Messages,
    totals: Totals,
    /// The values that the sink has.
    told: Totals,
    told_at: [f64; 3],
    counted: Vec<u32>,
    /// Bytes of the unexpected messages, for ranks that have had any, and the value of the sink.
    unexpected_bytes: BTreeMap<u32, [u64; 2]>,
    event_rate: EventRate,
    rates: LinkRates,
    /// The latest time.
    now: f64,
    /// True if arrows begin at sends.
    has_arrows: bool,
    /// True between the first and the last time that are selected.
    is_open: bool,
    is_over: bool,
    /// True once an event was selected.
    is_used: bool,
    /// Beginnings of the calls of ranks, if their times are rounded to nanoseconds.
    begun: Vec<f64>,
    /// Length of the shortest slice of a call that takes time.
    shortest_s: f64,
    events: u64,
}

impl Calls {
    /// `rounds`: true if times of calls are rounded to nanoseconds.
    pub(crate) fn new(
        mut sink: Box<dyn Sink>,
        options: TraceOptions,
        ranks: u32,
        rounds: bool,
    ) -> Self {
        for (label, text) in (0..).map(Label).zip(KNOWN) {
            sink.name(label, text);
        }
        let state = RankState {
            call: Label::NONE,
            flags: 0,
            above: 0,
            unexpected: 0,
            unexpected_told: 0,
            posted: 0,
            posted_told: 0,
        };
        Self {
            sink,
            ranks: vec![state; ranks as usize],
            regions: BTreeMap::new(),
            kinds: Vec::new(),
            classes: BTreeMap::new(),
            kept: Kept::default(),
            arguments: Slice::default(),
            pending: BTreeMap::new(),
            messages: Messages::default(),
            totals: Totals::default(),
            told: Totals::default(),
            told_at: [0.0; 3],
            counted: Vec::new(),
            unexpected_bytes: BTreeMap::new(),
            event_rate: EventRate::default(),
            rates: LinkRates::default(),
            now: 0.0,
            is_open: options.from <= 0.0,
            is_over: false,
            has_arrows: options.contents.flows
                && options.contents.calls
                && options.shorter_than.is_none(),
            is_used: false,
            begun: if rounds {
                vec![0.0; ranks as usize]
            } else {
                Vec::new()
            },
            shortest_s: f64::INFINITY,
            events: 0,
            options,
        }
    }

    /// Returns true if no event changes the timeline any more.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over || self.sink.is_full()
    }

    /// Takes an event of a rank at a time in seconds.
    pub(crate) fn handle_event<R: Read>(
        &mut self,
        rank: u32,
        time: f64,
        event: &LogEvent,
        names: &LogReader<R>,
    ) {
        if self.is_over() || rank as usize >= self.ranks.len() {
            return;
        }
        self.events += 1;
        // Clocks of real runs differ a little.
        let time = time.max(self.now);
        if time > self.now {
            self.time_passes(time);
            if self.is_over {
                return;
            }
        }
        self.event_rate.events += 1;
        self.learn_names(rank, event, names);
        self.count_receives(rank, event);
        if !self.kept.events.is_empty() {
            let same = self.kept.rank == rank;
            if same && self.resolves(event) {
                return;
            }
            if !same {
                self.release_kept(None);
            }
        }
        match event {
            RankEvent::Send { .. } | RankEvent::Receive { .. } | RankEvent::Collective { .. } => {
                self.kept.rank = rank;
                self.kept.events.push(*event);
            }
            event => self.apply_event(rank, event),
        }
    }

    /// Takes the texts and the host that an event needs.
    fn learn_names<R: Read>(&mut self, rank: u32, event: &LogEvent, names: &LogReader<R>) {
        if !self.ranks[rank as usize].has_flag(SEEN) {
            let host = names.host_name(rank);
            let hosts = self.options.hosts.as_ref();
            let is_selected = self.options.ranks.selects(rank)
                && hosts.is_none_or(|pattern| pattern.matches(host));
            self.ranks[rank as usize].flags |= SEEN;
            if is_selected {
                self.ranks[rank as usize].flags |= SELECTED;
            }
            // A message in flight is drawn at the host of its sender, selected or not.
            self.sink.rank(rank, names.hosts().host_number(rank), host);
        }
        let (one, other) = match *event {
            RankEvent::Wait { call, place, .. } => (Some(call), Some(place)),
            RankEvent::Send { place, .. } | RankEvent::Receive { place, .. } => (Some(place), None),
            RankEvent::CollectiveCall {
                algorithm, place, ..
            } => (Some(algorithm), Some(place)),
            RankEvent::Collective { name, .. }
            | RankEvent::Mark { name, .. }
            | RankEvent::Incident { name, .. } => (Some(name), None),
            RankEvent::Enter { region } => (Some(region), None),
            _ => (None, None),
        };
        for name in [one, other].into_iter().flatten() {
            self.learn_name(name, names);
        }
    }

    fn learn_name<R: Read>(&mut self, name: NameId, names: &LogReader<R>) {
        let index = usize::from(name);
        if self.kinds.get(index).is_some_and(Option::is_some)
            || Label::from_name(name) == Label::OTHER
        {
            return;
        }
        if index >= self.kinds.len() {
            self.kinds.resize(index + 1, None);
        }
        let text = names.text(name);
        self.kinds[index] = Some(match text {
            "send" | "ssend" | "bsend" | "rsend" => SliceKind::Send,
            "recv" | "mrecv" => SliceKind::Receive,
            _ => SliceKind::Wait,
        });
        self.sink.name(Label::from_name(name), text);
    }

    /// Takes an event of the rank with kept operations. Returns true if the event is consumed.
    fn resolves(&mut self, event: &LogEvent) -> bool {
        let first = self.kept.events[0];
        let is_collective = matches!(first, RankEvent::Collective { .. });
        match *event {
            RankEvent::Wait { call, .. } => {
                let kind = self.kinds.get(usize::from(call)).copied().flatten();
                let is_its = match (first, kind) {
                    (RankEvent::Collective { name, .. }, _) => name == call,
                    (RankEvent::Send { .. }, Some(SliceKind::Send))
                    | (RankEvent::Receive { .. }, Some(SliceKind::Receive)) => true,
                    _ => false,
                };
                self.release_kept(is_its.then_some(event));
                is_its
            }
            RankEvent::CollectiveEnd { context, number } if is_collective => {
                let is_its = matches!(first, RankEvent::Collective { context: its, number: own, .. }
                    if (its, own) == (context, number));
                if is_its {
                    self.release_kept(Some(event));
                } else {
                    self.kept.events.push(*event);
                }
                true
            }
            RankEvent::Post { .. }
            | RankEvent::Inject { .. }
            | RankEvent::Arrive { .. }
            | RankEvent::Unexpected { .. }
            | RankEvent::Taken { .. }
            | RankEvent::Elapsed
            | RankEvent::Incident { .. }
            | RankEvent::Sent { .. } => {
                self.kept.events.push(*event);
                true
            }
            RankEvent::Send { .. } | RankEvent::Receive { .. }
                if is_collective && self.kept.events.len() < KEPT_MAX =>
            {
                self.kept.events.push(*event);
                true
            }
            _ => {
                self.release_kept(None);
                false
            }
        }
    }

    /// Applies the events that are kept. `end`: the event that says that the first is a call which
    /// waits, or a collective operation that took no time.
    fn release_kept(&mut self, end: Option<&LogEvent>) {
        let events = std::mem::take(&mut self.kept.events);
        let rank = self.kept.rank;
        let mut rest = events.iter();
        if let Some(end) = end
            && let Some(first) = rest.next()
        {
            let slice = self.operation_slice(rank, first);
            match *end {
                RankEvent::Wait { elapses, .. } => {
                    self.begin_call(rank, &slice, elapses);
                    for event in rest {
                        self.apply_event(rank, event);
                    }
                }
                _ => {
                    let drawn = self.draws(rank);
                    if drawn {
                        self.sink.begin(rank, self.now, &slice);
                    }
                    for event in rest {
                        self.apply_event(rank, event);
                    }
                    if drawn {
                        self.sink.end(rank, self.now);
                    }
                }
            }
        } else {
            for event in rest {
                self.apply_event(rank, event);
            }
        }
        // The allocation is used again.
        self.kept.events = events;
        self.kept.events.clear();
    }

    /// Returns true if slices of a rank are drawn now.
    fn draws(&mut self, rank: u32) -> bool {
        let draws = self.is_open && self.ranks[rank as usize].has_flag(SELECTED);
        self.is_used |= draws;
        draws && self.options.contents.calls
    }

    /// Returns the slice of an operation that begins.
    fn operation_slice(&mut self, rank: u32, event: &LogEvent) -> Slice {
        match *event {
            RankEvent::Send {
                peer,
                tag,
                bytes,
                place,
                request,
                ..
            } => {
                let has_arrow = self.has_arrows
                    && self.is_open
                    && self.ranks[rank as usize].has_flag(SELECTED)
                    && self.is_selected(peer);
                let message = self.messages.begin_message((rank, peer), bytes, has_arrow);
                Slice {
                    peer: Some(peer),
                    bytes: Some(bytes),
                    tag: Some(tag),
                    line: Some(Label::from_name(place)),
                    message: has_arrow.then_some(message),
                    request,
                    ..Slice::new(SliceKind::Send, Label::SEND)
                }
            }
            RankEvent::Receive {
                peer,
                bytes,
                place,
                request,
                ..
            } => Slice {
                peer,
                request,
                // Steps of collective operations accept every length.
                bytes: (bytes < u64::MAX).then_some(bytes),
                line: Some(Label::from_name(place)),
                ..Slice::new(SliceKind::Receive, Label::RECEIVE)
            },
            RankEvent::Collective {
                name,
                context,
                number,
                bytes,
                request,
            } => Slice {
                label: Label::from_name(name),
                kind: SliceKind::Collective,
                bytes: Some(bytes),
                communicator: Some(context),
                number: Some(number),
                request,
                ..std::mem::take(&mut self.arguments)
            },
            _ => Slice::default(),
        }
    }

    /// Returns true if a rank may be drawn: one that has had no event yet may.
    fn is_selected(&self, rank: u32) -> bool {
        let state = self.ranks.get(rank as usize);
        state.is_none_or(|state| state.has_flag(SELECTED) || !state.has_flag(SEEN))
            && self.options.ranks.selects(rank)
    }

    /// Takes the class of a part of a wait, before the event that ends the wait.
    pub(crate) fn wait_class(&mut self, rank: u32, (from, to): (f64, f64), class: &'static str) {
        let (from, to) = (from.max(self.options.from), to.min(self.options.until));
        if from >= to || !self.draws(rank) {
            return;
        }
        let label = if let Some(&label) = self.classes.get(class) {
            label
        } else {
            let at = u16::try_from(self.classes.len()).unwrap_or(0).min(63);
            let label = Label(Label::CLASSES + at);
            self.classes.insert(class, label);
            self.sink.name(label, &format!("waits: {class}"));
            label
        };
        let slice = Slice::new(SliceKind::Class, label);
        self.sink.add_part(rank, (from, to), &slice);
    }

    /// Ends the timeline at a time in seconds.
    pub(crate) fn finish_trace(mut self, end: f64) -> io::Result<TraceSummary> {
        let end = end.max(self.now);
        if !self.is_over {
            self.time_passes(end);
            if !self.kept.events.is_empty() {
                self.release_kept(None);
            }
        }
        let selection = self.options.selection();
        if !self.is_used && !selection.is_empty() {
            let text = format!("{selection}: nothing of the run is selected");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if let Some(links) = &self.options.links
            && self.options.contents.counters
            && !self.is_over
            && !self.rates.draws_any()
        {
            let text = format!("--trace-links {links}: the run uses no link with such a name");
            return Err(io::Error::new(io::ErrorKind::InvalidInput, text));
        }
        if self.is_open && self.options.contents.counters && !self.is_over {
            self.tell_counters();
            for ((counter, value), at) in self.totals.each().into_iter().zip(self.told_at) {
                if at < end {
                    self.sink.counter(end, counter, value);
                }
            }
        }
        let has_short = self.shortest_s < SHORT_S;
        if has_short {
            let note = Slice::new(SliceKind::Control, Label::SHORT_SLICES);
            self.sink.add_note(end.min(self.options.until), &note);
        }
        let mut summary = self.sink.finish(end.min(self.options.until))?;
        summary.events = self.events;
        summary.shortest = has_short.then_some(self.shortest_s);
        Ok(summary)
    }
}
