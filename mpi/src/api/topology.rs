//! Process topologies (MPI 5.0, chapter 8): Cartesian grids and graphs of neighbours, and
//! collective operations between neighbours.
//!
//! A topology is a communicator of its own, and dereferences to it. Ranks are in row-major order of
//! their coordinates: the last dimension varies fastest.
//!
//! Operations between neighbours post all receives, then all sends, each in the order of the
//! neighbours, and wait for all of them, as MPICH does.
//!
//! *Not modelled*: ranks keep their order, so no topology is fitted to the network; operations
//! between neighbours have no non-blocking and no persistent form.

use std::future::Future;
use std::ops::Deref;
use std::panic::Location;
use std::rc::Rc;

use crate::{Blocks, Buffer, Comm, Error, PROC_NULL, Request, Result, waitall};

/// Tags between neighbours, in the context of collectives.
const NEIGHBOURS: u32 = 200;

/// Largest number of dimensions of a grid; each has two tags.
const DIMENSIONS_MAX: usize = 64;

/// A communicator whose ranks know from which ranks they receive and to which they send:
/// `MPI_Dist_graph_create_adjacent`.
#[derive(Clone, Debug)]
pub struct Graph {
    comm: Comm,
    sources: Rc<[Edge]>,
    destinations: Rc<[Edge]>,
}

/// A neighbour, and the tag of the messages from or to it.
#[derive(Clone, Copy, Debug)]
struct Edge {
    rank: usize,
    tag: u32,
}

impl Deref for Graph {
    type Target = Comm;

    fn deref(&self) -> &Comm {
        &self.comm
    }
}

impl Graph {
    /// The ranks from which this one receives: `MPI_Dist_graph_neighbors`.
    pub fn sources(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.sources.iter().map(|edge| edge.rank)
    }

    /// The ranks to which this one sends: `MPI_Dist_graph_neighbors`.
    pub fn destinations(&self) -> impl ExactSizeIterator<Item = usize> + '_ {
        self.destinations.iter().map(|edge| edge.rank)
    }

    /// Sends a block to all destinations and collects those of all sources:
    /// `MPI_Neighbor_allgather`. The blocks of all ranks have the same length. A source that is the
    /// null process leaves zeros.
    ///
    /// # Errors
    /// [`Error::Comm`] if the communicator has been freed, [`Error::Truncated`] if a neighbour's
    /// block is longer.
    #[track_caller]
    pub fn neighbor_allgather(&self, block: &Buffer) -> impl Future<Output = Result<Buffer>> + '_ {
        let length = block.len();
        let send = Blocks::placed(self.destinations.iter().map(|_| (0, length)));
        let recv = Blocks::packed(self.sources.iter().map(|_| length));
        self.exchange(block.clone(), send, recv, Location::caller())
    }

    /// [`Graph::neighbor_allgather`] of blocks of different lengths: `MPI_Neighbor_allgatherv`.
    /// `blocks` are those of the sources.
    ///
    /// # Errors
    /// As [`Graph::neighbor_allgather`]; [`Error::BlockCount`] if there is not one block for each
    /// source.
    #[track_caller]
    pub fn neighbor_allgather_v(
        &self,
        block: &Buffer,
        blocks: impl Into<Blocks>,
    ) -> impl Future<Output = Result<Buffer>> {
        let length = block.len();
        let send = Blocks::placed(self.destinations.iter().map(|_| (0, length)));
        self.exchange(block.clone(), send, blocks.into(), Location::caller())
    }

    /// Sends a block to each destination and collects one of each source: `MPI_Neighbor_alltoall`.
    /// `blocks` has one for each destination, all of the same length.
    ///
    /// # Errors
    /// As [`Graph::neighbor_allgather`]; [`Error::Count`] if the length is not a multiple of the
    /// number of destinations.
    #[track_caller]
    pub fn neighbor_alltoall(
        &self,
        blocks: &Buffer,
    ) -> impl Future<Output = Result<Buffer>> + use<'_> {
        let location = Location::caller();
        let blocks = blocks.clone();
        async move {
            let (length, size) = (blocks.len(), self.destinations.len() as u64);
            if size > 0 && !length.is_multiple_of(size) {
                return Err(Error::Count { length, size });
            }
            let block = length.checked_div(size).unwrap_or(0);
            let send = Blocks::packed(self.destinations.iter().map(|_| block));
            let recv = Blocks::packed(self.sources.iter().map(|_| block));
            self.exchange(blocks, send, recv, location).await
        }
    }

    /// [`Graph::neighbor_alltoall`] of blocks of different lengths: `MPI_Neighbor_alltoallv`.
    /// `send` says where the block for each destination is in `buffer`, `recv` where the block of
    /// each source is in the result.
    ///
    /// # Errors
    /// As [`Graph::neighbor_allgather`]; [`Error::BlockCount`] if there is not one block for each
    /// neighbour, [`Error::Blocks`] if the buffer is shorter than its blocks.
    #[track_caller]
    pub fn neighbor_alltoall_v(
        &self,
        buffer: &Buffer,
        send: impl Into<Blocks>,
        recv: impl Into<Blocks>,
    ) -> impl Future<Output = Result<Buffer>> {
        self.exchange(buffer.clone(), send.into(), recv.into(), Location::caller())
    }

    async fn exchange(
        &self,
        buffer: Buffer,
        send: Blocks,
        recv: Blocks,
        location: &'static Location<'static>,
    ) -> Result<Buffer> {
        for (blocks, edges) in [(&send, &self.destinations), (&recv, &self.sources)] {
            if blocks.listed().len() != edges.len() {
                let (blocks, size) = (blocks.listed().len(), edges.len());
                return Err(Error::BlockCount { blocks, size });
            }
        }
        let (length, expected) = (buffer.len(), send.end());
        if length < expected {
            return Err(Error::Blocks { length, expected });
        }
        let inner = self.comm.collective()?;
        let mut result = buffer.of_kind(recv.end());
        let mut requests: Vec<Request> = Vec::with_capacity(self.sources.len());
        for (edge, block) in self.sources.iter().zip(recv.listed()) {
            let room = buffer.of_kind(block.length);
            requests.push(inner.irecv_at(room, edge.rank.into(), edge.tag.into(), location)?);
        }
        for (edge, block) in self.destinations.iter().zip(send.listed()) {
            let part = buffer.slice(block.offset, block.length);
            requests.push(inner.isend_at(part, edge.rank, edge.tag, location)?);
        }
        let done = waitall(&mut requests).await?;
        let sources = self.sources.iter().zip(recv.listed()).zip(done);
        for ((edge, block), done) in sources {
            if let Some(done) = done.filter(|_| edge.rank != PROC_NULL) {
                result.write(block.offset, &done.buffer);
            }
        }
        Ok(result)
    }
}

/// A communicator whose ranks form a grid: `MPI_Cart_create`.
///
/// Its neighbours are those of each dimension, the lower one before the higher one; beyond the end
/// of a dimension that is not periodic it is the null process.
///
/// ```no_run
/// # use mpi::{Comm, Result};
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
    /// Length of each dimension, and whether it is periodic.
    dimensions: Rc<[(usize, bool)]>,
}

impl Deref for Cartesian {
    type Target = Graph;

    fn deref(&self) -> &Graph {
        &self.graph
    }
}

/// Returns the coordinates of a rank.
fn coordinates(mut rank: usize, dimensions: &[(usize, bool)]) -> Vec<usize> {
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
fn rank_at(
    coordinates: impl IntoIterator<Item = i64>,
    dimensions: &[(usize, bool)],
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
fn displaced(
    rank: usize,
    dimension: usize,
    displacement: i64,
    dimensions: &[(usize, bool)],
) -> usize {
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
    fn new(comm: Comm, dimensions: Rc<[(usize, bool)]>) -> Self {
        let mut sources = Vec::new();
        let mut destinations = Vec::new();
        for (number, dimension) in (0..).zip(0..dimensions.len()) {
            for (side, displacement) in [(0, -1), (1, 1)] {
                let rank = displaced(comm.rank(), dimension, displacement, &dimensions);
                // A message that goes up in a dimension comes from below there, also where both
                // neighbours are the same rank.
                let up = NEIGHBOURS + 2 * number + side;
                let down = NEIGHBOURS + 2 * number + (1 - side);
                destinations.push(Edge { rank, tag: up });
                sources.push(Edge { rank, tag: down });
            }
        }
        let graph = Graph {
            comm,
            sources: sources.into(),
            destinations: destinations.into(),
        };
        Self { graph, dimensions }
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

    /// The rank at coordinates: `MPI_Cart_rank`. Those of periodic dimensions wrap around.
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

    /// The source and the destination of a shift along a dimension: `MPI_Cart_shift`. Beyond the
    /// end of a dimension that is not periodic it is the null process.
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

    /// Splits the grid into grids of the dimensions that are kept: `MPI_Cart_sub`. All ranks call
    /// it.
    ///
    /// # Errors
    /// [`Error::Dimensions`] if `keep` has not one value for each dimension; as [`Comm::split`].
    #[track_caller]
    pub fn sub(&self, keep: &[bool]) -> impl Future<Output = Result<Self>> + use<'_> {
        let location = Location::caller();
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
            let of = |wanted: bool, dimensions: &[(usize, bool)]| {
                let all = own.iter().zip(&keep).filter(|(_, keep)| **keep == wanted);
                let own = all.map(|(coordinate, _)| i64::try_from(*coordinate).unwrap_or(i64::MAX));
                rank_at(own, dimensions).unwrap_or(0)
            };
            let (row, column) = (of(false, &outer), of(true, &inner));
            let colour = u32::try_from(row).map_err(|_| Error::Colour(u32::MAX))?;
            let key = i32::try_from(column).map_err(|_| Error::Colour(u32::MAX))?;
            let comm = self.graph.comm.split_into(colour, key, location).await?;
            Ok(Self::new(comm, inner.into()))
        }
    }
}

impl Comm {
    /// A grid of the first ranks: `MPI_Cart_create`. All ranks call it with the same lengths and
    /// periods; those beyond the grid get none.
    ///
    /// # Errors
    /// [`Error::Dimensions`] if there is not one period for each length, or more than 64;
    /// [`Error::Grid`] if the grid has more ranks than the communicator or none; as
    /// [`Comm::create`].
    #[track_caller]
    pub fn cartesian(
        &self,
        lengths: &[usize],
        periods: &[bool],
    ) -> impl Future<Output = Result<Option<Cartesian>>> + use<'_> {
        let location = Location::caller();
        let (found, expected) = (periods.len(), lengths.len());
        let dimensions: Rc<[(usize, bool)]> = lengths
            .iter()
            .copied()
            .zip(periods.iter().copied())
            .collect();
        async move {
            if found != expected || expected > DIMENSIONS_MAX {
                return Err(Error::Dimensions { found, expected });
            }
            let product = |ranks: usize, (length, _): &(usize, bool)| ranks.checked_mul(*length);
            let ranks = dimensions.iter().try_fold(1, product).unwrap_or(usize::MAX);
            let size = self.size();
            if ranks > size || ranks == 0 {
                return Err(Error::Grid { ranks, size });
            }
            let colour = (self.rank() < ranks).then_some(0);
            let comm = self.split_at(colour, 0, location).await?;
            Ok(comm.map(|comm| Cartesian::new(comm, dimensions)))
        }
    }

    /// A communicator of the same ranks in which each knows its neighbours:
    /// `MPI_Dist_graph_create_adjacent`. All ranks call it; each destination names this rank as a
    /// source, equally often. Several edges between two ranks keep their order.
    ///
    /// # Errors
    /// [`Error::Rank`] for a neighbour out of range; as [`Comm::dup`].
    #[track_caller]
    pub fn graph(
        &self,
        sources: &[usize],
        destinations: &[usize],
    ) -> impl Future<Output = Result<Graph>> + use<'_> {
        let location = Location::caller();
        let edges = |ranks: &[usize]| -> Result<Rc<[Edge]>> {
            let edge = |&rank: &usize| {
                if rank != PROC_NULL {
                    self.peer(rank)?;
                }
                let tag = NEIGHBOURS;
                Ok(Edge { rank, tag })
            };
            ranks.iter().map(edge).collect()
        };
        let edges = edges(sources).and_then(|sources| Ok((sources, edges(destinations)?)));
        async move {
            let (sources, destinations) = edges?;
            let comm = self.dup_at(location).await?;
            Ok(Graph {
                comm,
                sources,
                destinations,
            })
        }
    }

    /// Groups the ranks by their hosts: `MPI_Comm_split_type` with `MPI_COMM_TYPE_SHARED`. All
    /// ranks call it; those of one host are ordered by key, and by their old rank where keys are
    /// equal.
    ///
    /// # Errors
    /// As [`Comm::split`].
    #[track_caller]
    pub fn split_by_host(&self, key: i32) -> impl Future<Output = Result<Self>> + '_ {
        let location = Location::caller();
        async move {
            let name = self.host_name();
            let same = self.split_into(short_hash(&name), key, location).await?;
            // Different names may have the same hash. Names are real data in any run.
            let own = name_block(&name);
            let names = same.allgather_real(&own, location).await?;
            if names.chunks_exact(own.len()).all(|other| other == own) {
                return Ok(same);
            }
            let mut numbered = (0..).zip(names.chunks_exact(own.len()));
            let first = numbered.find(|(_, other)| *other == own);
            let colour = first.map_or(0, |(first, _)| first);
            same.split_into(colour, key, location).await
        }
    }
}

/// Bytes of a name of a host that are compared.
const NAME: usize = 64;

fn name_block(name: &str) -> Vec<u8> {
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
