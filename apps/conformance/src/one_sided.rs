//! One-sided communication: accesses of all kinds, by each way to synchronise, with short and long
//! data. Each rank computes the expected memory.

use mpi::prelude::*;

use crate::{check, message};

/// The numbers in a real buffer.
fn buffer_numbers(buffer: &Buffer) -> Option<Vec<u64>> {
    buffer.values::<u64>().expect("whole numbers")
}

/// Blocks go to the rank above and come from the one below, synchronised in four ways.
pub(crate) async fn one_sided(world: &Comm, threshold: u64) -> Result<()> {
    for length in [8, threshold.max(1), 300_001] {
        fences(world, length).await?;
        groups(world, length).await?;
        locks(world, length).await?;
    }
    counters(world).await
}

fn neighbours(world: &Comm) -> (usize, usize) {
    let (rank, size) = (world.rank(), world.size());
    ((rank + size - 1) % size, (rank + 1) % size)
}

async fn fences(world: &Comm, length: u64) -> Result<()> {
    let (rank, (below, above)) = (world.rank() as u64, neighbours(world));
    let window = world.window(world.buffer(2 * length), 1).await?;
    window.write(length, &message(world, rank, length)).await?;
    window.fence().await?;
    window
        .put(&message(world, 100 + rank, length), above, 0)
        .await?;
    let mut got = world.buffer(length);
    window.get(&mut got, below, length).await?;
    window.fence().await?;
    check(&got, below as u64, length);
    check(&window.read(0, length).await?, 100 + below as u64, length);
    assert_eq!(window.free().await?.len(), 2 * length);
    Ok(())
}

async fn groups(world: &Comm, length: u64) -> Result<()> {
    let (rank, (below, above)) = (world.rank() as u64, neighbours(world));
    let window = world.window(world.buffer(length), 1).await?;
    let (sources, targets) = (world.group().incl(&[below])?, world.group().incl(&[above])?);
    for round in 0..3 {
        window.post(&sources).await?;
        window.start(&targets).await?;
        window
            .put(&message(world, round + rank, length), above, 0)
            .await?;
        window.complete().await?;
        window.wait().await?;
        check(&window.read(0, length).await?, round + below as u64, length);
    }
    window.free().await.map(drop)
}

async fn locks(world: &Comm, length: u64) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let window = world.window(world.buffer(length * size as u64), 1).await?;
    let place = length * rank as u64;
    for target in 0..size {
        window.lock(target, true).await?;
        window
            .put(&message(world, rank as u64, length), target, place)
            .await?;
        window.flush(target).await?;
        let mut back = world.buffer(length);
        window.get(&mut back, target, place).await?;
        check(&back, rank as u64, length);
        window.unlock(target).await?;
    }
    world.barrier().await?;
    for source in 0..size as u64 {
        check(&window.read(source * length, length).await?, source, length);
    }
    window.free().await.map(drop)
}

/// All ranks add to numbers of rank 0 and take tickets from a counter of rank 0.
async fn counters(world: &Comm) -> Result<()> {
    const COUNT: u64 = 1000;
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    let window = world.window(world.buffer(8 * (COUNT + 2)), 8).await?;
    let own: Vec<u64> = (0..COUNT).map(|place| place + rank).collect();
    window.lock_all().await?;
    let sum = Op::sum::<u64>();
    window
        .accumulate(&world.buffer_of(&own), 0, 0, &sum)
        .await?;
    let mut last = None;
    for _ in 0..20 {
        let ticket = window
            .fetch_and_op(&world.buffer_of(&[1_u64]), 0, COUNT, &sum)
            .await?;
        let ticket = buffer_numbers(&ticket).map(|ticket| ticket[0]);
        assert!(ticket.is_none() || ticket > last, "tickets increase");
        last = ticket;
    }
    let (mine, free) = (world.buffer_of(&[rank + 1]), world.buffer_of(&[0_u64]));
    let before = window
        .compare_and_swap::<u64>(&mine, &free, 0, COUNT + 1)
        .await?;
    window.unlock_all().await?;
    world.barrier().await?;
    if let Some(before) = buffer_numbers(&before) {
        let winner = world.buffer_of(&[u64::from(before[0] == 0)]);
        let winners = world.allreduce(&winner, &sum).await?;
        assert_eq!(
            buffer_numbers(&winners),
            Some(vec![1]),
            "one rank was the first"
        );
    }
    if world.rank() == 0
        && let Some(found) = buffer_numbers(&window.read(0, 8 * (COUNT + 1)).await?)
    {
        let ranks = size * (size - 1) / 2;
        let expected = (0..COUNT).map(|place| size * place + ranks);
        assert!(found.iter().copied().eq(expected.chain([20 * size])));
    }
    window.free().await.map(drop)
}
