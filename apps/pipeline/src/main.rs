//! A pipeline with one slow stage: items pass all ranks, and each rank computes on each item.
//!
//! Stage `--slow` computes longer. In the analysis, the stages behind it wait for late senders, and
//! the critical path is mostly the computation of the slow stage.

use mpi::prelude::*;
use simrun::Size;

/// A pipeline of ranks with one slow stage
#[derive(clap::Parser, Clone)]
struct Args {
    /// Computation of a stage on an item, in flop
    #[arg(long, value_name = "FLOP", default_value_t = 1e5)]
    work: f64,

    /// The rank of the slow stage
    #[arg(long, value_name = "RANK", default_value_t = 1)]
    slow: usize,

    /// Factor by which the slow stage computes longer
    #[arg(long, value_name = "FACTOR", default_value_t = 4.0)]
    factor: f64,

    /// Number of items
    #[arg(long, value_name = "N", default_value_t = 20)]
    items: u32,

    /// Length of an item
    #[arg(long, default_value = "4KiB")]
    size: Size,
}

async fn pipeline(world: Comm, args: Args) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let factor = if rank == args.slow { args.factor } else { 1.0 };
    let mut item = world.buffer(args.size.0);
    for _ in 0..args.items {
        if rank > 0 {
            world.recv(&mut item, rank - 1, 0).await?;
        }
        {
            let _stage = world.region("stage");
            world.compute(args.work * factor).await;
        }
        if rank + 1 < size {
            world.send(&item, rank + 1, 0).await?;
        }
    }
    Ok(())
}

simrun::main!(pipeline);
