//! Words of `[protocol]` that the message layer understands; the platform only carries them.

use serde::Serialize;

/// Simulation of control messages.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum ControlMessageMode {
    /// They take no time, as in SimGrid's SMPI: the default.
    Instant,
    /// They are messages of their own, short synchronous messages are acknowledged, and every
    /// packet goes through the machines.
    Simulated,
}

/// Meaning of a ready send without a posted receive.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum ReadySendMode {
    /// A standard send: the default.
    Lenient,
    /// An error, which is reported to the receive.
    Strict,
}

/// Protocol of short synchronous messages.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum SsendProtocol {
    /// The message is announced, and is sent when a receive has matched the announcement.
    Rendezvous,
    /// The message is sent at once, and acknowledged when a receive has matched the message.
    Acknowledged,
}

impl ControlMessageMode {
    pub(crate) const ALL: [Self; 2] = [Self::Instant, Self::Simulated];
    pub(crate) const WORDS: [&'static str; 2] = ["instant", "simulated"];
}

impl ReadySendMode {
    pub(crate) const ALL: [Self; 2] = [Self::Lenient, Self::Strict];
    pub(crate) const WORDS: [&'static str; 2] = ["lenient", "strict"];
}

impl SsendProtocol {
    pub(crate) const ALL: [Self; 2] = [Self::Rendezvous, Self::Acknowledged];
    pub(crate) const WORDS: [&'static str; 2] = ["rendezvous", "acknowledged"];
}
