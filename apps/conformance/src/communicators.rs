//! Communicators and barriers.

use mpi::{Comparison, prelude::*};

use crate::{check, message};

/// Messages of different communicators never meet, whatever their tags are.
pub(crate) async fn communicators(world: &Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let twin = world.dup().await?;
    assert_eq!(world.compare(&twin), Comparison::Congruent);
    if rank == 0 {
        let mut sending = world.isend(message(world, 1, 10), 1, 5)?;
        twin.send(&message(world, 2, 11), 1, 5).await?;
        sending.wait().await?;
    } else if rank == 1 {
        let mut buffer = world.buffer(11);
        let status = twin.recv(&mut buffer, ANY_SOURCE, ANY_TAG).await?;
        assert_eq!(status.length, 11);
        check(&buffer, 2, 11);
        world.recv(&mut buffer, ANY_SOURCE, ANY_TAG).await?;
        check(&buffer, 1, 10);
    }
    // Odd and even ranks, in reverse order.
    let colour = u32::from(rank % 2 == 1);
    let key = -i32::try_from(rank).expect("few ranks");
    let half = twin.split(Some(colour), key).await?;
    let half = half.expect("everybody has a colour");
    let peers = (0..size).filter(|other| other % 2 == rank % 2).rev();
    let peers: Vec<usize> = peers.collect();
    assert_eq!(half.size(), peers.len());
    assert_eq!(peers[half.rank()], rank, "ordered by key");
    let (below, above) = (
        (half.rank() + half.size() - 1) % half.size(),
        (half.rank() + 1) % half.size(),
    );
    let sent = message(world, rank as u64, 99);
    let mut got = world.buffer(99);
    half.sendrecv(&sent, above, 0, &mut got, below, 0).await?;
    check(&got, peers[below] as u64, 99);
    half.free()?;
    twin.free()
}

/// When a rank leaves a barrier, receives can match all messages that ranks sent before the
/// barrier, and no rank is more than one barrier ahead.
pub(crate) async fn test_barrier(world: &Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    const ROUNDS: u32 = 20;
    for round in 0..ROUNDS {
        // Synchronous: over only when received, so that rank 0 has them all before it enters.
        if rank > 0 {
            world.ssend(&world.buffer(1), 0, round).await?;
        } else {
            for _ in 1..size {
                let status = world.probe(ANY_SOURCE, ANY_TAG).await?;
                assert_eq!(status.tag, round, "rank {} is ahead", status.source);
                world
                    .recv(&mut world.buffer(1), status.source, round)
                    .await?;
            }
        }
        world.barrier().await?;
    }
    Ok(())
}
