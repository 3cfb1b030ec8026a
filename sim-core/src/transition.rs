//! Actors and answers, the vocabulary of [transitions](crate::Transition): all actions of an actor
//! that another actor can observe.
//!
//! In a plain run a transition is executed at once. Under a [`Chooser`](crate::Chooser) the actor
//! stops before the transition, and the chooser decides which pending transition happens next. Both
//! kinds of runs execute the same code. Purely local steps (starting a computation, going to sleep)
//! are not transitions; waking up is.
//!
//! A *wait* is a transition that is enabled only when its object is ready. The names follow the
//! usual names of model checkers of message-passing programs.

use std::fmt;

/// An actor: the serial number, counted from 1 in the order of creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ActorId(pub(crate) u32);

impl ActorId {
    /// The serial number, from 1.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0 + 1
    }

    /// The actor with this serial number.
    ///
    /// # Panics
    /// If `number` is 0.
    #[must_use]
    #[inline]
    pub const fn from_number(number: u32) -> Self {
        assert!(number > 0, "actors are counted from 1");
        Self(number - 1)
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())
    }
}

/// Answer of a transition, for the digest, the trace and the operation that issued it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OperationResult {
    /// The transition happened; there is no other answer.
    Done,
    /// Yes or no.
    Bool(bool),
    /// A serial number, a position in a list or a drawn value.
    Number(u32),
    /// The wait ended because its time limit expired.
    Timeout,
}

impl OperationResult {
    /// The answer as a number: part of the format of digests.
    #[inline]
    pub(crate) const fn code(self) -> u64 {
        match self {
            Self::Done => 0,
            Self::Bool(no_or_yes) => 1 + no_or_yes as u64,
            Self::Timeout => 3,
            Self::Number(number) => 4 + number as u64,
        }
    }

    /// The answer that is `code` in the digest and in [`Executed::answer`](crate::Executed).
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "numbers have 32 bits")]
    pub const fn from_code(code: u64) -> Self {
        match code {
            0 => Self::Done,
            1 => Self::Bool(false),
            2 => Self::Bool(true),
            3 => Self::Timeout,
            number => Self::Number((number - 4) as u32),
        }
    }
}
