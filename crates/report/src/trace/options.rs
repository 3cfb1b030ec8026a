//! Selection of the part of a run that a timeline has.

use std::fmt;
use std::ops::RangeInclusive;
use std::str::FromStr;

use glob::Pattern;

/// The number of ranks above which a timeline without a selection has sums of groups of ranks.
const AGGREGATED_FROM: u32 = 4096;

/// Kinds of content of a timeline.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Contents {
    /// Slices of calls, regions and marks.
    pub calls: bool,
    /// Arrows from sends to arrivals.
    pub flows: bool,
    /// Counters.
    pub counters: bool,
    /// Messages in flight.
    pub flight: bool,
}

impl Default for Contents {
    fn default() -> Self {
        Self {
            calls: true,
            flows: true,
            counters: true,
            flight: true,
        }
    }
}

/// A text of options of a timeline that has another form than expected.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParseTraceError(String);

impl fmt::Display for ParseTraceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseTraceError {}

impl FromStr for Contents {
    type Err = ParseTraceError;

    /// Reads a list such as `calls,flows`.
    fn from_str(text: &str) -> Result<Self, ParseTraceError> {
        let mut contents = Self {
            calls: false,
            flows: false,
            counters: false,
            flight: false,
        };
        for word in text.split(',') {
            *match word {
                "calls" => &mut contents.calls,
                "flows" => &mut contents.flows,
                "counters" => &mut contents.counters,
                "flight" => &mut contents.flight,
                _ => {
                    return Err(ParseTraceError(format!(
                        "{word:?}: expected calls, flows, counters or flight"
                    )));
                }
            } = true;
        }
        Ok(contents)
    }
}

/// A set of ranks; empty for all.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RankSet(Vec<RangeInclusive<u32>>);

impl RankSet {
    /// Returns true if no rank was listed.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns true for a rank that is selected.
    pub fn selects(&self, rank: u32) -> bool {
        self.0.is_empty() || self.0.iter().any(|range| range.contains(&rank))
    }

    /// Returns true if a run of this many ranks has one of the set.
    fn meets(&self, ranks: u32) -> bool {
        self.0.is_empty() || self.0.iter().any(|range| *range.start() < ranks)
    }
}

impl FromStr for RankSet {
    type Err = ParseTraceError;

    /// Reads a list such as `0-63,4096`.
    fn from_str(text: &str) -> Result<Self, ParseTraceError> {
        let range = |part: &str| {
            let (from, to) = part.split_once('-').unwrap_or((part, part));
            let (from, to) = (from.parse().ok()?, to.parse().ok()?);
            (from <= to).then_some(from..=to)
        };
        let ranges = text.split(',').map(|part| {
            range(part).ok_or_else(|| {
                ParseTraceError(format!("{part:?}: expected ranks, such as 0-63,4096"))
            })
        });
        ranges.collect::<Result<_, _>>().map(Self)
    }
}

impl fmt::Display for RankSet {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, range) in self.0.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            match (range.start(), range.end()) {
                (start, end) if start == end => write!(f, "{comma}{start}")?,
                (start, end) => write!(f, "{comma}{start}-{end}")?,
            }
        }
        Ok(())
    }
}

/// The unit that one nanosecond of the file stands for.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum TraceUnit {
    /// A nanosecond.
    #[default]
    Nanosecond,
    /// A picosecond: the viewer shows times that are 1000 times as long.
    Picosecond,
}

impl TraceUnit {
    /// Returns the number of units in a second.
    pub(crate) const fn per_second(self) -> f64 {
        match self {
            Self::Nanosecond => 1e9,
            Self::Picosecond => 1e12,
        }
    }
}

/// The part of a run that a timeline has.
#[derive(Clone, PartialEq, Debug)]
pub struct TraceOptions {
    /// Largest size of the file in bytes, before compression.
    pub limit: u64,
    /// The ranks.
    pub ranks: RankSet,
    /// A pattern of the names of hosts.
    pub hosts: Option<Pattern>,
    /// A pattern of the names of links that have counters; `None` for the first 64 that are used.
    pub links: Option<Pattern>,
    /// The first time in seconds.
    pub from: f64,
    /// The last time in seconds.
    pub until: f64,
    /// Kinds of content.
    pub contents: Contents,
    /// The duration in seconds below which neighbouring slices become one.
    pub shorter_than: Option<f64>,
    /// True for sums of groups of ranks, false for ranks; by default by their number.
    pub aggregate: Option<bool>,
    /// The unit of times in a trace of Perfetto.
    pub unit: TraceUnit,
    /// True if each packet has its absolute time, and not the difference from the packet before.
    pub is_absolute: bool,
}

impl Default for TraceOptions {
    fn default() -> Self {
        Self {
            limit: 500_000_000,
            ranks: RankSet::default(),
            hosts: None,
            links: None,
            from: 0.0,
            until: f64::INFINITY,
            contents: Contents::default(),
            shorter_than: None,
            aggregate: None,
            unit: TraceUnit::default(),
            is_absolute: false,
        }
    }
}

impl TraceOptions {
    /// Returns true if the timeline has sums of groups of ranks.
    pub fn aggregates(&self, ranks: u32) -> bool {
        let is_selected = !self.ranks.is_empty() || self.hosts.is_some();
        self.aggregate
            .unwrap_or(ranks > AGGREGATED_FROM && !is_selected)
    }

    /// Checks that the options select a part of a run of this many ranks.
    pub fn check_selection(&self, ranks: u32) -> Result<(), String> {
        if !self.ranks.meets(ranks) {
            return Err(format!(
                "--trace-ranks {}: the run has none of these ranks: expected ranks from 0 to {}",
                self.ranks,
                ranks.saturating_sub(1)
            ));
        }
        let contents = self.contents;
        if contents.flows && !contents.calls && !contents.flight {
            return Err(
                "--trace-only flows: arrows begin at slices: expected also calls or flight"
                    .to_owned(),
            );
        }
        if self.from > self.until {
            return Err(format!(
                "--trace-from {} s is behind --trace-until {} s: expected an earlier time",
                self.from, self.until
            ));
        }
        Ok(())
    }

    /// Returns the options that make the selection, as text.
    pub(crate) fn selection(&self) -> String {
        let mut words = Vec::new();
        if !self.ranks.is_empty() {
            words.push(format!("--trace-ranks {}", self.ranks));
        }
        if let Some(hosts) = &self.hosts {
            words.push(format!("--trace-hosts {hosts}"));
        }
        if self.from > 0.0 {
            words.push(format!("--trace-from {} s", self.from));
        }
        if self.until.is_finite() {
            words.push(format!("--trace-until {} s", self.until));
        }
        words.join(" ")
    }
}
