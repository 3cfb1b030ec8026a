//! Measurements as they were taken: samples in blocks, in the order of time.
//!
//! A *block* is a few samples of one kernel and one size, one after the other; a *session* is one
//! start of the processes. Blocks of a session are numbered in the order of time.

use std::fmt;
use std::str::FromStr;

/// Measured values.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Kernel {
    /// Half a round trip of a ping-pong.
    PingPong,
    /// The same while all other ranks of the job poll.
    PingPongOccupied,
    /// From the first of this many sends, back to back, to the one empty answer.
    Stream(u32),
    /// A stream with a pause between the sends; the pause is subtracted. The difference yields the
    /// cost of the sends themselves.
    DelayedStream(u32),
    /// Inside a blocking send.
    Send,
    /// Inside a send that does not block.
    Isend,
    /// Inside a receive of a message that has arrived.
    Receive,
    /// Inside a blocking send with a late receive.
    Late,
    /// From the first of this many empty requests, each to another rank, to the last of their
    /// messages.
    Incast(u32),
    /// From the first of this many messages, each to another rank, to the last empty answer.
    Outcast(u32),
    /// An exchange: both ranks send and receive at once.
    Exchange,
    /// A token round this many ranks, from rank 0 back to rank 0: the program that is predicted
    /// from ping-pongs.
    Ring(u32),
    /// A copy in memory.
    Copy,
    /// The sum of two vectors in memory.
    Reduce,
}

/// Kernels with their names in files.
const NAMES: [(&str, Kernel); 10] = [
    ("pp", Kernel::PingPong),
    ("ppi", Kernel::PingPongOccupied),
    ("os", Kernel::Send),
    ("ois", Kernel::Isend),
    ("or", Kernel::Receive),
    ("late", Kernel::Late),
    ("bidir", Kernel::Exchange),
    ("copy", Kernel::Copy),
    ("reduce", Kernel::Reduce),
    ("prtt1", Kernel::Stream(1)),
];

/// A kernel of this many messages or ranks.
type Counted = fn(u32) -> Kernel;

/// Kernels of several messages or ranks; the name of such a kernel ends with their number.
const COUNTED: [(&str, Counted); 5] = [
    ("dprtt", Kernel::DelayedStream),
    ("prtt", Kernel::Stream),
    ("incast", Kernel::Incast),
    ("outcast", Kernel::Outcast),
    ("ring", Kernel::Ring),
];

/// Allowed ranks of a ring: one rank is no ring, and a file with more than a million would make the
/// simulator simulate as many.
const RING: std::ops::RangeInclusive<u32> = 2..=1 << 20;

impl Kernel {
    /// The ping-pongs, to one of which everything is fitted, the preferred one first.
    pub(crate) const PING_PONGS: [Self; 2] = [Self::PingPong, Self::PingPongOccupied];

    /// All names, for messages.
    pub(crate) fn all_names() -> impl Iterator<Item = String> {
        let single = NAMES.iter().map(|(name, _)| (*name).to_owned());
        single.chain(COUNTED.iter().map(|(name, _)| format!("{name}N")))
    }

    /// Returns true if a sample may take no time, as a call without cost.
    pub(crate) const fn may_be_free(self) -> bool {
        matches!(self, Self::Send | Self::Isend | Self::Receive | Self::Late)
    }
}

impl FromStr for Kernel {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        if let Some((_, kernel)) = NAMES.iter().find(|(name, _)| *name == text) {
            return Ok(*kernel);
        }
        let counted = COUNTED.iter().find_map(|(name, kernel)| {
            let number: u32 = text.strip_prefix(name)?.parse().ok()?;
            (number > 0 && text == format!("{name}{number}")).then(|| kernel(number))
        });
        let fits = |kernel: &Self| !matches!(kernel, Self::Ring(ranks) if !RING.contains(ranks));
        counted.filter(fits).ok_or(())
    }
}

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Stream(number) => write!(f, "prtt{number}"),
            Self::DelayedStream(number) => write!(f, "dprtt{number}"),
            Self::Incast(number) => write!(f, "incast{number}"),
            Self::Outcast(number) => write!(f, "outcast{number}"),
            Self::Ring(number) => write!(f, "ring{number}"),
            one => {
                let found = NAMES.iter().find(|(_, kernel)| kernel == one);
                f.write_str(found.map_or("", |(name, _)| name))
            }
        }
    }
}

/// Purposes of a sample.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Set {
    /// The fit.
    Training,
    /// Checks the predictions of the fit; never used by the fit.
    Validation,
    /// Measured again and again, to detect changes of the machine's speed.
    Reference,
}

impl Set {
    const ALL: [Self; 3] = [Self::Training, Self::Validation, Self::Reference];

    /// Returns the name of the set in files.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Training => "train",
            Self::Validation => "validate",
            Self::Reference => "reference",
        }
    }

    /// All names, for messages.
    pub(crate) fn all_names() -> impl Iterator<Item = &'static str> {
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
    /// Number of the start of the processes.
    pub session: u32,
    /// The number of the block in the session, in the order of time.
    pub number: u32,
    /// Measured values.
    pub kernel: Kernel,
    /// Bytes of payload.
    pub size: u64,
    /// The purpose of the block.
    pub set: Set,
    /// Seconds, in the order in which they were taken.
    pub times_s: Vec<f64>,
}

impl Block {
    /// Returns the key that orders blocks. No other property affects the order, so the order of the
    /// lines of a file has no effect.
    pub fn sort_key(&self) -> (u32, u32, Kernel, u64, Set) {
        (self.session, self.number, self.kernel, self.size, self.set)
    }
}

/// Contents of a file of measurements.
#[derive(Clone, PartialEq, Debug)]
pub enum Measurements {
    /// Samples in blocks, ordered by [`Block::sort_key`].
    Samples(Vec<Block>),
    /// One value per size, as benchmarks print them: seconds per message, by size.
    Table(BenchmarkTable),
}

/// A table of one benchmark.
#[derive(Clone, PartialEq, Debug)]
pub struct BenchmarkTable {
    /// Benchmark that printed the table, such as `OSU MPI Latency Test`.
    pub benchmark: String,
    /// Sizes and seconds per message, sizes growing.
    pub rows: Vec<(u64, f64)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for name in [
            "pp", "ppi", "prtt1", "prtt16", "dprtt2", "os", "ois", "or", "late",
        ] {
            let kernel: Kernel = name.parse().unwrap();
            assert_eq!(kernel.to_string(), name);
        }
        for name in ["incast3", "outcast1", "bidir", "ring4", "copy", "reduce"] {
            let kernel: Kernel = name.parse().unwrap();
            assert_eq!(kernel.to_string(), name);
        }
        for wrong in [
            "",
            "pong",
            "prtt",
            "prtt0",
            "prtt01",
            "prtt+1",
            "incast-1",
            "ring1",
            "ring1048577",
        ] {
            assert_eq!(wrong.parse::<Kernel>(), Err(()), "{wrong}");
        }
    }
}
