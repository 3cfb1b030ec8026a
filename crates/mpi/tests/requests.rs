//! Promise: requests complete once, in any order of waiting; loops of tests end at the right date
//! and never spin; and operations that are dropped before their end do no harm.

use mpi::prelude::*;
use testing::ranks::{Either, Order, THRESHOLD, join, join_woken, pattern, select, world};

#[test]
fn waiting_makes_a_request_null_and_null_requests_are_skipped() {
    async fn program(world: Comm) -> Result<()> {
        if world.rank() == 0 {
            for tag in 0..3 {
                world.send(&pattern(u64::from(tag), 0), 1, tag).await?;
            }
            return Ok(());
        }
        let mut requests: Vec<Request> = (0..3)
            .map(|tag| world.irecv(world.buffer(10), 0, tag))
            .collect::<Result<_>>()?;
        assert_eq!(requests[1].wait().await?.status.tag, 1);
        assert!(requests[1].is_null() && !requests[0].is_null());
        assert_eq!(requests[1].wait().await.unwrap_err(), Error::Request);
        assert_eq!(requests[1].test().await.unwrap_err(), Error::Request);
        let all = waitall(&mut requests).await?;
        let tags: Vec<_> = all
            .iter()
            .map(|one| one.as_ref().map(|one| one.status.tag))
            .collect();
        assert_eq!(tags, [Some(0), None, Some(2)]);
        assert!(requests.iter().all(Request::is_null));
        assert_eq!(waitall(&mut requests).await?.len(), 3);
        assert!(waitany(&mut requests).await?.is_none());
        assert!(waitall(&mut []).await?.is_empty());
        assert!(waitany(&mut []).await?.is_none());
        Ok(())
    }
    world(2).run(program).finished();
}

#[test]
fn waitany_gives_them_in_the_order_of_completion() {
    let outcome = world(4).run_finished(|world: Comm| async move {
        let rank = world.rank();
        if rank > 0 {
            world.sleep([3.0, 1.0, 2.0][rank - 1]).await;
            world.send(&pattern(rank as u64, 0), 0, 0).await?;
            return Ok(());
        }
        let mut requests = Vec::new();
        for source in 1..4 {
            requests.push(world.irecv(world.buffer(10), source, ANY_TAG)?);
        }
        while let Some((position, completion)) = waitany(&mut requests).await? {
            assert_eq!(completion.status.source, position + 1);
            world.println(format_args!("{position} at {}", world.wtime()));
        }
        Ok(())
    });
    assert_eq!(outcome.printed, ["1 at 1", "2 at 2", "0 at 3"]);
}

#[test]
fn waitany_gives_the_lowest_position_of_several() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            world.send(&pattern(1, 0), 1, 1).await?;
            world.send(&pattern(1, 0), 1, 0).await?;
            return Ok(());
        }
        let mut requests = [
            world.irecv(world.buffer(1), 0, 0)?,
            world.irecv(world.buffer(1), 0, 1)?,
        ];
        world.sleep(1.0).await;
        let (position, _) = waitany(&mut requests).await?.expect("not all null");
        assert_eq!(position, 0);
        requests[1].wait().await?;
        Ok(())
    });
}

#[test]
fn waitall_gives_the_first_error_and_all_are_over() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            for tag in 0..3 {
                world.send(&pattern(10, 0), 1, tag).await?;
            }
            return Ok(());
        }
        let mut requests = Vec::new();
        for (tag, length) in (0..3).zip([10, 9, 8]) {
            requests.push(world.irecv(world.buffer(length), 0, tag)?);
        }
        let error = waitall(&mut requests).await.unwrap_err();
        assert!(matches!(error, Error::Truncated { tag: 1, .. }), "{error}");
        assert!(requests.iter().all(Request::is_null));
        Ok(())
    });
}

#[test]
fn each_of_several_requests_has_its_result() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            for tag in 0..6 {
                world.send(&pattern(10, 0), 1, tag).await?;
            }
            return Ok(());
        }
        for first in [0, 3] {
            let mut requests = Vec::new();
            for (tag, length) in (first..).zip([10, 9, 10]) {
                requests.push(world.irecv(world.buffer(length), 0, tag)?);
            }
            let results = match first {
                0 => mpi::waitall_results(&mut requests).await,
                _ => loop {
                    if let Some(results) = mpi::testall_results(&mut requests).await {
                        break results;
                    }
                },
            };
            let are_right = results.iter().map(|result| matches!(result, Some(Ok(_))));
            assert_eq!(are_right.collect::<Vec<bool>>(), [true, false, true]);
            assert!(requests.iter().all(Request::is_null));
        }
        Ok(())
    });
}

#[test]
fn a_loop_of_tests_ends_at_the_date_of_the_message_and_does_not_spin() {
    for length in [10, THRESHOLD] {
        let program = move |world: Comm| async move {
            if world.rank() == 0 {
                world.sleep(4.0).await;
                world.send(&pattern(length, 0), 1, 0).await?;
                return Ok(());
            }
            let mut request = world.irecv(world.buffer(length), 0, 0)?;
            let mut tests = 0;
            let completion = loop {
                tests += 1;
                if let Some(completion) = request.test().await? {
                    break completion;
                }
            };
            assert_eq!(completion.buffer.bytes(), pattern(length, 0).bytes());
            assert_eq!(world.wtime(), 4.0);
            assert!(tests < 10, "{tests} tests");
            Ok(())
        };
        assert!(world(2).run(program).finished().polls < 20);
    }
}

#[test]
fn a_loop_of_tests_with_work_in_between_sees_each_step() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            world.sleep(4.5).await;
            world.send(&pattern(1, 0), 1, 0).await?;
            return Ok(());
        }
        let mut request = world.irecv(world.buffer(1), 0, 0)?;
        while request.test().await?.is_none() {
            world.compute(1e9).await;
        }
        assert_eq!(world.wtime(), 5.0);
        Ok(())
    });
}

#[test]
fn what_a_rank_does_itself_lets_it_test_again() {
    // The answer comes only after the tenth chunk, so a rank that waited at its second test would
    // wait for ever.
    for chunks in [10_u32, 3000] {
        world(2).run_finished(move |world: Comm| async move {
            if world.rank() == 0 {
                let mut answer = world.irecv(world.buffer(1), 1, 0)?;
                for _ in 0..chunks {
                    assert!(answer.test().await?.is_none());
                    drop(world.isend(pattern(1, 0), 1, 0)?);
                }
                answer.wait().await?;
            } else {
                let mut buffer = world.buffer(1);
                for _ in 0..chunks {
                    world.recv(&mut buffer, 0, 0).await?;
                }
                world.send(&buffer, 0, 0).await?;
            }
            Ok(())
        });
    }
}

#[test]
fn what_a_rank_learns_lets_it_test_again() {
    // Rank 0 acts one turn of its loop after the answer that made it act.
    world(2).run_finished(|world: Comm| async move {
        let mut buffer = world.buffer(1);
        if world.rank() == 1 {
            world.send(&buffer, 0, 1).await?;
            world.recv(&mut buffer, 0, 2).await?;
            world.send(&buffer, 0, 0).await?;
            return Ok(());
        }
        let mut answer = world.irecv(world.buffer(1), 1, 0)?;
        let (mut seen, mut sent) = (false, false);
        while answer.test().await?.is_none() {
            if !seen {
                seen = world.iprobe(1, 1).await?.is_some();
            } else if !sent {
                world.send(&buffer, 1, 2).await?;
                sent = true;
            }
        }
        world.recv(&mut buffer, 1, 1).await?;
        Ok(())
    });
}

#[test]
fn a_loop_of_different_tests_ends() {
    let outcome = world(5).run_finished(|world: Comm| async move {
        let size = world.size();
        if world.rank() > 0 {
            world.sleep(world.rank() as f64).await;
            world.send(&pattern(1, 0), 0, 0).await?;
            return Ok(());
        }
        let receives = (1..size).map(|source| world.irecv(world.buffer(1), source, 0));
        let mut requests: Vec<Request> = receives.collect::<Result<_>>()?;
        let mut tests = 0;
        while requests.iter().any(|request| !request.is_null()) {
            for request in &mut requests {
                tests += 1;
                if !request.is_null() && request.test().await?.is_some() {
                    world.println(format_args!("{}", world.wtime()));
                }
            }
            assert_eq!(world.iprobe(ANY_SOURCE, 9).await?, None);
        }
        assert!(tests < 200, "{tests} tests");
        Ok(())
    });
    assert_eq!(outcome.printed, ["1", "2", "3", "4"]);
}

#[test]
fn a_loop_of_tests_for_what_cannot_come_is_reported() {
    let outcome = world(2).run(|world: Comm| async move {
        // A message that no loop asks for.
        world.send(&pattern(1, 0), 1 - world.rank(), 5).await?;
        if world.rank() == 0 {
            let mut request = world.irecv(world.buffer(1), 1, 3)?;
            while request.test().await?.is_none() {}
        } else {
            while world.iprobe(ANY_SOURCE, 4).await?.is_none() {}
        }
        Ok(())
    });
    assert_eq!(
        outcome.blocked(0),
        ("polling: test of recv (source 1, tag 3)", &[1][..])
    );
    assert_eq!(
        outcome.blocked(1),
        ("polling: probe (any source, tag 4)", &[][..])
    );
    assert!(outcome.polls < 10);
}

#[test]
fn a_message_that_stays_does_not_make_a_loop_of_tests_spin() {
    world(2).run_finished(|world: Comm| async move {
        let mut buffer = world.buffer(1);
        if world.rank() == 1 {
            world.send(&buffer, 0, 1).await?;
            world.sleep(1.0).await;
            world.send(&buffer, 0, 0).await?;
            return Ok(());
        }
        world.probe(1, 1).await?;
        let mut request = world.irecv(world.buffer(1), 1, 0)?;
        while request.test().await?.is_none() {
            assert!(world.iprobe(1, 1).await?.is_some());
        }
        assert_eq!(world.wtime(), 1.0);
        world.recv(&mut buffer, 1, 1).await?;
        Ok(())
    });
}

#[test]
fn a_dropped_send_still_arrives() {
    for length in [10, 1000] {
        for after_start in [false, true] {
            world(2).run_finished(move |world: Comm| async move {
                if world.rank() == 0 {
                    let request = world.isend(pattern(length, 0), 1, 0)?;
                    if after_start {
                        // The CTS has come and the data are leaving.
                        world.sleep(2.0).await;
                    }
                    drop(request);
                } else {
                    world.sleep(1.0).await;
                    let mut buffer = world.buffer(length);
                    world.recv(&mut buffer, 0, 0).await?;
                    assert_eq!(buffer.bytes(), pattern(length, 0).bytes());
                }
                Ok(())
            });
        }
    }
}

#[test]
fn a_send_that_is_dropped_in_a_select_still_arrives() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            let message = pattern(1000, 0);
            let first = select(world.send(&message, 1, 0), world.sleep(1.0)).await;
            assert!(matches!(first, Either::Right(())));
        } else {
            world.sleep(2.0).await;
            let mut buffer = world.buffer(1000);
            world.recv(&mut buffer, 0, 0).await?;
            assert_eq!(buffer.bytes(), pattern(1000, 0).bytes());
        }
        Ok(())
    });
}

#[test]
fn a_receive_whose_request_is_dropped_takes_the_first_message() {
    let outcome = world(2)
        .run(|world: Comm| async move {
            if world.rank() == 0 {
                let request = world.irecv(world.buffer(10), 1, 0)?;
                drop(request);
                world.println(format_args!("{}:{}", file!(), line!() + 1));
                drop(world.irecv(world.buffer(10), 1, 1)?);
                world.sleep(1.0).await;
                let mut buffer = world.buffer(10);
                assert_eq!(world.recv(&mut buffer, 1, 0).await?.length, 4);
            } else {
                world.sleep(0.5).await;
                world.send(&pattern(3, 0), 0, 0).await?;
                world.send(&pattern(4, 0), 0, 0).await?;
            }
            Ok(())
        })
        .returned();
    let place = &outcome.printed[0];
    assert_eq!(
        outcome.leftovers[0],
        [format!(
            "unmatched receive (source 1, tag 1) dropped, posted at {place}"
        )]
    );
    assert!(outcome.operations[0].ends_with("1 operations)"));
}

#[test]
fn a_dropped_receive_gives_its_buffer_back() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            let mut buffer = Buffer::from(vec![5; 8]);
            let first = select(world.recv(&mut buffer, 1, 0), world.sleep(1.0)).await;
            assert!(matches!(first, Either::Right(())));
            assert_eq!(buffer.bytes(), Some(&[5; 8][..]));
            assert_eq!(world.recv(&mut buffer, 1, 0).await?.length, 3);
            assert_eq!(
                &buffer.bytes().unwrap()[..3],
                pattern(3, 0).bytes().unwrap()
            );
        } else {
            world.sleep(2.0).await;
            world.send(&pattern(3, 0), 0, 0).await?;
        }
        Ok(())
    });
}

#[test]
fn a_receive_that_is_dropped_while_its_data_come_lets_the_sender_finish() {
    let program = |world: Comm| async move {
        if world.rank() == 0 {
            let mut buffer = Buffer::from(vec![5; 200]);
            // Rank 0 answers the announcement when it is woken by it, and then gives up before the
            // data come.
            let gone = select(world.recv(&mut buffer, 1, 0), async {
                world.recv(&mut world.buffer(1), 1, 1).await
            });
            assert!(matches!(gone.await, Either::Right(Ok(_))));
            assert_eq!(buffer.bytes(), Some(&[5; 200][..]));
            world.sleep(1.0).await;
            assert_eq!(
                buffer.bytes(),
                Some(&[5; 200][..]),
                "nothing is written later"
            );
        } else {
            let mut large = world.isend(pattern(200, 0), 0, 0)?;
            world.send(&pattern(1, 0), 0, 1).await?;
            large.wait().await?;
            world.println(format_args!("sent"));
        }
        Ok(())
    };
    // RTS, then the small message, then CTS and data.
    let order = Order::script(&[(1, 0), (1, 0), (0, 1), (1, 0)]);
    let outcome = world(2).order(order).run(program).finished();
    assert_eq!(outcome.printed, ["sent"]);
}

#[test]
fn a_request_that_is_dropped_while_its_data_come_lets_the_sender_finish() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            let request = world.irecv(world.buffer(200), 1, 0)?;
            world.recv(&mut world.buffer(1), 1, 1).await?;
            drop(request);
        } else {
            let mut large = world.isend(pattern(200, 0), 0, 0)?;
            world.send(&pattern(1, 0), 0, 1).await?;
            large.wait().await?;
        }
        Ok(())
    });
}

#[test]
fn futures_that_are_never_polled_do_nothing() {
    let outcome = world(1).run_finished(|world: Comm| async move {
        let mut buffer = world.buffer(4);
        drop(world.send(&buffer, 0, 0));
        drop(world.recv(&mut buffer, 0, 0));
        drop(world.barrier());
        drop(world.sleep(1.0));
        assert_eq!(buffer.len(), 4);
        Ok(())
    });
    assert!(outcome.transcript.is_empty());
    assert_eq!(outcome.now, 0.0);
}

async fn send_with_pauses(world: &Comm) -> Result<()> {
    for tag in [2, 0, 1] {
        world.sleep(1.0).await;
        world.send(&pattern(u64::from(tag), 0), 1, tag).await?;
    }
    Ok(())
}

#[test]
fn several_waits_at_once_are_all_woken() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            return send_with_pauses(&world).await;
        }
        let (mut a, mut b) = (world.buffer(4), world.buffer(4));
        let (first, second) = join(world.recv(&mut a, 0, 0), world.recv(&mut b, 0, 1)).await;
        assert_eq!((first?.length, second?.length), (0, 1));
        world.recv(&mut a, 0, 2).await?;
        Ok(())
    });
}

#[test]
fn combinators_that_poll_only_what_was_woken_see_every_message() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            return send_with_pauses(&world).await;
        }
        let receive = |tag: u32| {
            let world = &world;
            let future: std::pin::Pin<Box<dyn Future<Output = u64>>> = Box::pin(async move {
                let mut buffer = world.buffer(4);
                world.recv(&mut buffer, 0, tag).await.unwrap().length
            });
            future
        };
        assert_eq!(
            join_woken(vec![receive(0), receive(1), receive(2)]).await,
            [0, 1, 2]
        );
        Ok(())
    });
}

#[test]
fn places_of_operations_are_used_again() {
    let outcome = world(1).run_finished(|world: Comm| async move {
        for round in 0..1000_u64 {
            let mut sending = world.isend(pattern(round % 200, round), 0, 0)?;
            let mut buffer = world.buffer(200);
            world.recv(&mut buffer, 0, 0).await?;
            sending.wait().await?;
        }
        world.println(format_args!("{world:?}"));
        Ok(())
    });
    assert_eq!(outcome.printed, ["Comm(rank 0 of 1, context 0)"]);
}
