//! One rank is late: all others wait for its message.
//!
//! Rank 0 computes before it sends to each of the others; they receive at once. In the analysis,
//! the time of the others is late sender, charged to the computation of rank 0.

use mpi::prelude::*;
use simrun::Size;

/// One rank is late, and all others wait for its message
#[derive(clap::Parser, Clone)]
struct Args {
    /// Computation of rank 0 before it sends, in flop
    #[arg(long, value_name = "FLOP", default_value_t = 1e6)]
    work: f64,

    /// Length of the messages
    #[arg(long, default_value = "1KiB")]
    size: Size,
}

async fn late_sender(world: Comm, args: Args) -> Result<()> {
    let mut data = world.buffer(args.size.0);
    if world.rank() > 0 {
        return world.recv(&mut data, 0, 0).await.map(drop);
    }
    {
        let _late = world.region("late");
        world.compute(args.work).await;
    }
    for other in 1..world.size() {
        world.send(&data, other, 0).await?;
    }
    Ok(())
}

simrun::main!(late_sender);
