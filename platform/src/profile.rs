//! Changes of links and hosts, at once or at given dates: availability profiles.
//!
//! A profile can be read from the text format of `SimGrid` ([`Events::parse`]): a line `DATE VALUE`
//! for each event, with growing dates in seconds; empty lines and lines that begin with `#` or `%`
//! are ignored. A line `LOOPAFTER DELAY` repeats the events DELAY seconds after the last event, a
//! line `PERIODICITY PERIOD` every PERIOD seconds.
//!
//! After a line `STOCHASTIC` or `STOCHASTIC LOOP` delays and values are drawn ([`Drawn`]).
//!
//! *Not modelled*: drawn profiles with other lines before, or with a repetition of drawn events
//! (`LOOPAFTER`); such profiles are refused.

mod drawn;

use std::fmt;
use std::sync::Arc;

use sim_core::{HostId, Span};

use crate::LinkId;

pub(crate) use drawn::ProfileLine;
pub use drawn::{Drawn, Law};

/// A change of a link or a host. Both directions of a physical link change, even if the change
/// names only one direction.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Change {
    /// A new bandwidth in bytes/s; at 0 no transfer proceeds. The change has no effect on the air
    /// of a Wi-Fi zone.
    Bandwidth(LinkId, f64),
    /// A new latency.
    Latency(LinkId, Span),
    /// A link is turned on or off.
    Link(LinkId, bool),
    /// A host has this fraction of its speed from now on; at 0 no computation proceeds.
    Speed(HostId, f64),
    /// A host is turned on or off.
    Host(HostId, bool),
    /// A host changes to another power state, given by its number.
    PowerState(HostId, u32),
}

/// The parameter that a [`Profile`] changes, and the meaning of the values. A link without
/// directions uses only the first of its two identifiers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Target {
    /// The bandwidth of a link, in bytes/s.
    Bandwidth(LinkId),
    /// The latency of a link, in seconds.
    Latency(LinkId),
    /// The state of a link: 0 is off.
    Link(LinkId),
    /// The speed of a host, as a part of the one in the platform file.
    Speed(HostId),
    /// The state of a host: 0 is off.
    Host(HostId),
}

/// Changes of one target, or of equal targets with consecutive numbers, at given dates, possibly
/// repeated.
#[derive(Clone, PartialEq, Debug)]
pub struct Profile {
    /// The first target.
    pub target: Target,
    /// Number of hosts or link directions that change, with consecutive numbers from the target's.
    pub count: u32,
    /// Dates in seconds, growing, with the value from then on.
    pub events: Arc<[(f64, f64)]>,
    /// Period of the repetition in seconds, at least the last date; `None` if the events are not
    /// repeated.
    pub period_s: Option<f64>,
    /// Drawn events, in place of `events`.
    pub drawn: Option<Drawn>,
}

/// The events of a profile, without their target.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Events {
    /// Dates in seconds, growing, with values.
    pub events: Vec<(f64, f64)>,
    /// Period of the repetition in seconds; `None` if the events are not repeated.
    pub period_s: Option<f64>,
    /// Drawn events, in place of `events`.
    pub drawn: Option<Drawn>,
}

/// Repetition of the events of a profile, in seconds.
#[derive(Clone, Copy, Debug)]
pub enum Repetition {
    /// Delay after the last event.
    After(f64),
    /// Period, counted from date 0 of the previous repetition.
    Every(f64),
}

/// Expectation that a period that ends before the last event does not meet.
pub const SHORT_PERIOD: &str = "a period that is not shorter than the last date";

/// Expectation that a drawn profile without time in between does not meet.
pub(crate) const ENDLESS: &str = "a delay of more than 0 s in a profile that comes again";

/// Minimum period in seconds: events repeated without time in between would never end.
pub(crate) const PERIOD_MIN_S: f64 = 1e-9;

/// A line of a profile that cannot be read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProfileError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The line.
    pub found: String,
    /// The text that was expected instead.
    pub expected: &'static str,
}

impl fmt::Display for ProfileError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            line,
            found,
            expected,
        } = self;
        write!(f, "line {line}: {found:?}: expected {expected}")
    }
}

impl std::error::Error for ProfileError {}

impl Events {
    /// Reads the events of a profile.
    ///
    /// # Errors
    /// [`ProfileError`] for the first line that is none.
    pub fn parse(text: &str) -> Result<Self, ProfileError> {
        let mut read = Self::default();
        let mut repetition = None;
        for (line, number) in text.lines().zip(1..) {
            let wrong = |expected| ProfileError {
                line: number,
                found: line.chars().take(80).collect(),
                expected,
            };
            let words: Vec<&str> = line.split_whitespace().collect();
            match words[..] {
                [] => {}
                [first, ..] if first.starts_with(['#', '%']) => {}
                ["STOCHASTIC"] | ["STOCHASTIC", "LOOP"]
                    if read.events.is_empty() && repetition.is_none() =>
                {
                    let repeats = words.len() > 1;
                    let lines = text.lines().zip(1..).skip(number);
                    return Self::parse_drawn(lines, repeats, wrong(ENDLESS));
                }
                ["STOCHASTIC", ..] => {
                    return Err(wrong(
                        "STOCHASTIC or STOCHASTIC LOOP, before all other lines",
                    ));
                }
                ["LOOPAFTER", delay] => {
                    let delay = amount(delay).ok_or_else(|| wrong("a delay of at least 0 s"))?;
                    repetition = Some((Repetition::After(delay), wrong("")));
                }
                ["PERIODICITY", period] => {
                    let period = amount(period).ok_or_else(|| wrong("a period of at least 0 s"))?;
                    repetition = Some((Repetition::Every(period), wrong(SHORT_PERIOD)));
                }
                [date, value] => {
                    let event = amount(date).zip(amount(value));
                    let (date, value) =
                        event.ok_or_else(|| wrong("a date in seconds and a value, at least 0"))?;
                    if read.events.last().is_some_and(|(last, _)| *last >= date) {
                        return Err(wrong("a date later than the one before"));
                    }
                    read.events.push((date, value));
                }
                _ => return Err(wrong("DATE VALUE, LOOPAFTER DELAY or PERIODICITY PERIOD")),
            }
        }
        if let Some((repetition, too_short)) = repetition {
            read.repeat(repetition).ok_or(too_short)?;
        }
        Ok(read)
    }

    /// Reads the lines of a drawn profile after its first line. `endless`: the error if the profile
    /// repeats without time in between.
    fn parse_drawn<'a>(
        lines: impl Iterator<Item = (&'a str, usize)>,
        repeats: bool,
        endless: ProfileError,
    ) -> Result<Self, ProfileError> {
        let is_event = |line: &str| !line.is_empty() && !line.starts_with(['#', '%']);
        let lines = lines.filter(|(line, _)| is_event(line.trim()));
        let read = lines.map(|(line, number)| {
            line.parse().map_err(|expected| ProfileError {
                line: number,
                found: line.chars().take(80).collect(),
                expected,
            })
        });
        let lines = read.collect::<Result<Vec<ProfileLine>, ProfileError>>()?;
        Ok(Self {
            drawn: Some(Drawn::new(&lines, repeats).ok_or(endless)?),
            ..Self::default()
        })
    }

    /// Repeats the events; the events are not repeated if there is no time in between.
    ///
    /// Returns `None`, and leaves the events unchanged, if the period ends before the last event.
    #[must_use]
    pub fn repeat(&mut self, repetition: Repetition) -> Option<()> {
        let Some((last, _)) = self.events.last() else {
            return Some(());
        };
        let period_s = match repetition {
            Repetition::After(delay_s) => last + delay_s,
            Repetition::Every(period_s) if period_s < *last => return None,
            Repetition::Every(period_s) => period_s,
        };
        self.period_s = (period_s >= PERIOD_MIN_S && period_s.is_finite()).then_some(period_s);
        Some(())
    }

    /// The profile that changes `target`, one host or one direction of a link.
    #[must_use]
    pub fn into_profile(self, target: Target) -> Profile {
        Profile {
            target,
            count: 1,
            events: self.events.into(),
            period_s: self.period_s,
            drawn: self.drawn,
        }
    }
}

/// A finite number of at least 0.
fn amount(word: &str) -> Option<f64> {
    let number: f64 = word.parse().ok()?;
    (number >= 0.0 && number.is_finite()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_with_and_without_repetition() {
        let read = Events::parse("# speed\n0 1.0\n\n10 0.8\n20 0.4\nLOOPAFTER 10\n");
        let wanted = Events {
            events: vec![(0.0, 1.0), (10.0, 0.8), (20.0, 0.4)],
            period_s: Some(30.0),
            drawn: None,
        };
        assert_eq!(read, Ok(wanted));
        let once = Events::parse("1 0\n2 1").expect("events");
        assert_eq!((once.events.len(), once.period_s), (2, None));
        assert_eq!(Events::parse("PERIODICITY 3"), Ok(Events::default()));
        let period = |text: &str| Events::parse(text).expect("events").period_s;
        // As SimGrid 3.32 plays it: the whole period, wherever the line is.
        assert_eq!(period("1 1\n2 0.5\n4 0.25\nPERIODICITY 10"), Some(10.0));
        assert_eq!(period("PERIODICITY 4\n0 1\n4 0.25"), Some(4.0));
        // A single event at 0 that comes again at once would never end.
        assert_eq!(
            Events::parse("0 1\nLOOPAFTER 0").expect("events").period_s,
            None
        );
    }

    #[test]
    fn drawn_events_are_laws() {
        let read =
            Events::parse("# load\nSTOCHASTIC LOOP\nDET 1 UNIF 0 1\n% more\nEXP 2 NORM 3 4\n");
        let drawn = read.expect("laws").drawn.expect("drawn");
        assert!(drawn.repeats);
        let laws = [
            (Law::Constant(1.0), Law::Uniform(0.0, 1.0)),
            (Law::Exponential(2.0), Law::Normal(3.0, 4.0)),
        ];
        assert_eq!(&drawn.laws[..], &laws);
        let once = Events::parse("STOCHASTIC\nDET 0 DET 1").expect("laws");
        assert!(!once.drawn.expect("drawn").repeats);
    }

    #[test]
    fn mistakes_name_the_line() {
        let message = |text: &str| Events::parse(text).expect_err("a mistake").to_string();
        assert_eq!(
            message("0 1\n0 2"),
            "line 2: \"0 2\": expected a date later than the one before"
        );
        assert_eq!(
            message("1 -1"),
            "line 1: \"1 -1\": expected a date in seconds and a value, at least 0"
        );
        assert_eq!(
            message("1 2 3"),
            "line 1: \"1 2 3\": expected DATE VALUE, LOOPAFTER DELAY or PERIODICITY PERIOD"
        );
        assert_eq!(
            message("0 1\nPERIODICITY 3\n4 0.25"),
            "line 2: \"PERIODICITY 3\": expected a period that is not shorter than the last date"
        );
        assert_eq!(
            message("# load\nSTOCHASTIC LOOP\nDET 0 UNIF 0 1"),
            "line 2: \"STOCHASTIC LOOP\": expected a delay of more than 0 s in a profile that comes again"
        );
        assert_eq!(
            message("0 1\nSTOCHASTIC"),
            "line 2: \"STOCHASTIC\": expected STOCHASTIC or STOCHASTIC LOOP, before all other lines"
        );
        let line = message("STOCHASTIC\n\nDET 1 DET 1\nLOOPAFTER 3");
        assert!(
            line.starts_with("line 4: \"LOOPAFTER 3\": expected the law of a delay"),
            "{line}"
        );
        assert!(message("nan 1").starts_with("line 1"));
        assert!(message("LOOPAFTER x").starts_with("line 1"));
    }
}
