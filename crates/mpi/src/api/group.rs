//! Groups: ordered sets of ranks (MPI 4.1, section 7.3), and the translation between ranks of a
//! group and ranks of the world. Channels use ranks of the world.
//!
//! A group of ranks in equal steps, such as the world, a row or a column, has no table: three
//! numbers describe it. Any other group has a table, shared by all holders that got the table from
//! the same `split`. The set operations on groups without a common step cost time and memory in
//! proportion to the group at each calling rank, so very large irregular groups should use `split`.

use std::cell::OnceCell;
use std::fmt;
use std::rc::Rc;

use ::collectives::Nodes;

use crate::{Buffer, ElementMismatch, Error, Placement, Result, Status};

/// Bytes of a number in a table.
const WORD: usize = 4;

/// The world ranks of a group, in the order of their ranks in the group.
#[derive(Clone)]
pub(crate) enum Members {
    /// `first`, `first + stride`, …
    Steps { first: u32, stride: u32, count: u32 },
    /// In a table.
    Listed(Rc<Listed>),
    /// The ranks of the first group of an intercommunicator, then the ranks of the second group.
    Two(Rc<[Self; 2]>),
}

/// A part of a table of numbers that may be shared with other groups and, inside one process, with
/// other ranks.
pub(crate) struct Listed {
    pub(crate) table: Buffer,
    /// Where the world ranks begin.
    pub(crate) members: usize,
    /// Where the ranks in the group begin, sorted by their world ranks; not given if the world
    /// ranks are in order.
    pub(crate) order: Option<usize>,
    pub(crate) count: u32,
    /// The nodes of the members, as far as they have been asked for.
    pub(crate) nodes: OnceCell<Option<Nodes>>,
}

/// The number at a place of a table.
///
/// # Panics
/// If the table is shorter, or phantom.
pub(crate) fn word(table: &Buffer, at: usize) -> u32 {
    let bytes = table.bytes().expect("tables are real");
    let word = bytes[at * WORD..].first_chunk::<WORD>();
    u32::from_le_bytes(*word.expect("tables hold whole numbers"))
}

/// A table of these numbers.
pub(crate) fn table(words: impl IntoIterator<Item = u32>) -> Buffer {
    let bytes: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    Buffer::from(bytes)
}

impl Listed {
    fn to_world_rank(&self, rank: u32) -> u32 {
        word(&self.table, self.members + rank as usize)
    }

    fn rank_of(&self, world: u32) -> Option<u32> {
        let at = |place: u32| {
            self.order
                .map_or(place, |order| word(&self.table, order + place as usize))
        };
        let (mut low, mut high) = (0, self.count);
        while low < high {
            let middle = u32::midpoint(low, high);
            if self.to_world_rank(at(middle)) < world {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (low < self.count && self.to_world_rank(at(low)) == world).then(|| at(low))
    }
}

/// The ranks of a group in the order of their world ranks; `None` if they are in order as they are.
pub(crate) fn order_of(members: &[u32]) -> Option<Vec<u32>> {
    if members.is_sorted() {
        return None;
    }
    let mut order: Vec<u32> = (0..).take(members.len()).collect();
    order.sort_unstable_by_key(|&rank| members[rank as usize]);
    Some(order)
}

impl Members {
    /// The ranks from 0 below `count`.
    pub(crate) const fn all_ranks(count: u32) -> Self {
        Self::Steps {
            first: 0,
            stride: 1,
            count,
        }
    }

    /// These world ranks, which must differ.
    fn from_world_ranks(members: &[u32]) -> Self {
        let count = u32::try_from(members.len()).expect("ranks are counted in 32 bits");
        let first = members.first().copied().unwrap_or(0);
        let stride = members.get(1).map_or(1, |next| next.wrapping_sub(first));
        let follows = |pair: &[u32]| pair[1] > pair[0] && pair[1] - pair[0] == stride;
        if members.windows(2).all(follows) {
            return Self::Steps {
                first,
                stride,
                count,
            };
        }
        let order = order_of(members);
        let at = order.is_some().then_some(members.len());
        let words = members.iter().copied().chain(order.into_iter().flatten());
        Self::Listed(Rc::new(Listed {
            table: table(words),
            members: 0,
            order: at,
            count,
            nodes: OnceCell::new(),
        }))
    }

    /// Returns the nodes of the ranks; `None` if each rank has a node of its own.
    pub(crate) fn nodes(&self, placement: &Placement) -> Option<Nodes> {
        match self {
            // Operations over an intercommunicator do not look at nodes.
            Self::Two(_) => None,
            Self::Steps {
                first,
                stride,
                count,
            } => placement.nodes_of_steps(*first, *stride, *count),
            Self::Listed(listed) => {
                let find = || {
                    let ranks: Vec<u32> = (0..listed.count).map(|rank| self.world(rank)).collect();
                    placement.nodes_of_ranks(&ranks)
                };
                listed.nodes.get_or_init(find).clone()
            }
        }
    }

    #[inline]
    pub(crate) fn count(&self) -> u32 {
        match self {
            Self::Steps { count, .. } => *count,
            Self::Listed(listed) => listed.count,
            Self::Two(groups) => Self::count_both(groups),
        }
    }

    #[inline(never)]
    fn count_both(groups: &[Self; 2]) -> u32 {
        groups.iter().map(Self::count).sum()
    }

    /// Returns the world rank of a rank; `None` if there is no such rank in the group.
    #[inline(always)]
    pub(crate) fn find_world(&self, rank: usize) -> Option<u32> {
        let rank = u32::try_from(rank).ok()?;
        match self {
            Self::Steps {
                first,
                stride,
                count,
            } if rank < *count => Some(first + stride * rank),
            Self::Steps { .. } => None,
            _ if rank < self.count() => Some(self.world(rank)),
            _ => None,
        }
    }

    /// Number of ranks of the first one of two groups; 0 if there is one.
    pub(crate) fn first_group(&self) -> u32 {
        match self {
            Self::Two(groups) => groups[0].count(),
            _ => 0,
        }
    }

    /// The world rank of a rank below [`Self::count`].
    pub(crate) fn world(&self, rank: u32) -> u32 {
        debug_assert!(rank < self.count(), "the caller has checked the rank");
        match self {
            Self::Steps { first, stride, .. } => first + stride * rank,
            Self::Listed(listed) => listed.to_world_rank(rank),
            Self::Two(groups) => match rank.checked_sub(groups[0].count()) {
                None => groups[0].world(rank),
                Some(rank) => groups[1].world(rank),
            },
        }
    }

    /// The rank that a world rank has in the group.
    pub(crate) fn rank_of(&self, world: u32) -> Option<u32> {
        match self {
            Self::Steps {
                first,
                stride,
                count,
            } => {
                let distance = world.checked_sub(*first)?;
                let rank = if *stride == 1 {
                    distance
                } else if distance.is_multiple_of(*stride) {
                    distance / stride
                } else {
                    return None;
                };
                (rank < *count).then_some(rank)
            }
            Self::Listed(listed) => listed.rank_of(world),
            Self::Two(groups) => groups[0].rank_of(world).or_else(|| {
                let rank = groups[1].rank_of(world)?;
                Some(groups[0].count() + rank)
            }),
        }
    }

    /// The same members without a table, if they are neighbours in order.
    pub(crate) fn without_table(self) -> Self {
        let Self::Listed(listed) = &self else {
            return self;
        };
        let count = listed.count;
        let ends = (count > 0).then(|| (listed.to_world_rank(0), listed.to_world_rank(count - 1)));
        match ends {
            Some((first, last)) if listed.order.is_none() && last - first == count - 1 => {
                Self::Steps {
                    first,
                    stride: 1,
                    count,
                }
            }
            _ => self,
        }
    }

    /// Returns the rank in the group of the source of a message, given by its world rank.
    #[inline]
    fn source_in_group(&self, world: usize) -> usize {
        if matches!(
            self,
            Self::Steps {
                first: 0,
                stride: 1,
                ..
            }
        ) {
            return world;
        }
        self.find_source(world)
    }

    #[inline(never)]
    fn find_source(&self, world: usize) -> usize {
        // The null process has no rank.
        let known = u32::try_from(world).ok();
        let rank = known.and_then(|world| self.rank_of(world));
        rank.map_or(world, |rank| rank as usize)
    }

    /// Returns a status with the rank of the group.
    #[inline]
    pub(crate) fn status_in_group(&self, status: Status) -> Status {
        Status {
            source: self.source_in_group(status.source),
            ..status
        }
    }

    /// Returns the result of an operation with the rank of the group.
    #[inline]
    pub(crate) fn translate_result(&self, result: Result<Status>) -> Result<Status> {
        match result {
            Ok(status) => Ok(self.status_in_group(status)),
            Err(error) => Err(self.translate_error(error)),
        }
    }

    /// The same error with ranks of the group.
    #[cold]
    pub(crate) fn translate_error(&self, error: Error) -> Error {
        match error {
            Error::NotReady { source, tag, calls } => Error::NotReady {
                source: self.source_in_group(source),
                tag,
                calls,
            },
            Error::Truncated {
                source,
                tag,
                length,
                buffer,
            } => Error::Truncated {
                source: self.source_in_group(source),
                tag,
                length,
                buffer,
            },
            Error::Elements(mismatch) => Error::of_elements(ElementMismatch {
                receiver: self.source_in_group(mismatch.receiver),
                source: self.source_in_group(mismatch.source),
                ..*mismatch
            }),
            Error::Connection { rank, why } => Error::Connection {
                rank: self.source_in_group(rank),
                why,
            },
            other => other,
        }
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.count()).map(|rank| self.world(rank))
    }
}

/// Relation of two groups or communicators (MPI 4.1, sections 7.3.1 and 7.4.1); the closest one is
/// the least.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Comparison {
    /// The same members in the same order; for communicators also the same context: `MPI_IDENT`.
    Identical,
    /// Communicators with the same members in the same order, and different contexts:
    /// `MPI_CONGRUENT`.
    Congruent,
    /// The same members in another order: `MPI_SIMILAR`.
    Similar,
    /// Different members: `MPI_UNEQUAL`.
    Unequal,
}

/// An ordered set of ranks, seen from one rank of the world. Groups are local: their calls send no
/// message.
#[derive(Clone)]
pub struct Group {
    members: Members,
    /// The world rank of the holder.
    me: u32,
}

impl Group {
    pub(crate) const fn new(members: Members, me: u32) -> Self {
        Self { members, me }
    }

    pub(crate) const fn members(&self) -> &Members {
        &self.members
    }

    fn with_members(&self, members: &[u32]) -> Self {
        Self::new(Members::from_world_ranks(members), self.me)
    }

    /// The number of members: `MPI_Group_size`.
    #[must_use]
    pub fn size(&self) -> usize {
        self.members.count() as usize
    }

    /// The rank that the caller has in the group: `MPI_Group_rank`; `None` stands for
    /// `MPI_UNDEFINED`.
    #[must_use]
    pub fn rank(&self) -> Option<usize> {
        self.members.rank_of(self.me).map(|rank| rank as usize)
    }

    /// The world ranks of members that are named once each.
    fn chosen(&self, ranks: &[usize]) -> Result<Vec<u32>> {
        let size = self.size();
        let mut seen = std::collections::BTreeSet::new();
        let world = |&rank: &usize| {
            let valid = u32::try_from(rank).ok().filter(|_| rank < size);
            let known = valid.ok_or(Error::Rank { rank, size })?;
            if !seen.insert(rank) {
                return Err(Error::RankTwice { rank });
            }
            Ok(self.members.world(known))
        };
        ranks.iter().map(world).collect()
    }

    /// These members, in this order: `MPI_Group_incl`.
    ///
    /// # Errors
    /// [`Error::Rank`] for a rank that is not in the group, [`Error::RankTwice`] for one that is
    /// named again.
    pub fn incl(&self, ranks: &[usize]) -> Result<Self> {
        Ok(self.with_members(&self.chosen(ranks)?))
    }

    /// All members but these, in their order: `MPI_Group_excl`.
    ///
    /// # Errors
    /// As [`Group::incl`].
    pub fn excl(&self, ranks: &[usize]) -> Result<Self> {
        let mut out = self.chosen(ranks)?;
        out.sort_unstable();
        let stays = |world: &u32| out.binary_search(world).is_err();
        let members: Vec<u32> = self.members.iter().filter(stays).collect();
        Ok(self.with_members(&members))
    }

    /// Returns the members of this group, then the members of the other group that are not in this
    /// group: `MPI_Group_union`.
    #[must_use]
    pub fn union(&self, other: &Self) -> Self {
        let new = |world: &u32| self.members.rank_of(*world).is_none();
        let members: Vec<u32> = self
            .members
            .iter()
            .chain(other.members.iter().filter(new))
            .collect();
        self.with_members(&members)
    }

    /// The members of this group that are in the other too, in the order of this one:
    /// `MPI_Group_intersection`.
    #[must_use]
    pub fn intersection(&self, other: &Self) -> Self {
        let both = |world: &u32| other.members.rank_of(*world).is_some();
        let members: Vec<u32> = self.members.iter().filter(both).collect();
        self.with_members(&members)
    }

    /// The members of this group that are not in the other, in the order of this one:
    /// `MPI_Group_difference`.
    #[must_use]
    pub fn difference(&self, other: &Self) -> Self {
        let only = |world: &u32| other.members.rank_of(*world).is_none();
        let members: Vec<u32> = self.members.iter().filter(only).collect();
        self.with_members(&members)
    }

    /// The ranks that these members have in another group: `MPI_Group_translate_ranks`; `None`
    /// stands for `MPI_UNDEFINED`.
    ///
    /// # Errors
    /// [`Error::Rank`] for a rank that is not in this group.
    pub fn translate_ranks(&self, ranks: &[usize], other: &Self) -> Result<Vec<Option<usize>>> {
        let size = self.size();
        let translate = |&rank: &usize| {
            let valid = u32::try_from(rank).ok().filter(|_| rank < size);
            let world = self.members.world(valid.ok_or(Error::Rank { rank, size })?);
            Ok(other.members.rank_of(world).map(|rank| rank as usize))
        };
        ranks.iter().map(translate).collect()
    }

    /// Compares the groups: `MPI_Group_compare`. Never [`Comparison::Congruent`].
    #[must_use]
    pub fn compare(&self, other: &Self) -> Comparison {
        if self.size() != other.size() {
            Comparison::Unequal
        } else if self.members.iter().eq(other.members.iter()) {
            Comparison::Identical
        } else if self.is_within(other) {
            Comparison::Similar
        } else {
            Comparison::Unequal
        }
    }

    /// Returns true if all members are in the other group.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        let inside = |world: u32| other.members.rank_of(world).is_some();
        if let (Members::Steps { count, .. }, Members::Steps { stride: 1, .. }) =
            (&self.members, &other.members)
        {
            let ends = [0, count.saturating_sub(1)];
            return *count == 0
                || ends
                    .into_iter()
                    .all(|rank| inside(self.members.world(rank)));
        }
        self.members.iter().all(inside)
    }
}

impl fmt::Debug for Group {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Group")?;
        f.debug_list().entries(self.members.iter()).finish()
    }
}

#[cfg(test)]
mod tests;
