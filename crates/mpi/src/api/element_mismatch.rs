//! The error of a receive with other element types than the matching send.
//!
//! *Not decided here*: which elements differ; the package `channel` decides this.

use std::fmt;

use observe::SourceLocation;

/// A receive with other element types than the matching send.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ElementMismatch {
    /// The receiving rank.
    pub receiver: usize,
    /// The element type of the receive.
    pub received: &'static str,
    /// The line of the receive.
    pub receive: SourceLocation,
    /// The sending rank.
    pub source: usize,
    /// The type that was sent.
    pub sent: &'static str,
    /// The line of the send, if known.
    pub send: Option<SourceLocation>,
}

impl fmt::Display for ElementMismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "element types differ: rank {} receives {} at {} what rank {} sent as {}",
            self.receiver, self.received, self.receive, self.source, self.sent
        )?;
        let Some(send) = self.send else {
            return Ok(());
        };
        write!(f, " at {send}")
    }
}
