//! Promise: each send mode ends at the point that MPI defines, calls with the null process have no
//! effect, cancelled operations have one winner, and persistent requests can be started repeatedly.

use mpi::{
    OverheadSection, OverheadTable, Overheads, Settings, prelude::*, start_all, testall, testany,
    testsome, waitsome,
};
use testing::ranks::{Order, Outcome, THRESHOLD, pattern, world};

#[test]
fn a_synchronous_send_waits_for_its_receive_at_every_length() {
    for length in [0, 1, THRESHOLD - 1, THRESHOLD] {
        for mode in [SendMode::Standard, SendMode::Ready, SendMode::Synchronous] {
            world(2).run_finished(move |world: Comm| async move {
                if world.rank() == 1 {
                    world.sleep(2.0).await;
                    let mut buffer = world.buffer(length);
                    world.recv(&mut buffer, 0, 3).await?;
                    assert_eq!(buffer.bytes(), pattern(length, 5).bytes());
                    return Ok(());
                }
                let content = pattern(length, 5);
                match mode {
                    SendMode::Synchronous => world.ssend(&content, 1, 3).await?,
                    SendMode::Ready => world.rsend(&content, 1, 3).await?,
                    _ => world.send(&content, 1, 3).await?,
                }
                let waits = mode == SendMode::Synchronous || length >= THRESHOLD;
                assert_eq!(world.wtime(), if waits { 2.0 } else { 0.0 });
                Ok(())
            });
        }
    }
}

#[test]
fn two_synchronous_sends_to_each_other_are_a_deadlock() {
    let run = |mode: SendMode| -> Outcome {
        world(2).threshold(0).run(move |world: Comm| async move {
            let peer = 1 - world.rank();
            world.buffer_attach(world.buffer(8))?;
            match mode {
                SendMode::Synchronous => world.ssend(&world.buffer(8), peer, 0).await?,
                _ => world.bsend(&world.buffer(8), peer, 0).await?,
            }
            world.recv(&mut world.buffer(8), peer, 0).await?;
            world.buffer_detach().await.map(drop)
        })
    };
    let text = "send (destination 1, tag 0, 8 bytes, rendezvous)";
    assert_eq!(run(SendMode::Synchronous).blocked(0), (text, &[1][..]));
    run(SendMode::Buffered).finished();
}

#[test]
fn buffered_messages_take_room_until_they_have_left() {
    world(2).run_finished(|world: Comm| async move {
        let length = THRESHOLD;
        if world.rank() == 1 {
            world.sleep(1.0).await;
            for salt in 0..4 {
                let mut buffer = world.buffer(length);
                world.recv(&mut buffer, 0, 0).await?;
                assert_eq!(buffer.bytes(), pattern(length, salt).bytes());
            }
            return Ok(());
        }
        let none = Error::BufferFull {
            length,
            free: 0,
            attached: None,
        };
        assert_eq!(world.bsend(&pattern(length, 0), 1, 0).await, Err(none));
        world.buffer_attach(world.buffer(2 * length + 5))?;
        let twice = Error::BufferAttached {
            length: 2 * length + 5,
        };
        assert_eq!(world.buffer_attach(world.buffer(1)), Err(twice));
        world.bsend(&pattern(length, 0), 1, 0).await?;
        let mut second = world.ibsend(pattern(length, 1), 1, 0)?;
        assert_eq!(second.wait().await?.status.length, length);
        let full = Error::BufferFull {
            length,
            free: 5,
            attached: Some(2 * length + 5),
        };
        assert_eq!(world.bsend(&pattern(length, 2), 1, 0).await, Err(full));
        assert_eq!(
            full.to_string(),
            "attached buffer too small for a message of 100 bytes: 5 of the 205 attached bytes are free"
        );
        assert_eq!(world.wtime(), 0.0);
        world.sleep(2.0).await;
        world.bsend(&pattern(length, 2), 1, 0).await?;
        assert_eq!(world.buffer_detach().await?.len(), 2 * length + 5);
        world.buffer_attach(world.buffer(length))?;
        // The end of the program takes the buffer back.
        world.bsend(&pattern(length, 3), 1, 0).await
    });
}

#[test]
fn the_null_process_does_nothing_at_once() {
    world(3).run_finished(|world: Comm| async move {
        let mut buffer = pattern(5, 1);
        world.send(&buffer, PROC_NULL, 0).await?;
        world.ssend(&buffer, PROC_NULL, 0).await?;
        world.bsend(&buffer, PROC_NULL, 0).await?;
        assert_eq!(
            world.recv(&mut buffer, PROC_NULL, ANY_TAG).await?,
            Status::PROC_NULL
        );
        assert_eq!(world.probe(PROC_NULL, 0).await?, Status::PROC_NULL);
        assert_eq!(world.iprobe(PROC_NULL, 0).await?, Some(Status::PROC_NULL));
        let message = world.mprobe(PROC_NULL, 0).await?;
        assert_eq!(
            message.recv(world.buffer(1)).await?.status,
            Status::PROC_NULL
        );
        assert!(world.improbe(PROC_NULL, 0).await?.is_some());
        let mut requests = [
            world.isend(pattern(5, 2), PROC_NULL, 0)?,
            world.irecv(pattern(5, 3), PROC_NULL, ANY_TAG)?,
        ];
        let done = waitall(&mut requests).await?;
        let done = done[1].as_ref().expect("not null");
        assert_eq!(done.status.source, PROC_NULL);
        assert_eq!(done.buffer.bytes(), pattern(5, 3).bytes());
        // A chain without ends: shift to the right.
        let (rank, size) = (world.rank(), world.size());
        let below = rank.checked_sub(1).unwrap_or(PROC_NULL);
        let above = if rank + 1 < size { rank + 1 } else { PROC_NULL };
        let sent = pattern(5, rank as u64);
        let status = world
            .sendrecv(&sent, above, 0, &mut buffer, below, 0)
            .await?;
        assert_eq!(status.source, below);
        assert_eq!(
            buffer.bytes(),
            pattern(5, rank.saturating_sub(1) as u64 + u64::from(rank == 0)).bytes()
        );
        assert_eq!(
            world.send(&buffer, PROC_NULL, 3_000_000_000).await,
            Err(Error::Tag(3_000_000_000))
        );
        Ok(())
    });
}

#[test]
fn a_buffer_is_replaced_by_what_comes() {
    for length in [0, 10, THRESHOLD] {
        world(4).run_finished(move |world: Comm| async move {
            let (rank, size) = (world.rank(), world.size());
            let mut buffer = pattern(length, rank as u64);
            let (above, below) = ((rank + 1) % size, (rank + size - 1) % size);
            let status = world
                .sendrecv_replace(&mut buffer, above, 7, below, 7)
                .await?;
            assert_eq!((status.source, status.length), (below, length));
            assert_eq!(buffer.bytes(), pattern(length, below as u64).bytes());
            Ok(())
        });
    }
}

#[test]
fn cancelling_a_receive_has_one_winner() {
    for length in [3, THRESHOLD] {
        world(2).run_finished(move |world: Comm| async move {
            if world.rank() == 0 {
                world.sleep(1.0).await;
                return world.send(&pattern(length, 1), 1, 0).await;
            }
            // Before the message: the receive is gone, and the message is there for another.
            let mut request = world.irecv(pattern(length, 9), 0, 0)?;
            request.cancel().await;
            assert!(request.is_active());
            let completion = request.wait().await?;
            assert!(completion.status.cancelled);
            assert_eq!(completion.buffer.bytes(), pattern(length, 9).bytes());
            // After the message: it is received.
            let mut request = world.irecv(world.buffer(length), 0, 0)?;
            world.sleep(2.0).await;
            request.cancel().await;
            let completion = request.wait().await?;
            assert!(!completion.status.cancelled);
            assert_eq!(completion.buffer.bytes(), pattern(length, 1).bytes());
            request.cancel().await;
            assert_eq!(request.wait().await.err(), Some(Error::Request));
            Ok(())
        });
    }
}

/// Calls cost time, so that receives wait for their turn.
fn costly() -> Settings {
    let cost = |time| {
        OverheadTable::new(vec![OverheadSection {
            above: 0,
            time,
            per_byte: 0.0,
        }])
    };
    Settings {
        overheads: Overheads {
            ois: cost(1.0),
            or: cost(0.25),
            ..Overheads::NONE
        },
        ..Settings::new(THRESHOLD)
    }
}

#[test]
fn cancelling_at_a_rank_that_is_busy() {
    world(2)
        .settings(costly())
        .run_finished(|world: Comm| async move {
            let peer = 1 - world.rank();
            let mut send = world.isend(pattern(3, 0), peer, 0)?;
            let mut cancelled = world.irecv(world.buffer(3), peer, 0)?;
            let mut received = world.irecv(world.buffer(3), peer, 0)?;
            cancelled.cancel().await;
            send.cancel().await;
            // It had not left.
            assert!(send.wait().await?.status.cancelled);
            let mut send = world.isend(pattern(3, 1), peer, 0)?;
            let got = received.wait().await?;
            assert_eq!(got.buffer.bytes(), pattern(3, 1).bytes());
            assert!(cancelled.wait().await?.status.cancelled);
            send.wait().await?;
            Ok(())
        });
}

#[test]
fn a_matched_message_is_for_nobody_else() {
    for length in [0, 5, THRESHOLD] {
        for settings in [Settings::new(THRESHOLD), costly()] {
            world(2)
                .settings(settings)
                .run_finished(move |world: Comm| async move {
                    if world.rank() == 0 {
                        let mut sends = Vec::new();
                        for salt in 0..3 {
                            sends.push(world.isend(pattern(length, salt), 1, 4)?);
                        }
                        return waitall(&mut sends).await.map(drop);
                    }
                    let first = world.mprobe(ANY_SOURCE, ANY_TAG).await?;
                    assert_eq!((first.status().source, first.status().length), (0, length));
                    let mut second = world.buffer(length);
                    world.recv(&mut second, 0, 4).await?;
                    assert_eq!(second.bytes(), pattern(length, 1).bytes());
                    let third = loop {
                        if let Some(message) = world.improbe(0, 4).await? {
                            break message;
                        }
                    };
                    let mut third = third.irecv(world.buffer(length));
                    let first = first.recv(world.buffer(length)).await?;
                    assert_eq!(first.buffer.bytes(), pattern(length, 0).bytes());
                    assert_eq!(
                        third.wait().await?.buffer.bytes(),
                        pattern(length, 2).bytes()
                    );
                    Ok(())
                });
        }
    }
}

#[test]
fn a_matched_message_that_is_dropped_waits_again() {
    for length in [5, THRESHOLD] {
        for settings in [Settings::new(THRESHOLD), costly()] {
            world(2)
                .settings(settings)
                .run_finished(move |world: Comm| async move {
                    if world.rank() == 0 {
                        return world.send(&pattern(length, 3), 1, 0).await;
                    }
                    let message = world.mprobe(0, 0).await?;
                    assert!(world.iprobe(0, 0).await?.is_none());
                    drop(message);
                    let message = world.mprobe(0, 0).await?;
                    let mut posted = world.irecv(world.buffer(length), 0, 0)?;
                    drop(message);
                    posted.wait().await?;
                    Ok(())
                });
        }
    }
}

#[test]
fn a_matched_message_may_be_too_long() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            return world.send(&pattern(9, 3), 1, 2).await;
        }
        let error = world.mprobe(0, 2).await?.recv(world.buffer(8)).await.err();
        let expected = Error::Truncated {
            source: 0,
            tag: 2,
            length: 9,
            buffer: 8,
        };
        assert_eq!(error, Some(expected));
        Ok(())
    });
}

#[test]
fn persistent_requests_go_round_and_round() {
    for length in [0, 7, THRESHOLD] {
        for mode in [
            SendMode::Standard,
            SendMode::Synchronous,
            SendMode::Ready,
            SendMode::Buffered,
        ] {
            let program = move |world: Comm| async move {
                let (rank, size) = (world.rank(), world.size());
                let (above, below) = ((rank + 1) % size, (rank + size - 1) % size);
                world.buffer_attach(world.buffer(length))?;
                let mut requests = [
                    world.recv_init(world.buffer(length), below, ANY_TAG),
                    world.send_init(mode, world.buffer(length), above, 1),
                ];
                assert!(!requests[0].is_null() && !requests[0].is_active());
                assert!(waitany(&mut requests).await?.is_none());
                for round in 0..4 {
                    let content = pattern(length, (rank * 10 + round) as u64);
                    *requests[1].buffer_mut().expect("not started") = content;
                    start_all(&mut requests)?;
                    assert!(requests[0].buffer_mut().is_none());
                    assert_eq!(requests[0].start(), Err(Error::Active));
                    let done = waitall(&mut requests).await?;
                    let received = done[0].as_ref().expect("active");
                    assert_eq!(received.status.source, below);
                    let expected = pattern(length, (below * 10 + round) as u64);
                    assert_eq!(received.buffer.bytes(), expected.bytes());
                    let kept = requests[0].buffer_mut().expect("over");
                    assert_eq!(kept.bytes(), expected.bytes());
                    // The room of the message is free when it has left.
                    world.buffer_detach().await?;
                    world.buffer_attach(world.buffer(length))?;
                }
                world.buffer_detach().await.map(drop)
            };
            for seed in 1..4 {
                world(3).order(Order::Seeded(seed)).run(program).finished();
            }
        }
    }
}

#[test]
fn a_persistent_request_with_a_mistake() {
    world(1).run_finished(|world: Comm| async move {
        let mut request = world.send_init(SendMode::Standard, world.buffer(1), 7, 0);
        assert_eq!(request.start(), Err(Error::Rank { rank: 7, size: 1 }));
        assert!(!request.is_active());
        let classes = [Error::Tag(1).class(), Error::Request.class()];
        assert_eq!(classes, [ErrorClass::Tag, ErrorClass::Request]);
        assert_eq!(classes[0].to_string(), "MPI_ERR_TAG");
        assert_eq!(request.wait().await.err(), Some(Error::Request));
        let mut once = world.irecv(world.buffer(1), PROC_NULL, 0)?;
        once.wait().await?;
        assert_eq!(once.start(), Err(Error::Request));
        once.free();
        Ok(())
    });
}

/// Rank 0 sends 4 messages, the numbers 0 and 2 at date 1 and the others at date 2.
async fn staggered(world: &Comm) -> Result<()> {
    for (date, tags) in [(1.0, [0, 2]), (2.0, [1, 3])] {
        world.sleep(date - world.wtime()).await;
        for tag in tags {
            world.send(&pattern(3, tag.into()), 1, tag).await?;
        }
    }
    Ok(())
}

#[test]
fn waitsome_takes_all_that_are_there() {
    for settings in [Settings::new(THRESHOLD), costly()] {
        world(2)
            .settings(settings)
            .run_finished(move |world: Comm| async move {
                if world.rank() == 0 {
                    return staggered(&world).await;
                }
                let mut requests = Vec::new();
                for tag in 0..4 {
                    requests.push(world.irecv(world.buffer(3), 0, tag)?);
                }
                let mut seen = Vec::new();
                while let Some(done) = waitsome(&mut requests).await {
                    assert!(!done.is_empty());
                    for (position, completion) in done {
                        assert_eq!(completion?.status.tag as usize, position);
                        seen.push(position);
                    }
                    world.sleep(0.1).await;
                }
                assert_eq!(seen, [0, 2, 1, 3]);
                assert!(waitsome(&mut []).await.is_none());
                Ok(())
            });
    }
}

#[test]
fn loops_of_tests_end_at_the_right_date() {
    world(2).run_finished(|world: Comm| async move {
        if world.rank() == 0 {
            return staggered(&world).await;
        }
        let mut requests = Vec::new();
        for tag in 0..4 {
            requests.push(world.irecv(world.buffer(3), 0, tag)?);
        }
        let (first, _) = loop {
            if let Some(found) = testany(&mut requests[1..3]).await? {
                break found;
            }
        };
        assert_eq!((first, world.wtime()), (1, 1.0));
        let done = loop {
            let done = testsome(&mut requests[..2]).await?;
            if !done.is_empty() {
                break done;
            }
        };
        assert_eq!((done.len(), done[0].0, world.wtime()), (1, 0, 1.0));
        assert!(testall(&mut requests[1..]).await?.is_none());
        let all = loop {
            if let Some(all) = testall(&mut requests).await? {
                break all;
            }
        };
        assert_eq!(world.wtime(), 2.0);
        let some: Vec<bool> = all.iter().map(Option::is_some).collect();
        assert_eq!(some, [false, true, false, true]);
        assert_eq!(testall(&mut requests).await?.map(|all| all.len()), Some(4));
        assert_eq!(testany(&mut requests).await.err(), Some(Error::Request));
        assert_eq!(testsome(&mut requests).await.err(), Some(Error::Request));
        Ok(())
    });
}

#[test]
fn loops_of_tests_that_cannot_end_are_reported() {
    let expected = "recv (source 1, tag 0)";
    let outcome = world(2).run(|world: Comm| async move {
        let mut requests = [world.irecv(world.buffer(1), 1 - world.rank(), 0)?];
        if world.rank() == 0 {
            while testsome(&mut requests).await?.is_empty() {}
        } else {
            waitsome(&mut requests).await;
        }
        Ok(())
    });
    assert_eq!(
        outcome.blocked(0),
        (&*format!("polling: testsome ({expected})"), &[1][..])
    );
    assert_eq!(
        outcome.blocked(1),
        ("waitsome (recv (source 0, tag 0))", &[0][..])
    );
}

/// Messages on a communicator with its own buffer take no room in the buffer of the rank.
#[test]
fn a_communicator_has_a_buffer_of_its_own() {
    let length = THRESHOLD;
    world(2).run_finished(move |world: Comm| async move {
        let copy = world.dup().await?;
        if world.rank() == 1 {
            world.sleep(1.0).await;
            for (comm, salt) in [(&copy, 0), (&world, 1), (&copy, 2), (&world, 3)] {
                let mut buffer = world.buffer(length);
                comm.recv(&mut buffer, 0, 0).await?;
                assert_eq!(buffer.bytes(), pattern(length, salt).bytes());
            }
            return Ok(());
        }
        world.buffer_attach(world.buffer(length))?;
        copy.attach_buffer(world.buffer(length + 1))?;
        let twice = Error::BufferAttached { length: length + 1 };
        assert_eq!(copy.attach_buffer(world.buffer(1)), Err(twice));
        copy.bsend(&pattern(length, 0), 1, 0).await?;
        world.bsend(&pattern(length, 1), 1, 0).await?;
        let full = Error::BufferFull {
            length,
            free: 1,
            attached: Some(length + 1),
        };
        assert_eq!(copy.bsend(&pattern(length, 2), 1, 0).await, Err(full));
        // Each waits for its own messages.
        copy.flush_buffer().await?;
        assert!(world.wtime() >= 1.0);
        copy.bsend(&pattern(length, 2), 1, 0).await?;
        world.buffer_flush().await?;
        world.bsend(&pattern(length, 3), 1, 0).await?;
        assert_eq!(copy.detach_buffer().await?.len(), length + 1);
        assert_eq!(world.buffer_detach().await?.len(), length);
        let none = Error::BufferFull {
            length: 0,
            free: 0,
            attached: None,
        };
        assert_eq!(copy.flush_buffer().await, Err(none));
        Ok(())
    });
}
