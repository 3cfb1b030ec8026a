//! Send modes, and operations that are taken back.

use mpi::prelude::*;

use crate::{check, message};

/// Sends the other rank an empty message, and that rank continues.
async fn signal(world: &Comm, peer: usize) -> Result<()> {
    world.send(&world.buffer(0), peer, 99).await
}

async fn await_signal(world: &Comm, peer: usize) -> Result<()> {
    world.recv(&mut world.buffer(0), peer, 99).await.map(drop)
}

/// Each mode delivers the message; a synchronous send completes only after the receive is posted, a
/// buffered send completes at once.
pub(crate) async fn modes(world: &Comm, threshold: u64) -> Result<()> {
    for length in [30, threshold + 30] {
        match world.rank() {
            0 => {
                let mut sending = world.issend(message(world, 1, length), 1, 1)?;
                assert!(sending.test().await?.is_none(), "nobody receives it yet");
                signal(world, 1).await?;
                sending.wait().await?;
                world.ssend(&message(world, 2, length), 1, 2).await?;
                // The other one says when its receive is posted.
                await_signal(world, 1).await?;
                world.rsend(&message(world, 3, length), 1, 3).await?;
                world.buffer_attach(world.buffer(length))?;
                world.bsend(&message(world, 4, length), 1, 4).await?;
                let full = world.bsend(&world.buffer(length + 1), 1, 4).await;
                assert!(matches!(full, Err(Error::BufferFull { .. })), "{full:?}");
                signal(world, 1).await?;
                let buffer = world.buffer_detach().await?;
                assert_eq!(buffer.len(), length);
            }
            1 => {
                let mut buffer = world.buffer(length);
                await_signal(world, 0).await?;
                for (number, tag) in [(1, 1), (2, 2)] {
                    world.recv(&mut buffer, 0, tag).await?;
                    check(&buffer, number, length);
                }
                let mut ready = world.irecv(buffer, 0, 3)?;
                signal(world, 0).await?;
                let done = ready.wait().await?;
                check(&done.buffer, 3, length);
                // It is received only after its send is over.
                await_signal(world, 0).await?;
                let mut buffer = done.buffer;
                world.recv(&mut buffer, 0, 4).await?;
                check(&buffer, 4, length);
            }
            _ => {}
        }
    }
    Ok(())
}

/// Either the cancellation or the message wins, and both sides know which.
pub(crate) async fn test_cancel(world: &Comm, threshold: u64) -> Result<()> {
    if world.rank() > 1 {
        return Ok(());
    }
    let other = 1 - world.rank();
    // A receive that nobody sends to.
    let mut receiving = world.irecv(world.buffer(5), other, 50)?;
    receiving.cancel().await;
    assert!(receiving.wait().await?.status.cancelled);
    for length in [40, threshold + 40] {
        if world.rank() == 0 {
            // Nobody receives it, so the cancellation wins.
            let mut sending = world.issend(message(world, 1, length), 1, 51)?;
            sending.cancel().await;
            assert!(sending.wait().await?.status.cancelled);
            signal(world, 1).await?;
            // Its receive is posted, so the message wins.
            await_signal(world, 1).await?;
            let mut sending = world.issend(message(world, 2, length), 1, 52)?;
            await_signal(world, 1).await?;
            sending.cancel().await;
            assert!(!sending.wait().await?.status.cancelled);
        } else {
            await_signal(world, 0).await?;
            assert_eq!(world.iprobe(0, 51).await?, None, "it was taken back");
            let mut receiving = world.irecv(world.buffer(length), 0, 52)?;
            signal(world, 0).await?;
            let done = receiving.wait().await?;
            check(&done.buffer, 2, length);
            signal(world, 0).await?;
        }
    }
    Ok(())
}
