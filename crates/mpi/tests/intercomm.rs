//! Promise: ranks of two groups exchange messages and data of collectives over an intercommunicator
//! as MPI says, groups merge in the requested order, and a group makes a communicator without the
//! other ranks.

use mpi::{Blocks, CollectiveCall, Comparison, InterRoot, prelude::*};
use testing::ranks::{Order, world};

/// The first `lower` ranks and the others; the upper group is in reverse order. Leaders are the
/// last ranks of the groups.
async fn halves(world: &Comm, lower: usize) -> Result<(Comm, InterComm)> {
    let (rank, size) = (world.rank(), world.size());
    let is_upper = rank >= lower;
    let key = i32::try_from(rank).expect("few ranks");
    let key = if is_upper { -key } else { key };
    let half = world.split(Some(is_upper.into()), key).await?;
    let half = half.expect("each rank has a colour");
    let other = if is_upper { lower - 1 } else { lower };
    let leader = half.size() - 1;
    let between = half.intercomm_create(leader, world, other, 5).await?;
    assert_eq!(between.remote_size(), size - half.size());
    assert_eq!((between.rank(), between.size()), (half.rank(), half.size()));
    assert_eq!(
        between.group().compare(&half.group()),
        Comparison::Identical
    );
    let all = between.remote_group().union(&between.group());
    assert_eq!(all.size(), size);
    Ok((half, between))
}

/// Returns the world ranks of a group, in the order of the group.
fn members(is_upper: bool, lower: usize, size: usize) -> Vec<usize> {
    if is_upper {
        (lower..size).rev().collect()
    } else {
        (0..lower).collect()
    }
}

fn numbers(rank: usize, count: usize) -> Vec<u64> {
    (0..count).map(|at| (1000 * rank + at) as u64).collect()
}

/// Numbers of a buffer, none of an empty one.
fn values(buffer: &Buffer) -> Result<Vec<u64>> {
    match buffer.is_empty() {
        true => Ok(Vec::new()),
        false => Ok(buffer.values()?.unwrap_or_default()),
    }
}

fn run<F, Fut>(program: F)
where
    F: Fn(Comm, usize, usize) -> Fut + Copy + 'static,
    Fut: Future<Output = Result<()>> + 'static,
{
    for (size, lower) in [(2, 1), (3, 1), (5, 2), (7, 5)] {
        // Below the threshold of 100 bytes, and above it.
        for count in [1, 40] {
            let program = move |world: Comm| program(world, lower, count);
            let order = Order::Seeded(u64::from(size));
            world(size).order(order).run(program).finished();
        }
    }
}

#[test]
fn messages_between_groups() {
    run(|world, lower, count| async move {
        let (_, between) = halves(&world, lower).await?;
        let is_upper = world.rank() >= lower;
        let others = members(!is_upper, lower, world.size());
        let own = world.buffer_of(&numbers(world.rank(), count));
        let mut requests = Vec::new();
        for other in 0..between.remote_size() {
            requests.push(between.isend(own.clone(), other, 3)?);
        }
        for _ in 0..between.remote_size() {
            let mut buffer = world.buffer(8 * count as u64);
            let status = between.recv(&mut buffer, ANY_SOURCE, ANY_TAG).await?;
            let expected = numbers(others[status.source], count);
            assert_eq!(buffer.values()?, Some(expected));
        }
        waitall(&mut requests).await?;
        // No rank sends more before all have received those of any source.
        between.barrier().await?;
        // Messages of a copy and of the world do not meet those of the first.
        let copy = between.dup().await?;
        if between.rank() == 0 {
            let mut sending = copy.isend(world.buffer(8), 0, 0)?;
            let mut other = world.buffer(16);
            between
                .sendrecv(&world.buffer(16), 0, 0, &mut other, 0, 0)
                .await?;
            let status = copy.probe(0, ANY_TAG).await?;
            assert_eq!((status.source, status.length), (0, 8));
            copy.recv(&mut other, 0, 0).await?;
            sending.wait().await?;
        }
        copy.free()?;
        let done = between.idup()?.wait().await?;
        let copy = between.duplicated(&done);
        let total = copy.allreduce(world.buffer_of(&[1_u64]), &Op::sum::<u64>());
        assert_eq!(values(&total.await?)?, [copy.remote_size() as u64]);
        copy.free()?;
        let again = between.clone();
        between.free()?;
        let error = again.isend(world.buffer(1), 0, 0).err();
        assert!(matches!(error, Some(Error::Comm { .. })), "{error:?}");
        let error = again.barrier().await.err();
        assert!(matches!(error, Some(Error::Comm { .. })), "{error:?}");
        Ok(())
    });
}

#[test]
fn groups_merge_in_the_requested_order() {
    run(|world, lower, _| async move {
        let (_, between) = halves(&world, lower).await?;
        let is_upper = world.rank() >= lower;
        let size = world.size();
        let (low, high) = (members(false, lower, size), members(true, lower, size));
        for (lower_high, upper_high) in [(false, true), (true, false), (true, true), (false, false)]
        {
            let own = if is_upper { upper_high } else { lower_high };
            let merged = between.merge(own).await?;
            // Rank 0 of the lower group is rank 0 of the world.
            let expected = if lower_high && !upper_high {
                [&high[..], &low].concat()
            } else {
                [&low[..], &high].concat()
            };
            let group = world.group().incl(&expected)?;
            assert_eq!(merged.group().compare(&group), Comparison::Identical);
            let own = world.buffer_of(&[merged.rank() as u64]);
            let all = merged.allgather(&own).await?;
            assert_eq!(all.values()?, Some((0..size as u64).collect::<Vec<u64>>()));
            merged.free()?;
        }
        between.free()
    });
}

/// Data of the group of root flow to the other group, or back.
#[test]
fn collectives_with_a_root() {
    run(|world, lower, count| async move {
        let (_, between) = halves(&world, lower).await?;
        let (rank, size) = (world.rank(), world.size());
        let bytes = 8 * count as u64;
        for root in 0..size {
            let root_is_upper = root >= lower;
            let root_group = members(root_is_upper, lower, size);
            let others = members(!root_is_upper, lower, size);
            let in_group = root_group.iter().position(|&member| member == root);
            let side = if rank == root {
                InterRoot::Root
            } else if (rank >= lower) == root_is_upper {
                InterRoot::Null
            } else {
                InterRoot::Remote(in_group.expect("a member"))
            };
            let mut data = world.buffer(bytes);
            if side == InterRoot::Root {
                data = world.buffer_of(&numbers(root, count));
            }
            let data = between.bcast(data, side).await?;
            let expected = match side {
                InterRoot::Null => Vec::new(),
                _ => numbers(root, count),
            };
            assert_eq!(values(&data)?, expected);

            let mut own = world.buffer_of(&numbers(rank, count));
            let sum = own.clone();
            if side == InterRoot::Root {
                own = world.buffer(bytes * others.len() as u64);
            }
            let own = between.gather(own, side).await?;
            let sum = between.reduce(sum, &Op::sum::<u64>(), side).await?;
            if side == InterRoot::Root {
                let all = others.iter().flat_map(|&other| numbers(other, count));
                assert_eq!(own.values()?, Some(all.collect()));
                let total = |at: usize| {
                    others
                        .iter()
                        .map(|rank| (1000 * rank + at) as u64)
                        .sum::<u64>()
                };
                assert_eq!(sum.values()?, Some((0..count).map(total).collect()));
            } else {
                assert!(own.is_empty() && sum.is_empty());
            }
            let mut block = world.buffer(bytes);
            if side == InterRoot::Root {
                block = world.buffer_of(&numbers(root, count * others.len()));
            }
            let block = between.scatter(block, side).await?;
            if let InterRoot::Remote(_) = side {
                let all = numbers(root, count * others.len());
                let own = all[between.rank() * count..][..count].to_vec();
                assert_eq!(block.values()?, Some(own));
            }
        }
        between.free()
    });
}

#[test]
fn collectives_of_all() {
    run(|world, lower, count| async move {
        let (_, between) = halves(&world, lower).await?;
        let (rank, size) = (world.rank(), world.size());
        let others = members(rank < lower, lower, size);
        let bytes = 8 * count as u64;
        let own = world.buffer_of(&numbers(rank, count));
        let all = between.allgather(own.clone(), bytes).await?;
        let expected = others.iter().flat_map(|&other| numbers(other, count));
        assert_eq!(all.values()?, Some(expected.collect()));
        let total = between.allreduce(own, &Op::max::<u64>()).await?;
        let last = *others.iter().max().expect("a member");
        assert_eq!(total.values()?, Some(numbers(last, count)));
        let blocks = world.buffer_of(&numbers(rank, count * others.len()));
        let result = between.alltoall(blocks, bytes).await?;
        let place = between.rank() * count;
        let expected = others
            .iter()
            .flat_map(|&other| numbers(other, place + count)[place..].to_vec());
        assert_eq!(result.values()?, Some(expected.collect()));
        between.barrier().await?;
        between.free()
    });
}

/// One call of each kind; rank `lower` of the world, the last one of the upper group, is the root.
fn all_calls<'a>(
    world: &Comm,
    between: &'a InterComm,
    (lower, count): (usize, usize),
) -> Vec<CollectiveCall<'a>> {
    let (rank, others) = (world.rank(), between.remote_size());
    let root = match rank >= lower {
        _ if rank == lower => InterRoot::Root,
        true => InterRoot::Null,
        false => InterRoot::Remote(others - 1),
    };
    let is_root = root == InterRoot::Root;
    let pick = |at_root: Buffer, elsewhere: Buffer| if is_root { at_root } else { elsewhere };
    let bytes = 8 * count as u64;
    let mine = || world.buffer_of(&numbers(rank, count));
    let all = || world.buffer_of(&numbers(rank, count * others));
    let one = || world.buffer(bytes);
    let room = || world.buffer(bytes * others as u64);
    let reverse = || {
        let places = (0..others).rev().map(|at| (at as u64 * bytes, bytes));
        Blocks::placed(places)
    };
    let each = bytes * others as u64;
    let blocks = Blocks::packed((0..between.size()).map(|_| each));
    let contribution = vec![rank as u64; between.size() * others * count];
    let sum = Op::sum::<u64>();
    vec![
        between.barrier(),
        between.bcast(pick(mine(), one()), root),
        between.gather(pick(room(), mine()), root),
        between.scatter(pick(all(), one()), root),
        between.gather_v(pick(room(), mine()), is_root.then(reverse), root),
        between.scatter_v(pick(all(), one()), is_root.then(reverse), root),
        between.reduce(mine(), &sum, root),
        between.allreduce(mine(), &sum),
        between.allgather(mine(), bytes),
        between.allgather_v(mine(), reverse()),
        between.alltoall(all(), bytes),
        between.alltoall_v(all(), reverse(), reverse()),
        between.reduce_scatter(world.buffer_of(&contribution), blocks, &sum),
    ]
}

/// Calls that are in progress at the same time, and starts of persistent requests, have the results
/// of calls that wait.
#[test]
fn calls_are_started_and_waited_for_later() {
    run(|world, lower, count| async move {
        let (_, between) = halves(&world, lower).await?;
        let calls = || all_calls(&world, &between, (lower, count));
        let mut expected = Vec::new();
        for call in calls() {
            expected.push(values(&call.await?)?);
        }
        let others = members(world.rank() < lower, lower, world.size());
        let total: usize = others.iter().sum();
        assert_eq!(expected[12], vec![total as u64; others.len() * count]);
        let reverse = others.iter().rev().flat_map(|&other| numbers(other, count));
        assert_eq!(expected[9], reverse.collect::<Vec<u64>>());
        let mut started: Vec<Request> = Vec::new();
        for call in calls() {
            started.push(call.start()?);
        }
        for (at, request) in started.iter_mut().enumerate().rev() {
            assert_eq!(values(&request.wait().await?.buffer)?, expected[at], "{at}");
        }
        let mut kept: Vec<Request> = Vec::new();
        for call in calls() {
            kept.push(call.init()?);
        }
        for _ in 0..2 {
            // A call that waits, while persistent ones are in progress.
            start_all(&mut kept)?;
            between.barrier().await?;
            for (at, request) in kept.iter_mut().enumerate().rev() {
                assert_eq!(values(&request.wait().await?.buffer)?, expected[at], "{at}");
            }
        }
        between.free()
    });
}

/// No rank leaves a barrier before all ranks of both groups have entered the barrier.
#[test]
fn barriers_hold_both_groups() {
    for late in 0..5 {
        world(5).run_finished(move |world: Comm| async move {
            let (_, between) = halves(&world, 2).await?;
            if world.rank() == late {
                world.sleep(10.0).await;
            }
            between.barrier().await?;
            assert!(world.wtime() >= 10.0, "rank {}", world.rank());
            Ok(())
        });
    }
}

#[test]
fn bad_arguments_are_refused() {
    world(3).run_finished(|world: Comm| async move {
        let (half, between) = halves(&world, 1).await?;
        let size = between.remote_size();
        let root = InterRoot::Remote(7);
        let error = between.bcast(world.buffer(8), root).await;
        assert_eq!(error.err(), Some(Error::Root { root: 7, size }));
        let error = half.intercomm_create(half.size(), &world, 0, 1).await.err();
        assert_eq!(error.map(|error| error.class()), Some(ErrorClass::Rank));
        let error = half.intercomm_create(0, &world, 0, u32::MAX).await.err();
        assert_eq!(error, Some(Error::Tag(u32::MAX)));
        if half.size() == 1 {
            let error = between.gather(world.buffer(9), InterRoot::Root).await;
            assert_eq!(error.err(), Some(Error::Count { length: 9, size: 2 }));
        }
        let error = between.isend(world.buffer(1), 2, 0).err();
        assert_eq!(error, Some(Error::Rank { rank: 2, size }));
        // Both groups are the same ranks.
        let copy = world.dup().await?;
        let error = copy.intercomm_create(0, &world, 0, 1).await.err();
        let error = error.expect("groups with common members");
        assert_eq!(
            (&error, error.class()),
            (&Error::Overlap { rank: 0 }, ErrorClass::Comm)
        );
        assert_eq!(
            error.to_string(),
            "invalid groups: rank 0 is a member of both groups of an intercommunicator"
        );
        Ok(())
    });
}

/// Overlapping groups make communicators at the same time, one rank of the world takes no part.
#[test]
fn a_group_makes_a_communicator_alone() {
    let program = |world: Comm| async move {
        let rank = world.rank();
        if rank == 4 {
            return Ok(());
        }
        for tag in [0, 7, mpi::TAG_UB] {
            let left = world.group().incl(&[3, 0, 1])?;
            let right = world.group().incl(&[1, 2, 3])?;
            let left_comm = world.create_group(&left, tag).await?;
            let right_comm = world.create_group(&right, tag).await?;
            for (group, comm, expected) in [(left, left_comm, 4_u64), (right, right_comm, 6)] {
                assert_eq!(comm.is_some(), group.rank().is_some());
                let Some(comm) = comm else { continue };
                assert_eq!(Some(comm.rank()), group.rank());
                assert_eq!(comm.group().compare(&group), Comparison::Identical);
                let own = world.buffer_of(&[rank as u64]);
                let sum = comm.allreduce(&own, &Op::sum::<u64>()).await?;
                assert_eq!(sum.values()?, Some(vec![expected]));
                comm.free()?;
            }
        }
        let half = world.group().incl(&[0, 1, 2, 3])?;
        let half = world.create_group(&half, 1).await?.expect("a member");
        let error = half.create_group(&world.group(), 0).await.err();
        assert_eq!(
            error,
            Some(Error::Group {
                members: 5,
                size: 4
            })
        );
        let error = half.create_group(&half.group(), u32::MAX).await.err();
        assert_eq!(error, Some(Error::Tag(u32::MAX)));
        Ok(())
    };
    for seed in 1..8 {
        world(5).order(Order::Seeded(seed)).run(program).finished();
    }
}
