//! Ranks with unequal work and a barrier after each step.
//!
//! Rank r of n computes (1 + r × imbalance ÷ (n − 1)) × work. In the analysis, all ranks but the
//! last wait at the barrier, and the load balance is (1 + imbalance ÷ 2) ÷ (1 + imbalance).

use mpi::prelude::*;

/// Ranks with unequal work, and a barrier after each step
#[derive(clap::Parser, Clone)]
struct Args {
    /// Computation of rank 0 in a step, in flop
    #[arg(long, value_name = "FLOP", default_value_t = 1e6)]
    work: f64,

    /// Additional work of the last rank, as a part of that of rank 0
    #[arg(long, value_name = "PART", default_value_t = 1.0)]
    imbalance: f64,

    /// Number of steps
    #[arg(long, value_name = "N", default_value_t = 10)]
    steps: u32,
}

async fn imbalance(world: Comm, args: Args) -> Result<()> {
    let last = world.size().max(2) - 1;
    let position = world.rank() as f64 / last as f64;
    for step in 0..args.steps {
        world.mark("step", f64::from(step));
        {
            let _work = world.region("work");
            world
                .compute(args.work * (1.0 + args.imbalance * position))
                .await;
        }
        world.barrier().await?;
    }
    Ok(())
}

simrun::main!(imbalance);
