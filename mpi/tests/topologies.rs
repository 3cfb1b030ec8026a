//! Promise: grids and graphs have the neighbours that MPI gives them, and operations between
//! neighbours bring each block to its place.

use mpi::{Comm, Error, PROC_NULL, Result};
use testing::ranks::world;

#[test]
fn a_grid_is_in_row_major_order() {
    let program = |world: Comm| async move {
        let grid = world.cartesian(&[2, 3], &[false, true]).await?;
        assert_eq!(grid.is_some(), world.rank() < 6);
        let Some(grid) = grid else { return Ok(()) };
        assert_eq!(grid.lengths().collect::<Vec<usize>>(), [2, 3]);
        assert_eq!(grid.periods().collect::<Vec<bool>>(), [false, true]);
        for rank in 0..6 {
            assert_eq!(grid.coordinates(rank)?, [rank / 3, rank % 3]);
        }
        assert_eq!(grid.rank_at(&[1, -1])?, 5);
        assert!(matches!(
            grid.rank_at(&[2, 0]),
            Err(Error::Dimensions { .. })
        ));
        let (row, column) = (grid.rank() / 3, grid.rank() % 3);
        let down = if row == 0 { grid.rank() + 3 } else { PROC_NULL };
        let up = if row == 1 { grid.rank() - 3 } else { PROC_NULL };
        assert_eq!(grid.shift(0, 1)?, (up, down));
        let left = row * 3 + (column + 2) % 3;
        assert_eq!(grid.shift(1, 1)?, (left, row * 3 + (column + 1) % 3));
        assert!(grid.shift(2, 1).is_err());
        Ok(())
    };
    world(7).run(program).finished();
}

#[test]
fn parts_of_a_grid_are_grids() {
    let program = |world: Comm| async move {
        let grid = world
            .cartesian(&[2, 3], &[true, true])
            .await?
            .expect("6 ranks");
        let row = grid.sub(&[false, true]).await?;
        assert_eq!((row.size(), row.rank()), (3, world.rank() % 3));
        let column = grid.sub(&[true, false]).await?;
        assert_eq!((column.size(), column.rank()), (2, world.rank() / 3));
        let whole = grid.sub(&[true, true]).await?;
        assert_eq!((whole.size(), whole.rank()), (6, world.rank()));
        assert!(grid.sub(&[true]).await.is_err());
        Ok(())
    };
    world(6).run(program).finished();
}

/// Both neighbours of a rank are the same where a periodic dimension has two ranks: what goes up
/// comes from below.
#[test]
fn neighbours_of_a_grid_exchange_blocks() {
    for length in [1, 2, 3, 4] {
        let program = move |world: Comm| async move {
            let grid = world
                .cartesian(&[length], &[true])
                .await?
                .expect("all ranks");
            let rank = world.rank() as u64;
            let blocks = world.buffer_of(&[10 * rank, 10 * rank + 1]);
            let found = grid.neighbor_alltoall(&blocks).await?;
            let below = (rank + length as u64 - 1) % length as u64;
            let above = (rank + 1) % length as u64;
            assert_eq!(found.values()?, Some(vec![10 * below + 1, 10 * above]));
            let all = grid.neighbor_allgather(&world.buffer_of(&[rank])).await?;
            assert_eq!(all.values()?, Some(vec![below, above]));
            Ok(())
        };
        world(u32::try_from(length).unwrap())
            .run(program)
            .finished();
    }
}

#[test]
fn the_null_process_leaves_zeros() {
    let program = |world: Comm| async move {
        let grid = world.cartesian(&[3], &[false]).await?.expect("all ranks");
        let own = world.buffer_of(&[world.rank() as u64 + 1]);
        let all = grid.neighbor_allgather(&own).await?;
        let expected = [vec![0_u64, 2], vec![1, 3], vec![2, 0]];
        assert_eq!(all.values()?, Some(expected[world.rank()].clone()));
        Ok(())
    };
    world(3).run(program).finished();
}

/// A star: rank 0 has all others as neighbours, and one of them twice.
#[test]
fn graphs_have_blocks_of_different_lengths() {
    let program = |world: Comm| async move {
        let rank = world.rank();
        let neighbours: &[usize] = match rank {
            0 => &[1, 2, 1],
            1 => &[0, 0],
            _ => &[0],
        };
        let graph = world.graph(neighbours, neighbours).await?;
        assert_eq!(graph.sources().collect::<Vec<usize>>(), neighbours);
        let values: Vec<u64> = (0..neighbours.len())
            .map(|at| (rank * 10 + at) as u64)
            .collect();
        let lengths = vec![8; neighbours.len()];
        let buffer = world.buffer_of(&values);
        let found = graph
            .neighbor_alltoall_v(&buffer, lengths.clone(), lengths)
            .await?;
        let expected = [vec![10_u64, 20, 11], vec![0, 2], vec![1]];
        assert_eq!(found.values()?, Some(expected[rank].clone()));
        Ok(())
    };
    world(3).run(program).finished();
}

#[test]
fn bad_grids_are_refused() {
    let program = |world: Comm| async move {
        let error = world.cartesian(&[2, 2], &[true, true]).await.unwrap_err();
        assert_eq!(error, Error::Grid { ranks: 4, size: 3 });
        let error = world.cartesian(&[3], &[true, true]).await.unwrap_err();
        assert_eq!(error.class(), mpi::ErrorClass::Dims);
        let error = world.graph(&[7], &[]).await.unwrap_err();
        assert_eq!(error, Error::Rank { rank: 7, size: 3 });
        Ok(()) as Result<()>
    };
    world(3).run(program).finished();
}

#[test]
fn ranks_are_grouped_by_their_hosts() {
    let program = |world: Comm| async move {
        // Each rank has a host of its own here.
        let host = world.split_by_host(0).await?;
        assert_eq!((host.size(), host.rank()), (1, 0));
        Ok(())
    };
    world(5).run(program).finished();
}
