//! Promise: puts and gets by RDMA leave the same bytes in windows as a sequential run, in any order
//! of events that adapters allow, also where memory cannot be registered, requests wait for room in
//! the send queue or ports take short messages only; and all objects are released.

use std::rc::Rc;

use crate::packet::Ranks;
use mpi::prelude::*;
use mpi_verbs::Rendezvous;
use testing::adapter::Abilities;
use testing::ranks::pattern;

fn each(size: u32, seeds: u64, mut with: impl FnMut(Ranks)) {
    for rendezvous in [Rendezvous::Write, Rendezvous::Read] {
        for seed in 1..=seeds {
            let mut ranks = Ranks::new(size, seed);
            ranks.options.rendezvous = rendezvous;
            with(ranks);
        }
    }
}

fn check(found: &Buffer, length: u64, seed: u64) {
    assert_eq!(
        found.bytes(),
        pattern(length, seed).bytes(),
        "{length} bytes"
    );
}

/// Puts to the next rank and gets from this rank, with messages and sums between them, and a get of
/// bytes that a later put changes.
async fn accesses(world: Comm, lengths: Rc<Vec<u64>>) -> Result<()> {
    let (rank, size) = (world.rank() as u64, world.size() as u64);
    let (above, below) = ((rank + 1) % size, (rank + size - 1) % size);
    let [to, from] = [above, below].map(|rank| usize::try_from(rank).expect("few ranks"));
    for &length in &*lengths {
        // One part for each kind of access, and a counter.
        let mut memory = world.buffer(2 * length + 8);
        memory.write(length, &pattern(length, rank));
        let window = world.window(memory, 1).await?;
        window.fence().await?;
        let mut sending = world.isend(pattern(length, 50 + rank), to, 1)?;
        window.put(&pattern(length, 100 + rank), to, 0).await?;
        let one = world.buffer_of(&[1_u64]);
        window
            .accumulate(&one, to, 2 * length, &Op::sum::<u64>())
            .await?;
        let mut getting = window.rget(world.buffer(length), to, length).await?;
        window.put(&pattern(length, 200 + rank), to, length).await?;
        let mut message = world.buffer(length);
        world.recv(&mut message, from, 1).await?;
        check(&message, length, 50 + below);
        window.fence().await?;
        check(&getting.wait().await?.buffer, length, above);
        sending.wait().await?;
        check(&window.read(0, length).await?, length, 100 + below);
        check(&window.read(length, length).await?, length, 200 + below);
        let counter = window.free().await?.slice(2 * length, 8);
        assert_eq!(counter.values::<u64>().expect("numbers"), Some(vec![1]));
    }
    Ok(())
}

#[test]
fn windows_hold_what_was_put() {
    let lengths = Rc::new(vec![1, 8, 90, 91, 100, 101, 5000]);
    each(3, 15, |ranks| {
        let lengths = Rc::clone(&lengths);
        ranks
            .run(move |world| accesses(world, Rc::clone(&lengths)))
            .finished();
    });
}

#[test]
fn accesses_travel_in_pieces_that_the_port_can() {
    let lengths = Rc::new(vec![8, 255, 256, 257, 5000]);
    each(2, 10, |mut ranks| {
        ranks.abilities = Abilities {
            max_message: 256,
            max_inline: 0,
            max_rd_atomic: 1,
            ..Abilities::default()
        };
        let lengths = Rc::clone(&lengths);
        ranks
            .run(move |world| accesses(world, Rc::clone(&lengths)))
            .finished();
    });
}

/// The windows of some ranks are too long for the adapter: accesses to them are messages.
#[test]
fn windows_that_cannot_be_registered_are_accessed_by_messages() {
    each(3, 10, |mut ranks| {
        ranks.abilities.max_registered = 60_000;
        let outcome = ranks.run(|world| async move {
            let (rank, size) = (world.rank(), world.size());
            let length = if rank == 1 { 100_000 } else { 1000 };
            let window = world.window(world.buffer(length), 1).await?;
            window.fence().await?;
            for target in 0..size {
                let seed = 10 * rank as u64 + target as u64;
                window
                    .put(&pattern(300, seed), target, 300 * rank as u64)
                    .await?;
            }
            window.fence().await?;
            for origin in 0..size as u64 {
                let found = window.read(300 * origin, 300).await?;
                check(&found, 300, 10 * origin + rank as u64);
                let mut got = world.buffer(300);
                window.get(&mut got, 1, 300 * origin).await?;
                check(&got, 300, 10 * origin + 1);
            }
            window.fence().await?;
            assert_eq!(window.free().await?.len(), length);
            Ok(())
        });
        outcome.finished();
    });
}

/// Many accesses wait for room in the send queue and for packet buffers; none is lost.
#[test]
fn a_flood_of_accesses_needs_no_credits() {
    each(2, 10, |ranks| {
        let outcome = ranks.run(|world| async move {
            let window = world.window(world.buffer(8 * 200), 8).await?;
            window.lock_all().await?;
            let other = 1 - world.rank();
            let mut gets = Vec::new();
            for number in 0..200_u64 {
                if number % 3 == 2 {
                    gets.push(window.rget(world.buffer(8), other, number - 1).await?);
                } else {
                    window
                        .put(&world.buffer_of(&[number]), other, number)
                        .await?;
                }
            }
            window.flush_local().await?;
            window.unlock_all().await?;
            world.barrier().await?;
            for (at, get) in gets.iter_mut().enumerate() {
                let got = get.wait().await?.buffer.values::<u64>().expect("numbers");
                assert_eq!(got, Some(vec![3 * at as u64 + 1]));
            }
            let memory = window.free().await?.values::<u64>().expect("numbers");
            let expected = (0..200).map(|number| if number % 3 == 2 { 0 } else { number });
            assert_eq!(memory, Some(expected.collect()));
            Ok(())
        });
        outcome.finished();
    });
}

#[test]
fn phantom_windows_stay_phantoms() {
    each(2, 5, |mut ranks| {
        ranks.settings.phantom = true;
        let outcome = ranks.run(|world| async move {
            let window = world.window(world.buffer(3000), 1).await?;
            window.fence().await?;
            let other = 1 - world.rank();
            window.put(&world.buffer(1000), other, 0).await?;
            // A real one has nothing to write to.
            window.put(&pattern(10, 1), other, 2000).await?;
            let mut got = world.buffer(500);
            window.get(&mut got, other, 1000).await?;
            assert!(got.is_phantom() && got.len() == 500);
            window.fence().await?;
            assert!(window.read(0, 10).await?.is_phantom());
            let memory = window.free().await?;
            assert!(memory.is_phantom() && memory.len() == 3000);
            Ok(())
        });
        outcome.finished();
    });
}

/// The loss of a rank ends the accesses to this rank, of all other ranks.
#[test]
fn accesses_to_a_lost_rank_fail() {
    for seed in 1..=20 {
        let mut ranks = Ranks::new(3, seed);
        ranks.off = Some((2, 250 + seed * 10));
        let outcome = ranks.run(|world| async move {
            let window = world.window(world.buffer(5000), 1).await?;
            window.lock_all().await?;
            let data = pattern(2000, 1);
            loop {
                if world.rank() < 2 {
                    window.put(&data, 2, 2000 * world.rank() as u64).await?;
                    window.get(&mut world.buffer(10), 2, 4500).await?;
                    window.flush(2).await?;
                } else {
                    world.sleep(1.0).await;
                }
            }
        });
        for rank in 0..2 {
            let error = match &outcome.results[rank] {
                Some(Err(error)) => error,
                other => panic!("seed {seed}: rank {rank}: {other:?}"),
            };
            assert!(
                matches!(error, Error::Connection { rank: 2, .. }),
                "{error}"
            );
        }
    }
}
