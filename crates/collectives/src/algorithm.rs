//! An algorithm of a collective operation: a name and a schedule.

use crate::levels::Level;
use crate::segments::Segments;
use crate::{Call, Collective, Steps};

/// The calls that an algorithm can execute.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Requirement {
    /// All.
    None,
    /// The number of ranks is a power of two.
    PowerOfTwo,
    /// There are two ranks.
    TwoRanks,
    /// The number of ranks is even.
    EvenRanks,
    /// The ranks form a mesh, [`mesh`](crate::partners::mesh).
    Mesh,
    /// The ranks form a mesh of three dimensions, [`square_mesh`](crate::partners::square_mesh).
    SquareMesh,
    /// The contribution has at least one element for each rank of the largest power of two that is
    /// not above the number of ranks.
    ElementPerPowerOfTwo,
    /// The contribution has at least one element for each rank.
    ElementPerRank,
    /// The contribution has elements, and at least one segment (of 1 MiB if the call sets none) for
    /// each rank.
    SegmentPerRank,
    /// The contribution has at least one byte for each rank.
    BytePerRank,
    /// All blocks have the same length.
    EqualBlocks,
    /// All blocks have the same length, and the number of ranks is a power of two.
    EqualBlocksPowerOfTwo,
    /// Several ranks share a node.
    SharedNodes,
    /// Several ranks share a node, all nodes have the same number of ranks, and the ranks of each
    /// node are consecutive.
    RegularNodes,
    /// Several ranks share a node, and the ranks of each node are consecutive.
    ConsecutiveNodes,
}

impl Requirement {
    /// Returns true if a call fulfils the requirement.
    #[must_use]
    pub fn holds(self, call: &Call) -> bool {
        let size = call.size;
        match self {
            Self::None => true,
            Self::PowerOfTwo => size.is_power_of_two(),
            Self::TwoRanks => size == 2,
            Self::EvenRanks => size.is_multiple_of(2),
            Self::Mesh => crate::partners::mesh(size).is_some(),
            Self::SquareMesh => crate::partners::square_mesh(size).is_some(),
            Self::ElementPerPowerOfTwo => {
                call.count() >= u64::from(crate::partners::power_of_two_below(size))
            }
            Self::ElementPerRank => call.count() >= u64::from(size),
            Self::SegmentPerRank => {
                let segment = Segments::from_call(call, 1 << 20).longest();
                call.bytes > 0 && call.bytes >= segment.saturating_mul(u64::from(size))
            }
            Self::BytePerRank => call.bytes >= u64::from(size),
            Self::EqualBlocks => call.blocks.is_none(),
            Self::EqualBlocksPowerOfTwo => call.blocks.is_none() && size.is_power_of_two(),
            Self::SharedNodes => call.nodes.is_some(),
            Self::RegularNodes => (call.nodes.as_ref())
                .is_some_and(|nodes| nodes.is_uniform() && nodes.is_consecutive()),
            Self::ConsecutiveNodes => {
                (call.nodes.as_ref()).is_some_and(|nodes| nodes.is_consecutive())
            }
        }
    }

    /// Returns the requirement in words, to follow "needs".
    #[must_use]
    pub const fn in_words(self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::PowerOfTwo => "a number of ranks that is a power of two",
            Self::TwoRanks => "two ranks",
            Self::EvenRanks => "an even number of ranks",
            Self::Mesh => "a number of ranks that is not a prime above 3",
            Self::SquareMesh => {
                "a number of ranks X·X·Z with X at least its cube root, rounded down"
            }
            Self::ElementPerPowerOfTwo => {
                "one element for each rank of the largest power of two within the number of ranks"
            }
            Self::ElementPerRank => "one element for each rank",
            Self::SegmentPerRank => "one segment for each rank",
            Self::BytePerRank => "one byte for each rank",
            Self::EqualBlocks => "blocks of equal lengths",
            Self::EqualBlocksPowerOfTwo => {
                "blocks of equal lengths and a number of ranks that is a power of two"
            }
            Self::SharedNodes => "several ranks on a node",
            Self::RegularNodes => "the same number of consecutive ranks, several, on each node",
            Self::ConsecutiveNodes => "several ranks on a node, and consecutive ones on each",
        }
    }
}

/// The largest number of ranks for which selectors choose an algorithm with a quadratic number of
/// messages: 10^10 messages take an hour to simulate.
pub const QUADRATIC_RANKS_MAX: u32 = 100_000;

/// An algorithm of one or more kinds of collective operations.
#[derive(Debug)]
pub struct Algorithm {
    /// The name, unique among the algorithms of a kind.
    pub name: &'static str,
    /// The kinds of operations.
    pub collectives: &'static [Collective],
    /// One phrase about the messages of the algorithm, for lists.
    pub about: &'static str,
    /// The time without contention, in terms of α (latency), β (time per byte), γ (time per byte
    /// of a reduction), p ranks, L = ⌈log2 p⌉, n bytes of a contribution or of a block. Where there
    /// are segments, γ ≤ β: the reduction of one is over when the next one has come, so that the
    /// first one alone adds to the time.
    pub time: &'static str,
    /// The requirement on calls that the algorithm can execute.
    pub needs: Requirement,
    /// The algorithm of the same kind that executes calls which this one cannot; empty if such
    /// calls are errors.
    pub fallback: &'static str,
    /// True if the number of messages grows with the square of the number of ranks: selectors do
    /// not choose the algorithm for more than [`QUADRATIC_RANKS_MAX`] ranks.
    pub quadratic: bool,
    /// True if the algorithm keeps the order of operands, as noncommutative operations require.
    pub ordered: bool,
    /// The kinds of the parts, if the algorithm consists of other algorithms.
    pub parts: &'static [Collective],
    /// The parts within nodes and among the leaders of nodes, if the algorithm is hierarchical.
    pub levels: &'static [Level],
    /// Number of equal buffers of which the area `Temp` consists.
    pub temp_buffers: u8,
    /// True if libraries copy the operand into one more buffer of that length at ranks that are not
    /// the root.
    pub copies_operand: bool,
    /// Returns the number of bytes of the area `Temp` at the calling rank.
    pub temp: fn(&Call) -> u64,
    /// Returns the number of lanes: sequences of rounds that the calling rank executes side by
    /// side, each with separate slots. A waiting lane does not delay the other lanes.
    pub lanes: fn(&Call) -> u32,
    /// Returns the number of rounds of the calling rank, in each lane.
    pub rounds: fn(&Call) -> u32,
    /// Makes the steps of a round of the calling rank, in the lane [`Steps::lane`].
    ///
    /// The function makes the same steps for the same call, lane and round: after a wait, the whole
    /// round is made again, and the steps before the wait are skipped.
    pub round: fn(&Call, u32, &mut dyn Steps),
}

impl Algorithm {
    /// An algorithm with common properties, to be completed by a struct update.
    pub(crate) const BASE: Self = Self {
        name: "",
        collectives: &[],
        about: "",
        time: "",
        needs: Requirement::None,
        fallback: "",
        quadratic: false,
        ordered: false,
        parts: &[],
        levels: &[],
        temp_buffers: 1,
        copies_operand: false,
        temp: |_| 0,
        lanes: |_| 1,
        rounds: |_| 1,
        round: |_, _, _| {},
    };

    /// Returns true if the algorithm can execute the call.
    #[must_use]
    pub fn suits(&self, call: &Call) -> bool {
        self.needs.holds(call)
            && (call.commutative || !call.collective.has_operation() || self.is_ordered(call))
    }

    /// Returns the kinds of the parts of the algorithm, of all ranks or of levels.
    pub fn part_kinds(&self) -> impl Iterator<Item = Collective> {
        let levels = self.levels.iter().map(|level| level.collective);
        self.parts.iter().copied().chain(levels)
    }

    /// Returns true if the algorithm and the parts keep the order of operands.
    fn is_ordered(&self, call: &Call) -> bool {
        let parts = call.parts.iter().flatten();
        let mut reductions = parts.filter(|part| part.collectives[0].has_operation());
        let keeps_nodes = || {
            call.nodes
                .as_ref()
                .is_none_or(|nodes| nodes.is_consecutive())
        };
        self.ordered
            && reductions.all(|part| part.ordered)
            && (self.levels.is_empty() || keeps_nodes())
    }
}
