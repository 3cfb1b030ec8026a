//! Two jobs share a link: each sends one message from the lower half of the ranks to the upper one.
//!
//! Job A, from rank 0 to rank n/2, sends first. Job B, from rank 1 to rank n/2 + 1, begins later
//! and disturbs it. Let both routes cross one link of bandwidth B, and let A, with a bytes, last
//! longer than B, with b bytes. Then both move at B/2 for 2b/B. So the link is congested for 2b/B,
//! it delays each job by b/B, and A takes its latency and (a + b)/B.
//!
//! On `platforms/grid.toml` the link between the sites is called `wan`.

use mpi::prelude::*;
use simrun::Size;

/// Two jobs send over the same link
#[derive(clap::Parser, Clone)]
struct Args {
    /// The size of the message of job A
    #[arg(long, default_value = "300MB")]
    size: Size,

    /// The size of the message of job B
    #[arg(long, value_name = "SIZE", default_value = "100MB")]
    other: Size,

    /// Begin of job B in seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 0.1)]
    delay: f64,
}

/// Sends a message to a rank of the upper half.
async fn job(world: &Comm, first: usize, bytes: u64, delay: f64) -> Result<()> {
    let (rank, partner) = (world.rank(), first + world.size() / 2);
    let mut message = world.buffer(bytes);
    if rank == first {
        world.sleep(delay).await;
        let start = world.wtime();
        world.ssend(&message, partner, 0).await?;
        let time = world.wtime() - start;
        world.println(format_args!("rank {rank} to rank {partner}: {time:.6} s"));
    } else if rank == partner {
        world.recv(&mut message, first, 0).await?;
    }
    Ok(())
}

async fn congestion(world: Comm, args: Args) -> Result<()> {
    job(&world, 0, args.size.0, 0.0).await?;
    if world.size() >= 4 {
        job(&world, 1, args.other.0, args.delay).await?;
    }
    Ok(())
}

simrun::main!(congestion);
