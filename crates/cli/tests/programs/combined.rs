//! Ranks that wait for several things at once, and print which of them came first.

use futures::StreamExt as _;
use futures::future::{Either, join, select};
use futures::stream::FuturesUnordered;
use mpi::prelude::*;

#[derive(clap::Parser, Clone)]
struct Args {
    /// Send all messages at once, so that some arrive before the receiver has gone on.
    #[arg(long)]
    burst: bool,
}

async fn combined(world: Comm, args: Args) -> Result<()> {
    let irecv = |rank: usize, tag: u32| world.irecv(world.buffer(8), rank, tag);
    if world.rank() > 0 {
        // The later ranks are the faster ones.
        #[expect(clippy::cast_precision_loss, reason = "there are few ranks")]
        world.sleep(1e-3 / world.rank() as f64).await;
        for tag in 0..4 {
            world.send(&world.buffer(8), 0, tag).await?;
            if !args.burst {
                world.sleep(1e-3).await;
            }
        }
        return Ok(());
    }
    let receive = async |rank: usize| irecv(rank, 0)?.wait().await;
    let mut all: FuturesUnordered<_> = (1..world.size()).map(receive).collect();
    while let Some(received) = all.next().await {
        let source = received?.status.source;
        world.println(format_args!("one of all: {source}"));
    }
    let receive = async |rank: usize| {
        irecv(rank, 1)?.wait().await?;
        world.println(format_args!("joined: {rank}"));
        Ok::<_, Error>(())
    };
    let (one, other) = join(receive(1), receive(2)).await;
    one.and(other)?;
    let (mut one, mut other) = (irecv(1, 2)?, irecv(2, 2)?);
    let waits = select(Box::pin(one.wait()), Box::pin(other.wait()));
    match waits.await {
        Either::Left((received, _)) | Either::Right((received, _)) => {
            let source = received?.status.source;
            world.println(format_args!("selected: {source}"));
        }
    }
    for request in [&mut one, &mut other] {
        if request.is_active() {
            request.wait().await?;
        }
    }
    let mut looks = 1;
    while world.iprobe(ANY_SOURCE, 3).await?.is_none() {
        looks += 1;
    }
    world.println(format_args!("{looks} looks"));
    for rank in 1..world.size() {
        for tag in if rank > 2 { 1..4 } else { 3..4 } {
            irecv(rank, tag)?.wait().await?;
        }
    }
    Ok(())
}

simrun::main!(combined);
