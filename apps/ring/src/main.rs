//! A token goes round a ring: each rank receives it from the rank below and passes it on to the
//! rank above.
//!
//! A round ends when the token is back at rank 0. The program shows latency for small tokens and
//! bandwidth for large ones; only one message is under way at any time, so nothing is shared.

use mpi::{Comm, Result};
use simrun::Size;

/// A token is passed around a ring of ranks
#[derive(clap::Parser, Clone)]
struct Args {
    /// The size of the token.
    #[arg(long, default_value = "1KiB")]
    size: Size,

    /// Number of rounds
    #[arg(long, value_name = "N", default_value_t = 1)]
    rounds: u32,
}

async fn ring(world: Comm, args: Args) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (below, above) = ((rank + size - 1) % size, (rank + 1) % size);
    let mut token = world.buffer(args.size.0);
    for round in 0..args.rounds {
        let start = world.wtime();
        if rank == 0 {
            let mut sending = world.isend(token.clone(), above, 0)?;
            world.recv(&mut token, below, 0).await?;
            sending.wait().await?;
            let time = (world.wtime() - start) * 1e6;
            world.println(format_args!("round {round}: {time:.3} us"));
        } else {
            world.recv(&mut token, below, 0).await?;
            world.send(&token, above, 0).await?;
        }
    }
    Ok(())
}

simrun::main!(ring);
