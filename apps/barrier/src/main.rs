//! Barriers by dissemination, written out: in round k each rank sends to the rank 2^k above it and
//! receives from the rank 2^k below it.
//!
//! The program shows the latency of small messages in a regular pattern, and what a run of very
//! many ranks costs: each rank exchanges ceil(log2 n) messages per barrier.

use mpi::{Comm, Result};
use simrun::Size;

/// Barriers by dissemination.
#[derive(clap::Parser, Clone)]
struct Args {
    /// The size of the messages.
    #[arg(long, default_value = "8B")]
    size: Size,

    /// Number of barriers
    #[arg(long, value_name = "N", default_value_t = 1)]
    rounds: u32,
}

async fn barrier(world: Comm, args: Args) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let token = world.buffer(args.size.0);
    for _ in 0..args.rounds {
        let mut distance = 1;
        while distance < size {
            let (above, below) = ((rank + distance) % size, (rank + size - distance) % size);
            let mut sending = world.isend(token.clone(), above, 0)?;
            let mut receiving = world.irecv(token.clone(), below, 0)?;
            receiving.wait().await?;
            sending.wait().await?;
            distance *= 2;
        }
    }
    if rank == 0 {
        let time = world.wtime() * 1e6;
        world.println(format_args!("rank 0 left the last barrier at {time:.3} us"));
    }
    Ok(())
}

simrun::main!(barrier);
