//! Contents of messages in mailboxes: a value that one actor gives and another takes.

use std::any::Any;
use std::fmt;

/// The content of a message. The simulated size is a separate argument: a small value may stand for
/// many bytes.
#[derive(Default)]
pub enum Message {
    /// No content.
    #[default]
    Empty,
    /// One machine word, without an allocation.
    Word(u64),
    /// Any value.
    Value(Box<dyn Any>),
}

impl Message {
    /// A message that carries `value`.
    #[must_use]
    pub fn new<T: 'static>(value: T) -> Self {
        Self::Value(Box::new(value))
    }

    /// The word, if the message is one.
    #[must_use]
    pub const fn word(&self) -> Option<u64> {
        match self {
            Self::Word(word) => Some(*word),
            Self::Empty | Self::Value(_) => None,
        }
    }

    /// Returns the value, if the message carries a value of type `T`.
    ///
    /// # Errors
    /// The message itself, if the message carries a value of another type.
    pub fn downcast<T: 'static>(self) -> Result<T, Self> {
        match self {
            Self::Value(value) => value.downcast().map(|value| *value).map_err(Self::Value),
            other => Err(other),
        }
    }
}

impl From<u64> for Message {
    fn from(word: u64) -> Self {
        Self::Word(word)
    }
}

impl From<()> for Message {
    fn from((): ()) -> Self {
        Self::Empty
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::new(text)
    }
}

impl From<&'static str> for Message {
    fn from(text: &'static str) -> Self {
        Self::new(text)
    }
}

impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("Empty"),
            Self::Word(word) => write!(f, "Word({word})"),
            Self::Value(_) => f.write_str("Value(..)"),
        }
    }
}
