//! Several requests at once, persistent requests, combined calls, derived datatypes.

use mpi::{prelude::*, start_all, testall, waitsome};

use crate::{check, message};

/// Requests complete with their own messages, in whatever order they are waited for.
pub(crate) async fn requests(world: &Comm, threshold: u64) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let (below, above) = ((rank + size - 1) % size, (rank + 1) % size);
    let length = |place: u64| {
        if place.is_multiple_of(2) {
            16
        } else {
            threshold + place
        }
    };
    const COUNT: u64 = 8;
    let mut sends = Vec::new();
    let mut receives = Vec::new();
    for place in 0..COUNT {
        let tag = u32::try_from(place).expect("small");
        receives.push(world.irecv(world.buffer(length(place)), below, tag)?);
    }
    for place in (0..COUNT).rev() {
        let tag = u32::try_from(place).expect("small");
        sends.push(world.isend(message(world, place, length(place)), above, tag)?);
    }
    let mut seen = [false; COUNT as usize];
    let (place, done) = waitany(&mut receives).await?.expect("there are receives");
    check(&done.buffer, place as u64, length(place as u64));
    seen[place] = true;
    while let Some(some) = waitsome(&mut receives).await {
        for (place, done) in some {
            check(&done?.buffer, place as u64, length(place as u64));
            assert!(
                !std::mem::replace(&mut seen[place], true),
                "it completes once"
            );
        }
    }
    assert!(seen.iter().all(|&seen| seen), "{seen:?}");
    while testall(&mut sends).await?.is_none() {}
    persistent(world, (below, above), threshold).await?;
    combined(world, (below, above), threshold).await
}

async fn persistent(world: &Comm, (below, above): (usize, usize), threshold: u64) -> Result<()> {
    for length in [50, threshold + 50] {
        let mut both = [
            world.send_init(SendMode::Standard, message(world, 3, length), above, 20),
            world.recv_init(world.buffer(length), below, 20),
        ];
        for _ in 0..5 {
            start_all(&mut both)?;
            let done = waitall(&mut both).await?;
            let done = done[1].as_ref().expect("the receive was active");
            check(&done.buffer, 3, length);
        }
    }
    Ok(())
}

async fn combined(world: &Comm, (below, above): (usize, usize), threshold: u64) -> Result<()> {
    let rank = world.rank() as u64;
    for length in [60, threshold + 60] {
        let sent = message(world, rank, length);
        let mut got = world.buffer(length);
        world
            .sendrecv(&sent, above, 30, &mut got, below, 30)
            .await?;
        check(&got, below as u64, length);
        world
            .sendrecv_replace(&mut got, below, 31, above, 31)
            .await?;
        check(&got, rank, length);
    }
    // Every second byte travels.
    let bytes = Datatype::bytes(1);
    let column = Datatype::vector(100, 1, 2, &bytes)?;
    let sent = message(world, rank, 200);
    let mut sending = world.isend_view(&sent, 1, &column, above, 32)?;
    let mut got = world.buffer(200);
    let status = world.recv_view(&mut got, 1, &column, below, 32).await?;
    assert_eq!(status.length, 100);
    let expected = message(world, below as u64, 200);
    if let (Some(got), Some(expected)) = (got.bytes(), expected.bytes()) {
        for place in 0..199 {
            let byte = if place % 2 == 0 { expected[place] } else { 0 };
            assert_eq!(got[place], byte, "byte {place}");
        }
    }
    sending.wait().await.map(drop)
}
