//! Measurements as they were taken: samples in blocks, in the order of time.
//!
//! A *block* is a few samples of one kernel and one size, one after the other; a *session* is one start of the processes. Blocks of a session
//! are numbered in the order of time.

use std::fmt;
use std::str::FromStr;

/// What was measured.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kernel {
    /// Half a round trip of a ping-pong.
    PingPong,
    /// The same while all other ranks of the job poll.
    PingPongOccupied,
    /// From the first of so many sends, back to back, to the one empty answer.
    Stream(u32),
    /// Inside a blocking send.
    Send,
    /// Inside a send that does not block.
    Isend,
    /// Inside a receive whose message is there.
    Receive,
    /// A copy in memory.
    Copy,
}

/// Kernels with their names in files.
const NAMES: [(&str, Kernel); 11] = [
    ("pp", Kernel::PingPong),
    ("ppi", Kernel::PingPongOccupied),
    ("prtt1", Kernel::Stream(1)),
    ("prtt2", Kernel::Stream(2)),
    ("prtt4", Kernel::Stream(4)),
    ("prtt8", Kernel::Stream(8)),
    ("prtt16", Kernel::Stream(16)),
    ("os", Kernel::Send),
    ("ois", Kernel::Isend),
    ("or", Kernel::Receive),
    ("copy", Kernel::Copy),
];

impl Kernel {
    /// All names, for messages.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        NAMES.iter().map(|(name, _)| *name)
    }
}

impl FromStr for Kernel {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let found = NAMES.iter().find(|(name, _)| *name == text);
        found.map(|(_, kernel)| *kernel).ok_or(())
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = NAMES.iter().find(|(_, kernel)| kernel == self);
        match found {
            Some((name, _)) => f.write_str(name),
            None => write!(f, "{self:?}"),
        }
    }
}

/// What a sample is for.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Set {
    /// The fit.
    Training,
    /// Checking what the fit predicts; never seen by it.
    Validation,
    /// Returns again and again, to see whether the machine changes its speed.
    Sentinel,
}

impl Set {
    const ALL: [Self; 3] = [Self::Training, Self::Validation, Self::Sentinel];

    /// Its name in files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Training => "train",
            Self::Validation => "validate",
            Self::Sentinel => "sentinel",
        }
    }

    /// All names, for messages.
    pub(crate) fn names() -> impl Iterator<Item = &'static str> {
        Self::ALL.iter().map(|set| set.name())
    }
}

impl FromStr for Set {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let found = Self::ALL.into_iter().find(|set| set.name() == text);
        found.ok_or(())
    }
}

/// One block of samples.
#[derive(Clone, PartialEq, Debug)]
pub struct Block {
    /// Which start of the processes.
    pub session: u32,
    /// Its number in the session, in the order of time.
    pub number: u32,
    /// What was measured.
    pub kernel: Kernel,
    /// Bytes of payload.
    pub size: u64,
    /// What it is for.
    pub set: Set,
    /// Seconds, in the order in which they were taken.
    pub times_s: Vec<f64>,
}

impl Block {
    /// What orders blocks: nothing else of them does, so that the order of a file's lines means nothing.
    #[must_use]
    pub fn key(&self) -> (u32, u32, Kernel, u64, Set) {
        (self.session, self.number, self.kernel, self.size, self.set)
    }
}

/// What a file of measurements holds.
#[derive(Clone, PartialEq, Debug)]
pub enum Measurements {
    /// Samples in blocks, ordered by [`Block::key`].
    Samples(Vec<Block>),
    /// One value per size, as benchmarks print them: seconds per message, by size.
    Table(Table),
}

/// A table of one benchmark.
#[derive(Clone, PartialEq, Debug)]
pub struct Table {
    /// Which benchmark printed it, such as `OSU MPI Latency Test`.
    pub benchmark: String,
    /// Sizes and seconds per message, sizes growing.
    pub rows: Vec<(u64, f64)>,
}
