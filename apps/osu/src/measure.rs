//! Iterations of a test, and their times.

use mpi::prelude::*;

use crate::{Args, Test};

/// Number of messages in flight of the bandwidth test.
pub(crate) const WINDOW: u32 = 64;

/// Sends a window of messages one way, and an answer back.
async fn exchange_window(
    world: &Comm,
    message: &mut Buffer,
    window: u32,
    answer: u64,
) -> Result<()> {
    let (mut requests, mut answer) = (Vec::new(), world.buffer(answer));
    let is_sender = world.rank() == 0;
    for tag in 0..window {
        requests.push(match is_sender {
            true => world.isend(message.clone(), 1, tag)?,
            false => world.irecv(message.clone(), 0, tag)?,
        });
    }
    waitall(&mut requests).await?;
    match is_sender {
        true => world.recv(&mut answer, 1, window).await.map(drop),
        false => world.send(&answer, 0, window).await,
    }
}

/// Performs one iteration.
async fn iterate(world: &Comm, test: Test, buffer: &mut Buffer) -> Result<()> {
    let size = buffer.len();
    match test {
        Test::Latency if world.rank() < 2 => exchange_window(world, buffer, 1, size).await,
        Test::Bandwidth if world.rank() < 2 => exchange_window(world, buffer, WINDOW, 4).await,
        Test::Latency | Test::Bandwidth => Ok(()),
        Test::Allreduce => world.allreduce(&*buffer, &Op::sum::<f32>()).await.map(drop),
        Test::Alltoall => world.alltoall(&*buffer).await.map(drop),
        Test::Bcast => world.bcast(buffer, 0).await,
    }
}

/// Returns the mean time of an iteration at this rank, in seconds.
pub(crate) async fn mean_iteration_time(world: &Comm, args: &Args, size: u64) -> Result<f64> {
    let is_collective = args.test > Test::Bandwidth;
    let blocks = if args.test == Test::Alltoall {
        world.size()
    } else {
        1
    };
    let (mut buffer, mut seconds) = (world.buffer(size * blocks as u64), 0.0);
    world.barrier().await?;
    for iteration in 0..args.warmup + args.iterations {
        let start = world.wtime();
        iterate(world, args.test, &mut buffer).await?;
        if iteration >= args.warmup {
            seconds += world.wtime() - start;
        }
        if is_collective {
            world.barrier().await?;
        }
    }
    Ok(seconds / f64::from(args.iterations))
}
