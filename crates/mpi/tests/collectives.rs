//! Promise: every collective operation computes the result of MPI, with every algorithm, for all
//! numbers of ranks, with eager and rendezvous messages and limited buffers, in any order of packet
//! arrivals; phantom buffers take the same messages.

use std::sync::Arc;

use collectives::{Algorithm, Call, named};
use mpi::{Blocks, Collective, Selector, Settings, prelude::*};
use testing::ranks::{Order, THRESHOLD, world};

/// The contribution of a rank.
fn values(rank: usize, count: u64) -> Vec<u64> {
    let value = |at: u64| (rank as u64 + 1) * 1_000_003 + at * 17;
    (0..count).map(value).collect()
}

fn settings(selector: Selector) -> Settings {
    Settings {
        collectives: Some(Arc::new(selector)),
        ..Settings::new(THRESHOLD)
    }
}

/// A selector that has this algorithm for all calls of a kind.
fn only(kind: Collective, algorithm: &Algorithm) -> Selector {
    let mut selector = Selector::ours().clone();
    selector
        .force(kind, algorithm.name, 0, 0)
        .expect("an algorithm");
    selector
}

/// Returns true if all ranks can call the algorithm with `count` numbers.
fn suits(kind: Collective, algorithm: &Algorithm, size: u32, count: u64) -> bool {
    let mut call = Call::new(kind, 0, size, count * 8);
    call.element = 8;
    let fallback = collectives::find(kind, algorithm.fallback);
    algorithm.suits(&call) || fallback.is_some_and(|other| other.suits(&call))
}

fn check<F, Fut>(kind: Collective, program: F)
where
    F: Fn(Comm, u64) -> Fut + Copy + 'static,
    Fut: Future<Output = Result<()>> + 'static,
{
    for algorithm in named(kind) {
        for size in [1, 2, 3, 4, 5, 7, 8, 12] {
            // Without data, below the threshold of 100 bytes, and above it.
            for count in [0, 5, 40] {
                if !suits(kind, algorithm, size, count) {
                    continue;
                }
                for seed in 1..3 {
                    let world = world(size)
                        .settings(settings(only(kind, algorithm)))
                        .order(Order::Seeded(seed));
                    let outcome = world.run(move |world| program(world, count));
                    let what =
                        || format!("{kind} {} of {size} ranks, {count} numbers", algorithm.name);
                    assert!(
                        outcome.results.iter().all(|result| *result == Some(Ok(()))),
                        "{}: {:?} {:?}",
                        what(),
                        outcome.results,
                        outcome.waiting
                    );
                }
            }
        }
    }
}

fn sum(size: usize, count: u64) -> Vec<u64> {
    let all = (0..size).map(|rank| values(rank, count));
    all.fold(vec![0; values(0, count).len()], |sum, own| {
        sum.iter().zip(own).map(|(a, b)| a + b).collect()
    })
}

#[test]
fn broadcasts() {
    check(Collective::Bcast, |world, count| async move {
        for root in [0, world.size() - 1] {
            let mut buffer = match world.rank() {
                rank if rank == root => world.buffer_of(&values(7, count)),
                _ => world.buffer(count * 8),
            };
            world.bcast(&mut buffer, root).await?;
            assert_eq!(buffer.values()?, Some(values(7, count)));
        }
        Ok(())
    });
}

#[test]
fn reductions() {
    check(Collective::Reduce, |world, count| async move {
        let own = world.buffer_of(&values(world.rank(), count));
        for root in [0, world.size() - 1] {
            let result = world.reduce(&own, &Op::sum::<u64>(), root).await?;
            assert_eq!(result.is_some(), world.rank() == root);
            if let Some(result) = result {
                assert_eq!(result.values()?, Some(sum(world.size(), count)));
            }
        }
        Ok(())
    });
}

#[test]
fn reductions_to_all() {
    check(Collective::Allreduce, |world, count| async move {
        let mut own = world.buffer_of(&values(world.rank(), count));
        let result = world.allreduce(&own, &Op::sum::<u64>()).await?;
        assert_eq!(result.values()?, Some(sum(world.size(), count)));
        assert_eq!(own.values()?, Some(values(world.rank(), count)));
        world.allreduce_in(&mut own, &Op::max::<u64>()).await?;
        assert_eq!(own.values()?, Some(values(world.size() - 1, count)));
        Ok(())
    });
}

#[test]
fn gathering() {
    check(Collective::Gather, |world, count| async move {
        let own = world.buffer_of(&values(world.rank(), count));
        for root in [0, world.size() / 2] {
            let result = world.gather(&own, root).await?;
            if let Some(result) = result {
                let expected = (0..world.size()).flat_map(|rank| values(rank, count));
                assert_eq!(result.values()?, Some(expected.collect()));
            }
        }
        Ok(())
    });
    check(Collective::Gatherv, |world, count| async move {
        let length = |rank: usize| (rank as u64 * count) % 7;
        let own = world.buffer_of(&values(world.rank(), length(world.rank())));
        let blocks = Blocks::packed((0..world.size()).map(|rank| length(rank) * 8));
        let root = world.size() / 2;
        let result = world.gather_v(&own, Some(&blocks), root).await?;
        if let Some(result) = result {
            let expected = (0..world.size()).flat_map(|rank| values(rank, length(rank)));
            assert_eq!(result.values()?, Some(expected.collect()));
        }
        Ok(())
    });
}

#[test]
fn scattering() {
    check(Collective::Scatter, |world, count| async move {
        let all: Vec<u64> = (0..world.size())
            .flat_map(|rank| values(rank, count))
            .collect();
        let root = world.size() - 1;
        let all = world.buffer_of(&all);
        let mut own = world.buffer(count * 8);
        world.scatter(Some(&all), &mut own, root).await?;
        assert_eq!(own.values()?, Some(values(world.rank(), count)));
        Ok(())
    });
    check(Collective::Scatterv, |world, count| async move {
        let length = |rank: usize| (rank as u64 * count) % 7;
        let all: Vec<u64> = (0..world.size())
            .flat_map(|rank| values(rank, length(rank)))
            .collect();
        let blocks = Blocks::packed((0..world.size()).map(|rank| length(rank) * 8));
        let mut own = world.buffer(length(world.rank()) * 8);
        let all = world.buffer_of(&all);
        world.scatter_v(Some((&all, &blocks)), &mut own, 0).await?;
        assert_eq!(
            own.values()?,
            Some(values(world.rank(), length(world.rank())))
        );
        Ok(())
    });
}

#[test]
fn gathering_at_all() {
    check(Collective::Allgather, |world, count| async move {
        let own = world.buffer_of(&values(world.rank(), count));
        let result = world.allgather(&own).await?;
        let expected = (0..world.size()).flat_map(|rank| values(rank, count));
        assert_eq!(result.values()?, Some(expected.collect()));
        Ok(())
    });
    check(Collective::Allgatherv, |world, count| async move {
        let length = |rank: usize| (rank as u64 * count) % 7;
        let own = world.buffer_of(&values(world.rank(), length(world.rank())));
        let blocks = Blocks::packed((0..world.size()).map(|rank| length(rank) * 8));
        let result = world.allgather_v(&own, blocks).await?;
        let expected = (0..world.size()).flat_map(|rank| values(rank, length(rank)));
        assert_eq!(result.values()?, Some(expected.collect()));
        Ok(())
    });
}

#[test]
fn exchanges_of_all_with_all() {
    check(Collective::Alltoall, |world, count| async move {
        let block = |from: usize, to: usize| values(from * 100 + to, count);
        let all = (0..world.size()).flat_map(|to| block(world.rank(), to));
        let result = world
            .alltoall(world.buffer_of(&all.collect::<Vec<u64>>()))
            .await?;
        let expected = (0..world.size()).flat_map(|from| block(from, world.rank()));
        assert_eq!(result.values()?, Some(expected.collect()));
        Ok(())
    });
    check(Collective::Alltoallv, |world, count| async move {
        let length = |from: usize, to: usize| ((from * 3 + to) as u64 * count) % 5;
        let block = |from: usize, to: usize| values(from * 100 + to, length(from, to));
        let (rank, size) = (world.rank(), world.size());
        let all = (0..size).flat_map(|to| block(rank, to));
        let send = Blocks::packed((0..size).map(|to| length(rank, to) * 8));
        let recv = Blocks::packed((0..size).map(|from| length(from, rank) * 8));
        let all = world.buffer_of(&all.collect::<Vec<u64>>());
        let result = world.alltoall_v(&all, send, recv).await?;
        let expected = (0..size).flat_map(|from| block(from, rank));
        assert_eq!(result.values()?, Some(expected.collect()));
        Ok(())
    });
}

#[test]
fn reductions_of_blocks() {
    check(Collective::ReduceScatterBlock, |world, count| async move {
        let size = world.size();
        let own = world.buffer_of(&values(world.rank(), count * size as u64));
        let result = world.reduce_scatter_block(&own, &Op::sum::<u64>()).await?;
        let all = sum(size, count * size as u64);
        let count = usize::try_from(count).unwrap();
        let expected = all[world.rank() * count..][..count].to_vec();
        assert_eq!(result.values()?, Some(expected));
        Ok(())
    });
    check(Collective::ReduceScatter, |world, count| async move {
        let length = |rank: usize| (rank as u64 * count) % 7;
        let total: u64 = (0..world.size()).map(length).sum();
        let blocks = Blocks::packed((0..world.size()).map(|rank| length(rank) * 8));
        let own = world.buffer_of(&values(world.rank(), total));
        let result = world
            .reduce_scatter(&own, blocks, &Op::sum::<u64>())
            .await?;
        let before: u64 = (0..world.rank()).map(length).sum();
        let all = sum(world.size(), total);
        let expected = all.iter().copied().skip(usize::try_from(before).unwrap());
        let expected = expected.take(usize::try_from(length(world.rank())).unwrap());
        assert_eq!(result.values()?, Some(expected.collect()));
        Ok(())
    });
}

#[test]
fn prefix_reductions() {
    check(Collective::Scan, |world, count| async move {
        let own = world.buffer_of(&values(world.rank(), count));
        let result = world.scan(&own, &Op::sum::<u64>()).await?;
        assert_eq!(result.values()?, Some(sum(world.rank() + 1, count)));
        Ok(())
    });
    check(Collective::Exscan, |world, count| async move {
        let own = world.buffer_of(&values(world.rank(), count));
        let result = world.exscan(&own, &Op::sum::<u64>()).await?;
        assert_eq!(result.is_some(), world.rank() > 0);
        if let Some(result) = result {
            assert_eq!(result.values()?, Some(sum(world.rank(), count)));
        }
        Ok(())
    });
}

/// Three collectives of two kinds and messages of the program with any tags, completed in another
/// order than started. Lanes of one call have separate tags, different from the tags of another
/// call.
#[test]
fn several_with_lanes_at_one_time() {
    let mut selector = Selector::ours().clone();
    let forced = selector.force(Collective::Allreduce, "double_tree", 16, 0);
    forced.expect("an algorithm");
    let settings = settings(selector);
    for seed in 1..8 {
        for size in [3, 5, 8] {
            let program = |world: Comm| async move {
                let (rank, size) = (world.rank(), world.size());
                let op = Op::sum::<u64>();
                let summed = |count| world.allreduce(world.buffer_of(&values(rank, count)), &op);
                let started = |count| summed(count).start();
                let mut all = [started(60)?, started(2)?, started(40)?];
                let mut persistent = summed(50).init()?;
                persistent.start()?;
                let done = waitall(&mut all).await?;
                for (done, count) in done.iter().zip([60, 2, 40]) {
                    let done = done.as_ref().expect("an active request");
                    assert_eq!(done.buffer.values()?, Some(sum(size, count)));
                }
                drop(persistent.wait().await?);
                Ok(())
            };
            let world = world(size).settings(settings.clone());
            world.order(Order::Seeded(seed)).run(program).finished();
        }
    }
}

#[test]
fn several_at_one_time() {
    for seed in 1..20 {
        for size in [2, 3, 5] {
            world(size)
                .order(Order::Seeded(seed))
                .run_finished(|world: Comm| async move {
                    let (rank, size) = (world.rank(), world.size());
                    let op = Op::sum::<u64>();
                    let next = (rank + 1) % size;
                    let before = (rank + size - 1) % size;
                    let started = |count| {
                        let own = world.buffer_of(&values(rank, count));
                        world.allreduce(own, &op).start()
                    };
                    let first = started(40)?;
                    let message = world.irecv(world.buffer(8), before, ANY_TAG)?;
                    let mut data =
                        world.buffer_of(&if rank == 1 { values(1, 3) } else { vec![0; 3] });
                    let second = world.bcast(&mut data, 1).start()?;
                    let send = world.isend(world.buffer_of(&[rank as u64]), next, 16)?;
                    let third = started(2)?;
                    let mut all = [third, send, message, second, first];
                    world.compute(1e6).await;
                    let done = waitall(&mut all).await?;
                    let values_of = |place: usize| {
                        let done = done[place].as_ref().expect("an active request");
                        done.buffer.values::<u64>().expect("numbers").expect("real")
                    };
                    assert_eq!(values_of(0), sum(size, 2));
                    assert_eq!(values_of(2), [before as u64]);
                    assert_eq!(values_of(3), values(1, 3));
                    assert_eq!(values_of(4), sum(size, 40));
                    Ok(())
                });
        }
    }
}

#[test]
fn tests_of_requests_end() {
    world(3).run_finished(|world: Comm| async move {
        let own = world.buffer_of(&values(world.rank(), 40));
        let mut request = world.allreduce(own, &Op::sum::<u64>()).start()?;
        let done = loop {
            if let Some(done) = request.test().await? {
                break done;
            }
        };
        assert_eq!(done.buffer.values()?, Some(sum(3, 40)));
        Ok(())
    });
}

#[test]
fn persistent_collectives_start_again() {
    world(3).run_finished(|world: Comm| async move {
        let own = world.buffer_of(&values(world.rank(), 4));
        let mut reduction = world.allreduce(own, &Op::sum::<u64>()).init()?;
        let mut barrier = world.barrier().init()?;
        for round in 0..3 {
            reduction.start()?;
            barrier.start()?;
            let done = reduction.wait().await?;
            barrier.wait().await?;
            let expected: Vec<u64> = sum(3, 4).iter().map(|value| value + 3 * round).collect();
            assert_eq!(done.buffer.values()?, Some(expected));
            let own: Vec<u64> = values(world.rank(), 4);
            let own: Vec<u64> = own.iter().map(|value| value + round + 1).collect();
            *reduction.buffer_mut().expect("inactive") = world.buffer_of(&own);
        }
        Ok(())
    });
}

/// All ranks initialise in one order, and start in an order of their own (MPI 5.0, section 6.13).
#[test]
fn persistent_collectives_start_in_any_order() {
    let program = |world: Comm| async move {
        let rank = world.rank();
        let sum_op = Op::sum::<u64>();
        let mut requests: Vec<_> = (0..3)
            .map(|index| {
                let own = world.buffer_of(&values(rank, 4 + 20 * index));
                world.allreduce(own, &sum_op).init()
            })
            .collect::<Result<_>>()?;
        for round in 0..3 {
            // Calls that are not persistent are between them.
            let own = world.buffer_of(&values(rank, 4));
            let whole = world.allreduce(&own, &sum_op).await?;
            assert_eq!(whole.values()?, Some(sum(3, 4)));
            let mut order = [0, 1, 2];
            order.rotate_left((rank + round) % 3);
            for index in order {
                requests[index].start()?;
            }
            for index in order {
                let found = requests[index].wait().await?.buffer.values()?;
                assert_eq!(found, Some(sum(3, 4 + 20 * index as u64)), "{index}");
            }
        }
        Ok(())
    };
    for seed in 0..20 {
        let order = Order::Seeded(seed);
        world(3).order(order).run(program).finished();
    }
}

/// Strings in the order of the ranks, which no commutative algorithm gives.
#[test]
fn operations_that_are_not_commutative_keep_the_order() {
    // The first and the last number of a range, and the number of ranks in it; anything else is a
    // mistake, which stays.
    let join = Op::new::<u64>("join", false, |inout, incoming| {
        for (inout, incoming) in inout.iter_mut().zip(incoming) {
            let (low, high) = (incoming >> 32, incoming & 0xffff_ffff);
            let (next, last) = (*inout >> 32, *inout & 0xffff_ffff);
            let follows = high + 1 == next && low <= high;
            *inout = if follows { low << 32 | last } else { u64::MAX };
        }
    });
    for kind in [
        Collective::Allreduce,
        Collective::Reduce,
        Collective::Scan,
        Collective::Exscan,
    ] {
        for algorithm in named(kind).filter(|algorithm| algorithm.ordered) {
            for size in 1..14 {
                for count in [1, 20] {
                    if !suits(kind, algorithm, size, count) {
                        continue;
                    }
                    let join = join.clone();
                    let program = move |world: Comm| {
                        let join = join.clone();
                        async move {
                            let (rank, size) = (world.rank() as u64, world.size() as u64);
                            let own = vec![rank << 32 | rank; usize::try_from(count).unwrap()];
                            let own = world.buffer_of(&own);
                            let root = world.size() / 2;
                            let (result, last) = match kind {
                                Collective::Allreduce => {
                                    (Some(world.allreduce(&own, &join).await?), size - 1)
                                }
                                Collective::Reduce => {
                                    (world.reduce(&own, &join, root).await?, size - 1)
                                }
                                Collective::Scan => (Some(world.scan(&own, &join).await?), rank),
                                _ => (world.exscan(&own, &join).await?, rank.wrapping_sub(1)),
                            };
                            if let Some(result) = result {
                                let expected = vec![last; usize::try_from(count).unwrap()];
                                assert_eq!(result.values()?, Some(expected));
                            }
                            Ok(())
                        }
                    };
                    let world = world(size).settings(settings(only(kind, algorithm)));
                    let outcome = world.run(program);
                    let name = algorithm.name;
                    assert!(
                        outcome.results.iter().all(|result| *result == Some(Ok(()))),
                        "{kind} {name} {size} {count}: {:?}",
                        outcome.results
                    );
                }
            }
        }
    }
}

#[test]
fn bad_arguments_are_refused() {
    world(3).run_finished(|world: Comm| async move {
        let size = world.size();
        let error = world.bcast(&mut world.buffer(8), size).await.unwrap_err();
        assert_eq!(error, Error::Root { root: 3, size: 3 });
        assert_eq!(error.class(), ErrorClass::Root);
        assert_eq!(error.to_string(), "invalid root 3: expected 0 to 2");
        let error = world
            .allreduce(world.buffer(7), &Op::sum::<u32>())
            .await
            .unwrap_err();
        assert_eq!(
            error,
            Error::Op {
                element: 4,
                length: 7
            }
        );
        let error = world.alltoall(world.buffer(10)).await.unwrap_err();
        assert_eq!(
            error,
            Error::Count {
                length: 10,
                size: 3
            }
        );
        let error = world
            .allgather_v(world.buffer(8), [8, 8])
            .await
            .unwrap_err();
        assert_eq!(error, Error::BlockCount { blocks: 2, size: 3 });
        let error = world
            .allgather_v(world.buffer(8), [4, 4, 4])
            .await
            .unwrap_err();
        assert_eq!(
            error,
            Error::Blocks {
                length: 8,
                expected: 4
            }
        );
        let error = world
            .scatter(None, &mut world.buffer(8), world.rank())
            .await
            .unwrap_err();
        assert_eq!(error, Error::NoBuffer);
        Ok(())
    });
}

/// The root sends more or fewer bytes than the others expect.
#[test]
fn lengths_that_differ_are_errors() {
    for (length, expected) in [(24, ErrorClass::Truncate), (8, ErrorClass::Count)] {
        world(2).run_finished(move |world: Comm| async move {
            let length = if world.rank() == 0 { length } else { 16 };
            let result = world.bcast(&mut world.buffer(length), 0).await;
            if world.rank() == 0 {
                return result;
            }
            assert_eq!(result.unwrap_err().class(), expected);
            Ok(())
        });
    }
}

#[test]
fn built_in_operations() {
    world(3).run_finished(|world: Comm| async move {
        let rank = world.rank();
        let one = |value: i32| world.buffer_of(&[value]);
        let value = i32::try_from(rank).unwrap() - 1;
        let cases: [(Op, i32); 10] = [
            (Op::sum::<i32>(), 0),
            (Op::product::<i32>(), 0),
            (Op::min::<i32>(), -1),
            (Op::max::<i32>(), 1),
            (Op::logical_and::<i32>(), 0),
            (Op::logical_or::<i32>(), 1),
            (Op::logical_xor::<i32>(), 0),
            (Op::bitwise_and::<i32>(), 0),
            (Op::bitwise_or::<i32>(), -1),
            (Op::bitwise_xor::<i32>(), -2),
        ];
        for (op, expected) in cases {
            let result = world.allreduce(one(value), &op).await?;
            assert_eq!(result.values()?, Some(vec![expected]), "{op:?}");
        }
        let pair = [(f64::from(value.abs()), u32::try_from(rank).unwrap())];
        let least = world
            .allreduce(world.buffer_of(&pair), &Op::min_location::<f64>())
            .await?;
        assert_eq!(least.values()?, Some(vec![(0.0, 1_u32)]));
        let greatest = world
            .allreduce(world.buffer_of(&pair), &Op::max_location::<f64>())
            .await?;
        assert_eq!(greatest.values()?, Some(vec![(1.0, 0_u32)]));
        Ok(())
    });
}

#[test]
fn parts_of_buffers() {
    let mut buffer = Buffer::of(&[1_u32, 2, 3]);
    let part = buffer.slice(4, 4);
    assert_eq!(part.values::<u32>(), Ok(Some(vec![2])));
    buffer.write(8, &part);
    assert_eq!(buffer.values::<u32>(), Ok(Some(vec![1, 2, 2])));
    assert_eq!(Buffer::phantom(12).slice(4, 8).len(), 8);
}
