//! Matching, lengths, truncation, probes.

use mpi::prelude::*;

use crate::{check, message};

/// Tags select messages, wildcards receive the first message, and messages of one sender do not
/// overtake each other.
pub(crate) async fn matching(world: &Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let mut sends = Vec::new();
    if rank == 1 {
        for (number, tag) in [(0, 5), (1, 6), (2, 5), (3, 7)] {
            sends.push(world.isend(message(world, number, 100), 0, tag)?);
        }
    }
    if rank == 0 {
        let mut buffer = world.buffer(100);
        for (number, tag) in [(3, 7), (0, 5), (2, 5)] {
            let status = world.recv(&mut buffer, 1, tag).await?;
            assert_eq!((status.source, status.tag, status.length), (1, tag, 100));
            check(&buffer, number, 100);
        }
        let status = world.recv(&mut buffer, ANY_SOURCE, ANY_TAG).await?;
        assert_eq!((status.source, status.tag), (1, 6));
        check(&buffer, 1, 100);
    }
    waitall(&mut sends).await?;
    world.barrier().await?;
    // Many senders, one receiver with wildcards: each sender's messages come in its order.
    const EACH: u64 = 50;
    if rank > 0 {
        for number in 0..EACH {
            world
                .send(&message(world, number, 10 + number), 0, 3)
                .await?;
        }
    } else {
        let mut next = vec![0; size];
        for _ in 0..EACH * (size as u64 - 1) {
            let mut buffer = world.buffer(200);
            let status = world.recv(&mut buffer, ANY_SOURCE, 3).await?;
            let number = &mut next[status.source];
            assert_eq!(status.length, 10 + *number, "from rank {}", status.source);
            check(&buffer, *number, status.length);
            *number += 1;
        }
    }
    // A rank also sends to itself.
    let mut sending = world.isend(message(world, 9, 77), rank, 1)?;
    let mut buffer = world.buffer(77);
    let status = world.recv(&mut buffer, rank, 1).await?;
    assert_eq!((status.source, status.length), (rank, 77));
    check(&buffer, 9, 77);
    sending.wait().await?;
    Ok(())
}

/// Neighbours exchange messages of all interesting lengths, both at once.
pub(crate) async fn thresholds(world: &Comm, threshold: u64) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (below, above) = ((rank + size - 1) % size, (rank + 1) % size);
    let around = [threshold.saturating_sub(1), threshold, threshold + 1];
    let lengths = [
        0,
        1,
        8,
        4096,
        65_535,
        65_536,
        300_001,
        (1 << 20) + 3,
        5_000_000,
    ];
    for length in around.into_iter().chain(lengths) {
        let mut requests = vec![
            world.irecv(world.buffer(length), below, 0)?,
            world.irecv(world.buffer(length + 10), above, 1)?,
            world.isend(message(world, length + rank as u64, length), above, 0)?,
            world.isend(message(world, length + rank as u64 + 1, length), below, 1)?,
        ];
        let done = waitall(&mut requests).await?;
        for (place, from, extra) in [(0, below, 0), (1, above, 1)] {
            let done = done[place].as_ref().expect("a receive was waited for");
            assert_eq!((done.status.source, done.status.length), (from, length));
            check(&done.buffer, length + from as u64 + extra, length);
        }
    }
    Ok(())
}

/// A message that is too long is an error of its receive only, and is consumed.
pub(crate) async fn truncation(world: &Comm, threshold: u64) -> Result<()> {
    for length in [20, threshold + 20] {
        if world.rank() == 0 {
            world.send(&message(world, 1, length), 1, 4).await?;
            world.send(&message(world, 2, 10), 1, 4).await?;
        } else if world.rank() == 1 {
            let mut buffer = world.buffer(length - 1);
            let error = world.recv(&mut buffer, 0, 4).await;
            let expected = Error::Truncated {
                source: 0,
                tag: 4,
                length,
                buffer: length - 1,
            };
            assert_eq!(error, Err(expected));
            let status = world.recv(&mut buffer, 0, 4).await?;
            assert_eq!(status.length, 10);
            check(&buffer, 2, 10);
        }
    }
    Ok(())
}

/// A probe reports a message and keeps the message; a matched probe reserves it for one receive.
pub(crate) async fn probes(world: &Comm, threshold: u64) -> Result<()> {
    match world.rank() {
        0 => {
            for length in [12, threshold + 12] {
                world.send(&message(world, 1, length), 1, 8).await?;
                world.send(&message(world, 2, length + 1), 1, 9).await?;
            }
        }
        1 => {
            assert_eq!(world.iprobe(0, 77).await?, None, "nobody sends that");
            for length in [12, threshold + 12] {
                let status = world.probe(ANY_SOURCE, 8).await?;
                assert_eq!((status.source, status.length), (0, length));
                let again = world.probe(0, 8).await?;
                assert_eq!(again, status, "it is still there");
                let taken = world.mprobe(0, ANY_TAG).await?;
                let done = taken.recv(world.buffer(length)).await?;
                assert_eq!((done.status.tag, done.status.length), (8, length));
                check(&done.buffer, 1, length);
                let mut buffer = world.buffer(length + 1);
                while world.iprobe(0, 9).await?.is_none() {}
                world.recv(&mut buffer, 0, 9).await?;
                check(&buffer, 2, length + 1);
            }
        }
        _ => {}
    }
    Ok(())
}
