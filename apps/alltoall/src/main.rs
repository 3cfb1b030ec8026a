//! Linear alltoall: every rank posts a receive from and a send to every other rank, all at once,
//! and waits for all.
//!
//! The program shows contention at the receivers, and what many messages in flight cost.

use mpi::{Comm, Result, waitall};
use simrun::Size;

/// Every rank sends to every other, all at once.
#[derive(clap::Parser, Clone)]
struct Args {
    /// The size of the messages.
    #[arg(long, default_value = "1KiB")]
    size: Size,

    /// Number of exchanges
    #[arg(long, value_name = "N", default_value_t = 1)]
    rounds: u32,
}

async fn alltoall(world: Comm, args: Args) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let block = world.buffer(args.size.0);
    let mut requests = Vec::with_capacity(2 * (size - 1));
    for _ in 0..args.rounds {
        requests.clear();
        for distance in 1..size {
            requests.push(world.irecv(block.clone(), (rank + size - distance) % size, 0)?);
        }
        for distance in 1..size {
            requests.push(world.isend(block.clone(), (rank + distance) % size, 0)?);
        }
        waitall(&mut requests).await?;
    }
    if rank == 0 {
        let time = world.wtime() * 1e6;
        world.println(format_args!("rank 0 completed at {time:.3} us"));
    }
    Ok(())
}

simrun::main!(alltoall);
