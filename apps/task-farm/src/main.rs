//! A master and workers over ranks: rank 0 gives each of the others a task, and the next one to
//! whoever answers, by a receive from any source.
//!
//! The order of the answers is not determined. The default master is right in every order. With
//! `--in-order` the master assumes that answers come in the order of the ranks, which holds in a
//! plain run, where all ranks are equally fast.
//!
//! Known answers for as many tasks as workers: the w answers arrive in w! orders, and in all but
//! one of them the master with the belief is wrong.

use mpi::{ANY_SOURCE, ANY_TAG, Comm, Error};
use simrun::Size;

/// Rank 0 distributes tasks; each worker that answers receives the next task
#[derive(clap::Parser, Clone)]
struct Args {
    /// The number of tasks; without it as many as workers
    #[arg(long, value_name = "N")]
    tasks: Option<usize>,

    /// The size of a task and of its answer
    #[arg(long, default_value = "8B")]
    size: Size,

    /// Assume that answers arrive in rank order (a defect)
    #[arg(long)]
    in_order: bool,
}

const TASK: u32 = 1;
const STOP: u32 = 2;
const ANSWER: u32 = 3;

fn error_text(error: Error) -> String {
    error.to_string()
}

async fn worker(world: &Comm, size: u64) -> Result<(), String> {
    let mut task = world.buffer(size);
    loop {
        let status = world
            .recv(&mut task, 0, ANY_TAG)
            .await
            .map_err(error_text)?;
        if status.tag == STOP {
            return Ok(());
        }
        world.send(&task, 0, ANSWER).await.map_err(error_text)?;
    }
}

async fn master(world: &Comm, args: &Args) -> Result<(), String> {
    let workers = world.size() - 1;
    let tasks = args.tasks.unwrap_or(workers);
    let mut message = world.buffer(args.size.0);
    for worker in 1..=workers {
        let tag = if worker <= tasks { TASK } else { STOP };
        world
            .send(&message, worker, tag)
            .await
            .map_err(error_text)?;
    }
    let mut given = tasks.min(workers);
    for answers in 0..tasks {
        let answer = world.recv(&mut message, ANY_SOURCE, ANSWER);
        let worker = answer.await.map_err(error_text)?.source;
        let expected = answers % workers + 1;
        if args.in_order && worker != expected {
            return Err(format!(
                "answer {answers} is from rank {worker}, not {expected}"
            ));
        }
        let tag = if given < tasks { TASK } else { STOP };
        world
            .send(&message, worker, tag)
            .await
            .map_err(error_text)?;
        given += usize::from(tag == TASK);
    }
    Ok(())
}

async fn task_farm(world: Comm, args: Args) -> Result<(), String> {
    match (world.rank(), world.size()) {
        (_, 1) => Err("1 rank: expected a master and at least 1 worker, as in -n 2".to_owned()),
        (0, _) => master(&world, &args).await,
        _ => worker(&world, args.size.0).await,
    }
}

simrun::main!(task_farm);
