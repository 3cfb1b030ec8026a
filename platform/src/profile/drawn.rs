//! Profiles with drawn delays and values: the stochastic profiles of `SimGrid`.
//!
//! A line `DELAY_LAW VALUE_LAW` for each event, where a law is `DET x`, `UNIF min max`, `EXP rate`
//! or `NORM mean deviation`: the delay in seconds since the event before, and the value. With
//! `LOOP` the lines are repeated and drawn anew each time.
//!
//! *Not modelled*: negative numbers, which `NORM` can draw. They count as 0; `SimGrid` stops there.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// A law by which a number is drawn.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Law {
    /// Always this number.
    Constant(f64),
    /// Uniformly between two numbers.
    Uniform(f64, f64),
    /// Exponentially, with this rate: the mean is 1 / rate.
    Exponential(f64),
    /// Normally, with this mean and standard deviation.
    Normal(f64, f64),
}

/// Delays and values that are drawn.
#[derive(Clone, PartialEq, Debug)]
pub struct Drawn {
    /// For each event the delay in seconds since the one before, and the value.
    pub laws: Arc<[(Law, Law)]>,
    /// True if the events come again, drawn anew.
    pub repeats: bool,
}

/// Part of a message about a line that says no law.
pub(crate) const EXPECTED: &str = "the law of a delay and that of a value, each DET x, UNIF min \
                                   max, EXP rate or NORM mean deviation, with numbers of at least 0";

impl Law {
    /// The law at the beginning of some words, and the words after this law.
    fn parse_law<'a, 'b>(words: &'a [&'b str]) -> Option<(Self, &'a [&'b str])> {
        let number = |position: usize| super::amount(words.get(position)?);
        let (law, length) = match *words.first()? {
            "DET" => (Self::Constant(number(1)?), 2),
            "UNIF" | "UNIFORM" => (Self::Uniform(number(1)?, number(2)?), 3),
            "EXP" | "EXPONENTIAL" => (Self::Exponential(number(1).filter(|rate| *rate > 0.0)?), 2),
            "NORM" | "NORMAL" => (Self::Normal(number(1)?, number(2)?), 3),
            _ => return None,
        };
        Some((law, &words[length..]))
    }

    /// The largest number that the law gives, if there is one.
    const fn max(self) -> Option<f64> {
        match self {
            Self::Constant(number) => Some(number),
            Self::Uniform(one, other) => Some(one.max(other)),
            Self::Exponential(_) | Self::Normal(..) => None,
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(number) => write!(f, "DET {number}"),
            Self::Uniform(from, to) => write!(f, "UNIF {from} {to}"),
            Self::Exponential(rate) => write!(f, "EXP {rate}"),
            Self::Normal(mean, deviation) => write!(f, "NORM {mean} {deviation}"),
        }
    }
}

/// A line of a drawn profile.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct ProfileLine(pub(crate) Law, pub(crate) Law);

impl FromStr for ProfileLine {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let words: Vec<&str> = text.split_whitespace().collect();
        let delay = Law::parse_law(&words);
        let value = delay.and_then(|(delay, rest)| Some((delay, Law::parse_law(rest)?)));
        match value {
            Some((delay, (value, []))) => Ok(Self(delay, value)),
            _ => Err(EXPECTED),
        }
    }
}

impl fmt::Display for ProfileLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.0, self.1)
    }
}

impl Drawn {
    /// A profile of such lines. `None` if the profile repeats without time in between.
    pub(crate) fn new(lines: &[ProfileLine], repeats: bool) -> Option<Self> {
        let takes_time = |line: &ProfileLine| line.0.max().is_none_or(|longest| longest > 0.0);
        let never_ends = repeats && !lines.iter().any(takes_time);
        (!never_ends || lines.is_empty()).then(|| Self {
            laws: lines.iter().map(|line| (line.0, line.1)).collect(),
            repeats,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back_as_they_print() {
        for text in ["DET 0 UNIF 0.5 1", "NORM 10 2 EXP 0.25"] {
            let line: ProfileLine = text.parse().expect("two laws");
            assert_eq!(line.to_string(), text);
        }
        let long: ProfileLine = "EXPONENTIAL 2 NORMAL 1 0".parse().expect("two laws");
        assert_eq!(long.to_string(), "EXP 2 NORM 1 0");
        for wrong in [
            "DET 0",
            "1 2",
            "EXP 0 DET 1",
            "DET 0 UNIF 1",
            "DET 1 DET 1 1",
        ] {
            assert_eq!(wrong.parse::<ProfileLine>(), Err(EXPECTED), "{wrong}");
        }
    }
}
