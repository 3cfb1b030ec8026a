//! Classes of the time of a rank. They are disjoint, and add up to the time of the run.
//!
//! Names and definitions of wait states are those of Scalasca (Geimer et al., *The Scalasca
//! performance toolset architecture*, 2010, and its pattern documentation).

use serde::Serialize;

/// A class of the time of a rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Computation; in real runs also all time between calls.
    Compute,
    /// Sleep.
    Sleep,
    /// Software cost of calls: overheads, copies, reductions.
    Software,
    /// Wait for a message whose send had not begun.
    LateSender,
    /// The same, while another message for the rank was there already.
    LateSenderWrongOrder,
    /// Wait of a rendezvous or synchronous send whose receive had not been posted.
    LateReceiver,
    /// Wait in a collective operation in which each rank needs all others, until the last has
    /// entered.
    WaitAtCollective,
    /// Wait in a collective operation for the root, which had not entered.
    LateBroadcast,
    /// Wait of the root of a reduction until the first other rank has entered.
    EarlyReduce,
    /// Wait while data are on the way: their latency.
    Latency,
    /// Wait while data are on the way: their length at the rate that they have alone.
    Bandwidth,
    /// Wait while data are on the way: the time beyond that of a transfer alone on its route.
    Contention,
    /// Wait while data are on the way, of which the log does not tell the parts.
    Transfer,
    /// Wait for buffers, credits and connections of the message layer.
    Resources,
    /// A wait that the end of the run has cut, as in a deadlock.
    Blocked,
    /// Time after the end of the rank.
    Ended,
}

/// Number of classes.
pub(crate) const CLASSES: usize = 16;

impl Class {
    /// All classes, by their numbers.
    pub const ALL: [Self; CLASSES] = [
        Self::Compute,
        Self::Sleep,
        Self::Software,
        Self::LateSender,
        Self::LateSenderWrongOrder,
        Self::LateReceiver,
        Self::WaitAtCollective,
        Self::LateBroadcast,
        Self::EarlyReduce,
        Self::Latency,
        Self::Bandwidth,
        Self::Contention,
        Self::Transfer,
        Self::Resources,
        Self::Blocked,
        Self::Ended,
    ];

    /// Returns the name of the class, such as "late sender".
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Compute => "compute",
            Self::Sleep => "sleep",
            Self::Software => "software",
            Self::LateSender => "late sender",
            Self::LateSenderWrongOrder => "late sender, wrong order",
            Self::LateReceiver => "late receiver",
            Self::WaitAtCollective => "wait at collective",
            Self::LateBroadcast => "late broadcast",
            Self::EarlyReduce => "early reduce",
            Self::Latency => "latency",
            Self::Bandwidth => "bandwidth",
            Self::Contention => "contention",
            Self::Transfer => "transfer",
            Self::Resources => "resources",
            Self::Blocked => "blocked at the end",
            Self::Ended => "after its end",
        }
    }
}

/// Times by class, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Split(pub [f64; CLASSES]);

impl Split {
    /// Adds time to a class.
    pub(crate) fn add(&mut self, class: Class, seconds: f64) {
        self.0[class as usize] += seconds;
    }

    /// Returns the time of a class.
    #[must_use]
    pub const fn of(&self, class: Class) -> f64 {
        self.0[class as usize]
    }
}
