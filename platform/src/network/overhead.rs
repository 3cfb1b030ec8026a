//! Costs of a message at its sender or receiver, by size: a parameter of the message layer, which
//! explains who pays when.
//!
//! The cost of a message is `time + per_byte × size` of the section with the greatest threshold
//! *strictly below* its size, and nothing up to the first threshold.
//!
//! Source: SimGrid's `smpi/os`, `smpi/ois` and `smpi/or` tables (`size:time:per_byte;…`) have the
//! same meaning.

use serde::{Deserialize, Serialize};

use crate::units::{Duration, Size};

/// A section of a cost by size: all sizes above a threshold, up to the next one.
#[derive(Clone, PartialEq, Serialize, Deserialize, Debug)]
pub struct OverheadSection {
    /// The largest size that is not in the section.
    pub above: Size,
    /// Seconds.
    pub time: Duration,
    /// Seconds per byte of the message.
    pub per_byte: Duration,
}

/// What the calls of the message layer cost, by the name of the table; without sections nothing.
#[derive(Clone, PartialEq, Default, Serialize, Debug)]
pub struct Overheads {
    /// A blocking send that is eager: paid by the sender, before the message leaves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub os: Vec<OverheadSection>,
    /// A send that does not block: paid by the sender, before the message leaves.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub ois: Vec<OverheadSection>,
    /// An eager message: paid by the receiver, after it has arrived, in the call that completes the
    /// receive.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub or: Vec<OverheadSection>,
}

impl Overheads {
    /// The tables with their names.
    pub(crate) fn tables(&self) -> [(&'static str, &[OverheadSection]); 3] {
        [("os", &self.os), ("ois", &self.ois), ("or", &self.or)]
    }
}
