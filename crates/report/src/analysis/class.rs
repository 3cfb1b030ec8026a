//! Classes of the time of a rank. The classes are disjoint, and add up to the time of the run.
//!
//! Names and definitions of wait states are taken from Scalasca (Geimer et al., *The Scalasca
//! performance toolset architecture*, 2010, and its pattern documentation).

use observe::Resource;
use serde::Serialize;

/// A class of the time of a rank.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Class {
    /// Computation; in real runs also all time between calls.
    #[default]
    Compute,
    /// Sleep.
    Sleep,
    /// Software cost of calls: overheads, copies, reductions.
    Software,
    /// Wait for a message before its send begins.
    LateSender,
    /// The same, while another message for the rank was there already.
    LateSenderWrongOrder,
    /// Wait of a rendezvous or synchronous send before its receive is posted.
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
    /// Wait while data are on the way: the time beyond the time of a transfer alone on its route.
    Contention,
    /// Wait while data are on the way, of which the log does not tell the parts.
    Transfer,
    /// Wait for credits from a peer.
    Credits,
    /// Wait for packet buffers of the message layer.
    Buffers,
    /// Wait for a connection.
    Connection,
    /// Time of a computation beyond its time alone on its host.
    SharedProcessor,
    /// Wait with an unobserved cause.
    Other,
    /// A wait that the end of the run has cut, as in a deadlock.
    Blocked,
    /// Time after the end of the rank.
    Ended,
}

/// Number of classes.
pub(crate) const CLASSES: usize = 20;

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
        Self::Credits,
        Self::Buffers,
        Self::Connection,
        Self::SharedProcessor,
        Self::Other,
        Self::Blocked,
        Self::Ended,
    ];

    /// Returns the name of the class, such as "late sender".
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
            Self::Credits => Resource::Credits.name(),
            Self::Buffers => Resource::Buffers.name(),
            Self::Connection => Resource::Connection.name(),
            Self::SharedProcessor => "shared processor",
            Self::Other => "other",
            Self::Blocked => "blocked at the end",
            Self::Ended => "after its end",
        }
    }
}

impl From<Resource> for Class {
    fn from(resource: Resource) -> Self {
        match resource {
            Resource::Credits => Self::Credits,
            Resource::Buffers => Self::Buffers,
            Resource::Connection => Self::Connection,
        }
    }
}

/// The times of the ranks by class, in seconds. Classes that do not occur take no memory.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct RankTimes {
    ranks: u32,
    /// Times of the ranks by class; empty for a class that does not occur.
    classes: [Vec<f64>; CLASSES],
}

impl RankTimes {
    pub(crate) fn new(ranks: u32) -> Self {
        Self {
            ranks,
            ..Self::default()
        }
    }

    /// Adds time of a rank to a class.
    pub(crate) fn add_time(&mut self, rank: u32, class: Class, seconds: f64) {
        let times = &mut self.classes[class as usize];
        if times.is_empty() {
            *times = vec![0.0; self.ranks as usize];
        }
        times[rank as usize] += seconds;
    }

    /// Returns the time of a rank in a class.
    pub fn class_time(&self, rank: u32, class: Class) -> f64 {
        let times = &self.classes[class as usize];
        times.get(rank as usize).copied().unwrap_or(0.0)
    }

    /// Returns the times of a rank.
    pub fn rank_split(&self, rank: u32) -> Split {
        Split(Class::ALL.map(|class| self.class_time(rank, class)))
    }

    /// Returns the numbers of the ranks.
    pub const fn rank_numbers(&self) -> std::ops::Range<u32> {
        0..self.ranks
    }

    /// Returns the times of all ranks in a class.
    pub fn times_in_class(&self, class: Class) -> impl Iterator<Item = f64> {
        self.rank_numbers()
            .map(move |rank| self.class_time(rank, class))
    }
}

/// Times by class, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Split(pub [f64; CLASSES]);

impl Split {
    /// Adds time to a class.
    pub(crate) fn add_time(&mut self, class: Class, seconds: f64) {
        self.0[class as usize] += seconds;
    }

    /// Returns the time of a class.
    pub const fn class_time(&self, class: Class) -> f64 {
        self.0[class as usize]
    }
}
