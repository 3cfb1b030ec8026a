//! Promise: communicators keep their messages apart, their ranks are the ranks of MPI, and the cost
//! of making them is the cost of messages.

use std::sync::Arc;

use mpi::{Comparison, Selector, Settings, prelude::*};
use testing::ranks::{Order, THRESHOLD, join, pattern, world};

#[test]
fn messages_of_different_communicators_never_match() {
    for length in [10, THRESHOLD] {
        for seed in 1..20 {
            world(2)
                .order(Order::Seeded(seed))
                .run_finished(move |world: Comm| async move {
                    let other = world.dup().await?;
                    let peer = 1 - world.rank();
                    if world.rank() == 0 {
                        let mut sends = [
                            world.isend(pattern(length, 1), peer, 0)?,
                            other.isend(pattern(length, 2), peer, 0)?,
                        ];
                        waitall(&mut sends).await?;
                        return Ok(());
                    }
                    // The later message first, and with wildcards.
                    for (comm, salt) in [(&other, 2), (&world, 1)] {
                        let mut buffer = world.buffer(length);
                        comm.probe(ANY_SOURCE, ANY_TAG).await?;
                        comm.recv(&mut buffer, ANY_SOURCE, ANY_TAG).await?;
                        assert_eq!(buffer.bytes(), pattern(length, salt).bytes());
                        assert!(comm.iprobe(ANY_SOURCE, ANY_TAG).await?.is_none());
                    }
                    Ok(())
                });
        }
    }
}

#[test]
fn a_message_may_come_before_its_receiver_knows_the_communicator() {
    let program = |world: Comm| async move {
        let other = world.dup().await?;
        if world.rank() == 0 {
            // Rank 3 gets the context by way of rank 2.
            return other.send(&pattern(5, 0), 3, 1).await;
        }
        if world.rank() == 3 {
            other.recv(&mut world.buffer(5), 0, 1).await?;
        }
        Ok(())
    };
    let script = [(0, 2), (0, 3), (2, 3), (0, 1)];
    world(4)
        .order(Order::script(&script))
        .run(program)
        .finished();
}

/// Makes communicators in all ways and uses them.
async fn make_and_use(world: Comm) -> Result<()> {
    let (rank, size) = (world.rank(), world.size());
    let op = Op::sum::<u64>();
    // Odd ranks in the reverse order, and not each rank in a group.
    let colour = (rank % 5 != 4).then_some(rank as u32 % 2);
    let key = if rank % 2 == 0 {
        rank as i32
    } else {
        -(rank as i32)
    };
    let part = world.split(colour, key).await?;
    assert_eq!(part.is_some(), colour.is_some());
    let members = |parity| (0..size).filter(move |rank| rank % 5 != 4 && rank % 2 == parity);
    if let Some(part) = part {
        let mut expected: Vec<usize> = members(rank % 2).collect();
        if rank % 2 == 1 {
            expected.reverse();
        }
        let place = expected.iter().position(|other| *other == rank);
        assert_eq!((Some(part.rank()), part.size()), (place, expected.len()));
        let own = world.buffer_of(&[rank as u64]);
        let all = part.allgather(&own).await?.values::<u64>()?;
        let expected = expected.iter().map(|rank| *rank as u64).collect();
        assert_eq!(all, Some(expected));
        part.free()?;
    }
    let even: Vec<usize> = (0..size).step_by(2).collect();
    let group = world.group().incl(&even)?;
    let grid = world.cartesian(&[size], &[true]).await?;
    let grid: &Comm = grid.as_ref().expect("all ranks are in it");
    let made = [
        world.create(&group).await?,
        world.create_group(&group, 7).await?,
        Some(world.dup().await?),
        Some(grid.clone()),
    ];
    for comm in made.into_iter().flatten() {
        let sum = comm.allreduce(world.buffer_of(&[1_u64]), &op).await?;
        assert_eq!(sum.values::<u64>()?, Some(vec![comm.size() as u64]));
    }
    Ok(())
}

/// With the selectors of SMPI communicators are made with other messages, and are the same.
#[test]
fn communicators_with_the_messages_of_smpi() {
    for name in ["ours", "smpi-default", "smpi-ompi", "smpi-mvapich2"] {
        let settings = Settings {
            collectives: Selector::built_in(name).cloned().map(Arc::new),
            ..Settings::new(THRESHOLD)
        };
        for ranks in 1..12 {
            for seed in 1..4 {
                let world = world(ranks).settings(settings.clone());
                let world = world.order(Order::Seeded(seed));
                world.run(make_and_use).finished();
            }
        }
    }
}

#[test]
fn a_split_orders_by_key_and_then_by_rank() {
    for ranks in 1..12 {
        for seed in 1..4 {
            world(ranks)
                .order(Order::Seeded(seed))
                .run_finished(|world: Comm| async move {
                    let (rank, size) = (world.rank(), world.size());
                    // Backwards in groups of every third, with rank 4 in none.
                    let colour = |rank: usize| (rank != 4).then_some((rank % 3) as u32);
                    let part = world.split(colour(rank), -(rank as i32 / 4)).await?;
                    let mut expected: Vec<usize> = (0..size)
                        .filter(|&other| colour(other) == colour(rank))
                        .collect();
                    expected.sort_by_key(|&rank| (-(rank as i32 / 4), rank));
                    let Some(part) = part else {
                        assert_eq!(rank, 4);
                        return Ok(());
                    };
                    assert_eq!(part.size(), expected.len());
                    assert_eq!(expected[part.rank()], rank);
                    let all: Vec<usize> = (0..part.size()).collect();
                    let names = part.group().translate_ranks(&all, &world.group())?;
                    assert_eq!(
                        names,
                        expected.iter().map(|&rank| Some(rank)).collect::<Vec<_>>()
                    );
                    around(&part).await
                });
        }
    }
}

/// Each rank sends its number to the next higher rank, which checks the source.
async fn around(comm: &Comm) -> Result<()> {
    let (rank, size) = (comm.rank(), comm.size());
    let (above, below) = ((rank + 1) % size, (rank + size - 1) % size);
    let mut buffer = comm.buffer(THRESHOLD);
    let sent = pattern(THRESHOLD, rank as u64);
    let status = comm
        .sendrecv(&sent, above, 0, &mut buffer, ANY_SOURCE, 0)
        .await?;
    assert_eq!(status.source, below);
    assert_eq!(buffer.bytes(), pattern(THRESHOLD, below as u64).bytes());
    comm.barrier().await
}

#[test]
fn parts_of_parts_and_copies_of_parts() {
    let program = |world: Comm| async move {
        let rank = world.rank();
        let half = world
            .split(Some((rank / 8) as u32), 0)
            .await?
            .expect("a part");
        let row = half
            .split(Some((half.rank() / 4) as u32), 0)
            .await?
            .expect("a part");
        let column = half
            .split(Some((half.rank() % 4) as u32), 1)
            .await?
            .expect("a part");
        assert_eq!((half.size(), row.size(), column.size()), (8, 4, 2));
        assert_eq!((row.rank(), column.rank()), (rank % 4, rank % 8 / 4));
        for comm in [&half, &row, &column, &column.dup().await?] {
            around(comm).await?;
        }
        Ok(())
    };
    for seed in 1..5 {
        world(16).order(Order::Seeded(seed)).run(program).finished();
    }
}

#[test]
fn create_takes_the_order_of_the_group() {
    world(5).run_finished(|world: Comm| async move {
        let group = world.group().incl(&[3, 0, 4])?;
        let part = world.create(&group).await?;
        assert_eq!(part.is_some(), group.rank().is_some());
        if let Some(part) = part {
            let expected = [3, 0, 4].iter().position(|&rank| rank == world.rank());
            assert_eq!((Some(part.rank()), part.size()), (expected, 3));
            assert_eq!(part.group().compare(&group), Comparison::Identical);
            assert_eq!(part.group().compare(&world.group()), Comparison::Unequal);
            around(&part).await?;
        }
        let nobody = world.group().difference(&world.group());
        assert!(world.create(&nobody).await?.is_none());
        let copy = world.dup().await?;
        assert_eq!(copy.compare(&world), Comparison::Congruent);
        assert_eq!(world.compare(&world.clone()), Comparison::Identical);
        let small = world
            .split(Some((world.rank() / 3) as u32), 0)
            .await?
            .expect("a part");
        let too_large = Error::Group {
            members: 5,
            size: small.size(),
        };
        assert_eq!(small.create(&world.group()).await.err(), Some(too_large));
        Ok(())
    });
}

#[test]
fn overlapping_communicators_may_be_made_at_the_same_time() {
    let program = |world: Comm| async move {
        let rank = world.rank();
        let left = world.group().incl(&[0, 1])?;
        let right = world.group().incl(&[2, 1])?;
        let (left, right) = (world.create(&left).await?, world.create(&right).await?);
        match (left, right) {
            (Some(left), Some(right)) => {
                let (a, b) = join(left.dup(), right.dup()).await;
                let (a, b) = (a?, b?);
                assert_eq!(a.recv(&mut world.buffer(1), ANY_SOURCE, 0).await?.source, 0);
                assert_eq!(b.recv(&mut world.buffer(2), ANY_SOURCE, 0).await?.source, 0);
            }
            (Some(one), None) | (None, Some(one)) => {
                let length = if rank == 0 { 1 } else { 2 };
                let copy = one.dup().await?;
                copy.send(&world.buffer(length), 1 - copy.rank(), 0).await?;
            }
            (None, None) => unreachable!("three ranks"),
        }
        Ok(())
    };
    for seed in 1..20 {
        world(3).order(Order::Seeded(seed)).run(program).finished();
    }
}

#[test]
fn making_a_communicator_costs_the_messages_of_a_tree() {
    for (ranks, edges) in [(1, 0), (2, 1), (7, 6), (8, 7)] {
        let outcome = world(ranks).run(|world: Comm| async move { world.dup().await.map(drop) });
        let transcript = outcome.finished().transcript;
        assert_eq!(transcript.len(), edges);
        assert!(
            transcript.iter().all(|line| line.ends_with("length 4")),
            "{transcript:?}"
        );
        let split = |world: Comm| async move { world.split(Some(0), 0).await.map(drop) };
        let outcome = world(ranks).threshold(u64::MAX).run(split);
        assert_eq!(outcome.finished().transcript.len(), 2 * edges);
    }
}

/// A rank frees communicators before the others have got a message that they wait for.
#[test]
fn no_rank_waits_for_the_frees_of_others() {
    let program = |world: Comm| async move {
        let (rank, size) = (world.rank(), world.size());
        let copy = world.dup().await?;
        let half = world.split(Some((rank % 2) as u32), 0).await?;
        let half = half.expect("each rank has a colour");
        let between = half.intercomm_create(0, &world, 1 - rank % 2, 1).await?;
        // Operations in progress end after the communicator.
        let mut sum = copy
            .allreduce(world.buffer_of(&[1_u64]), &Op::sum::<u64>())
            .start()?;
        if rank > 0 {
            world.recv(&mut world.buffer(8), rank - 1, 0).await?;
        }
        copy.free()?;
        half.free()?;
        between.free()?;
        if rank + 1 < size {
            world.send(&world.buffer(8), rank + 1, 0).await?;
        }
        let done = sum.wait().await?;
        assert_eq!(done.buffer.values()?, Some(vec![size as u64]));
        Ok(())
    };
    for seed in 1..5 {
        world(5).order(Order::Seeded(seed)).run(program).finished();
    }
}

#[test]
fn a_freed_communicator_is_refused() {
    world(3).run_finished(|world: Comm| async move {
        for _ in 0..5 {
            let comm = world.dup().await?;
            let again = comm.clone();
            around(&comm).await?;
            comm.free()?;
            let freed = |error: Option<Error>| matches!(error, Some(Error::Comm { .. }));
            let mut buffer = world.buffer(1);
            assert!(freed(again.send(&buffer, 0, 0).await.err()));
            assert!(freed(again.recv(&mut buffer, 0, 0).await.err()));
            assert!(freed(again.isend(world.buffer(1), 0, 0).err()));
            assert!(freed(again.irecv(world.buffer(1), 0, 0).err()));
            assert!(freed(again.barrier().await.err()));
            assert!(freed(again.dup().await.err()));
            assert!(freed(again.free().err()));
        }
        assert_eq!(world.clone().free(), Err(Error::Comm { context: 0 }));
        Ok(())
    });
}

#[test]
fn communicators_come_and_go() {
    // The limit itself is reached in the unit tests. Here: many communicators, of which few live at
    // a time.
    world(2).run_finished(|world: Comm| async move {
        for _ in 0..2000 {
            world.dup().await?.free()?;
        }
        around(&world.dup().await?).await
    });
}

#[test]
fn a_rank_that_does_not_take_part_is_waited_for() {
    let outcome = world(2).run(|world: Comm| async move {
        if world.rank() == 0 {
            world.recv(&mut world.buffer(1), 1, 0).await?;
        }
        world.dup().await.map(drop)
    });
    assert_eq!(outcome.blocked(1), ("dup of a communicator", &[0][..]));
}

#[test]
fn phantom_buffers_make_no_difference() {
    world(4).phantom().run_finished(|world: Comm| async move {
        let part = world
            .split(Some((world.rank() % 2) as u32), 0)
            .await?
            .expect("a part");
        let mut buffer = part.buffer(3);
        if part.rank() == 1 {
            part.send(&buffer, 0, 1).await?;
        } else {
            assert_eq!(part.recv(&mut buffer, ANY_SOURCE, 1).await?.source, 1);
        }
        Ok(())
    });
}
