//! Promise: the memory of windows is what a sequential execution of the accesses makes of it, by
//! each way of synchronisation, in each order of arrivals, and with limits; wrong calls are errors
//! that name what was expected.

use mpi::{Buffer, Comm, Error, ErrorClass, Group, Limits, Op, PROC_NULL, Result, WindowError};
use testing::ranks::{Order, World, pattern, world};

/// Worlds that differ in what is underneath.
fn worlds(ranks: u32) -> Vec<World> {
    let limited = Limits {
        packet: Some(64),
        buffers: Some(3),
        credits: Some(6),
        reserved: 2,
        ..Limits::default()
    };
    let mut all = vec![world(ranks), world(ranks).limits(limited)];
    for seed in 1..6 {
        all.push(world(ranks).order(Order::Seeded(seed)));
    }
    all
}

fn numbers(buffer: &Buffer) -> Vec<u64> {
    buffer.values::<u64>().unwrap().unwrap()
}

fn group(world: &Comm, ranks: &[usize]) -> Group {
    world.group().incl(ranks).unwrap()
}

/// Ways to order accesses of all ranks.
#[derive(Clone, Copy, Debug)]
enum Way {
    Fence,
    Exposure,
    Lock,
    LockAll,
}

const WAYS: [Way; 4] = [Way::Fence, Way::Exposure, Way::Lock, Way::LockAll];

/// Each rank puts a block to the rank above and reads one of the rank below.
#[test]
fn puts_and_gets_move_what_a_sequential_run_would() {
    for (way, length) in WAYS.into_iter().flat_map(|way| [(way, 8), (way, 1000)]) {
        for world in worlds(3) {
            let program = move |world: Comm| async move {
                let (rank, size) = (world.rank(), world.size());
                let (above, below) = ((rank + 1) % size, (rank + size - 1) % size);
                let mut memory = world.buffer(2 * length);
                memory.write(length, &pattern(length, rank as u64));
                let window = world.window(memory, 1).await?;
                let around = group(&world, &[above, below]);
                match way {
                    Way::Fence => window.fence().await?,
                    Way::Exposure => {
                        window.post(&around).await?;
                        window.start(&around).await?;
                    }
                    Way::Lock => window.lock(above, true).await?,
                    Way::LockAll => window.lock_all().await?,
                }
                window
                    .put(&pattern(length, 10 + rank as u64), above, 0)
                    .await?;
                if let Way::Lock = way {
                    window.unlock(above).await?;
                    window.lock(below, false).await?;
                }
                let mut got = world.buffer(length);
                window.get(&mut got, below, length).await?;
                match way {
                    Way::Fence => window.fence().await?,
                    Way::Exposure => {
                        window.complete().await?;
                        window.wait().await?;
                    }
                    Way::Lock => window.unlock(below).await?,
                    Way::LockAll => window.unlock_all().await?,
                }
                world.barrier().await?;
                let put = window.read(0, length).await?;
                assert_eq!(put.bytes(), pattern(length, 10 + below as u64).bytes());
                assert_eq!(got.bytes(), pattern(length, below as u64).bytes());
                let memory = window.free().await?;
                assert_eq!(memory.len(), 2 * length);
                Ok(())
            };
            world.run(program).finished();
        }
    }
}

#[test]
fn accumulates_of_all_ranks_add_up() {
    for world in worlds(4) {
        let program = |world: Comm| async move {
            let rank = world.rank() as u64;
            let values: Vec<u64> = (0..50).collect();
            let window = world.window(Buffer::of(&values), 8).await?;
            window.fence().await?;
            let own: Vec<u64> = (0..50).map(|place| place * rank + 1).collect();
            window
                .accumulate(&Buffer::of(&own), 2, 0, &Op::sum::<u64>())
                .await?;
            let limit = Buffer::of(&[rank]);
            window.accumulate(&limit, 1, 3, &Op::max::<u64>()).await?;
            window.fence().await?;
            let found = numbers(&window.read(0, 400).await?);
            match world.rank() {
                // 0 + 1 + 2 + 3 of each place, and 4.
                2 => assert!((0..50).all(|place| found[place] == 7 * place as u64 + 4)),
                _ => assert_eq!(found, values),
            }
            window.free().await?;
            Ok(())
        };
        world.run(program).finished();
    }
}

#[test]
fn read_modify_writes_are_atomic() {
    for world in worlds(4) {
        let program = |world: Comm| async move {
            let window = world.window(Buffer::of(&[0_u64, 100]), 8).await?;
            window.lock_all().await?;
            let one = Buffer::of(&[1_u64]);
            let sum = Op::sum::<u64>();
            let mut seen = Vec::new();
            for _ in 0..5 {
                let before = window.fetch_and_op(&one, 0, 0, &sum).await?;
                seen.extend(numbers(&before));
            }
            assert!(seen.is_sorted_by(|a, b| a < b), "each value is given once");
            // The first one to find 100 writes its number.
            let (own, free) = (Buffer::of(&[world.rank() as u64]), Buffer::of(&[100_u64]));
            let found = window.compare_and_swap::<u64>(&own, &free, 0, 1).await?;
            window.flush(0).await?;
            let nothing = Buffer::of(&[0_u64, 0]);
            let now = window
                .get_accumulate(&nothing, 0, 0, &Op::no_op::<u64>())
                .await?;
            let now = numbers(&now);
            match numbers(&found)[0] {
                100 => assert_eq!(now[1], world.rank() as u64),
                other => assert_eq!(now[1], other),
            }
            window.unlock_all().await?;
            world.barrier().await?;
            window.lock(0, false).await?;
            let mut all = world.buffer(8);
            window.get(&mut all, 0, 0).await?;
            assert_eq!(numbers(&all), [20]);
            window.unlock(0).await?;
            window.free().await?;
            Ok(())
        };
        world.run(program).finished();
    }
}

#[test]
fn accumulates_of_one_rank_keep_their_order() {
    for world in worlds(2) {
        let program = |world: Comm| async move {
            let window = world.window(Buffer::of(&[3_u64]), 8).await?;
            window.fence().await?;
            if world.rank() == 0 {
                let value = |value: u64| Buffer::of(&[value]);
                window
                    .accumulate(&value(5), 1, 0, &Op::replace::<u64>())
                    .await?;
                window
                    .accumulate(&value(2), 1, 0, &Op::product::<u64>())
                    .await?;
                window
                    .accumulate(&value(1), 1, 0, &Op::sum::<u64>())
                    .await?;
            }
            window.fence().await?;
            let expected = [3, 11][world.rank()];
            assert_eq!(numbers(&window.read(0, 8).await?), [expected]);
            window.free().await?;
            Ok(())
        };
        world.run(program).finished();
    }
}

#[test]
fn requests_of_accesses_end_and_bring_the_data() {
    for world in worlds(2) {
        let program = |world: Comm| async move {
            let other = 1 - world.rank();
            let mut memory = world.buffer(1600);
            memory.write(800, &pattern(800, world.rank() as u64));
            let window = world.window(memory, 8).await?;
            window.lock_all().await?;
            let mut requests = vec![
                window.rput(&pattern(400, 7), other, 0).await?,
                window.rget(world.buffer(800), other, 100).await?,
                window
                    .raccumulate(&Buffer::of(&[4_u64]), other, 60, &Op::sum::<u64>())
                    .await?,
            ];
            let done = mpi::waitall(&mut requests).await?;
            let got = &done[1].as_ref().unwrap().buffer;
            assert_eq!(got.bytes(), pattern(800, other as u64).bytes());
            window.flush_local().await?;
            window.flush_all().await?;
            let mut again = window
                .rget_accumulate(&Buffer::of(&[0_u64]), other, 60, &Op::no_op::<u64>())
                .await?;
            assert_eq!(numbers(&again.wait().await?.buffer), [4]);
            window.put(&pattern(8, 0), PROC_NULL, 0).await?;
            window.unlock_all().await?;
            world.barrier().await?;
            let here = window.read(0, 400).await?;
            assert_eq!(here.bytes(), pattern(400, 7).bytes());
            window.free().await?;
            Ok(())
        };
        world.run(program).finished();
    }
}

#[test]
fn locks_are_granted_in_the_order_of_their_requests() {
    let program = |world: Comm| async move {
        let window = world.window(world.buffer(8), 1).await?;
        let rank = world.rank();
        let date = |seconds: f64| world.sleep(seconds);
        // 1 and 2 share the lock from 1 s on; 3 waits for both, and 4, which would share it, for 3.
        let (asks, exclusive, holds) = [
            (0.0, false, 0.0),
            (1.0, false, 10.0),
            (2.0, false, 10.0),
            (3.0, true, 10.0),
            (4.0, false, 10.0),
        ][rank];
        date(asks).await;
        window.lock(0, exclusive).await?;
        let granted = [0.0, 1.0, 2.0, 12.0, 22.0][rank];
        assert!(
            (world.wtime() - granted).abs() < 1e-9,
            "rank {rank} at {}",
            world.wtime()
        );
        date(holds).await;
        window.unlock(0).await?;
        window.free().await?;
        Ok(())
    };
    world(5).run(program).finished();
}

#[test]
fn a_target_that_computes_makes_progress() {
    let program = |world: Comm| async move {
        let window = world.window(world.buffer(1000), 1).await?;
        if world.rank() == 0 {
            world.compute(5e9).await;
        } else {
            window.lock(0, true).await?;
            window.put(&pattern(1000, 1), 0, 0).await?;
            window.unlock(0).await?;
            assert!(world.wtime() < 1.0, "{}", world.wtime());
        }
        window.free().await?;
        Ok(())
    };
    world(2).run(program).finished();
}

#[test]
fn an_exposure_can_be_tested() {
    let program = |world: Comm| async move {
        let window = world.window(Buffer::of(&[0_u64]), 8).await?;
        if world.rank() == 0 {
            window.post(&group(&world, &[1])).await?;
            let mut failed = 0;
            while !window.test().await? {
                failed += 1;
            }
            assert!(failed > 0);
            assert_eq!(numbers(&window.read(0, 8).await?), [9]);
        } else {
            window.start(&group(&world, &[0])).await?;
            world.sleep(1.0).await;
            window.put(&Buffer::of(&[9_u64]), 0, 0).await?;
            window.complete().await?;
        }
        window.free().await?;
        Ok(())
    };
    world(2).run(program).finished();
}

#[test]
fn phantoms_have_lengths_only() {
    let program = |world: Comm| async move {
        let window = world.window(world.buffer(1000), 8).await?;
        window.fence().await?;
        window.put(&world.buffer(800), 1, 0).await?;
        window
            .accumulate(&world.buffer(8), 1, 101, &Op::sum::<u64>())
            .await?;
        let mut got = world.buffer(16);
        window.get(&mut got, 0, 120).await?;
        assert!(got.is_phantom());
        window.fence().await?;
        assert_eq!(window.free().await?.len(), 1000);
        Ok(())
    };
    world(2).phantom().run(program).finished();
}

#[test]
fn ranks_of_a_window_are_those_of_its_communicator() {
    let program = |world: Comm| async move {
        let colour = u32::try_from(world.rank() % 2).unwrap();
        let part = world.split(Some(colour), 0).await?.expect("a group");
        let window = part.window(Buffer::of(&[world.rank() as u64]), 8).await?;
        window.lock(1, false).await?;
        let mut got = world.buffer(8);
        window.get(&mut got, 1, 0).await?;
        window.unlock(1).await?;
        assert_eq!(numbers(&got), [2 + u64::from(colour)]);
        assert_eq!(window.group().size(), 2);
        window.free().await?;
        part.free().await
    };
    world(4).run(program).finished();
}

fn line(location: u32) -> String {
    format!("mpi/tests/rma.rs:{location}")
}

#[test]
fn wrong_calls_are_errors() {
    let program = |world: Comm| async move {
        let window = world.window(world.buffer(64 << world.rank()), 8).await?;
        let data = world.buffer(16);
        let text = |result: Result<()>| result.unwrap_err().to_string();
        let outside = "access outside of an epoch: expected fence, start or lock of window 0 before an access to rank 1";
        assert_eq!(text(window.put(&data, 1, 0).await), outside);
        let mut got = world.buffer(8);
        assert_eq!(text(window.get(&mut got, 1, 0).await), outside);
        assert_eq!(
            text(window.unlock(1).await),
            "unlock of window 0 at rank 1, which this rank has not locked"
        );
        assert_eq!(
            text(window.flush(1).await),
            "flush of window 0 at rank 1, which this rank has not locked"
        );
        assert_eq!(
            text(window.flush_all().await),
            "flush_all of window 0 without lock before"
        );
        assert_eq!(
            text(window.unlock_all().await),
            "unlock_all of window 0 without lock_all before"
        );
        assert_eq!(
            text(window.complete().await),
            "complete of window 0 without start before"
        );
        assert_eq!(
            text(window.wait().await),
            "wait of window 0 without post before"
        );
        assert_eq!(
            window.lock(2, true).await,
            Err(Error::Rank { rank: 2, size: 2 })
        );
        window.lock(1, false).await?;
        let locked = line(line!() - 1);
        assert_eq!(
            text(window.lock(1, true).await),
            format!("window 0 at rank 1 is locked already by this rank, at {locked}")
        );
        assert_eq!(
            text(window.fence().await),
            format!("fence of window 0 in the epoch that lock began at {locked}")
        );
        assert_eq!(
            text(window.lock_all().await),
            format!("lock_all of window 0 in the epoch that lock began at {locked}")
        );
        let range = window.put(&data, 1, 15).await.unwrap_err();
        assert_eq!(range.class(), ErrorClass::RmaRange);
        assert_eq!(
            range.to_string(),
            "invalid range: 16 bytes from byte 120 on, window 0 has 128 bytes at rank 1"
        );
        assert!(text(window.put(&data, 1, u64::MAX).await).starts_with("invalid range"));
        assert_eq!(
            window.put(&data, 2, 0).await,
            Err(Error::Rank { rank: 2, size: 2 })
        );
        let own = Op::new::<u64>("mine", true, |_, _| {});
        assert_eq!(
            text(window.accumulate(&data, 1, 0, &own).await),
            "invalid operation `mine`: an accumulate expects a built-in operation"
        );
        assert_eq!(
            window
                .accumulate(&world.buffer(12), 1, 0, &Op::sum::<u64>())
                .await,
            Err(Error::Op {
                element: 8,
                length: 12
            })
        );
        let two = window.fetch_and_op(&data, 1, 0, &Op::sum::<u64>()).await;
        assert_eq!(
            two.unwrap_err().to_string(),
            "invalid length: a buffer of 16 bytes, expected 8 bytes"
        );
        window.unlock(1).await?;
        let around = group(&world, &[1 - world.rank()]);
        window.post(&around).await?;
        let posted = line(line!() - 1);
        assert_eq!(
            text(window.post(&around).await),
            format!("post of window 0 in the epoch that post began at {posted}")
        );
        window.start(&around).await?;
        let third = window.put(&data, world.rank(), 0).await.unwrap_err();
        assert_eq!(third.class(), ErrorClass::RmaSync, "not in the group");
        window.complete().await?;
        window.wait().await?;
        assert!(
            text(
                window
                    .read(60 << world.rank(), 8 << world.rank())
                    .await
                    .map(drop)
            )
            .starts_with("invalid range")
        );
        window.fence().await?;
        window.put(&data, 0, 0).await?;
        let fenced = line(line!() - 2);
        assert_eq!(
            text(window.free().await.map(drop)),
            format!("free of window 0 in the epoch that fence began at {fenced}")
        );
        let unit = world.window(world.buffer(8), 0).await;
        assert_eq!(unit.unwrap_err(), Error::Window(WindowError::Unit));
        Ok(())
    };
    world(2).run(program).returned();
}

#[test]
fn a_blocked_call_says_for_whom_it_waits() {
    let program = |world: Comm| async move {
        let window = world.window(world.buffer(8), 1).await?;
        match world.rank() {
            0 => window.start(&group(&world, &[1, 2])).await?,
            1 => {
                window.lock(3, true).await?;
                world.recv(&mut world.buffer(1), 0, 0).await?;
            }
            2 => {
                world.sleep(1.0).await;
                window.lock(3, false).await?;
            }
            _ => {
                window.post(&group(&world, &[0])).await?;
                window.wait().await?;
            }
        }
        Ok(())
    };
    let outcome = world(4).run(program);
    assert_eq!(
        outcome.blocked(0),
        ("start of window 0 for post of ranks 1, 2", &[1, 2][..])
    );
    assert_eq!(outcome.blocked(2), ("lock of window 0 at rank 3", &[3][..]));
    assert_eq!(
        outcome.blocked(3),
        ("wait of window 0 for complete of rank 0", &[0][..])
    );
}
