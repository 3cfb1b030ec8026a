//! A master deals out tasks to workers: an *actor program*, for those who think in hosts and
//! mailboxes, not in ranks.
//!
//! simrun starts one root actor on the first host. Here it is the master: it starts the workers
//! (`-n` of them, one per host by default, the first on the host after its own), gives each a
//! mailbox, and deals out the tasks in turn. A put waits until the task has arrived at its worker,
//! so a worker that still computes holds up the master: with few workers the tasks' work decides
//! how long it takes, with many workers the master's network link.
//!
//! A task is a message of `--size` bytes whose content is the task's number; an empty message ends
//! a worker.

use sim_core::{ActivityError, Actor, HostId, Level, Mailbox};
use simrun::Size;

/// A master distributes tasks to workers (round robin)
#[derive(clap::Parser, Clone)]
struct Args {
    /// The number of tasks.
    #[arg(long, default_value_t = 256)]
    tasks: u64,

    /// Task size in bytes
    #[arg(long, default_value = "1MiB")]
    size: Size,

    /// The work of a task, in Gflop.
    #[arg(long, value_name = "GFLOP", default_value_t = 1.0)]
    work: f64,
}

/// Computes tasks until an empty message comes; returns how many.
async fn worker(me: Actor, inbox: Mailbox, flops: f64) -> Result<(), ActivityError> {
    let mut done = 0_u64;
    while let Some(task) = inbox.get().await?.word() {
        me.execute(flops).await?;
        me.log(Level::Info, format_args!("task {task} done"));
        done += 1;
    }
    me.log(Level::Info, format_args!("{done} tasks done"));
    Ok(())
}

async fn master(me: Actor, args: Args) -> Result<(), ActivityError> {
    let (mut workers, mut inboxes) = (Vec::new(), Vec::new());
    for number in 0..me.count() {
        let inbox = me.new_mailbox();
        let (host, same) = (HostId((number + 1) % me.host_count()), inbox.clone());
        let name = format!("worker-{number}");
        let program = move |myself| worker(myself, same, args.work * 1e9);
        workers.push(me.spawn(&name, host, program).await);
        inboxes.push(inbox);
    }
    #[expect(clippy::cast_precision_loss, reason = "sizes are far below 2^53")]
    let bytes = args.size.0 as f64;
    for (task, inbox) in (0..args.tasks).zip(inboxes.iter().cycle()) {
        inbox.put(task, bytes).await?;
    }
    me.println(format_args!(
        "{} tasks dealt out at {}",
        args.tasks,
        me.now()
    ));
    for (worker, inbox) in workers.iter().zip(&inboxes) {
        inbox.put((), 0.0).await?;
        worker.join().await;
    }
    Ok(())
}

simrun::main!(master);
