//! Profiles in a platform file: the points inline, or the name of a file in the text format of
//! SimGrid.
//!
//! ```toml
//! speed_profile = { points = [["0s", 1.0], ["10s", 0.8]], period = "20s" }
//! state_profile = { points = [["5s", "off"], ["6s", "on"]] }
//! bandwidth_profile = { file = "profiles/wan.txt" }
//! latency_profile = { drawn = ["EXP 0.1 UNIF 0.001 0.002"], loop = true }
//! ```
//!
//! A file is looked for in the folder of the platform file, and read at once: a platform that has
//! been read knows only points. A text without a folder, such as one in a test, cannot name files.

use std::path::{Path, PathBuf};

use serde::ser::{Serialize, SerializeMap, Serializer};
use toml::Spanned;
use toml::de::DeValue;

use super::field::{InvalidValue, ParseField, cut};
use super::section::{Collector, Section};
use crate::profile::{Drawn, ENDLESS, Events, PERIOD_MIN_S, Profile, ProfileLine, Target};
use crate::units::{Duration, ProfileBandwidth};

/// The largest profile file, in bytes: about a million events.
const FILE_MAX: u64 = 16 << 20;

/// Kind of the values of a profile.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProfileKind {
    /// A part of the speed.
    Speed,
    /// `"on"` or `"off"`.
    State,
    /// A bandwidth.
    Bandwidth,
    /// A latency.
    Latency,
}

/// The value of a profile from a date on.
#[derive(Clone, PartialEq, Debug)]
enum Value {
    Scale(f64),
    State(bool),
    Bandwidth(ProfileBandwidth),
    Latency(Duration),
}

/// A profile as written in the file.
#[derive(Clone, PartialEq, Debug)]
pub struct ProfileEntry {
    /// Name of a file that has not been read: only in a platform imported without its folder.
    file: Option<String>,
    points: Vec<(Duration, Value)>,
    period: Option<Duration>,
    /// In place of points: laws of delays and values, these in bytes/s, in seconds or as a part.
    drawn: Option<Drawn>,
}

impl ProfileEntry {
    /// One that is in a file, which whoever reads the platform will open.
    #[must_use]
    pub const fn in_file(name: String) -> Self {
        Self {
            file: Some(name),
            points: Vec::new(),
            period: None,
            drawn: None,
        }
    }

    /// The same events in our format.
    ///
    /// # Errors
    /// The value that cannot be one of this kind.
    pub fn of_events(events: &Events, kind: ProfileKind) -> Result<Self, String> {
        let mut points = Vec::new();
        for (date, value) in &events.events {
            let at = quantity(*date, "s");
            let value = match kind {
                ProfileKind::Speed => Value::Scale(*value),
                ProfileKind::State => Value::State(*value > 0.0),
                ProfileKind::Bandwidth => Value::Bandwidth(parsed(*value, "Bps")?),
                ProfileKind::Latency => Value::Latency(parsed(*value, "s")?),
            };
            let at = at.parse().map_err(|_| at.clone())?;
            points.push((at, value));
        }
        let period = match events.period_s {
            Some(period) => Some(parsed(period, "s")?),
            None => None,
        };
        Ok(Self {
            file: None,
            points,
            period,
            drawn: events.drawn.clone(),
        })
    }

    /// Returns the profile for `count` equal targets with consecutive numbers from `target`.
    pub(crate) fn to_profile(&self, target: Target, count: u32) -> Profile {
        let number = |value: &Value| match value {
            Value::Scale(part) => *part,
            Value::State(on) => f64::from(u8::from(*on)),
            Value::Bandwidth(bandwidth) => bandwidth.bytes_per_s(),
            Value::Latency(latency) => latency.as_secs(),
        };
        let events = self.points.iter();
        Profile {
            target,
            count,
            events: events
                .map(|(at, value)| (at.as_secs(), number(value)))
                .collect(),
            period_s: self.period.as_ref().map(Duration::as_secs),
            drawn: self.drawn.clone(),
        }
    }

    /// The size of the profile in words, for people.
    pub(crate) fn summary(&self) -> String {
        if let Some(drawn) = &self.drawn {
            let again = if drawn.repeats {
                ", again and again"
            } else {
                ""
            };
            return format!("{} drawn{again}", drawn.laws.len());
        }
        let points = match self.points.len() {
            1 => "1 point".to_owned(),
            count => format!("{count} points"),
        };
        match (&self.file, &self.period) {
            (Some(file), _) => format!("in {file}"),
            (None, Some(period)) => format!("{points}, again every {period}"),
            (None, None) => points,
        }
    }
}

/// A number with a unit, short.
fn quantity(number: f64, unit: &str) -> String {
    let plain = format!("{number}");
    if plain.len() > 20 {
        format!("{number:e}{unit}")
    } else {
        plain + unit
    }
}

fn parsed<T: std::str::FromStr>(number: f64, unit: &str) -> Result<T, String> {
    let text = quantity(number, unit);
    text.parse().map_err(|_| text.clone())
}

/// Reads the events of a profile file.
///
/// # Errors
/// The problem of the file, in words that follow the name of the file.
pub fn read_events(folder: &Path, name: &str) -> Result<Events, String> {
    let path: PathBuf = folder.join(name);
    let wrong = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    };
    let meta = std::fs::metadata(&path).map_err(wrong)?;
    if !meta.is_file() {
        return Err("not a file".to_owned());
    }
    let bytes = files::read_bytes(&path, FILE_MAX).map_err(wrong)?;
    let text = String::from_utf8(bytes).map_err(|error| error.to_string())?;
    Events::parse(&text).map_err(|error| error.to_string())
}

/// The profile under a key: `None` if the profile is wrong, `Some(None)` if the key is absent.
#[expect(
    clippy::option_option,
    reason = "wrong and absent differ, and the mistake is already recorded"
)]
pub(super) fn profile(
    collector: &mut Collector,
    section: &Section<'_>,
    key: &'static str,
    kind: ProfileKind,
) -> Option<Option<Box<ProfileEntry>>> {
    let Some(value) = section.get(key) else {
        return Some(None);
    };
    let entry = profile_value(collector, value, key, kind)?;
    Some(Some(Box::new(entry)))
}

fn profile_value(
    collector: &mut Collector,
    value: &Spanned<DeValue<'_>>,
    key: &str,
    kind: ProfileKind,
) -> Option<ProfileEntry> {
    const KEYS: [&str; 5] = ["file", "points", "period", "drawn", "loop"];
    let section = collector.section(value, value.span(), key.to_owned(), &KEYS)?;
    if let Some(name) = section.get("file") {
        let other = section
            .spanned_key("points")
            .or_else(|| section.spanned_key("period"));
        if let Some(other) = other {
            let problem = format!("a profile in a file has no {:?} here", other.get_ref());
            collector.add(other.span(), problem, "the file has all of it", None);
            return None;
        }
        return from_file(collector, name, kind);
    }
    if section.get("drawn").is_some() {
        return read_drawn(collector, &section);
    }
    let list = collector.present(&section, "points", example(kind))?;
    let points = points(collector, list, kind);
    let period = collector.optional::<Spanned<Duration>>(&section, "period");
    let (points, period) = (points?, period?);
    if let (Some(period), Some((last, _))) = (&period, points.last()) {
        let (period_s, last_s) = (period.get_ref().as_secs(), last.as_secs());
        if period_s < last_s || period_s < PERIOD_MIN_S {
            let problem = format!("the period {:?} is too short", period.get_ref().text());
            let expected = format!("expected at least 1ns, and the last date, {last}");
            collector.add(period.span(), problem, expected, None);
            return None;
        }
    }
    Some(ProfileEntry {
        file: None,
        points,
        period: period.map(Spanned::into_inner),
        drawn: None,
    })
}

/// Reads a profile with drawn events.
fn read_drawn(collector: &mut Collector, section: &Section<'_>) -> Option<ProfileEntry> {
    if let Some(other) = section
        .spanned_key("points")
        .or_else(|| section.spanned_key("period"))
    {
        let problem = format!("a profile that is drawn has no {:?}", other.get_ref());
        collector.add(
            other.span(),
            problem,
            "the laws give dates and values",
            None,
        );
        return None;
    }
    let list = section.get("drawn")?;
    let repeats = collector
        .optional::<bool>(section, "loop")?
        .unwrap_or(false);
    let Some(array) = list.get_ref().as_array() else {
        let expected = "laws such as [\"EXP 0.1 UNIF 0.5 1\"]";
        collector.wrong(list.span(), InvalidValue::kind(list.get_ref(), expected));
        return None;
    };
    let mut lines: Vec<ProfileLine> = Vec::new();
    for value in array {
        let text: String = collector.value(value)?;
        match text.parse() {
            Ok(line) => lines.push(line),
            Err(expected) => {
                let problem = format!("{:?} is no event that is drawn", cut(&text));
                collector.add(value.span(), problem, format!("expected {expected}"), None);
                return None;
            }
        }
    }
    let drawn = Drawn::new(&lines, repeats);
    if drawn.is_none() {
        let problem = "this profile repeats without time in between".to_owned();
        collector.add(list.span(), problem, format!("expected {ENDLESS}"), None);
    }
    Some(ProfileEntry {
        file: None,
        points: Vec::new(),
        period: None,
        drawn: Some(drawn?),
    })
}

fn from_file(
    collector: &mut Collector,
    value: &Spanned<DeValue<'_>>,
    kind: ProfileKind,
) -> Option<ProfileEntry> {
    let name: String = collector.value(value)?;
    let read = match &collector.folder {
        Some(folder) => read_events(folder, &name).and_then(|events| {
            ProfileEntry::of_events(&events, kind)
                .map_err(|text| format!("invalid value {text:?} for this profile"))
        }),
        None => Err("this platform has no folder in which it could be".to_owned()),
    };
    match read {
        Ok(entry) => Some(entry),
        Err(problem) => {
            let problem = format!("profile file {:?}: {problem}", cut(&name));
            let expected =
                "expected lines DATE VALUE in a file named from the folder of the platform file";
            collector.add(value.span(), problem, expected, None);
            None
        }
    }
}

const fn example(kind: ProfileKind) -> &'static str {
    match kind {
        ProfileKind::Speed => "[[\"0s\", 1.0], [\"10s\", 0.5]]",
        ProfileKind::State => "[[\"10s\", \"off\"], [\"20s\", \"on\"]]",
        ProfileKind::Bandwidth => "[[\"0s\", \"10Gbps\"], [\"10s\", \"5Gbps\"]]",
        ProfileKind::Latency => "[[\"0s\", \"1us\"], [\"10s\", \"2us\"]]",
    }
}

/// The points, with growing dates.
fn points(
    collector: &mut Collector,
    list: &Spanned<DeValue<'_>>,
    kind: ProfileKind,
) -> Option<Vec<(Duration, Value)>> {
    let expected = format!("points such as {}", example(kind));
    let Some(array) = list.get_ref().as_array() else {
        collector.wrong(list.span(), InvalidValue::kind(list.get_ref(), &expected));
        return None;
    };
    let mut points: Vec<(Duration, Value)> = Vec::new();
    let mut whole = true;
    for point in array {
        let pair = point.get_ref().as_array().filter(|pair| pair.len() == 2);
        let Some(pair) = pair else {
            collector.wrong(point.span(), InvalidValue::kind(point.get_ref(), &expected));
            whole = false;
            continue;
        };
        let at = collector.value::<Duration>(&pair[0]);
        let value = point_value(collector, &pair[1], kind);
        let (Some(at), Some(value)) = (at, value) else {
            whole = false;
            continue;
        };
        if let Some((last, _)) = points.last()
            && last.as_secs() >= at.as_secs()
        {
            let problem = format!("timestamp {:?} is not after {:?}", at.text(), last.text());
            let expected = "timestamps of a profile must increase";
            collector.add(pair[0].span(), problem, expected, None);
            whole = false;
        }
        points.push((at, value));
    }
    whole.then_some(points)
}

fn point_value(
    collector: &mut Collector,
    value: &Spanned<DeValue<'_>>,
    kind: ProfileKind,
) -> Option<Value> {
    match kind {
        ProfileKind::Speed => collector
            .value(value)
            .map(|SpeedFraction(part)| Value::Scale(part)),
        ProfileKind::State => collector.value(value).map(|OnOff(on)| Value::State(on)),
        ProfileKind::Bandwidth => collector.value(value).map(Value::Bandwidth),
        ProfileKind::Latency => collector.value(value).map(Value::Latency),
    }
}

/// A part of a speed.
struct SpeedFraction(f64);

impl ParseField for SpeedFraction {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        let part = f64::read(value)?;
        if part >= 0.0 {
            Ok(Self(part))
        } else {
            let expected = "a fraction of the speed >= 0, for example 0.5";
            Err(InvalidValue::kind(value.get_ref(), expected))
        }
    }
}

/// A state: true is on.
struct OnOff(bool);

impl ParseField for OnOff {
    fn read(value: &Spanned<DeValue<'_>>) -> Result<Self, InvalidValue> {
        super::field::word(value, "state", &["on", "off"], &[true, false]).map(Self)
    }
}

impl Serialize for ProfileEntry {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut table = serializer.serialize_map(None)?;
        if let Some(file) = &self.file {
            table.serialize_entry("file", file)?;
            return table.end();
        }
        if let Some(drawn) = &self.drawn {
            let lines = drawn.laws.iter();
            let lines: Vec<String> = lines
                .map(|&(delay, value)| ProfileLine(delay, value).to_string())
                .collect();
            table.serialize_entry("drawn", &lines)?;
            table.serialize_entry("loop", &drawn.repeats)?;
            return table.end();
        }
        table.serialize_entry("points", &self.points)?;
        if let Some(period) = &self.period {
            table.serialize_entry("period", period)?;
        }
        table.end()
    }
}

impl Serialize for Value {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Scale(part) => serializer.serialize_f64(*part),
            Self::State(on) => serializer.serialize_str(if *on { "on" } else { "off" }),
            Self::Bandwidth(bandwidth) => bandwidth.serialize(serializer),
            Self::Latency(latency) => latency.serialize(serializer),
        }
    }
}
