//! Patterns of envelopes, by which messages are matched: context, source and tag, with wildcards
//! on the receiving side (MPI 4.1, section 3.2.4).

use std::fmt;

use channel::Envelope;

use crate::api::partitioned::tag_of;

/// Tags are at most this: the largest C `int`, as in Open MPI. MPI requires at least 32767 (MPI
/// 4.1, section 9.1.2).
pub const TAG_UB: u32 = 2_147_483_647;

/// The rank that a receive accepts messages from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Source {
    /// One rank.
    Rank(usize),
    /// Every rank.
    Any,
}

/// The null process: sends to it and receives from it are over at once and have no effect (MPI 4.1,
/// section 3.10).
pub const PROC_NULL: usize = usize::MAX;

/// A receive from every rank.
pub const ANY_SOURCE: Source = Source::Any;

impl From<usize> for Source {
    fn from(rank: usize) -> Self {
        Self::Rank(rank)
    }
}

/// The tag that a receive accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tag {
    /// One tag.
    Is(u32),
    /// Every tag.
    Any,
}

/// A receive with every tag.
pub const ANY_TAG: Tag = Tag::Any;

impl From<u32> for Tag {
    fn from(tag: u32) -> Self {
        Self::Is(tag)
    }
}

/// Pattern of messages that a receive or a probe accepts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pattern {
    /// The context.
    pub context: u32,
    /// The source, `None` for every rank.
    pub source: Option<u32>,
    /// The tag, `None` for every tag.
    pub tag: Option<u32>,
}

impl Pattern {
    /// Returns the pattern that accepts only messages with this envelope.
    pub(crate) const fn from_envelope(envelope: &Envelope) -> Self {
        Self {
            context: envelope.context,
            source: Some(envelope.source),
            tag: Some(envelope.tag),
        }
    }

    /// Returns true if a message with this envelope is accepted.
    #[must_use]
    #[inline]
    pub fn accepts(&self, envelope: &Envelope) -> bool {
        self.context == envelope.context
            && self.source.is_none_or(|source| source == envelope.source)
            && self.tag.is_none_or(|tag| tag == envelope.tag)
    }
}

/// Displays the tag of a message as the tag that the program gave.
pub(crate) struct TagInWords(pub(crate) u32);

impl fmt::Display for TagInWords {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match tag_of(self.0) {
            Some(tag) => write!(f, "{tag} of a partitioned message"),
            None => write!(f, "{}", self.0),
        }
    }
}

impl fmt::Display for Pattern {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.source {
            Some(source) => write!(f, "source {source}")?,
            None => f.write_str("any source")?,
        }
        match self.tag {
            Some(tag) => write!(f, ", tag {}", TagInWords(tag)),
            None => f.write_str(", any tag"),
        }
    }
}
