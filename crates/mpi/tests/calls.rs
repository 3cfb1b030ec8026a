//! Promise: the calls do as their MPI names say, and refuse invalid arguments before any message is
//! sent.

use mpi::{Level, TAG_UB, prelude::*};
use testing::ranks::{Order, THRESHOLD, join, pattern, world};

#[test]
fn everybody_waits_for_the_last_at_a_barrier() {
    for ranks in 1..=9 {
        for threshold in [0, THRESHOLD] {
            for seed in 1..6 {
                world(ranks)
                    .threshold(threshold)
                    .order(Order::Seeded(seed))
                    .run_finished(move |world: Comm| async move {
                        let late = (seed as usize + world.size()) % world.size();
                        if world.rank() == late {
                            world.sleep(2.0).await;
                        }
                        world.barrier().await?;
                        assert!(world.wtime() >= 2.0);
                        world.barrier().await?;
                        world.barrier().await?;
                        Ok(())
                    });
            }
        }
    }
}

#[test]
fn a_barrier_takes_ceil_log2_rounds() {
    for (ranks, rounds) in [(1, 0), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4)] {
        let outcome = world(ranks).run(|world: Comm| async move { world.barrier().await });
        assert_eq!(outcome.finished().transcript.len(), ranks as usize * rounds);
    }
}

#[test]
fn all_ranks_shift_round_the_ring_with_sendrecv() {
    for length in [10, THRESHOLD] {
        let program = move |world: Comm| async move {
            let (rank, size) = (world.rank(), world.size());
            let mut buffer = world.buffer(length);
            let sent = pattern(length, rank as u64);
            let (above, below) = ((rank + 1) % size, (rank + size - 1) % size);
            let status = world
                .sendrecv(&sent, above, 3, &mut buffer, below, 3)
                .await?;
            assert_eq!(
                (status.source, status.tag, status.length),
                (below, 3, length)
            );
            assert_eq!(buffer.bytes(), pattern(length, below as u64).bytes());
            Ok(())
        };
        for ranks in 1..5 {
            world(ranks).run(program).finished();
        }
    }
}

#[test]
fn sendrecv_sends_nothing_if_either_half_is_refused() {
    let program = |world: Comm| async move {
        let message = pattern(4, 0);
        let mut buffer = world.buffer(4);
        let rank = Error::Rank { rank: 9, size: 2 };
        let tag = Error::Tag(TAG_UB + 1);
        assert_eq!(
            world.sendrecv(&message, 9, 0, &mut buffer, 0, 0).await,
            Err(rank)
        );
        assert_eq!(
            world
                .sendrecv(&message, 0, TAG_UB + 1, &mut buffer, 0, 0)
                .await,
            Err(tag)
        );
        assert_eq!(
            world.sendrecv(&message, 0, 0, &mut buffer, 9, 0).await,
            Err(rank)
        );
        assert_eq!(
            world
                .sendrecv(&message, 0, 0, &mut buffer, 0, TAG_UB + 1)
                .await,
            Err(tag)
        );
        assert_eq!(buffer.len(), 4);
        Ok(())
    };
    assert!(world(2).run(program).finished().transcript.is_empty());
}

#[test]
fn sendrecv_is_over_when_its_send_is_also_after_an_error() {
    world(2).run_finished(|world: Comm| async move {
        let other = 1 - world.rank();
        if world.rank() == 0 {
            let mut short = world.buffer(1);
            let result = world
                .sendrecv(&pattern(THRESHOLD, 0), other, 0, &mut short, other, 0)
                .await;
            assert!(matches!(result, Err(Error::Truncated { length: 2, .. })));
            assert_eq!(
                world.wtime(),
                5.0,
                "the send was over when its receive had met it"
            );
        } else {
            world.send(&pattern(2, 0), other, 0).await?;
            world.sleep(5.0).await;
            world.recv(&mut world.buffer(THRESHOLD), other, 0).await?;
        }
        Ok(())
    });
}

#[test]
fn ranks_and_tags_out_of_range_are_refused() {
    let program = |world: Comm| async move {
        let rank = Error::Rank { rank: 2, size: 2 };
        let tag = Error::Tag(3_000_000_000);
        let mut buffer = world.buffer(4);
        assert_eq!(world.send(&buffer, 2, 0).await, Err(rank));
        assert_eq!(world.send(&buffer, 0, 3_000_000_000).await, Err(tag));
        assert_eq!(world.isend(buffer.clone(), 2, 0).unwrap_err(), rank);
        assert_eq!(
            world.isend(buffer.clone(), 0, 3_000_000_000).unwrap_err(),
            tag
        );
        assert_eq!(world.recv(&mut buffer, 2, 0).await, Err(rank));
        assert_eq!(
            world.recv(&mut buffer, ANY_SOURCE, 3_000_000_000).await,
            Err(tag)
        );
        assert_eq!(world.irecv(buffer.clone(), 2, ANY_TAG).unwrap_err(), rank);
        assert_eq!(world.probe(2, 0).await, Err(rank));
        assert_eq!(world.iprobe(0, 3_000_000_000).await, Err(tag));
        assert_eq!(rank.to_string(), "invalid rank 2: expected 0 to 1");
        assert_eq!(
            tag.to_string(),
            "invalid tag 3000000000: expected 0 to 2147483647"
        );
        assert_eq!(
            buffer.len(),
            4,
            "a refused receive does not take the buffer"
        );
        Ok(())
    };
    assert!(world(2).run(program).finished().transcript.is_empty());
}

#[test]
fn the_largest_tag_is_a_tag() {
    world(1).run_finished(|world: Comm| async move {
        let mut buffer = world.buffer(1);
        world
            .sendrecv(&pattern(1, 0), 0, TAG_UB, &mut buffer, 0, TAG_UB)
            .await?;
        Ok(())
    });
}

#[test]
fn messages_move_while_a_rank_sleeps_or_computes() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            let mut sending = world.isend(pattern(THRESHOLD, 0), 1, 0)?;
            world.compute(2e9).await;
            assert_eq!(world.wtime(), 2.0);
            assert!(sending.test().await?.is_some());
        } else {
            let mut receiving = world.irecv(world.buffer(THRESHOLD), 0, 0)?;
            world.sleep(2.0).await;
            assert!(receiving.test().await?.is_some());
        }
        Ok(())
    });
}

#[test]
fn sleeps_run_side_by_side_in_join() {
    world(1).run_finished(|world: Comm| async move {
        join(world.sleep(2.0), join(world.sleep(3.0), world.sleep(1.0))).await;
        assert_eq!(world.wtime(), 3.0);
        world.sleep(0.0).await;
        assert_eq!(world.wtime(), 3.0);
        Ok(())
    });
}

#[test]
fn a_program_prints_logs_and_names_its_host() {
    let outcome = world(1).run_finished(|world: Comm| async move {
        world.println(format_args!(
            "{} of {} on {}",
            world.rank(),
            world.size(),
            world.host_name()
        ));
        world.log(Level::Info, format_args!("at {}", world.wtime()));
        Ok(())
    });
    assert_eq!(outcome.printed, ["0 of 1 on host-0", "Info: at 0"]);
}

#[test]
fn an_abort_does_not_return() {
    let outcome = world(2).run(|world: Comm| async move {
        if world.rank() == 1 {
            world.abort(7).await;
        }
        world.recv(&mut world.buffer(1), 1, 0).await.map(drop)
    });
    assert_eq!(outcome.aborted, Some(7));
    assert_eq!(outcome.results, [None, None]);
}

#[test]
fn an_error_of_a_rank_is_its_result() {
    let outcome = world(1).run(|world: Comm| async move {
        world.send(&world.buffer(1), 5, 0).await?;
        Ok(())
    });
    assert_eq!(
        outcome.results,
        [Some(Err(Error::Rank { rank: 5, size: 1 }))]
    );
}

#[test]
fn a_rank_that_returns_goes_on_until_its_sends_are_over() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            for tag in 0..5 {
                drop(world.isend(pattern(THRESHOLD, u64::from(tag)), 1, tag)?);
            }
        } else {
            world.sleep(1.0).await;
            for tag in (0..5).rev() {
                let mut buffer = world.buffer(THRESHOLD);
                world.recv(&mut buffer, 0, tag).await?;
                assert_eq!(buffer.bytes(), pattern(THRESHOLD, u64::from(tag)).bytes());
            }
        }
        Ok(())
    });
}

#[test]
fn what_nobody_received_is_told_by_sender_and_tag() {
    let outcome = world(2)
        .run(|world: Comm| async move {
            if world.rank() == 0 {
                for length in 1..4 {
                    world.send(&pattern(length, 0), 1, 6).await?;
                }
                world.send(&pattern(9, 0), 1, 7).await?;
            }
            Ok(())
        })
        .returned();
    assert_eq!(
        outcome.leftovers[1],
        [
            "unreceived: 3 messages, 6 bytes in all, from rank 0, tag 6",
            "unreceived message: 9 bytes from rank 0, tag 7"
        ]
    );
}

#[test]
fn everybody_sends_to_everybody() {
    async fn program(world: Comm) -> Result<()> {
        let (rank, size) = (world.rank(), world.size());
        let mut requests = Vec::new();
        for peer in 0..size {
            requests.push(world.irecv(world.buffer(300), peer, 0)?);
        }
        for peer in 0..size {
            let length = (rank * size + peer) as u64 * 10;
            requests.push(world.isend(pattern(length, rank as u64), peer, 0)?);
        }
        for (peer, completion) in waitall(&mut requests)
            .await?
            .into_iter()
            .take(size)
            .enumerate()
        {
            let completion = completion.expect("not null");
            let length = (peer * size + rank) as u64 * 10;
            assert_eq!(completion.status.length, length);
            let bytes = &completion.buffer.bytes().unwrap()[..usize::try_from(length).unwrap()];
            assert_eq!(Some(bytes), pattern(length, peer as u64).bytes());
        }
        Ok(())
    }
    for seed in 1..30 {
        world(5).order(Order::Seeded(seed)).run(program).finished();
    }
}
