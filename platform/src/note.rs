//! A part of a foreign file that an import leaves out, with its place.

use std::fmt;

/// Something in a platform of another format that this one cannot say.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportNote {
    /// The file, as it was called.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The part that is left out, or the difference.
    pub text: String,
}

impl fmt::Display for ImportNote {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.text)
    }
}
