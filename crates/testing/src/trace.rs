//! A reader of Perfetto's traces that applies the rules by which viewers show traces.
//!
//! The reader panics at a packet that violates a rule: a track is described once, before its first
//! event and after its parent; texts have their numbers; begin and end are balanced and nested on
//! each track; an arrow ends at or after the time at which it begins.

use std::collections::{BTreeMap, BTreeSet};

/// An event of a track.
#[derive(Clone, Debug, Default)]
pub struct TraceEvent {
    /// Time in units of the trace.
    pub time: u64,
    /// End of the slice, if known; the time for instants.
    pub end: Option<u64>,
    /// Number of the track.
    pub track: u64,
    /// 1 to 4: begin, end, instant, counter.
    pub kind: u64,
    pub name: String,
    pub category: String,
    /// Arguments: texts, and numbers as texts.
    pub arguments: BTreeMap<String, String>,
    /// Flows that pass.
    pub flows: Vec<u64>,
    /// Flows that end.
    pub ending: Vec<u64>,
    /// Value of a counter.
    pub value: f64,
    /// Names of the enclosing slices, outermost first.
    pub around: Vec<String>,
}

/// A trace.
#[derive(Clone, Debug, Default)]
pub struct Trace {
    /// Names of tracks, and their parents.
    pub tracks: BTreeMap<u64, (String, u64)>,
    /// Slices, instants and values, in the order of their begins.
    pub events: Vec<TraceEvent>,
    pub packets: usize,
}

/// A field of a message of protocol buffers.
enum Field<'a> {
    Number(u64),
    Bytes(&'a [u8]),
}

impl Field<'_> {
    fn number(&self) -> u64 {
        match self {
            Self::Number(number) => *number,
            Self::Bytes(_) => panic!("a number"),
        }
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Number(_) => panic!("bytes"),
            Self::Bytes(bytes) => bytes,
        }
    }

    fn text(&self) -> String {
        String::from_utf8(self.bytes().to_vec()).expect("a text")
    }
}

fn varint(bytes: &mut &[u8]) -> u64 {
    let mut number = 0;
    for shift in (0..).step_by(7) {
        let (first, rest) = bytes.split_first().expect("a whole number");
        *bytes = rest;
        number |= u64::from(first & 0x7f) << shift;
        if first & 0x80 == 0 {
            break;
        }
    }
    number
}

/// Returns the fields of a message with their tags.
fn fields(mut bytes: &[u8]) -> Vec<(u64, Field<'_>)> {
    let mut fields = Vec::new();
    while !bytes.is_empty() {
        let key = varint(&mut bytes);
        let field = match key & 7 {
            0 => Field::Number(varint(&mut bytes)),
            1 => {
                let (eight, rest) = bytes.split_at(8);
                bytes = rest;
                Field::Number(u64::from_le_bytes(eight.try_into().expect("eight bytes")))
            }
            2 => {
                let length = usize::try_from(varint(&mut bytes)).expect("a length");
                let (inner, rest) = bytes.split_at(length);
                bytes = rest;
                Field::Bytes(inner)
            }
            other => panic!("wire type {other}"),
        };
        fields.push((key >> 3, field));
    }
    fields
}

/// Tables of texts: categories, names, names of arguments, values of arguments.
type Texts = [BTreeMap<u64, String>; 4];

fn learn_texts(texts: &mut Texts, data: &[u8]) {
    for (tag, field) in fields(data) {
        let table = match tag {
            1 => 0,
            2 => 1,
            3 => 2,
            29 => 3,
            other => panic!("table {other}"),
        };
        let (mut iid, mut text) = (0, String::new());
        for (tag, field) in fields(field.bytes()) {
            match tag {
                1 => iid = field.number(),
                _ => text = field.text(),
            }
        }
        let before = texts[table].insert(iid, text);
        assert_eq!(before, None, "text {iid} of table {table} has one text");
    }
}

fn argument(texts: &Texts, data: &[u8]) -> (String, String) {
    let (mut name, mut value) = (String::new(), String::new());
    for (tag, field) in fields(data) {
        match tag {
            1 => name.clone_from(&texts[2][&field.number()]),
            10 => name = field.text(),
            3 => value = field.number().to_string(),
            5 => value = f64::from_bits(field.number()).to_string(),
            6 => value = field.text(),
            17 => value.clone_from(&texts[3][&field.number()]),
            other => panic!("field {other} of an argument"),
        }
    }
    (name, value)
}

fn read_event(texts: &Texts, data: &[u8]) -> TraceEvent {
    let mut event = TraceEvent::default();
    for (tag, field) in fields(data) {
        match tag {
            3 => event.category.clone_from(&texts[0][&field.number()]),
            4 => {
                let (name, value) = argument(texts, field.bytes());
                event.arguments.insert(name, value);
            }
            9 => event.kind = field.number(),
            10 => event.name.clone_from(&texts[1][&field.number()]),
            11 => event.track = field.number(),
            23 => event.name = field.text(),
            #[expect(clippy::cast_precision_loss, reason = "values are small")]
            30 => event.value = field.number() as f64,
            44 => event.value = f64::from_bits(field.number()),
            47 => event.flows.push(field.number()),
            48 => event.ending.push(field.number()),
            other => panic!("field {other} of an event"),
        }
    }
    event
}

/// Returns number, parent and name of a track.
fn track(data: &[u8]) -> (u64, u64, String) {
    let (mut uuid, mut parent, mut name) = (0, 0, String::new());
    for (tag, field) in fields(data) {
        match tag {
            1 => uuid = field.number(),
            2 => name = field.text(),
            3 | 4 => {
                for (inner, field) in fields(field.bytes()) {
                    if inner == 6 || (inner == 5 && tag == 4) {
                        name = field.text();
                    }
                }
            }
            5 => parent = field.number(),
            _ => {}
        }
    }
    (uuid, parent, name)
}

impl Trace {
    /// Reads a trace.
    ///
    /// # Panics
    /// If the trace violates a rule.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        let mut trace = Self::default();
        let mut texts = Texts::default();
        let mut now = 0;
        for (tag, packet) in fields(bytes) {
            assert_eq!(tag, 1, "a packet");
            trace.packets += 1;
            let packet = fields(packet.bytes());
            let find = |wanted| packet.iter().find(|(tag, _)| *tag == wanted);
            if let Some((_, data)) = find(12) {
                learn_texts(&mut texts, data.bytes());
            }
            if let Some((_, data)) = find(60) {
                let (uuid, parent, name) = track(data.bytes());
                let known = uuid == 0 || trace.tracks.contains_key(&parent) || parent == 0;
                assert!(known, "the parent of {name} is described before");
                let before = trace.tracks.insert(uuid, (name.clone(), parent));
                assert!(before.is_none(), "{name} is described once");
            }
            if let Some((_, data)) = find(11) {
                let timestamp = find(8).expect("a time").1.number();
                // Packets of the boot clock have whole times.
                let time = match find(58) {
                    Some((_, clock)) => {
                        assert_eq!(clock.number(), 6);
                        timestamp
                    }
                    None => {
                        now += timestamp;
                        now
                    }
                };
                let event = read_event(&texts, data.bytes());
                assert!(trace.tracks.contains_key(&event.track), "{event:?}");
                trace.events.push(TraceEvent { time, ..event });
            }
        }
        trace.events.sort_by_key(|event| event.time);
        trace.nest();
        trace.check_flows();
        trace
    }

    /// Joins begins and ends.
    fn nest(&mut self) {
        let mut open: BTreeMap<u64, Vec<usize>> = BTreeMap::new();
        for at in 0..self.events.len() {
            let TraceEvent {
                time, track, kind, ..
            } = self.events[at];
            let stack = open.entry(track).or_default();
            let around = stack.iter().map(|&slice| self.events[slice].name.clone());
            self.events[at].around = around.collect();
            match kind {
                1 => stack.push(at),
                2 => {
                    let begin = stack.pop().expect("an end has a begin");
                    self.events[begin].end = Some(time);
                }
                3 => self.events[at].end = Some(time),
                _ => {}
            }
        }
        self.events.retain(|event| event.kind != 2);
    }

    fn check_flows(&self) {
        let mut begun: BTreeMap<u64, u64> = BTreeMap::new();
        let mut ended = BTreeSet::new();
        for event in &self.events {
            for &flow in &event.flows {
                begun.entry(flow).or_insert(event.time);
                assert!(!ended.contains(&flow), "{event:?} is behind the arrow");
            }
            for &flow in &event.ending {
                assert!(begun.contains_key(&flow), "{event:?} ends no arrow");
                assert!(ended.insert(flow), "arrow {flow} ends once");
            }
        }
    }

    /// Returns the name of a track.
    pub fn track(&self, event: &TraceEvent) -> &str {
        &self.tracks[&event.track].0
    }

    /// Returns the slices, instants and values of this name.
    pub fn named<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a TraceEvent> {
        self.events.iter().filter(move |event| event.name == name)
    }

    /// Returns the events of tracks of this name.
    pub fn events_on_track<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a TraceEvent> {
        self.events
            .iter()
            .filter(move |event| self.track(event) == name)
    }
}
