//! Promise: grids and graphs have the neighbours that MPI defines, and operations between
//! neighbours bring each block to its place.

use mpi::{Cartesian, prelude::*};
use testing::ranks::{Order, world};

#[test]
fn a_grid_is_in_row_major_order() {
    world(7).run_finished(|world: Comm| async move {
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
    });
}

#[test]
fn parts_of_a_grid_are_grids() {
    world(6).run_finished(|world: Comm| async move {
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
    });
}

/// Both neighbours of a rank are the same where a periodic dimension has two ranks: a block that is
/// sent up arrives from below.
#[test]
fn neighbours_of_a_grid_exchange_blocks() {
    for length in [1, 2, 3, 4] {
        world(u32::try_from(length).unwrap()).run_finished(move |world: Comm| async move {
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
            let all = grid.neighbor_allgather(world.buffer_of(&[rank])).await?;
            assert_eq!(all.values()?, Some(vec![below, above]));
            Ok(())
        });
    }
}

#[test]
fn the_null_process_leaves_zeros() {
    world(3).run_finished(|world: Comm| async move {
        let grid = world.cartesian(&[3], &[false]).await?.expect("all ranks");
        let own = world.buffer_of(&[world.rank() as u64 + 1]);
        let all = grid.neighbor_allgather(&own).await?;
        let expected = [vec![0_u64, 2], vec![1, 3], vec![2, 0]];
        assert_eq!(all.values()?, Some(expected[world.rank()].clone()));
        Ok(())
    });
}

/// A star: rank 0 has all others as neighbours, and one of them twice.
#[test]
fn graphs_have_blocks_of_different_lengths() {
    world(3).run_finished(|world: Comm| async move {
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
    });
}

/// Completes a persistent request twice. Returns the second result.
async fn restarted(mut request: Request) -> Result<Buffer> {
    request.start()?;
    request.wait().await?;
    request.start()?;
    Ok(request.wait().await?.buffer)
}

/// Returns number `at` of the block of a rank for its neighbour on a side.
const fn number(rank: usize, side: usize, at: usize) -> u64 {
    (rank * 1000 + side * 100 + at) as u64
}

/// Blocks of a rank of a grid of 2 by 3 ranks with a periodic first dimension: both neighbours in
/// this dimension are the same rank.
struct Blocks {
    rank: usize,
    count: usize,
}

impl Blocks {
    /// The blocks for some neighbours.
    fn own(&self, sides: std::ops::Range<usize>) -> Buffer {
        let block = |side| (0..self.count).map(move |at| number(self.rank, side, at));
        Buffer::of(&sides.flat_map(block).collect::<Vec<u64>>())
    }

    /// The neighbours below and above in both dimensions, and the side on which they have this one.
    fn sources(&self) -> [Option<(usize, usize)>; 4] {
        let column = self.rank % 3;
        let other = (self.rank + 3) % 6;
        let left = (column > 0).then(|| (self.rank - 1, 3));
        let right = (column < 2).then(|| (self.rank + 1, 2));
        [Some((other, 1)), Some((other, 0)), left, right]
    }

    /// Returns the blocks that the neighbours give, the first block of each neighbour in a
    /// gathering; `nothing` where there is no neighbour.
    fn given(&self, is_gathering: bool, nothing: u64) -> Option<Vec<u64>> {
        let block = |source: Option<(usize, usize)>| {
            (0..self.count).map(move |at| match source {
                Some((rank, _)) if is_gathering => number(rank, 0, at),
                Some((rank, side)) => number(rank, side, at),
                None => nothing,
            })
        };
        Some(self.sources().into_iter().flat_map(block).collect())
    }
}

/// Blocks below the threshold of 100 bytes, and above it.
fn with_blocks<Fut>(program: fn(Cartesian, Blocks) -> Fut)
where
    Fut: Future<Output = Result<()>> + 'static,
{
    for (count, seed) in [(1, 1), (3, 2), (40, 3)] {
        let program = move |world: Comm| async move {
            let grid = world.cartesian(&[2, 3], &[true, false]).await?;
            let rank = world.rank();
            program(grid.expect("6 ranks"), Blocks { rank, count }).await
        };
        let order = Order::Seeded(seed);
        world(6).order(order).run(program).finished();
    }
}

#[test]
fn neighbours_exchange_in_the_background() {
    with_blocks(|grid, all| async move {
        let (gathered, exchanged) = (all.given(true, 0), all.given(false, 0));
        let (own, blocks) = (all.own(0..1), all.own(0..4));
        let lengths = [8 * all.count as u64; 4];
        let calls = || {
            [
                grid.neighbor_allgather(&own),
                grid.neighbor_alltoall(&blocks),
                grid.neighbor_allgather_v(&own, lengths),
                grid.neighbor_alltoall_v(&blocks, lengths, lengths),
            ]
        };
        let results = [&gathered, &exchanged, &gathered, &exchanged];
        // Several at a time, completed in another order.
        let mut requests = Vec::new();
        for call in calls() {
            requests.push(call.start()?);
        }
        for (call, expected) in calls().into_iter().zip(results) {
            assert_eq!(call.await?.values()?, *expected);
        }
        for (request, expected) in requests.iter_mut().zip(results).rev() {
            assert_eq!(request.wait().await?.buffer.values()?, *expected);
        }
        for (call, expected) in calls().into_iter().zip(results) {
            assert_eq!(restarted(call.init()?).await?.values()?, *expected);
        }
        // Each rank starts them in an order of its own.
        let mut started: Vec<_> = (0..4)
            .map(|length| grid.neighbor_allgather(all.own(0..length)).init())
            .collect::<Result<_>>()?;
        let mut order = [0, 1, 2, 3];
        order.rotate_left(all.rank % 4);
        for index in order {
            started[index].start()?;
        }
        for (length, request) in started.iter_mut().enumerate() {
            let done = request.wait().await?;
            assert_eq!(done.buffer.len(), all.own(0..length).len() * 4);
        }
        let again = grid.clone();
        grid.free()?;
        let error = again.neighbor_allgather(Buffer::zeroed(8)).await;
        assert!(matches!(error, Err(Error::Comm { .. })), "{error:?}");
        Ok(())
    });
}

/// The part of the target for the null process stays unchanged.
#[test]
fn each_neighbour_has_a_datatype() {
    with_blocks(|grid, all| async move {
        let (count, blocks) = (all.count as u64, all.own(0..4));
        let expected = all.given(false, u64::MAX);
        let member = |at| (count, 8 * count * at, Datatype::of::<u64>());
        let members: Vec<(u64, u64, Datatype)> = (0..4).map(member).collect();
        let mut room = Buffer::of(&vec![u64::MAX; 4 * all.count]);
        let mut target = room.clone();
        grid.neighbor_alltoall_w(&blocks, &members, &mut target, &members)
            .await?;
        assert_eq!(target.values()?, expected);
        let call = grid.neighbor_alltoall_w(&blocks, &members, &mut room, &members);
        let mut request = call.start()?;
        assert_eq!(request.wait().await?.buffer.values()?, expected);
        let request = grid
            .neighbor_alltoall_w(blocks, &members, &mut room, &members)
            .init()?;
        assert_eq!(restarted(request).await?.values()?, expected);
        grid.free()
    });
}

#[test]
fn bad_blocks_of_neighbours_are_refused() {
    world(2).run_finished(|world: Comm| async move {
        let graph = world.graph(&[0, 1], &[0, 1]).await?;
        let error = graph.neighbor_alltoall(world.buffer(9)).start().err();
        assert_eq!(error, Some(Error::Count { length: 9, size: 2 }));
        let error = graph.neighbor_allgather_v(world.buffer(8), [8]).await;
        assert_eq!(error.err(), Some(Error::BlockCount { blocks: 1, size: 2 }));
        let error = graph
            .neighbor_alltoall_v(world.buffer(8), [8, 8], [8, 8])
            .start();
        let expected = Error::Blocks {
            length: 8,
            expected: 16,
        };
        assert_eq!(error.err(), Some(expected));
        graph.free()
    });
}

#[test]
fn bad_grids_are_refused() {
    world(3).run_finished(|world: Comm| async move {
        let error = world.cartesian(&[2, 2], &[true, true]).await.unwrap_err();
        assert_eq!(error, Error::Grid { ranks: 4, size: 3 });
        let error = world.cartesian_reordered(&[2, 2], &[true, true]).await;
        assert!(matches!(error, Err(Error::Grid { ranks: 4, .. })));
        let error = world.cartesian(&[3], &[true, true]).await.unwrap_err();
        assert_eq!(error.class(), ErrorClass::Dims);
        let error = world.graph(&[7], &[]).await.unwrap_err();
        assert_eq!(error, Error::Rank { rank: 7, size: 3 });
        Ok(()) as Result<()>
    });
}

#[test]
fn ranks_are_grouped_by_their_hosts() {
    world(5).run_finished(|world: Comm| async move {
        // Each rank has a host of its own here.
        let host = world.split_by_host(0).await?;
        assert_eq!((host.size(), host.rank()), (1, 0));
        Ok(())
    });
}
