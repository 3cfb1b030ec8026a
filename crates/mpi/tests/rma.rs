//! Promise: the memory of windows equals the result of a sequential execution of the accesses, by
//! each way of synchronisation, in each order of arrivals, and with limits.

use mpi::{Limits, TargetPlace, prelude::*};
use testing::ranks::{Order, World, pattern, world};

/// Worlds that differ in their limits and in their order of delivery.
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
    let values = buffer.values::<u64>().expect("whole numbers");
    values.expect("a real buffer")
}

fn group(world: &Comm, ranks: &[usize]) -> Group {
    world.group().incl(ranks).expect("ranks of the world")
}

/// Calls that order the accesses of all ranks.
#[derive(Clone, Copy, Debug)]
enum Synchronisation {
    Fence,
    Exposure,
    Lock,
    LockAll,
}

const ALL: [Synchronisation; 4] = [
    Synchronisation::Fence,
    Synchronisation::Exposure,
    Synchronisation::Lock,
    Synchronisation::LockAll,
];

/// Each rank puts a block to the rank above and reads one of the rank below.
#[test]
fn puts_and_gets_move_what_a_sequential_run_would() {
    for (way, length) in ALL.into_iter().flat_map(|way| [(way, 8), (way, 1000)]) {
        for world in worlds(3) {
            world.run_finished(move |world: Comm| async move {
                let (rank, size) = (world.rank(), world.size());
                let (above, below) = ((rank + 1) % size, (rank + size - 1) % size);
                let mut memory = world.buffer(2 * length);
                memory.write(length, &pattern(length, rank as u64));
                let window = world.window(memory, 1).await?;
                let around = group(&world, &[above, below]);
                match way {
                    Synchronisation::Fence => window.fence().await?,
                    Synchronisation::Exposure => {
                        window.post(&around).await?;
                        window.start(&around).await?;
                    }
                    Synchronisation::Lock => window.lock(above, true).await?,
                    Synchronisation::LockAll => window.lock_all().await?,
                }
                window
                    .put(&pattern(length, 10 + rank as u64), above, 0)
                    .await?;
                if let Synchronisation::Lock = way {
                    window.unlock(above).await?;
                    window.lock(below, false).await?;
                }
                let mut got = world.buffer(length);
                window.get(&mut got, below, length).await?;
                match way {
                    Synchronisation::Fence => window.fence().await?,
                    Synchronisation::Exposure => {
                        window.complete().await?;
                        window.wait().await?;
                    }
                    Synchronisation::Lock => window.unlock(below).await?,
                    Synchronisation::LockAll => window.unlock_all().await?,
                }
                world.barrier().await?;
                let put = window.read(0, length).await?;
                assert_eq!(put.bytes(), pattern(length, 10 + below as u64).bytes());
                assert_eq!(got.bytes(), pattern(length, below as u64).bytes());
                let memory = window.free().await?;
                assert_eq!(memory.len(), 2 * length);
                Ok(())
            });
        }
    }
}

#[test]
fn accumulates_of_all_ranks_add_up() {
    for world in worlds(4) {
        world.run_finished(|world: Comm| async move {
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
        });
    }
}

#[test]
fn read_modify_writes_are_atomic() {
    for world in worlds(4) {
        world.run_finished(|world: Comm| async move {
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
        });
    }
}

#[test]
fn accumulates_of_one_rank_keep_their_order() {
    for world in worlds(2) {
        world.run_finished(|world: Comm| async move {
            let window = world.window(Buffer::of(&[3_u64]), 8).await?;
            window.fence().await?;
            if world.rank() == 0 {
                for (value, op) in [
                    (5_u64, Op::replace::<u64>()),
                    (2, Op::product::<u64>()),
                    (1, Op::sum::<u64>()),
                ] {
                    let value = Buffer::of(&[value]);
                    window.accumulate(&value, 1, 0, &op).await?;
                }
            }
            window.fence().await?;
            let expected = [3, 11][world.rank()];
            assert_eq!(numbers(&window.read(0, 8).await?), [expected]);
            window.free().await?;
            Ok(())
        });
    }
}

#[test]
fn requests_of_accesses_end_and_bring_the_data() {
    for world in worlds(2) {
        world.run_finished(|world: Comm| async move {
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
            let done = waitall(&mut requests).await?;
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
        });
    }
}

#[test]
fn locks_are_granted_in_the_order_of_their_requests() {
    world(5).run_finished(|world: Comm| async move {
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
    });
}

#[test]
fn a_target_that_computes_makes_progress() {
    world(2).run_finished(|world: Comm| async move {
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
    });
}

#[test]
fn an_exposure_can_be_tested() {
    world(2).run_finished(|world: Comm| async move {
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
    });
}

#[test]
fn phantoms_have_lengths_only() {
    world(2).phantom().run_finished(|world: Comm| async move {
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
    });
}

#[test]
fn ranks_of_a_window_are_those_of_its_communicator() {
    world(4).run_finished(|world: Comm| async move {
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
        part.free()
    });
}

/// Accesses to one of four columns of the other rank; the words of its window count up from 100.
#[test]
fn data_have_the_places_of_a_datatype_at_the_target() {
    for world in worlds(2) {
        world.run_finished(|world: Comm| async move {
            let (rows, other) = (40, 1 - world.rank());
            let start: Vec<u64> = (0..4 * rows).map(|word| 100 + word).collect();
            let window = world.window(Buffer::of(&start), 8).await?;
            let column = Datatype::vector(rows, 1, 4, &Datatype::of::<u64>())?;
            let column = |at| TargetPlace::items(at, 1, &column);
            let given: Vec<u64> = (0..rows).map(|row| 7 * row).collect();
            let data = Buffer::of(&given);
            let sum = Op::sum::<u64>();
            let expected =
                |at: u64| -> Vec<u64> { (0..rows).map(|row| 100 + 4 * row + at).collect() };
            let added = |at| -> Vec<u64> {
                let old = expected(at).into_iter();
                old.zip(&given).map(|(old, given)| old + given).collect()
            };
            window.lock_all().await?;
            window.put(&data, other, column(0)?).await?;
            window.accumulate(&data, other, column(1)?, &sum).await?;
            let before = window
                .get_accumulate(&data, other, column(2)?, &sum)
                .await?;
            assert_eq!(numbers(&before), expected(2));
            let mut got = world.buffer(8 * rows);
            window.get(&mut got, other, column(3)?).await?;
            assert_eq!(numbers(&got), expected(3));
            window.flush_all().await?;
            let mut requests = Vec::new();
            for at in 0..4 {
                let room = world.buffer(8 * rows);
                requests.push(window.rget(room, other, column(at)?).await?);
            }
            let done = waitall(&mut requests).await?;
            let columns: Vec<_> = done
                .iter()
                .map(|done| numbers(&done.as_ref().unwrap().buffer))
                .collect();
            assert_eq!(columns, [given.clone(), added(1), added(2), expected(3)]);
            let mut requests = vec![
                window.rput(&data, other, column(3)?).await?,
                window.raccumulate(&data, other, column(0)?, &sum).await?,
                window
                    .rget_accumulate(&data, other, column(1)?, &Op::no_op::<u64>())
                    .await?,
            ];
            let done = waitall(&mut requests).await?;
            assert_eq!(numbers(&done[2].as_ref().unwrap().buffer), added(1));
            window.put(&data, PROC_NULL, column(0)?).await?;
            window.unlock_all().await?;
            world.barrier().await?;
            let all = numbers(&window.read(0, 32 * rows).await?);
            for (row, words) in all.chunks(4).enumerate() {
                let value = given[row];
                assert_eq!(words[0], 2 * value);
                assert_eq!([words[1], words[2]], [added(1)[row], added(2)[row]]);
                assert_eq!(words[3], value);
            }
            window.free().await?;
            Ok(())
        });
    }
}

#[test]
fn an_access_to_several_places_is_one_message() {
    let packets = world(2)
        .run_finished(|world: Comm| async move {
            let window = world.window(Buffer::zeroed(160_000), 8).await?;
            window.fence().await?;
            if world.rank() == 0 {
                let even = Datatype::vector(10_000, 1, 2, &Datatype::of::<u64>())?;
                let place = TargetPlace::items(0, 1, &even)?;
                window.put(&world.buffer(80_000), 1, place).await?;
            }
            window.fence().await?;
            window.free().await?;
            Ok(())
        })
        .transcript;
    let puts: Vec<_> = packets.iter().filter(|line| line.contains("Put")).collect();
    assert_eq!(puts.len(), 1, "{puts:?}");
    assert!(puts[0].contains("length 80032"), "{puts:?}");
}

#[test]
fn phantoms_have_places_too() {
    world(2).phantom().run_finished(|world: Comm| async move {
        let window = world.window(world.buffer(1000), 1).await?;
        let parts = || TargetPlace::pieces(0, vec![(0, 8), (100, 8), (992, 8)]);
        window.fence().await?;
        let data = world.buffer(24);
        window.put(&data, 1, parts()).await?;
        let sum = Op::sum::<u64>();
        let before = window.get_accumulate(&data, 0, parts(), &sum).await?;
        let mut got = world.buffer(24);
        window.get(&mut got, 0, parts()).await?;
        assert!(before.is_phantom() && got.is_phantom());
        assert_eq!((before.len(), got.len()), (24, 24));
        window.fence().await?;
        window.free().await?;
        Ok(())
    });
}

#[test]
fn places_lie_within_the_window() {
    world(1).run_finished(|world: Comm| async move {
        let window = world.window(Buffer::zeroed(100), 1).await?;
        window.fence().await?;
        let outside = TargetPlace::pieces(1, vec![(0, 8), (92, 8)]);
        let error = window.put(&Buffer::zeroed(16), 0, outside).await;
        let text = error.unwrap_err().to_string();
        assert!(text.contains("100 bytes from byte 1 on"), "{text}");
        let inside = TargetPlace::pieces(0, vec![(0, 8), (92, 8)]);
        let error = window.put(&Buffer::zeroed(17), 0, inside).await;
        assert!(error.is_err(), "17 bytes for 16");
        window.fence().await?;
        window.free().await?;
        Ok(())
    });
}
