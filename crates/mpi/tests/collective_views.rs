//! Promise: collective calls on derived datatypes and in place bring each number to its place in a
//! sequential program, leave the bytes between the data alone, and cost the time of packing.

use mpi::{CollectiveCall, Settings, prelude::*};
use testing::ranks::{Order, world};

/// Left in places that no data come to.
const GAP: u32 = u32::MAX;

/// Every second number of a buffer, `count` of them.
fn spread(count: u64) -> Datatype {
    let number = Datatype::of::<u32>();
    let all = Datatype::vector(count, 1, 2, &number).expect("short");
    all.resized(8 * count)
}

/// Numbers at every second place, gaps between them.
fn spread_out(numbers: impl IntoIterator<Item = u32>) -> Vec<u32> {
    let pairs = numbers.into_iter().flat_map(|number| [number, GAP]);
    pairs.collect()
}

/// Number `at` of the block of rank `from` for rank `to`.
fn number(from: usize, to: usize, at: usize) -> u32 {
    u32::try_from(10_000 * from + 100 * to + at).expect("small")
}

fn gaps(count: usize) -> Buffer {
    Buffer::of(&vec![GAP; count])
}

fn run<F, Fut>(program: F)
where
    F: Fn(Comm, usize) -> Fut + Copy + 'static,
    Fut: Future<Output = Result<()>> + 'static,
{
    // Below the threshold of 100 bytes, and above it.
    for count in [1, 5, 30] {
        for size in [1, 2, 3, 6] {
            let order = Order::Seeded(7);
            let program = move |world: Comm| program(world, count);
            world(size).order(order).run(program).finished();
        }
    }
}

/// Returns a call with numbers of items as contribution and result, with the result in `place`.
fn viewed<'a, O>(
    call: CollectiveCall<'a, O>,
    given: (u64, &Datatype),
    place: &'a mut Buffer,
    got: (u64, &Datatype),
) -> CollectiveCall<'a, ()> {
    let call = call.packing(given.0, given.1).into_place(place);
    call.unpacking(got.0, got.1)
}

/// Returns the result of a started call, or the results of two starts of a persistent call.
async fn completed(call: CollectiveCall<'_, ()>, is_persistent: bool) -> Result<Vec<Buffer>> {
    if !is_persistent {
        return Ok(vec![call.start()?.wait().await?.buffer]);
    }
    let (mut request, mut found) = (call.init()?, Vec::new());
    for _ in 0..2 {
        request.start()?;
        found.push(request.wait().await?.buffer);
    }
    Ok(found)
}

#[test]
fn broadcasts_and_reductions() {
    run(|world, count| async move {
        let (rank, size) = (world.rank(), world.size());
        let (items, root) = (count as u64, size / 2);
        let item = spread(1);
        let own = |rank: usize| (0..count).map(move |at| number(rank, 0, at));
        let mut data = gaps(2 * count);
        if rank == root {
            data = Buffer::of(&spread_out(own(7)));
        }
        let call = world.bcast(&mut data, root).unpacking(items, &item);
        call.await?;
        assert_eq!(data.values()?, Some(spread_out(own(7))));

        let given = Buffer::of(&spread_out(own(rank)));
        let sum = |at| (0..size).map(|rank| number(rank, 0, at)).sum();
        let expected = spread_out((0..count).map(sum));
        let mut result = gaps(2 * count);
        let op = Op::sum::<u32>();
        let one = (items, &item);
        viewed(world.allreduce(&given, &op), one, &mut result, one).await?;
        assert_eq!(result.values()?, Some(expected.clone()));
        let mut result = gaps(2 * count);
        viewed(world.reduce(&given, &op, root), one, &mut result, one).await?;
        let untouched = vec![GAP; 2 * count];
        let expected = if rank == root { expected } else { untouched };
        assert_eq!(result.values()?, Some(expected));
        Ok(())
    });
}

#[test]
fn blocks_of_all_ranks() {
    run(|world, count| async move {
        let (rank, size) = (world.rank(), world.size());
        let (items, root) = (count as u64, size - 1);
        let all_items = items * size as u64;
        let (item, dense) = (spread(1), Datatype::of::<u32>());
        let block = |from: usize, to: usize| (0..count).map(move |at| number(from, to, at));
        let own = Buffer::of(&spread_out(block(rank, 0)));
        let all = spread_out((0..size).flat_map(|from| block(from, 0)));
        let mut result = gaps(2 * count * size);
        let (one, every) = ((items, &item), (all_items, &item));
        viewed(world.allgather(&own), one, &mut result, every).await?;
        assert_eq!(result.values()?, Some(all.clone()));

        // The contributions are dense, the result is not.
        let own = Buffer::of(&block(rank, 0).collect::<Vec<u32>>());
        let mut result = gaps(2 * count * size);
        let gather = world.gather(&own, root);
        viewed(gather, (items, &dense), &mut result, every).await?;
        let untouched = vec![GAP; 2 * count * size];
        let expected = if rank == root { all } else { untouched };
        assert_eq!(result.values()?, Some(expected));

        let all = Buffer::of(&spread_out((0..size).flat_map(|to| block(root, to))));
        let mut result = gaps(2 * count);
        let send = (rank == root).then_some(&all);
        let call = world.scatter(send, &mut result, root);
        let call = call.packing(all_items, &item).unpacking(items, &item);
        call.await?;
        assert_eq!(result.values()?, Some(spread_out(block(root, rank))));

        let all = Buffer::of(&spread_out((0..size).flat_map(|to| block(rank, to))));
        let mut result = gaps(2 * count * size);
        viewed(world.alltoall(&all), every, &mut result, every).await?;
        let expected = (0..size).flat_map(|from| block(from, rank));
        assert_eq!(result.values()?, Some(spread_out(expected)));
        Ok(())
    });
}

/// Each pair of ranks has a separate number of items and datatype; blocks are in reverse order. Two
/// starts of a persistent call, and a nonblocking call, complete with the same data as the blocking
/// call.
#[test]
fn requests_unpack_their_results() {
    run(|world, count| async move {
        let (rank, size) = (world.rank(), world.size());
        let (items, root) = (count as u64, size / 2);
        let (item, op) = (spread(1), Op::sum::<u32>());
        let is_root = rank == root;
        let all_items = items * size as u64;
        let block = |from: usize, to: usize| (0..count).map(move |at| number(from, to, at));
        let own = Buffer::of(&spread_out(block(rank, 0)));
        let for_all = Buffer::of(&spread_out((0..size).flat_map(|to| block(rank, to))));
        let one = || gaps(2 * count);
        let all = || gaps(2 * count * size);
        let sum = |at| (0..size).map(|rank| number(rank, 0, at)).sum();
        let sums = spread_out((0..count).map(sum));
        let gathered = spread_out((0..size).flat_map(|from| block(from, 0)));
        let at_root = |wanted: &[u32]| is_root.then(|| wanted.to_vec());
        let (each, every) = ((items, &item), (all_items, &item));
        let mut places = [one(), all(), one(), all(), all(), one(), one()];
        for is_persistent in [false, true] {
            if is_root {
                places[0] = own.clone();
            }
            let [
                data,
                at_the_root,
                block_of_root,
                everywhere,
                exchanged,
                reduced,
                total,
            ] = &mut places;
            let scatter = world.scatter(is_root.then_some(&for_all), block_of_root, root);
            let gather = world.gather(&own, root);
            let reduce = world.reduce(&own, &op, root);
            let calls = [
                world.bcast(data, root).unpacking(items, &item),
                viewed(gather, each, at_the_root, every),
                scatter.packing(all_items, &item).unpacking(items, &item),
                viewed(world.allgather(&own), each, everywhere, every),
                viewed(world.alltoall(&for_all), every, exchanged, every),
                viewed(reduce, each, reduced, each),
                viewed(world.allreduce(&own, &op), each, total, each),
            ];
            let expected = [
                Some(spread_out(block(root, 0))),
                at_root(&gathered),
                Some(spread_out(block(root, rank))),
                Some(gathered.clone()),
                Some(spread_out((0..size).flat_map(|from| block(from, rank)))),
                at_root(&sums),
                Some(sums.clone()),
            ];
            for (call, expected) in calls.into_iter().zip(expected) {
                for found in completed(call, is_persistent).await? {
                    assert!(expected.is_none() || found.values()? == expected);
                }
            }
        }
        Ok(())
    });
}

#[test]
fn each_rank_has_a_datatype() {
    run(|world, count| async move {
        let (rank, size) = (world.rank(), world.size());
        let length = |from: usize, to: usize| (from + 2 * to) % 3 * count;
        let block = move |from: usize, to: usize| {
            let length = length(from, to);
            (0..length).map(move |at| number(from, to, at))
        };
        // Ranks send every second number, and odd ones receive so.
        let items = |length: usize, is_spread: bool| {
            let item = if is_spread {
                spread(1)
            } else {
                Datatype::of::<u32>()
            };
            (length as u64, item)
        };
        let (mut numbers, mut send) = (Vec::new(), Vec::new());
        for to in (0..size).rev() {
            let (items, item) = items(length(rank, to), true);
            send.push((items, 4 * numbers.len() as u64, item));
            numbers.extend(spread_out(block(rank, to)));
        }
        send.reverse();
        let (mut expected, mut recv) = (vec![GAP], Vec::new());
        for from in (0..size).rev() {
            let is_spread = rank % 2 == 1;
            let (items, item) = items(length(from, rank), is_spread);
            recv.push((items, 4 * expected.len() as u64, item));
            if is_spread {
                expected.extend(spread_out(block(from, rank)));
            } else {
                expected.extend(block(from, rank));
            }
        }
        recv.reverse();
        let given = Buffer::of(&numbers);
        let mut room = gaps(expected.len());
        let mut result = room.clone();
        world.alltoall_w(&given, &send, &mut result, &recv).await?;
        assert_eq!(result.values()?, Some(expected.clone()));
        let call = world.alltoall_w(&given, &send, &mut room, &recv);
        let mut request = call.start()?;
        assert_eq!(
            request.wait().await?.buffer.values()?,
            Some(expected.clone())
        );
        let call = world.alltoall_w(given, &send, &mut room, &recv);
        let mut persistent = call.init()?;
        for round in 0..3 {
            persistent.start()?;
            let done = persistent.wait().await?.buffer;
            let shifted = |number: &u32| match *number {
                GAP => GAP,
                number => number + round,
            };
            let expected: Vec<u32> = expected.iter().map(shifted).collect();
            assert_eq!(done.values()?, Some(expected));
            let next: Vec<u32> = numbers
                .iter()
                .map(|number| number.wrapping_add(round + 1))
                .collect();
            *persistent.buffer_mut().expect("inactive") = Buffer::of(&next);
        }
        Ok(())
    });
}

#[test]
fn exchanges_in_place() {
    run(|world, count| async move {
        let (rank, size) = (world.rank(), world.size());
        let block = |from: usize, to: usize| (0..count).map(move |at| number(from, to, at));
        let own: Vec<u32> = (0..size).flat_map(|to| block(rank, to)).collect();
        let mut buffer = Buffer::of(&own);
        world.alltoall_in(&mut buffer).await?;
        let expected = (0..size).flat_map(|from| block(from, rank)).collect();
        assert_eq!(buffer.values()?, Some(expected));
        Ok(())
    });
    // The ranks are met in their order: of 3 ranks, 0 and 1 first, then 0 and 2, then 1 and 2.
    let program = |world: Comm| async move { world.alltoall_in(&mut world.buffer(12)).await };
    let transcript = world(3).run(program).finished().transcript;
    assert_eq!(transcript.len(), 6, "{transcript:?}");
    let place = |pair: &str| transcript.iter().position(|line| line.starts_with(pair));
    let comes_before =
        |a: &str, b: &str| place(a).expect("a message") < place(b).expect("a message");
    assert!(comes_before("0>1", "0>2"), "{transcript:?}");
    assert!(comes_before("1>0", "1>2"), "{transcript:?}");
}

/// Packing and unpacking take 1 s for each byte of data. No message comes before its receive.
#[test]
fn packing_takes_time() {
    let program = |world: Comm| async move {
        let given = gaps(20);
        let mut result = gaps(20);
        let item = spread(1);
        let call = world.allgather(&given);
        viewed(call, (5, &item), &mut result, (10, &item)).await?;
        // 20 bytes given, 40 bytes got.
        assert!((world.wtime() - 60.0).abs() < 1e-9, "{}", world.wtime());
        let mut data = gaps(20);
        let call = world.bcast(&mut data, 0).unpacking(5, &item);
        call.await?;
        let expected = if world.rank() == 0 { 80.0 } else { 100.0 };
        assert!((world.wtime() - expected).abs() < 1e-9, "{}", world.wtime());
        Ok(())
    };
    let settings = Settings {
        copy_bandwidth: 1.0,
        ..Settings::new(0)
    };
    world(2).settings(settings).run(program).finished();
}

#[test]
fn operations_without_messages() {
    let incoming = Buffer::of(&[1_u32, 20, 3]);
    let mut inout = Buffer::of(&[10_u32, 2, 30]);
    let digits = Op::new::<u32>("digits", false, |inout, incoming| {
        for (inout, incoming) in inout.iter_mut().zip(incoming) {
            *inout += 100 * incoming;
        }
    });
    digits.reduce_local(&incoming, &mut inout).unwrap();
    assert_eq!(inout.values(), Ok(Some(vec![110_u32, 2002, 330])));
    let error = digits.reduce_local(&Buffer::zeroed(8), &mut inout);
    let error = error.unwrap_err();
    assert_eq!(
        (error.to_string().as_str(), error.class()),
        (
            "counts differ: a buffer of 8 bytes, expected 12 bytes",
            ErrorClass::Count
        )
    );
    let error = digits.reduce_local(&Buffer::zeroed(6), &mut Buffer::zeroed(6));
    let expected = Error::Op {
        element: 4,
        length: 6,
    };
    assert_eq!(error, Err(expected));
}

#[test]
fn bad_arguments_are_refused() {
    world(2).run_finished(|world: Comm| async move {
        let (own, item) = (gaps(2), spread(1));
        let gathering = || world.allgather(&own).packing(1, &item);
        let mut short = gaps(1);
        let call = gathering().into_place(&mut short).unpacking(2, &item);
        let error = call.await;
        let expected = Error::View {
            needed: 12,
            length: 4,
        };
        assert_eq!(error, Err(expected));
        let blocks = [(1, 0, item.clone())];
        let error = world.alltoall_w(&own, &blocks, &mut gaps(2), &blocks).await;
        assert_eq!(error, Err(Error::BlockCount { blocks: 1, size: 2 }));
        let blocks = [(1, 0, item.clone()), (1, 8, item.clone())];
        let error = world
            .alltoall_w(&own, &blocks, &mut gaps(4), &blocks)
            .start();
        let expected = Error::View {
            needed: 12,
            length: 8,
        };
        assert_eq!(error.err(), Some(expected));
        // Both ranks give one item, and have room for two of each.
        let mut room = gaps(8);
        let error = gathering().into_place(&mut room).unpacking(4, &item).await;
        assert_eq!(
            error.unwrap_err().to_string(),
            "invalid count: a buffer of 16 bytes, the blocks of all ranks have 8 bytes"
        );
        let call = gathering().into_place(&mut room).unpacking(4, &item);
        let expected = Error::Blocks {
            length: 16,
            expected: 8,
        };
        assert_eq!(call.start().err(), Some(expected));
        let call = world.scatter(None, &mut room, world.rank());
        let call = call.packing(2, &item).unpacking(1, &item);
        assert_eq!(call.init().err(), Some(Error::NoBuffer));
        let call = world.reduce(&own, &Op::sum::<u64>(), 0).packing(1, &item);
        let error = call.into_place(&mut room).unpacking(1, &item).await;
        assert_eq!(error.unwrap_err().class(), ErrorClass::Op);
        Ok(())
    });
}
