//! Collective calls that do not fit together, one case per run, for the tests of real runs.

use mpi::{Blocks, prelude::*};

#[derive(clap::Parser, Clone)]
struct Args {
    /// Case to run.
    #[arg(long, value_enum)]
    case: Case,
}

#[derive(Clone, Copy, clap::ValueEnum)]
enum Case {
    /// Nothing is wrong.
    Correct,
    /// Rank 1 calls a barrier, the others a broadcast.
    Kinds,
    /// Rank 1 has another root.
    Roots,
    /// Rank 1 has another operation.
    Operations,
    /// Rank 1 has the operation on another type.
    Types,
    /// Rank 1 has elements of another type.
    Elements,
    /// Rank 1 gives more than the others.
    Lengths,
    /// Rank 1 gives a longer block than the root expects.
    Blocks,
    /// Rank 0 broadcasts, rank 1 scatters: no message joins them.
    Unjoined,
    /// Rank 1 makes the communicator that the others make with another call.
    Communicators,
    /// Rank 1 ends without the call in which the others wait.
    Missing,
    /// Rank 1 computes instead of the call in which the others wait.
    Late,
    /// Rank 1 ends without the broadcast that rank 0 leaves at once.
    Unreceived,
    /// Rank 1 ends without a call on a communicator of its own with rank 0.
    Part,
}

/// Calls of each group in a loop, with different lengths at the ranks where that is right.
async fn correct(world: &Comm) -> Result<()> {
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    let op = Op::sum::<f64>();
    let half = world.split(Some((rank % 2) as u32), 0).await?;
    let half = half.expect("each rank has a color");
    for round in 1..=50 {
        let mut data = world.buffer(8 * round);
        world.bcast(&mut data, (round % size) as usize).await?;
        half.allreduce(&data, &op).await?;
        let lengths = Blocks::packed((0..size).map(|rank| 8 * (rank + round)));
        let own = world.buffer(8 * (rank + round));
        world.allgather_v(&own, lengths).await?;
        let copy = half.dup().await?;
        copy.barrier().await?;
        copy.free()?;
    }
    for _ in 0..1000 {
        world.allreduce(world.buffer(8), &op).await?;
    }
    Ok(())
}

/// Calls in which rank 1 differs.
async fn differ(world: &Comm, case: Case) -> Result<()> {
    let is_other = world.rank() == 1;
    let mut data = world.buffer(8);
    match case {
        Case::Kinds if is_other => world.barrier().await,
        Case::Kinds => world.bcast(&mut data, 0).await,
        Case::Roots => world.bcast(&mut data, usize::from(is_other)).await,
        Case::Operations if is_other => world.allreduce(&data, &Op::max::<f64>()).await.map(drop),
        Case::Types if is_other => world.allreduce(&data, &Op::sum::<i64>()).await.map(drop),
        Case::Operations | Case::Types => world.allreduce(&data, &Op::sum::<f64>()).await.map(drop),
        Case::Elements if is_other => world.bcast(&mut world.buffer_of(&[0_i64]), 0).await,
        Case::Elements => world.bcast(&mut world.buffer_of(&[0_f64]), 0).await,
        Case::Lengths => {
            let own = world.buffer(if is_other { 16 } else { 8 });
            world.gather(&own, 0).await.map(drop)
        }
        Case::Blocks => {
            let own = world.buffer(if is_other { 16 } else { 8 });
            let blocks = Blocks::packed((0..world.size()).map(|_| 8));
            let blocks = (world.rank() == 0).then_some(&blocks);
            world.gather_v(&own, blocks, 0).await.map(drop)
        }
        Case::Unjoined if is_other => {
            let all = world.buffer(8 * world.size() as u64);
            world.scatter(Some(&all), &mut data, 1).await
        }
        Case::Unjoined => world.bcast(&mut data, 0).await,
        Case::Communicators if is_other => world.dup().await.map(drop),
        _ => world.split(Some(0), 0).await.map(drop),
    }
}

/// Calls that rank 1 does not make.
async fn miss(world: &Comm, case: Case) -> Result<()> {
    let op = Op::sum::<f64>();
    match (case, world.rank()) {
        (Case::Late, 1) => world.sleep(1e6).await,
        (Case::Unreceived, 0) => world.bcast(&mut world.buffer(8), 0).await?,
        // Until rank 0 has ended.
        (Case::Unreceived, 1) => world.sleep(0.3).await,
        (Case::Missing, 1) => {}
        (Case::Part, rank) => {
            let pair = world.split(Some(u32::from(rank < 2)), 0).await?;
            let pair = pair.expect("each rank has a color");
            pair.barrier().await?;
            if rank == 0 {
                pair.allreduce(world.buffer(8), &op).await?;
            }
        }
        _ => drop(world.allreduce(world.buffer(8), &op).await?),
    }
    Ok(())
}

async fn calls(world: Comm, args: Args) -> Result<()> {
    match args.case {
        Case::Correct => correct(&world).await,
        Case::Missing | Case::Late | Case::Unreceived | Case::Part => miss(&world, args.case).await,
        case => differ(&world, case).await,
    }
}

simrun::main!(calls);
