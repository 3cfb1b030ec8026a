//! Number of transitions per second that an exploration of rank programs executes: whole checks,
//! from making the program to the report.

use std::rc::Rc;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use explore::{Options, check};
use mpi::{ANY_SOURCE, Comm, Result};
use run::{MessageProtocol, RankProgram, explorable};
use sim_core::Stepper;

/// Both ranks send and then receive, so often.
async fn two_senders(world: Comm) -> Result<()> {
    let partner = world.rank() ^ 1;
    let mut answer = world.buffer(8);
    for _ in 0..20 {
        world.send(&answer.clone(), partner, 0).await?;
        world.recv(&mut answer, partner, 0).await?;
    }
    Ok(())
}

/// A token goes around so often.
async fn ring(world: Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut token = world.buffer(8);
    for _ in 0..20 {
        if rank > 0 {
            world.recv(&mut token, rank - 1, 0).await?;
        }
        world.send(&token, (rank + 1) % size, 0).await?;
        if rank == 0 {
            world.recv(&mut token, size - 1, 0).await?;
        }
    }
    Ok(())
}

/// Rank 0 gives everybody a task and takes the answers as they come.
async fn master_and_workers(world: Comm) -> Result<()> {
    let mut message = world.buffer(8);
    if world.rank() > 0 {
        world.recv(&mut message, 0, 0).await?;
        return world.send(&message, 0, 0).await;
    }
    for worker in 1..world.size() {
        world.send(&message, worker, 0).await?;
    }
    for _ in 1..world.size() {
        world.recv(&mut message, ANY_SOURCE, 0).await?;
    }
    Ok(())
}

fn whole(criterion: &mut Criterion, name: &str, make: impl Fn() -> Stepper) {
    let search = || check(make(), &Options::default()).statistics;
    let mut group = criterion.benchmark_group("ranks");
    group.sample_size(10);
    group.throughput(Throughput::Elements(search().transitions));
    group.bench_function(name, |bencher| bencher.iter(search));
    group.finish();
}

fn stepper<Fut>(ranks: u32, program: fn(Comm) -> Fut) -> Stepper
where
    Fut: Future<Output = Result<()>> + 'static,
{
    explorable(
        Rc::new(RankProgram::new(program)),
        ranks,
        MessageProtocol::Eager,
    )
}

fn benches(criterion: &mut Criterion) {
    whole(criterion, "two senders, 20 rounds", || {
        stepper(2, two_senders)
    });
    whole(criterion, "ring of 4, 20 rounds", || stepper(4, ring));
    whole(criterion, "a master and 7 workers", || {
        stepper(8, master_and_workers)
    });
}

criterion_group!(all, benches);
criterion_main!(all);
