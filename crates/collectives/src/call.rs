//! Arguments of a collective call, as a schedule sees them.

use std::fmt;
use std::ops::Range;
use std::rc::Rc;
use std::str::FromStr;

use crate::levels::{PARTS, Plans};
use crate::{Algorithm, Nodes};

/// A kind of collective operation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Collective {
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Bcast`.
    Bcast,
    /// `MPI_Reduce`.
    Reduce,
    /// `MPI_Allreduce`.
    Allreduce,
    /// `MPI_Gather`.
    Gather,
    /// `MPI_Gatherv`.
    Gatherv,
    /// `MPI_Scatter`.
    Scatter,
    /// `MPI_Scatterv`.
    Scatterv,
    /// `MPI_Allgather`.
    Allgather,
    /// `MPI_Allgatherv`.
    Allgatherv,
    /// `MPI_Alltoall`.
    Alltoall,
    /// `MPI_Alltoallv`.
    Alltoallv,
    /// `MPI_Alltoallw`.
    Alltoallw,
    /// `MPI_Reduce_scatter`.
    ReduceScatter,
    /// `MPI_Reduce_scatter_block`.
    ReduceScatterBlock,
    /// `MPI_Scan`.
    Scan,
    /// `MPI_Exscan`.
    Exscan,
}

impl Collective {
    /// All kinds.
    pub const ALL: [Self; 17] = [
        Self::Barrier,
        Self::Bcast,
        Self::Reduce,
        Self::Allreduce,
        Self::Gather,
        Self::Gatherv,
        Self::Scatter,
        Self::Scatterv,
        Self::Allgather,
        Self::Allgatherv,
        Self::Alltoall,
        Self::Alltoallv,
        Self::Alltoallw,
        Self::ReduceScatter,
        Self::ReduceScatterBlock,
        Self::Scan,
        Self::Exscan,
    ];

    /// Returns the name, such as `allreduce`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Barrier => "barrier",
            Self::Bcast => "bcast",
            Self::Reduce => "reduce",
            Self::Allreduce => "allreduce",
            Self::Gather => "gather",
            Self::Gatherv => "gatherv",
            Self::Scatter => "scatter",
            Self::Scatterv => "scatterv",
            Self::Allgather => "allgather",
            Self::Allgatherv => "allgatherv",
            Self::Alltoall => "alltoall",
            Self::Alltoallv => "alltoallv",
            Self::Alltoallw => "alltoallw",
            Self::ReduceScatter => "reduce_scatter",
            Self::ReduceScatterBlock => "reduce_scatter_block",
            Self::Scan => "scan",
            Self::Exscan => "exscan",
        }
    }

    /// Returns true if the call has a root.
    #[must_use]
    pub const fn has_root(self) -> bool {
        matches!(
            self,
            Self::Bcast
                | Self::Reduce
                | Self::Gather
                | Self::Gatherv
                | Self::Scatter
                | Self::Scatterv
        )
    }

    /// Returns true if the call has an operation.
    #[must_use]
    pub const fn has_operation(self) -> bool {
        matches!(
            self,
            Self::Reduce
                | Self::Allreduce
                | Self::ReduceScatter
                | Self::ReduceScatterBlock
                | Self::Scan
                | Self::Exscan
        )
    }
}

impl fmt::Display for Collective {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for Collective {
    type Err = ();

    fn from_str(name: &str) -> Result<Self, ()> {
        let mut all = Self::ALL.into_iter();
        all.find(|collective| collective.name() == name).ok_or(())
    }
}

/// The place of one block in an area.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Default, Debug)]
pub struct Block {
    /// First byte.
    pub offset: u64,
    /// Number of bytes.
    pub length: u64,
}

/// Blocks of different lengths, one for each rank.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Blocks {
    /// Of the area `Send`; empty if all have the length of the call.
    pub send: Vec<Block>,
    /// Of the area `Recv`; empty if all have the length of the call.
    pub recv: Vec<Block>,
}

/// The neighbours of a rank in a virtual topology; `None` for the null process.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Neighbors {
    /// The ranks from which this rank receives.
    pub sources: Vec<Option<u32>>,
    /// The ranks to which this rank sends.
    pub destinations: Vec<Option<u32>>,
    /// True in a grid. The neighbours of a grid are in pairs: a message that a rank sends down in a
    /// dimension arrives from above.
    pub is_grid: bool,
}

/// Arguments of a collective call at one rank.
#[derive(Clone, Debug)]
pub struct Call {
    /// The kind.
    pub collective: Collective,
    /// The calling rank.
    pub rank: u32,
    /// Number of ranks.
    pub size: u32,
    /// Number of ranks of the first of two groups, in calls over an intercommunicator; 0 in others.
    pub first_group: u32,
    /// The root; 0 where there is none.
    pub root: u32,
    /// True if operands can change their places.
    pub commutative: bool,
    /// Radix or number of children of a tree, number of chains, or number of requests in progress;
    /// 0 for the default of the algorithm.
    pub radix: u32,
    /// Length in bytes of the contribution of a rank (`bcast`, reductions, scans) or of one block
    /// (the others, `reduce_scatter_block` among them).
    pub bytes: u64,
    /// Length of an element in bytes: a reduction cuts nowhere else.
    pub element: u64,
    /// Length of a segment in bytes; 0 for the default of the algorithm.
    pub segment: u64,
    /// True if the area `Recv` has the contribution in an operation that otherwise has a separate
    /// area for the contribution (`MPI_IN_PLACE`).
    pub in_place: bool,
    /// Blocks, where they are not all of one length.
    pub blocks: Option<Rc<Blocks>>,
    /// The neighbours, in exchanges between neighbours: each block belongs to a source or to a
    /// destination.
    pub neighbors: Option<Rc<Neighbors>>,
    /// The algorithms of the parts, if the algorithm consists of other algorithms.
    pub parts: [Option<&'static Algorithm>; PARTS],
    /// The nodes of the ranks; `None` if each rank has a separate node.
    pub nodes: Option<Nodes>,
    /// The algorithms of the parts of a hierarchical algorithm.
    pub levels: Option<Rc<Plans>>,
}

impl Call {
    /// A call without a root in which all blocks have `bytes` bytes, and elements one byte.
    #[must_use]
    pub const fn new(collective: Collective, rank: u32, size: u32, bytes: u64) -> Self {
        Self {
            collective,
            rank,
            size,
            first_group: 0,
            root: 0,
            commutative: true,
            radix: 0,
            bytes,
            element: 1,
            segment: 0,
            in_place: false,
            blocks: None,
            neighbors: None,
            parts: [None; PARTS],
            nodes: None,
            levels: None,
        }
    }

    /// Returns the bytes that a rank touches in the call: the data of all ranks where these differ,
    /// and else the data of a rank; three times as many in reductions, which have two operands and
    /// a buffer for a message.
    #[must_use]
    pub fn working_set(&self) -> u64 {
        use Collective::{Allreduce, Barrier, Bcast, Exscan, Reduce, Scan};
        let blocks = self.blocks.as_deref().map_or(0, |blocks| {
            let sum = |all: &[Block]| all.iter().map(|block| block.length).sum::<u64>();
            sum(&blocks.send).max(sum(&blocks.recv))
        });
        let data = match self.collective {
            _ if blocks > 0 => blocks,
            Bcast | Reduce | Allreduce | Scan | Exscan | Barrier => self.bytes,
            _ => self.bytes.saturating_mul(u64::from(self.size)),
        };
        if self.collective.has_operation() {
            data.saturating_mul(3)
        } else {
            data
        }
    }

    /// The root of a rank that takes no part, in calls over an intercommunicator.
    pub const NO_ROOT: u32 = u32::MAX;

    /// Returns true if the call is one over an intercommunicator.
    #[must_use]
    pub const fn is_between(&self) -> bool {
        self.first_group > 0
    }

    /// Returns the ranks of the group of the caller, in a call over an intercommunicator.
    #[must_use]
    pub const fn own_group(&self) -> Range<u32> {
        match self.rank < self.first_group {
            true => 0..self.first_group,
            false => self.first_group..self.size,
        }
    }

    /// Returns the ranks of the other group, in a call over an intercommunicator.
    #[must_use]
    pub const fn other_group(&self) -> Range<u32> {
        match self.rank < self.first_group {
            true => self.first_group..self.size,
            false => 0..self.first_group,
        }
    }

    /// Returns the rank relative to the root.
    #[must_use]
    pub const fn relative(&self) -> u32 {
        relative(self.rank, self.root, self.size)
    }

    /// Returns the rank relative to the rank `first`.
    #[must_use]
    pub(crate) const fn relative_to(&self, first: u32) -> u32 {
        relative(self.rank, first, self.size)
    }

    /// Returns the rank of the communicator that has this number relative to the root.
    #[must_use]
    pub const fn absolute(&self, relative: u32) -> u32 {
        self.absolute_to(self.root, relative)
    }

    /// Returns the rank of the communicator that has this number relative to the rank `first`.
    #[must_use]
    pub(crate) const fn absolute_to(&self, first: u32, relative: u32) -> u32 {
        let sum = relative as u64 + first as u64;
        (sum % self.size as u64) as u32
    }

    /// Returns true at the root.
    #[must_use]
    pub const fn is_root(&self) -> bool {
        self.rank == self.root
    }

    /// Returns the rank that is `distance` above this one, modulo the number of ranks.
    #[must_use]
    pub const fn rank_above(&self, distance: u32) -> u32 {
        ((self.rank as u64 + distance as u64) % self.size as u64) as u32
    }

    /// Returns the rank that is `distance` below this one, modulo the number of ranks.
    #[must_use]
    pub const fn rank_below(&self, distance: u32) -> u32 {
        let size = self.size as u64;
        ((self.rank as u64 + size - distance as u64 % size) % size) as u32
    }

    /// Number of elements of the contribution.
    #[must_use]
    pub const fn count(&self) -> u64 {
        self.bytes / self.element
    }

    /// Returns the block for `peer` in the area `Send`.
    #[must_use]
    pub fn send_block(&self, peer: u32) -> Block {
        let listed = self.blocks.as_deref().map_or(&[][..], |all| &all.send);
        self.listed_block(listed, peer)
    }

    /// Returns the block of `peer` in the area `Recv`.
    #[must_use]
    pub fn recv_block(&self, peer: u32) -> Block {
        let listed = self.blocks.as_deref().map_or(&[][..], |all| &all.recv);
        self.listed_block(listed, peer)
    }

    fn listed_block(&self, listed: &[Block], peer: u32) -> Block {
        match listed.get(peer as usize) {
            Some(block) => *block,
            None => Block {
                offset: u64::from(peer) * self.bytes,
                length: self.bytes,
            },
        }
    }

    /// Returns the total length of all blocks of the area `Send` in bytes.
    #[must_use]
    pub fn send_total(&self) -> u64 {
        self.total(self.blocks.as_deref().map_or(&[][..], |all| &all.send))
    }

    /// Returns the total length of all blocks of the area `Recv` in bytes.
    #[must_use]
    pub fn recv_total(&self) -> u64 {
        self.total(self.blocks.as_deref().map_or(&[][..], |all| &all.recv))
    }

    /// Returns the place of the blocks of consecutive ranks in the area `Send`, if all blocks
    /// follow one another in the order of the ranks.
    #[must_use]
    pub fn send_range(&self, ranks: Range<u32>) -> Block {
        let listed = self.blocks.as_deref().map_or(&[][..], |all| &all.send);
        self.listed_range(listed, ranks)
    }

    /// Returns the place of the blocks of consecutive ranks in the area `Recv`, if all blocks
    /// followed one another in the order of the ranks.
    #[must_use]
    pub fn recv_range(&self, ranks: Range<u32>) -> Block {
        let listed = self.blocks.as_deref().map_or(&[][..], |all| &all.recv);
        self.listed_range(listed, ranks)
    }

    fn listed_range(&self, listed: &[Block], ranks: Range<u32>) -> Block {
        if listed.is_empty() {
            return Block {
                offset: u64::from(ranks.start) * self.bytes,
                length: u64::from(ranks.end - ranks.start) * self.bytes,
            };
        }
        let (start, end) = (ranks.start as usize, ranks.end as usize);
        let sum = |blocks: &[Block]| blocks.iter().map(|block| block.length).sum();
        Block {
            offset: sum(&listed[..start]),
            length: sum(&listed[start..end]),
        }
    }

    /// Returns the places of the blocks of all ranks in the area `Send`, if all blocks follow one
    /// another in the order of the ranks.
    pub(crate) fn send_packed(&self) -> impl Iterator<Item = Block> {
        consecutive_blocks((0..self.size).map(|rank| self.send_block(rank).length))
    }

    /// Returns the places of the blocks of all ranks in the area `Recv`, if all blocks followed one
    /// another in the order of the ranks.
    pub(crate) fn recv_packed(&self) -> impl Iterator<Item = Block> {
        consecutive_blocks((0..self.size).map(|rank| self.recv_block(rank).length))
    }

    fn total(&self, listed: &[Block]) -> u64 {
        if listed.is_empty() {
            return u64::from(self.size) * self.bytes;
        }
        listed.iter().map(|block| block.length).sum()
    }

    /// Returns the call of a part of the algorithm: another operation of the same ranks with the
    /// same elements, with root 0, blocks of equal lengths, and without parameters.
    #[must_use]
    pub(crate) fn inner(&self, collective: Collective, bytes: u64) -> Self {
        Self {
            commutative: self.commutative,
            element: self.element,
            ..Self::new(collective, self.rank, self.size, bytes)
        }
    }

    /// Returns the algorithm of a part.
    ///
    /// # Panics
    /// If there is none: the call was not made for an algorithm that consists of others.
    #[must_use]
    pub fn part_algorithm(&self, number: usize) -> &'static Algorithm {
        self.parts[number].expect("an algorithm that consists of others has its parts")
    }
}

/// Returns the number that `rank` has relative to `root`.
#[must_use]
const fn relative(rank: u32, root: u32, size: u32) -> u32 {
    ((rank as u64 + size as u64 - root as u64) % size as u64) as u32
}

/// Returns the places of blocks of these lengths that follow one another.
pub(crate) fn consecutive_blocks(
    lengths: impl Iterator<Item = u64>,
) -> impl Iterator<Item = Block> {
    lengths.scan(0, |end, length| {
        let offset = *end;
        *end += length;
        Some(Block { offset, length })
    })
}
