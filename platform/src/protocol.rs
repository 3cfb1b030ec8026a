//! Words of `[protocol]` that the message layer understands; the platform only carries them.

use serde::Serialize;

/// What control messages are.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Preset {
    /// They take no time, as in SimGrid's SMPI: the default.
    Free,
    /// They are messages of their own, short synchronous messages are acknowledged, and every packet goes through the machines.
    Explicit,
}

/// What a ready send is that finds no receive.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Ready {
    /// A standard send: the default.
    Lenient,
    /// A mistake, which the receive gets to know.
    Strict,
}

/// How a short synchronous message is sent.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Debug)]
#[serde(rename_all = "kebab-case")]
pub enum Synchronous {
    /// It is announced, and leaves when a receive has met it.
    Rendezvous,
    /// It leaves at once, and is acknowledged when a receive has met it.
    Acknowledged,
}

impl Preset {
    pub(crate) const ALL: [Self; 2] = [Self::Free, Self::Explicit];
    pub(crate) const WORDS: [&'static str; 2] = ["free", "explicit"];
}

impl Ready {
    pub(crate) const ALL: [Self; 2] = [Self::Lenient, Self::Strict];
    pub(crate) const WORDS: [&'static str; 2] = ["lenient", "strict"];
}

impl Synchronous {
    pub(crate) const ALL: [Self; 2] = [Self::Rendezvous, Self::Acknowledged];
    pub(crate) const WORDS: [&'static str; 2] = ["rendezvous", "acknowledged"];
}
