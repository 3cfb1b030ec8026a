//! Order of the ranks of a grid by their hosts, so that fewer neighbours are on different hosts.
//!
//! If all hosts have the same number of ranks, each host gets a block of the grid. The lengths of
//! the block divide the lengths of the grid; the shape has the fewest pairs of neighbours on
//! different hosts. Otherwise hosts are filled in row-major order. The order of the communicator
//! stays unless another order has fewer such pairs.
//!
//! *Not modelled*: distances between hosts. Neighbouring blocks can be on distant hosts.
//!
//! Source of the blocks: W. Gropp, "Using node information to implement MPI Cartesian topologies",
//! EuroMPI 2018.

use super::topology::{Cartesian, Dimensions, cartesian_at, coordinates, name_block, rank_at};
use crate::collectives::allgather_real;
use crate::{Comm, Result};
use observe::SourceLocation;
use std::rc::Rc;

/// Makes a grid with few neighbours on different hosts, as `Comm::cartesian_reordered`.
pub(super) async fn reordered_grid(
    comm: &Comm,
    dimensions: Rc<Dimensions>,
    location: SourceLocation,
) -> Result<Option<Cartesian>> {
    let own = name_block(&comm.host_name());
    let names = allgather_real(comm, &own, location).await?;
    let ranks = dimensions.iter().map(|&(length, _)| length).product();
    let hosts = numbered(names.chunks_exact(own.len()).take(ranks));
    let order = grid_order(&hosts, &dimensions);
    let position = order.iter().position(|rank| *rank == comm.rank());
    let position = position.map(|position| i32::try_from(position).unwrap_or(i32::MAX));
    cartesian_at(comm, dimensions, position, location).await
}

/// Returns numbers of hosts by their first ranks.
fn numbered<'a>(names: impl Iterator<Item = &'a [u8]>) -> Vec<usize> {
    let mut known: Vec<&[u8]> = Vec::new();
    let number = |name| {
        known
            .iter()
            .position(|other| *other == name)
            .unwrap_or_else(|| {
                known.push(name);
                known.len() - 1
            })
    };
    names.map(number).collect()
}

/// Returns the rank at each position of the grid, for ranks on these hosts.
fn grid_order(hosts: &[usize], dimensions: &Dimensions) -> Vec<usize> {
    let count = hosts.iter().max().map_or(0, |last| last + 1);
    let mut of_host = vec![Vec::new(); count];
    for (rank, host) in hosts.iter().enumerate() {
        of_host[*host].push(rank);
    }
    let mut all = vec![(0..hosts.len()).collect(), of_host.concat()];
    if of_host.iter().all(|ranks| ranks.len() == of_host[0].len()) && count > 0 {
        for block in list_blocks(of_host[0].len(), dimensions) {
            all.push(in_blocks(&of_host, &block, dimensions));
        }
    }
    let crossing = |order: &Vec<usize>| crossing(hosts, order, dimensions);
    // The first one of several with the fewest.
    all.into_iter().min_by_key(crossing).unwrap_or_default()
}

/// Returns the number of pairs of neighbours in the grid that are on different hosts.
fn crossing(hosts: &[usize], order: &[usize], dimensions: &Dimensions) -> usize {
    let host = |position: usize| hosts[order[position]];
    let differs = |position: usize, dimension: usize| {
        let own = coordinates(position, dimensions).into_iter().enumerate();
        let above = own.map(|(number, at)| {
            i64::try_from(at + usize::from(number == dimension)).unwrap_or(i64::MAX)
        });
        rank_at(above, dimensions).is_some_and(|above| host(above) != host(position))
    };
    let pairs = |position| (0..dimensions.len()).filter(move |number| differs(position, *number));
    (0..order.len())
        .map(|position| pairs(position).count())
        .sum()
}

/// Returns the lengths of all blocks of this number of ranks that divide the grid evenly.
fn list_blocks(ranks: usize, dimensions: &Dimensions) -> Vec<Vec<usize>> {
    let Some((&(length, _), others)) = dimensions.split_first() else {
        return if ranks == 1 {
            vec![Vec::new()]
        } else {
            Vec::new()
        };
    };
    let divides = |part: &usize| length.is_multiple_of(*part) && ranks.is_multiple_of(*part);
    let with_first = |part: usize| {
        let rest = list_blocks(ranks / part, others).into_iter();
        rest.map(move |rest| [vec![part], rest].concat())
    };
    (1..=length.min(ranks))
        .filter(divides)
        .flat_map(with_first)
        .collect()
}

/// Returns the rank at each position if each host has a block of these lengths, both in row-major
/// order.
fn in_blocks(of_host: &[Vec<usize>], block: &[usize], dimensions: &Dimensions) -> Vec<usize> {
    let count: usize = dimensions.iter().map(|&(length, _)| length).product();
    let at = |position: usize| {
        let (mut host, mut place) = (0, 0);
        let coordinates = coordinates(position, dimensions).into_iter();
        for ((at, part), &(length, _)) in coordinates.zip(block).zip(dimensions) {
            host = host * (length / part) + at / part;
            place = place * part + at % part;
        }
        of_host[host][place]
    };
    (0..count).map(at).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the pairs of neighbours on different hosts before and after, and the order.
    fn reordered(hosts: &[usize], dimensions: &Dimensions) -> (usize, usize, Vec<usize>) {
        let before: Vec<usize> = (0..hosts.len()).collect();
        let after = grid_order(hosts, dimensions);
        let mut ranks = after.clone();
        ranks.sort_unstable();
        assert_eq!(ranks, before, "a permutation");
        let count = |order: &[usize]| crossing(hosts, order, dimensions);
        (count(&before), count(&after), after)
    }

    fn block_of(count: usize, each: usize) -> Vec<usize> {
        (0..count).map(|rank| rank / each).collect()
    }

    #[test]
    fn hosts_have_blocks_of_the_grid() {
        // Rows of four on a host: 3 · 4 pairs. Squares of two by two: one cut in each dimension.
        let square = [(4, false), (4, false)];
        let (before, after, order) = reordered(&block_of(16, 4), &square);
        assert_eq!((before, after), (12, 8));
        assert_eq!(
            order,
            [0, 1, 4, 5, 2, 3, 6, 7, 8, 9, 12, 13, 10, 11, 14, 15]
        );
        // On a torus also those around its ends; rows close in themselves.
        let torus = [(4, true), (4, true)];
        assert_eq!(reordered(&block_of(16, 4), &torus).1, 16);
        // Cubes of 2 · 2 · 2 in 4 · 4 · 4: a plane of 16 pairs in each dimension.
        let cube = [(4, false); 3];
        let (before, after, _) = reordered(&block_of(64, 8), &cube);
        assert_eq!((before, after), (16 + 3 * 16, 3 * 16));
    }

    #[test]
    fn ranks_in_turn_are_gathered() {
        let in_turn: Vec<usize> = (0..12).map(|rank| rank % 3).collect();
        let (before, after, _) = reordered(&in_turn, &[(12, false)]);
        assert_eq!((before, after), (11, 2));
        // Numbers of ranks that differ, and a length that no block divides.
        let uneven = [0, 1, 0, 1, 0, 1, 0];
        let (before, after, order) = reordered(&uneven, &[(7, false)]);
        assert_eq!((before, after), (6, 1));
        assert_eq!(order, [0, 2, 4, 6, 1, 3, 5]);
        let (_, after, _) = reordered(&in_turn, &[(3, false), (4, false)]);
        assert_eq!(after, 8);
    }

    #[test]
    fn the_order_stays_where_no_other_is_better() {
        let identity = |count: usize| (0..count).collect::<Vec<usize>>();
        for dimensions in [
            &[(4, false), (3, true)][..],
            &[(12, true)],
            &[(2, true), (2, true), (3, true)],
        ] {
            // One rank on each host, all on one host.
            for hosts in [identity(12), vec![0; 12]] {
                let (before, after, order) = reordered(&hosts, dimensions);
                assert_eq!((order, after), (identity(12), before));
            }
        }
        // A chain of blocks.
        assert_eq!(reordered(&block_of(12, 4), &[(12, false)]).2, identity(12));
    }

    #[test]
    fn no_order_is_worse() {
        for (length, width) in [(4, 6), (8, 3), (12, 2), (24, 1)] {
            for each in [2, 3, 4, 5, 6, 8] {
                for periodic in [false, true] {
                    let dimensions = [(length, periodic), (width, !periodic)];
                    let in_turn = (0..24).map(|rank| rank % (24 / each)).collect();
                    for hosts in [block_of(24, each), in_turn] {
                        let (before, after, _) = reordered(&hosts, &dimensions);
                        assert!(after <= before, "{dimensions:?} {hosts:?}");
                    }
                }
            }
        }
    }
}
