//! A part of a file in another format that an import leaves out, with the place of the part.

use std::fmt;

/// A part of a platform in another format that a platform file cannot express.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ImportNote {
    /// The name of the file, as the caller gave it.
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
