//! Collective calls with real data: blocking, non-blocking and persistent, of blocks of equal and
//! of different lengths, in the world and in parts of it. Each rank computes the expected data.

use std::fmt::Debug;
use std::ops::Range;

use mpi::{Blocks, CollectiveCall, Scalar, prelude::*};

/// A linear function x → a·x + b. Their composition is associative and not commutative.
type Linear = (u32, u32);

fn compose(outer: Linear, inner: Linear) -> Linear {
    let (a, b) = outer;
    let moved = a.wrapping_mul(inner.1).wrapping_add(b);
    (a.wrapping_mul(inner.0), moved)
}

/// Element `at` of the contribution of a rank.
const fn element_at(rank: usize, at: u64) -> u64 {
    (rank as u64 + 1)
        .wrapping_mul(0x9e37_79b9_7f4a_7c15)
        .wrapping_add(at.wrapping_mul(0x94d0_49bb_1331_11eb))
}

const fn linear(rank: usize, at: u64) -> Linear {
    let number = element_at(rank, at) >> 11;
    (number as u32 | 1, (number >> 32) as u32)
}

/// Performs all calls with vectors of some lengths, in the world and in its odd and even ranks.
pub(crate) async fn collectives(world: &Comm, threshold: u64) -> Result<()> {
    let rank = world.rank();
    let colour = u32::from(rank % 2 == 1);
    let key = -i32::try_from(rank).expect("few ranks");
    let half = world.split(Some(colour), key).await?;
    let half = half.expect("each rank has a colour");
    let sum = Op::sum::<u64>();
    let composition = Op::new::<Linear>("composition", false, |inout, incoming| {
        for (inout, incoming) in inout.iter_mut().zip(incoming) {
            *inout = compose(*incoming, *inout);
        }
    });
    for comm in [world, &half] {
        for count in [0, 1, 5, threshold / 8 + 3] {
            rooted(comm, count).await?;
            exchanges(comm, count).await?;
            reductions(comm, count, &sum, element_at, u64::wrapping_add).await?;
            reductions(comm, count, &composition, linear, compose).await?;
        }
        overlapping(comm).await?;
    }
    half.free()
}

/// Asserts that a buffer has these elements.
#[track_caller]
fn expect<T: Scalar + PartialEq + Debug>(buffer: &Buffer, expected: &[T]) -> Result<()> {
    assert_eq!(buffer.len(), expected.len() as u64 * T::SIZE);
    if let Some(values) = buffer.values::<T>()? {
        assert!(values == expected, "{values:?}, not {expected:?}");
    }
    Ok(())
}

/// Starts a call and completes the request. Returns the result.
async fn started<O>(call: CollectiveCall<'_, O>) -> Result<Buffer> {
    Ok(call.start()?.wait().await?.buffer)
}

/// Starts a persistent request of a call twice. Returns the second result.
async fn restarted<O>(call: CollectiveCall<'_, O>) -> Result<Buffer> {
    let mut request = call.init()?;
    request.start()?;
    request.wait().await?;
    request.start()?;
    Ok(request.wait().await?.buffer)
}

/// Elements of a contribution.
fn numbers(rank: usize, places: Range<u64>) -> Vec<u64> {
    places.map(|at| element_at(rank, at)).collect()
}

/// Number of elements of a rank's block of blocks of different lengths.
const fn uneven(rank: usize, count: u64) -> u64 {
    (rank as u64 + 1) % 3 * count
}

/// Returns the result of a call with a root, which exists at the root only.
fn at_root(comm: &Comm, root: usize, buffer: Option<Buffer>) -> Option<Buffer> {
    assert_eq!(buffer.is_some(), comm.rank() == root);
    buffer
}

async fn rooted(comm: &Comm, count: u64) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    for root in [0, size / 2, size - 1] {
        let is_root = rank == root;
        let mut data = comm.buffer(8 * count);
        if is_root {
            data = comm.buffer_of(&numbers(root, 0..count));
        }
        let expected = numbers(root, 0..count);
        expect(
            &started(comm.bcast(&mut data.clone(), root)).await?,
            &expected,
        )?;
        expect(
            &restarted(comm.bcast(&mut data.clone(), root)).await?,
            &expected,
        )?;
        comm.bcast(&mut data, root).await?;
        expect(&data, &expected)?;

        let own = comm.buffer_of(&numbers(rank, 0..count));
        let all: Vec<u64> = (0..size).flat_map(|rank| numbers(rank, 0..count)).collect();
        let once = started(comm.gather(&own, root)).await?;
        let repeated = restarted(comm.gather(&own, root)).await?;
        let gathered = comm.gather(&own, root).await?;
        if let Some(gathered) = at_root(comm, root, gathered) {
            for gathered in [gathered, once, repeated] {
                expect(&gathered, &all)?;
            }
        }
        let all = is_root.then(|| comm.buffer_of(&numbers(root, 0..count * size as u64)));
        let place = rank as u64 * count;
        let expected = numbers(root, place..place + count);
        let mut block = comm.buffer(8 * count);
        let all = all.as_ref();
        let mut room = block.clone();
        expect(
            &started(comm.scatter(all, &mut room, root)).await?,
            &expected,
        )?;
        expect(
            &restarted(comm.scatter(all, &mut room, root)).await?,
            &expected,
        )?;
        comm.scatter(all, &mut block, root).await?;
        expect(&block, &expected)?;
        rooted_uneven(comm, count, root).await?;
    }
    Ok(())
}

/// Blocks of different lengths, with an element between them.
async fn rooted_uneven(comm: &Comm, count: u64, root: usize) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let mut starts = vec![0];
    for rank in 0..size {
        starts.push(starts[rank] + uneven(rank, count) + 1);
    }
    let placed = (0..size).map(|rank| (8 * starts[rank], 8 * uneven(rank, count)));
    let blocks = Blocks::placed(placed);
    let root_blocks = (rank == root).then_some(&blocks);
    let own = comm.buffer_of(&numbers(rank, 0..uneven(rank, count)));
    let once = started(comm.gather_v(&own, root_blocks, root)).await?;
    let repeated = restarted(comm.gather_v(&own, root_blocks, root)).await?;
    let gathered = comm.gather_v(&own, root_blocks, root).await?;
    if let Some(gathered) = at_root(comm, root, gathered) {
        let mut expected = Vec::new();
        for rank in 0..size {
            expected.extend(numbers(rank, 0..uneven(rank, count)));
            expected.push(0);
        }
        // The result ends with the last block that is not empty.
        let end = (0..size)
            .map(|rank| starts[rank] + uneven(rank, count))
            .max();
        expected.truncate(usize::try_from(end.unwrap_or(0)).expect("short"));
        for gathered in [gathered, once, repeated] {
            expect(&gathered, &expected)?;
        }
    }
    let data = comm.buffer_of(&numbers(root, 0..starts[size]));
    let all = (rank == root).then_some((&data, &blocks));
    let expected = numbers(root, starts[rank]..starts[rank] + uneven(rank, count));
    let mut block = comm.buffer(8 * uneven(rank, count));
    let mut room = block.clone();
    expect(
        &started(comm.scatter_v(all, &mut room, root)).await?,
        &expected,
    )?;
    expect(
        &restarted(comm.scatter_v(all, &mut room, root)).await?,
        &expected,
    )?;
    comm.scatter_v(all, &mut block, root).await?;
    expect(&block, &expected)
}

async fn exchanges(comm: &Comm, count: u64) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let own = comm.buffer_of(&numbers(rank, 0..count));
    let all: Vec<u64> = (0..size).flat_map(|rank| numbers(rank, 0..count)).collect();
    expect(&comm.allgather(&own).await?, &all)?;
    expect(&started(comm.allgather(&own)).await?, &all)?;
    expect(&restarted(comm.allgather(own)).await?, &all)?;

    let own = comm.buffer_of(&numbers(rank, 0..uneven(rank, count)));
    let all = (0..size).flat_map(|rank| numbers(rank, 0..uneven(rank, count)));
    let (all, blocks): (Vec<u64>, Vec<u64>) = (
        all.collect(),
        (0..size).map(|rank| 8 * uneven(rank, count)).collect(),
    );
    expect(&comm.allgather_v(&own, &*blocks).await?, &all)?;
    let call = comm.allgather_v(&own, &*blocks);
    expect(&started(call).await?, &all)?;
    expect(&restarted(comm.allgather_v(own, blocks)).await?, &all)?;

    let own = comm.buffer_of(&numbers(rank, 0..count * size as u64));
    let place = rank as u64 * count;
    let all = (0..size).flat_map(|from| numbers(from, place..place + count));
    let all: Vec<u64> = all.collect();
    expect(&comm.alltoall(&own).await?, &all)?;
    expect(&started(comm.alltoall(&own)).await?, &all)?;
    expect(&restarted(comm.alltoall(own)).await?, &all)?;

    // Blocks between any two ranks have a length of their own.
    let length = |from: usize, to: usize| (from + 2 * to) as u64 % 4 * count;
    let start = |from, to| (0..to).map(|to| length(from, to)).sum::<u64>();
    let own = comm.buffer_of(&numbers(rank, 0..start(rank, size)));
    let send: Vec<u64> = (0..size).map(|to| 8 * length(rank, to)).collect();
    let recv: Vec<u64> = (0..size).map(|from| 8 * length(from, rank)).collect();
    let block = |from| start(from, rank)..start(from, rank + 1);
    let all: Vec<u64> = (0..size)
        .flat_map(|from| numbers(from, block(from)))
        .collect();
    expect(&comm.alltoall_v(&own, &*send, &*recv).await?, &all)?;
    let call = comm.alltoall_v(&own, &*send, &*recv);
    expect(&started(call).await?, &all)?;
    expect(&restarted(comm.alltoall_v(own, send, recv)).await?, &all)
}

async fn reductions<T: Scalar + PartialEq + Debug>(
    comm: &Comm,
    count: u64,
    op: &Op,
    element: fn(usize, u64) -> T,
    combine: fn(T, T) -> T,
) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let contribution = |count| -> Vec<T> { (0..count).map(|at| element(rank, at)).collect() };
    // The contributions of the first ranks, in the order of ranks.
    let combined = |ranks: usize, places: Range<u64>| -> Vec<T> {
        let one = |at| {
            let others = (1..ranks).map(|rank| element(rank, at));
            others.fold(element(0, at), combine)
        };
        places.map(one).collect()
    };
    let own = comm.buffer_of(&contribution(count));
    let total = combined(size, 0..count);
    for root in [0, size - 1] {
        let once = started(comm.reduce(&own, op, root)).await?;
        let repeated = restarted(comm.reduce(&own, op, root)).await?;
        let reduced = comm.reduce(&own, op, root).await?;
        if let Some(reduced) = at_root(comm, root, reduced) {
            for reduced in [reduced, once, repeated] {
                expect(&reduced, &total)?;
            }
        }
    }
    expect(&comm.allreduce(&own, op).await?, &total)?;
    expect(&started(comm.allreduce(&own, op)).await?, &total)?;
    expect(&restarted(comm.allreduce(&own, op)).await?, &total)?;
    let mut in_place = own.clone();
    comm.allreduce_in(&mut in_place, op).await?;
    expect(&in_place, &total)?;

    let prefix = combined(rank + 1, 0..count);
    expect(&comm.scan(&own, op).await?, &prefix)?;
    expect(&started(comm.scan(&own, op)).await?, &prefix)?;
    expect(&restarted(comm.scan(&own, op)).await?, &prefix)?;
    let once = started(comm.exscan(&own, op)).await?;
    let repeated = restarted(comm.exscan(&own, op)).await?;
    let below = comm.exscan(&own, op).await?;
    assert_eq!(below.is_some(), rank > 0);
    if let Some(below) = below {
        for below in [below, once, repeated] {
            expect(&below, &combined(rank, 0..count))?;
        }
    }
    expect(&own, &contribution(count))?;

    let own = comm.buffer_of(&contribution(count * size as u64));
    let place = rank as u64 * count;
    let block = combined(size, place..place + count);
    expect(&comm.reduce_scatter_block(&own, op).await?, &block)?;
    let call = comm.reduce_scatter_block(&own, op);
    expect(&started(call).await?, &block)?;
    expect(
        &restarted(comm.reduce_scatter_block(own, op)).await?,
        &block,
    )?;

    let blocks: Vec<u64> = (0..size).map(|rank| uneven(rank, count)).collect();
    let place = blocks[..rank].iter().sum::<u64>();
    let block = combined(size, place..place + blocks[rank]);
    let own = comm.buffer_of(&contribution(blocks.iter().sum()));
    let blocks: Vec<u64> = blocks.iter().map(|count| count * T::SIZE).collect();
    expect(&comm.reduce_scatter(&own, &*blocks, op).await?, &block)?;
    let call = comm.reduce_scatter(&own, &*blocks, op);
    expect(&started(call).await?, &block)?;
    expect(
        &restarted(comm.reduce_scatter(own, blocks, op)).await?,
        &block,
    )
}

/// Several collectives at once, which complete in any order.
async fn overlapping(comm: &Comm) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let own = comm.buffer_of(&numbers(rank, 0..100));
    let mut barrier = comm.barrier().init()?;
    barrier.start()?;
    let mut requests = vec![
        comm.allreduce(&own, &Op::max::<u64>()).start()?,
        comm.bcast(&mut own.clone(), size - 1).start()?,
        comm.barrier().start()?,
        comm.allgather(own.slice(0, 8)).start()?,
        barrier,
    ];
    comm.barrier().await?;
    let mut last = requests.split_off(3);
    let later = waitall(&mut last).await?;
    let done = waitall(&mut requests).await?;
    let results = done.into_iter().chain(later).map(|done| {
        let done = done.expect("each request was active");
        done.buffer
    });
    let results: Vec<Buffer> = results.collect();
    let largest = |at| {
        (0..size)
            .map(|rank| element_at(rank, at))
            .max()
            .unwrap_or(0)
    };
    expect(&results[0], &(0..100).map(largest).collect::<Vec<u64>>())?;
    expect(&results[1], &numbers(size - 1, 0..100))?;
    let first: Vec<u64> = (0..size).map(|rank| element_at(rank, 0)).collect();
    expect(&results[3], &first)
}
