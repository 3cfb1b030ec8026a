//! Process topologies (MPI 5.0, chapter 8): Cartesian grids and graphs of neighbours. Their
//! collective operations are in [`collectives`](crate::collectives).
//!
//! A topology has a separate communicator, and dereferences to it. Ranks are in row-major order of
//! their coordinates: the last dimension varies fastest.
//!
//! *Not modelled*: ranks keep their order, except in grids of [`Comm::cartesian_reordered`].

use observe::SourceLocation;
use std::future::Future;
use std::ops::Deref;
use std::rc::Rc;

use ::collectives::Neighbors;

use crate::api::communicators::smpi::{first_ranks_as_smpi, is_as_smpi};
use crate::api::communicators::{SharedCall, dup_at, split_at, split_into};
use crate::api::reordering::reordered_grid;
use crate::collectives::allgather_real;
use crate::{Comm, CommunicatorManagement, Error, PROC_NULL, Result};

/// Largest number of dimensions of a grid.
const DIMENSIONS_MAX: usize = 64;

/// A communicator in which each rank has a list of sources and a list of destinations:
/// `MPI_Dist_graph_create_adjacent`.
#[derive(Clone, Debug)]
pub struct Graph {
    comm: Comm,
    neighbors: Rc<Neighbors>,
}

impl Deref for Graph {
    type Target = Comm;

    fn deref(&self) -> &Comm {
        &self.comm
    }
}

/// Returns neighbours as ranks, with the null process.
fn neighbor_ranks(neighbors: &[Option<u32>]) -> impl ExactSizeIterator<Item = usize> + '_ {
    let rank = |rank: &Option<u32>| rank.map_or(PROC_NULL, |rank| rank as usize);
    neighbors.iter().map(rank)
}

impl Graph {
    /// Returns the graph on a communicator that was made for it. The other arguments and the errors
    /// are as for [`Comm::graph`].
    ///
    /// # Errors
    /// [`Error::Rank`] for a neighbour out of range.
    pub fn new(comm: Comm, sources: &[usize], destinations: &[usize]) -> Result<Self> {
        let known = |ranks: &[usize]| -> Result<Vec<Option<u32>>> {
            let known = |&rank: &usize| {
                if rank != PROC_NULL {
                    comm.peer(rank)?;
                }
                Ok(u32::try_from(rank).ok())
            };
            ranks.iter().map(known).collect()
        };
        let neighbors = Rc::new(Neighbors {
            sources: known(sources)?,
            destinations: known(destinations)?,
            is_grid: false,
        });
        Ok(Self { comm, neighbors })
    }

    /// Returns the same graph on a copy of its communicator, made for this graph: `MPI_Comm_dup`.
    #[must_use]
    pub fn with_comm(&self, comm: Comm) -> Self {
        Self {
            comm,
            neighbors: Rc::clone(&self.neighbors),
        }
    }

    /// The ranks from which this one receives: `MPI_Dist_graph_neighbors`.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        neighbor_ranks(&self.neighbors.sources)
    }

    /// The ranks to which this one sends: `MPI_Dist_graph_neighbors`.
    pub fn destinations(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        neighbor_ranks(&self.neighbors.destinations)
    }

    pub(crate) const fn neighbors(&self) -> &Rc<Neighbors> {
        &self.neighbors
    }

    pub(crate) const fn comm(&self) -> &Comm {
        &self.comm
    }

    /// Gives the communicator up: [`Comm::free`].
    ///
    /// # Errors
    /// As [`Comm::free`].
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.comm.free()
    }
}

/// Length of each dimension, and true if the dimension is periodic.
pub(crate) type Dimensions = [(usize, bool)];

/// A communicator whose ranks form a grid: `MPI_Cart_create`.
///
/// The neighbours of a rank are listed by dimension, the lower neighbour before the higher one.
/// Beyond the end of a dimension that is not periodic the neighbour is the null process.
///
/// ```no_run
/// # use mpi::prelude::*;
/// # async fn example(world: Comm) -> Result<()> {
/// let mut lengths = [0, 0];
/// mpi::dims_create(world.size(), &mut lengths)?;
/// let Some(grid) = world.cartesian(&lengths, &[false, false]).await? else {
///     return Ok(());
/// };
/// let (left, right) = grid.shift(1, 1)?;
/// let mut halo = world.buffer(8);
/// grid.sendrecv(&world.buffer(8), right, 0, &mut halo, left, 0).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Cartesian {
    graph: Graph,
    dimensions: Rc<Dimensions>,
}

impl Deref for Cartesian {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        &self.graph
    }
}

/// Returns the coordinates of a rank.
pub(super) fn coordinates(mut rank: usize, dimensions: &Dimensions) -> Vec<usize> {
    let mut found: Vec<usize> = dimensions
        .iter()
        .rev()
        .map(|&(length, _)| {
            let coordinate = rank % length;
            rank /= length;
            coordinate
        })
        .collect();
    found.reverse();
    found
}

/// Returns the rank at coordinates; `None` beyond the end of a dimension that is not periodic.
pub(super) fn rank_at(
    coordinates: impl IntoIterator<Item = i64>,
    dimensions: &Dimensions,
) -> Option<usize> {
    let mut rank = 0;
    for (coordinate, &(length, periodic)) in coordinates.into_iter().zip(dimensions) {
        let length_signed = i64::try_from(length).ok()?;
        if !periodic && !(0..length_signed).contains(&coordinate) {
            return None;
        }
        rank = rank * length + usize::try_from(coordinate.rem_euclid(length_signed)).ok()?;
    }
    Some(rank)
}

/// Returns the rank that is `displacement` away in one dimension.
fn displaced(rank: usize, dimension: usize, displacement: i64, dimensions: &Dimensions) -> usize {
    let own = coordinates(rank, dimensions);
    let moved = own.into_iter().enumerate().map(|(number, coordinate)| {
        let coordinate = i64::try_from(coordinate).unwrap_or(i64::MAX);
        if number == dimension {
            coordinate.saturating_add(displacement)
        } else {
            coordinate
        }
    });
    rank_at(moved, dimensions).unwrap_or(PROC_NULL)
}

impl Cartesian {
    /// Gives the communicator up: [`Comm::free`].
    ///
    /// # Errors
    /// As [`Comm::free`].
    #[track_caller]
    pub fn free(self) -> Result<()> {
        self.graph.free()
    }

    pub(super) fn new(comm: Comm, dimensions: Rc<Dimensions>) -> Self {
        let mut all = Vec::new();
        for dimension in 0..dimensions.len() {
            for displacement in [-1, 1] {
                let rank = displaced(comm.rank(), dimension, displacement, &dimensions);
                all.push(u32::try_from(rank).ok());
            }
        }
        let neighbors = Neighbors {
            sources: all.clone(),
            destinations: all,
            is_grid: true,
        };
        let graph = Graph {
            comm,
            neighbors: Rc::new(neighbors),
        };
        Self { graph, dimensions }
    }

    /// Returns the same grid on a copy of its communicator, made for this grid: `MPI_Comm_dup`.
    #[must_use]
    pub fn with_comm(&self, comm: Comm) -> Self {
        Self {
            graph: self.graph.with_comm(comm),
            dimensions: Rc::clone(&self.dimensions),
        }
    }

    /// The length of each dimension: `MPI_Cart_get`.
    pub fn lengths(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.dimensions.iter().map(|&(length, _)| length)
    }

    /// True for each dimension that is periodic: `MPI_Cart_get`.
    pub fn periods(&self) -> impl ExactSizeIterator<Item = bool> + '_ {
        self.dimensions.iter().map(|&(_, periodic)| periodic)
    }

    /// The coordinates of a rank: `MPI_Cart_coords`.
    ///
    /// # Errors
    /// [`Error::Rank`] for a rank out of range.
    pub fn coordinates(&self, rank: usize) -> Result<Vec<usize>> {
        let size = self.size();
        if rank >= size {
            return Err(Error::Rank { rank, size });
        }
        Ok(coordinates(rank, &self.dimensions))
    }

    /// Returns the rank at coordinates: `MPI_Cart_rank`. Periodic coordinates wrap around.
    ///
    /// # Errors
    /// [`Error::Dimensions`] if there is not one coordinate for each dimension, or one is beyond
    /// the end of a dimension that is not periodic.
    pub fn rank_at(&self, coordinates: &[i64]) -> Result<usize> {
        let found = (coordinates.len() == self.dimensions.len())
            .then(|| rank_at(coordinates.iter().copied(), &self.dimensions));
        found.flatten().ok_or(Error::Dimensions {
            found: coordinates.len(),
            expected: self.dimensions.len(),
        })
    }

    /// Returns the source and the destination of a shift along a dimension: `MPI_Cart_shift`.
    /// Beyond the end of a dimension that is not periodic the rank is the null process.
    ///
    /// # Errors
    /// [`Error::Dimensions`] if there is no such dimension.
    pub fn shift(&self, dimension: usize, displacement: i64) -> Result<(usize, usize)> {
        if dimension >= self.dimensions.len() {
            return Err(Error::Dimensions {
                found: dimension,
                expected: self.dimensions.len(),
            });
        }
        let at = |displacement| displaced(self.rank(), dimension, displacement, &self.dimensions);
        Ok((at(displacement.saturating_neg()), at(displacement)))
    }

    /// Splits the grid into grids of the kept dimensions: `MPI_Cart_sub`. All ranks call this
    /// function.
    ///
    /// # Errors
    /// [`Error::Dimensions`] if `keep` has not one value for each dimension; as [`Comm::split`].
    #[track_caller]
    pub fn sub(&self, keep: &[bool]) -> impl Future<Output = Result<Self>> + use<'_> {
        let location = SourceLocation::caller();
        let keep = keep.to_vec();
        async move {
            if keep.len() != self.dimensions.len() {
                return Err(Error::Dimensions {
                    found: keep.len(),
                    expected: self.dimensions.len(),
                });
            }
            let kept = |wanted: bool| {
                let all = self.dimensions.iter().zip(&keep);
                all.filter(move |(_, keep)| **keep == wanted)
                    .map(|(dimension, _)| *dimension)
            };
            let (inner, outer): (Vec<_>, Vec<_>) = (kept(true).collect(), kept(false).collect());
            let own = coordinates(self.rank(), &self.dimensions);
            let of = |wanted: bool, dimensions: &Dimensions| {
                let all = own.iter().zip(&keep).filter(|(_, keep)| **keep == wanted);
                let own = all.map(|(coordinate, _)| i64::try_from(*coordinate).unwrap_or(i64::MAX));
                rank_at(own, dimensions).unwrap_or(0)
            };
            let (row, column) = (of(false, &outer), of(true, &inner));
            let colour = u32::try_from(row).map_err(|_| Error::Colour(u32::MAX))?;
            let key = i32::try_from(column).map_err(|_| Error::Colour(u32::MAX))?;
            let comm = split_into(&self.graph.comm, colour, key, location).await?;
            Ok(Self::new(comm, inner.into()))
        }
    }
}

/// Communicators with a process topology.
pub trait Topologies: AsRef<Comm> {
    /// Makes a grid of the first ranks: `MPI_Cart_create`. All ranks call it with the same lengths
    /// and periods; ranks beyond the grid get no grid.
    ///
    /// # Errors
    /// [`Error::Dimensions`] if there is not one period for each length, or more than 64;
    /// [`Error::Grid`] if the grid has more ranks than the communicator or none; as
    /// [`Comm::create`].
    #[track_caller]
    fn cartesian(
        &self,
        lengths: &[usize],
        periods: &[bool],
    ) -> impl Future<Output = Result<Option<Cartesian>>> + use<'_, Self> {
        let comm = self.as_ref();
        let location = SourceLocation::caller();
        let dimensions = grid_dimensions(comm, lengths, periods);
        async move {
            let dimensions = dimensions?;
            let ranks = dimensions.iter().map(|&(length, _)| length).product();
            if is_as_smpi(comm) {
                let step = SharedCall::new("creation of a grid", location);
                let comm = first_ranks_as_smpi(comm, ranks, step).await?;
                return Ok(comm.map(|comm| Cartesian::new(comm, dimensions)));
            }
            let position = (comm.rank() < ranks).then_some(0);
            cartesian_at(comm, dimensions, position, location).await
        }
    }

    /// Makes a grid of the first ranks in an order in which fewer neighbours are on different
    /// hosts: `MPI_Cart_create` with `reorder`. All ranks call it with the same lengths and
    /// periods; ranks beyond the grid get no grid. Messages exchange the names of the hosts.
    ///
    /// # Errors
    /// As [`Comm::cartesian`].
    #[track_caller]
    fn cartesian_reordered(
        &self,
        lengths: &[usize],
        periods: &[bool],
    ) -> impl Future<Output = Result<Option<Cartesian>>> + use<'_, Self> {
        let comm = self.as_ref();
        let location = SourceLocation::caller();
        let dimensions = grid_dimensions(comm, lengths, periods);
        async move { reordered_grid(comm, dimensions?, location).await }
    }

    /// Makes a communicator of the same ranks in which each rank knows its neighbours:
    /// `MPI_Dist_graph_create_adjacent`. All ranks call it; each destination names this rank as a
    /// source, equally often. Several edges between two ranks keep their order.
    ///
    /// # Errors
    /// [`Error::Rank`] for a neighbour out of range; as [`Comm::dup`].
    #[track_caller]
    fn graph(
        &self,
        sources: &[usize],
        destinations: &[usize],
    ) -> impl Future<Output = Result<Graph>> + use<'_, Self> {
        let comm = self.as_ref();
        let location = SourceLocation::caller();
        let graph = Graph::new(comm.clone(), sources, destinations);
        async move {
            let graph = graph?;
            Ok(graph.with_comm(dup_at(comm, location).await?))
        }
    }
}

impl Topologies for Comm {}

/// Makes the communicator of a grid of the ranks with a position; equal positions are in the
/// order of the ranks.
pub(super) async fn cartesian_at(
    comm: &Comm,
    dimensions: Rc<Dimensions>,
    position: Option<i32>,
    location: SourceLocation,
) -> Result<Option<Cartesian>> {
    let colour = position.map(|_| 0);
    let key = position.unwrap_or_default();
    let comm = split_at(comm, colour, key, location).await?;
    Ok(comm.map(|comm| Cartesian::new(comm, dimensions)))
}

/// Returns the dimensions of a grid that has no more ranks than the communicator, and some.
fn grid_dimensions(comm: &Comm, lengths: &[usize], periods: &[bool]) -> Result<Rc<Dimensions>> {
    let (found, expected) = (periods.len(), lengths.len());
    if found != expected || expected > DIMENSIONS_MAX {
        return Err(Error::Dimensions { found, expected });
    }
    let product = |ranks: usize, length: &usize| ranks.checked_mul(*length);
    let ranks = lengths.iter().try_fold(1, product).unwrap_or(usize::MAX);
    let size = comm.size();
    if ranks > size || ranks == 0 {
        return Err(Error::Grid { ranks, size });
    }
    let all = lengths.iter().copied().zip(periods.iter().copied());
    Ok(all.collect())
}

/// Groups the ranks by their hosts, as [`Comm::split_by_host`].
pub(super) async fn split_by_host_at(
    comm: &Comm,
    key: i32,
    location: SourceLocation,
) -> Result<Comm> {
    let name = comm.host_name();
    let same = split_into(comm, short_hash(&name), key, location).await?;
    // Different names may have the same hash. Names are real data in any run.
    let own = name_block(&name);
    let names = allgather_real(&same, &own, location).await?;
    if names.chunks_exact(own.len()).all(|other| other == own) {
        return Ok(same);
    }
    let mut numbered = (0..).zip(names.chunks_exact(own.len()));
    let first = numbered.find(|(_, other)| *other == own);
    let colour = first.map_or(0, |(first, _)| first);
    split_into(&same, colour, key, location).await
}

/// Bytes of a name of a host that are compared.
const NAME: usize = 64;

pub(super) fn name_block(name: &str) -> Vec<u8> {
    let mut block = vec![0; NAME];
    let length = name.len().min(NAME);
    block[..length].copy_from_slice(&name.as_bytes()[..length]);
    block
}

/// Returns a hash of 31 bits (FNV-1a, 32 bits, with the upper bit folded in).
fn short_hash(name: &str) -> u32 {
    let step = |hash: u32, byte: u8| (hash ^ u32::from(byte)).wrapping_mul(0x0100_0193);
    let hash = name.bytes().fold(0x811c_9dc5, step);
    (hash >> 31) ^ (hash & 0x7fff_ffff)
}

/// Sets the lengths that are 0 so that their product with the others is the number of ranks, and
/// they are as close to each other as possible, in descending order: `MPI_Dims_create`.
///
/// # Errors
/// [`Error::Grid`] if the number of ranks is not a multiple of the lengths that are given.
pub fn dims_create(ranks: usize, lengths: &mut [usize]) -> Result<()> {
    let given: usize = lengths.iter().filter(|length| **length > 0).product();
    let free = lengths.iter().filter(|length| **length == 0).count();
    let error = Error::Grid {
        ranks: given,
        size: ranks,
    };
    if ranks == 0 || !ranks.is_multiple_of(given) || (free == 0 && given != ranks) {
        return Err(error);
    }
    let chosen = balanced(ranks / given, free);
    let open = lengths.iter_mut().filter(|length| **length == 0);
    for (length, chosen) in open.zip(chosen) {
        *length = chosen;
    }
    Ok(())
}

/// Returns `count` factors of a number in descending order, of which the largest is as small as
/// possible, and so on for the others.
fn balanced(number: usize, count: usize) -> Vec<usize> {
    match count {
        0 => Vec::new(),
        1 => vec![number],
        _ => {
            let is_root = |length: &usize| {
                let power = u32::try_from(count)
                    .ok()
                    .and_then(|count| length.checked_pow(count));
                power.is_none_or(|power| power >= number)
            };
            let first = (1..=number).find(is_root).unwrap_or(number);
            let fits = |length: &usize| {
                number.is_multiple_of(*length) && balanced(number / length, count - 1)[0] <= *length
            };
            let length = (first..=number).find(fits).unwrap_or(number);
            let mut all = vec![length];
            all.extend(balanced(number / length, count - 1));
            all
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_balanced() {
        let dims = |ranks, given: &[usize]| {
            let mut lengths = given.to_vec();
            dims_create(ranks, &mut lengths).map(|()| lengths)
        };
        assert_eq!(dims(6, &[0, 0]), Ok(vec![3, 2]));
        assert_eq!(dims(7, &[0, 0]), Ok(vec![7, 1]));
        assert_eq!(dims(6, &[0, 3, 0]), Ok(vec![2, 3, 1]));
        assert_eq!(dims(16, &[0, 0]), Ok(vec![4, 4]));
        assert_eq!(dims(24, &[0, 0, 0]), Ok(vec![4, 3, 2]));
        assert_eq!(dims(1, &[0, 0]), Ok(vec![1, 1]));
        assert!(dims(7, &[0, 3, 0]).is_err());
        assert!(dims(7, &[7]).is_ok() && dims(7, &[6]).is_err());
        for ranks in 1..200 {
            for count in 1..4 {
                let lengths = dims(ranks, &vec![0; count]).unwrap();
                assert_eq!(lengths.iter().product::<usize>(), ranks);
                assert!(lengths.is_sorted_by(|a, b| a >= b), "{lengths:?}");
            }
        }
    }
}
