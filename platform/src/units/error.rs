//! Errors in the text of a quantity.

use std::fmt;

use super::Kind;

/// Reason why a text is not a quantity of the expected kind; prints the text found, the expected
/// text, and the unit that was probably meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct UnitError {
    found: String,
    name: &'static str,
    examples: &'static str,
    problem: Problem,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Problem {
    NoNumber,
    NoUnit,
    UnknownUnit {
        unit: String,
        suggestion: Option<String>,
    },
    NotFinite,
    Negative,
    Zero,
    NotWhole,
    TimeOverflow,
}

impl UnitError {
    pub(super) fn new<K: Kind>(found: &str, problem: Problem) -> Self {
        Self {
            found: found.to_owned(),
            name: K::NAME,
            examples: K::EXAMPLES,
            problem,
        }
    }

    /// The problem with the value found, in a few words.
    #[must_use]
    pub fn problem(&self) -> String {
        let found = &self.found;
        match &self.problem {
            Problem::NoNumber => format!("no number in {found:?}"),
            Problem::NoUnit => format!("no unit in {found:?}"),
            Problem::UnknownUnit { unit, .. } => format!("unknown unit {unit:?} in {found:?}"),
            Problem::NotFinite => format!("infinite or undefined value {found:?}"),
            Problem::Negative => format!("negative value {found:?}"),
            Problem::Zero => format!("zero is not allowed: {found:?}"),
            Problem::NotWhole => format!("not a whole number of bytes below 2^63: {found:?}"),
            Problem::TimeOverflow => format!("time overflow (beyond 1e20 s) with {found:?}"),
        }
    }

    /// Returns the expected kind of quantity, with examples.
    #[must_use]
    pub fn expected(&self) -> String {
        format!("expected {}, such as {}", self.name, self.examples)
    }

    /// The text that was probably meant.
    #[must_use]
    pub fn suggestion(&self) -> Option<&str> {
        match &self.problem {
            Problem::UnknownUnit { suggestion, .. } => suggestion.as_deref(),
            _ => None,
        }
    }
}

impl fmt::Display for UnitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.problem(), self.expected())?;
        match self.suggestion() {
            Some(suggestion) => write!(f, "; did you mean {suggestion:?}?"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for UnitError {}
