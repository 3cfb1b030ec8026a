//! An algorithm of a collective operation: a name and its schedule.

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
    /// The number of ranks is not prime.
    Composite,
    /// The number of ranks has three factors above 1.
    ThreeFactors,
    /// The contribution has at least one element for each rank of the largest power of two that is
    /// not above the number of ranks.
    ElementPerPowerOfTwo,
    /// The contribution has at least one element for each rank.
    ElementPerRank,
    /// The contribution has at least one byte for each rank.
    BytePerRank,
    /// All blocks have the same length.
    EqualBlocks,
    /// All blocks have the same length, and the number of ranks is a power of two.
    EqualBlocksPowerOfTwo,
}

impl Requirement {
    /// Returns true if a call fulfils it.
    #[must_use]
    pub fn holds(self, call: &Call) -> bool {
        let size = call.size;
        match self {
            Self::None => true,
            Self::PowerOfTwo => size.is_power_of_two(),
            Self::TwoRanks => size == 2,
            Self::EvenRanks => size.is_multiple_of(2),
            Self::Composite => size == 1 || crate::partners::divisor(size) < size,
            Self::ThreeFactors => size == 1 || crate::partners::three_factors(size).is_some(),
            Self::ElementPerPowerOfTwo => {
                call.count() >= u64::from(crate::partners::power_of_two_below(size))
            }
            Self::ElementPerRank => call.count() >= u64::from(size),
            Self::BytePerRank => call.bytes >= u64::from(size),
            Self::EqualBlocks => call.blocks.is_none(),
            Self::EqualBlocksPowerOfTwo => call.blocks.is_none() && size.is_power_of_two(),
        }
    }

    /// Returns the requirement in words, to follow "needs".
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::None => "nothing",
            Self::PowerOfTwo => "a number of ranks that is a power of two",
            Self::TwoRanks => "two ranks",
            Self::EvenRanks => "an even number of ranks",
            Self::Composite => "a number of ranks that is not prime",
            Self::ThreeFactors => "a number of ranks that is a product of three numbers above 1",
            Self::ElementPerPowerOfTwo => {
                "one element for each rank of the largest power of two within the number of ranks"
            }
            Self::ElementPerRank => "one element for each rank",
            Self::BytePerRank => "one byte for each rank",
            Self::EqualBlocks => "blocks of equal lengths",
            Self::EqualBlocksPowerOfTwo => {
                "blocks of equal lengths and a number of ranks that is a power of two"
            }
        }
    }
}

/// An algorithm of one or more kinds of collective operations.
#[derive(Debug)]
pub struct Algorithm {
    /// The name, unique among those of a kind.
    pub name: &'static str,
    /// The kinds of operations.
    pub collectives: &'static [Collective],
    /// One phrase about its messages, for lists.
    pub about: &'static str,
    /// The time without contention, in terms of α (latency), β (time per byte), γ (time per byte
    /// of a reduction), p ranks, L = ⌈log2 p⌉, n bytes of a contribution or of a block.
    pub time: &'static str,
    /// The calls that it can execute.
    pub needs: Requirement,
    /// The algorithm of the same kind that executes calls which this one cannot; empty if such
    /// calls are errors.
    pub fallback: &'static str,
    /// True if it keeps the order of operands, so that the operation need not be commutative.
    pub ordered: bool,
    /// The kinds of its parts, if it consists of other algorithms.
    pub parts: &'static [Collective],
    /// Returns the number of bytes of the area `Temp` at the calling rank.
    pub temp: fn(&Call) -> u64,
    /// Returns the number of rounds of the calling rank.
    pub rounds: fn(&Call) -> u32,
    /// Makes the steps of a round of the calling rank.
    ///
    /// Always the same steps for the same call and round: a round that waits is made again from its
    /// beginning, and its steps up to there are skipped.
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
        ordered: false,
        parts: &[],
        temp: |_| 0,
        rounds: |_| 1,
        round: |_, _, _| {},
    };

    /// Returns true if it can execute the call.
    #[must_use]
    pub fn suits(&self, call: &Call) -> bool {
        self.needs.holds(call)
            && (self.ordered || call.commutative || !call.collective.has_operation())
    }

    /// Returns the requirement that a call does not fulfil in words, to follow "needs".
    #[must_use]
    pub fn needs(&self, call: &Call) -> &'static str {
        if self.needs.holds(call) {
            "an operation that is commutative"
        } else {
            self.needs.words()
        }
    }
}
