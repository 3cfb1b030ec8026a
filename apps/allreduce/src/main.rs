//! Allreduce: every rank contributes a vector, and all get the sum.
//!
//! The program prints the time of one call, and verifies the last sum if buffers are real. The
//! algorithm is that of the platform: `--set collectives.allreduce=ring` tries another.

use mpi::prelude::*;
use simrun::Size;

/// Every rank contributes a vector, and all get the sum.
#[derive(clap::Parser, Clone)]
struct Args {
    /// The size of the vector, in whole numbers of 8 bytes.
    #[arg(long, default_value = "8KiB")]
    size: Size,

    /// Number of calls
    #[arg(long, value_name = "N", default_value_t = 1)]
    rounds: u32,
}

async fn allreduce(world: Comm, args: Args) -> Result<()> {
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    // A whole number, so that the sum is exact in any order.
    let own: Vec<f64> = match world.buffer(1).is_phantom() {
        true => Vec::new(),
        false => (0..args.size.0 / 8).map(|at| (rank + at) as f64).collect(),
    };
    let contribution = match own.is_empty() {
        true => world.buffer(args.size.0 / 8 * 8),
        false => world.buffer_of(&own),
    };
    world.barrier().await?;
    let start = world.wtime();
    let mut sum = None;
    for _ in 0..args.rounds {
        sum = Some(world.allreduce(&contribution, &Op::sum::<f64>()).await?);
    }
    let time = (world.wtime() - start) * 1e6 / f64::from(args.rounds);
    if let Some(values) = sum.map(|sum| sum.values::<f64>()).transpose()?.flatten() {
        let ranks = size * (size - 1) / 2;
        let expected = (0..).map(|at: u64| (ranks + size * at) as f64);
        assert!(
            values.iter().copied().eq(expected.take(values.len())),
            "a wrong sum"
        );
    }
    if rank == 0 {
        world.println(format_args!("allreduce of {}: {time:.3} us", args.size));
    }
    Ok(())
}

simrun::main!(allreduce);
