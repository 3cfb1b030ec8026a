//! Promise: which packets a message takes. Below the threshold the message is eager, from there on
//! a rendezvous; either way the bytes arrive once, and a message that is too long is consumed.

use mpi::{Settings, prelude::*};
use testing::ranks::exchange::{FEW, slow};
use testing::ranks::{Order, Outcome, THRESHOLD, pattern, world};

/// Rank 0 sends a message of the given number of bytes; rank 1 posts the receive after the message
/// if `unexpected`, or before.
fn dialogue(length: u64, threshold: u64, unexpected: bool) -> Outcome {
    let program = move |world: Comm| async move {
        if world.rank() == 0 {
            if !unexpected {
                world.sleep(1.0).await;
            }
            world.send(&pattern(length, 0), 1, 5).await?;
        } else {
            if unexpected {
                world.sleep(1.0).await;
            }
            let mut buffer = world.buffer(length);
            let status = world.recv(&mut buffer, 0, 5).await?;
            assert_eq!((status.source, status.tag, status.length), (0, 5, length));
            assert_eq!(buffer.bytes(), pattern(length, 0).bytes());
        }
        Ok(())
    };
    world(2).threshold(threshold).run(program).finished()
}

#[track_caller]
fn check(length: u64, threshold: u64, transcript: &[&str]) {
    for unexpected in [false, true] {
        assert_eq!(
            dialogue(length, threshold, unexpected).transcript,
            transcript
        );
    }
}

#[test]
fn the_threshold_is_the_first_length_that_goes_by_rendezvous() {
    check(99, 100, &["0>1 eager tag 5 length 99"]);
    let rendezvous = |length| {
        [
            format!("0>1 rts tag 5 length {length}"),
            "1>0 cts".to_owned(),
            format!("0>1 data length {length}"),
        ]
    };
    for length in [100, 101] {
        let lines = rendezvous(length);
        check(length, 100, &lines.each_ref().map(String::as_str));
    }
}

#[test]
fn an_empty_message_is_a_message() {
    check(0, 1, &["0>1 eager tag 5 length 0"]);
    check(
        0,
        0,
        &["0>1 rts tag 5 length 0", "1>0 cts", "0>1 data length 0"],
    );
}

#[test]
fn an_eager_send_does_not_wait_and_a_rendezvous_does() {
    let dates = |length: u64| {
        world(2)
            .run_finished(move |world: Comm| async move {
                if world.rank() == 0 {
                    world.send(&pattern(length, 0), 1, 0).await?;
                    world.println(format_args!("{}", world.wtime()));
                } else {
                    world.sleep(3.0).await;
                    let mut buffer = world.buffer(length);
                    world.recv(&mut buffer, 0, 0).await?;
                }
                Ok(())
            })
            .printed
    };
    assert_eq!(dates(THRESHOLD - 1), ["0"]);
    assert_eq!(dates(THRESHOLD), ["3"]);
}

#[test]
fn a_message_that_is_too_long_is_an_error_and_is_consumed() {
    for (length, posted_first) in [(50, false), (50, true), (500, false), (500, true)] {
        world(2).run_finished(move |world: Comm| async move {
            if world.rank() == 0 {
                world.sleep(if posted_first { 1.0 } else { 0.0 }).await;
                world.send(&pattern(length, 0), 1, 7).await?;
                world.send(&pattern(8, 1), 1, 7).await?;
            } else {
                world.sleep(if posted_first { 0.0 } else { 1.0 }).await;
                let mut buffer = Buffer::from(vec![9; 20]);
                let expected = Error::Truncated {
                    source: 0,
                    tag: 7,
                    length,
                    buffer: 20,
                };
                let result = world.recv(&mut buffer, 0, 7).await;
                assert_eq!(result, Err(expected));
                assert_eq!(
                    buffer.bytes(),
                    Some(&[9; 20][..]),
                    "the buffer is as it was"
                );
                let status = world.recv(&mut buffer, 0, 7).await?;
                assert_eq!(status.length, 8);
                assert_eq!(
                    &buffer.bytes().unwrap()[..8],
                    pattern(8, 1).bytes().unwrap()
                );
            }
            Ok(())
        });
    }
}

#[test]
fn room_gets_a_message_whole_and_in_parts() {
    for settings in [Settings::new(THRESHOLD), slow(FEW)] {
        for (length, posted_first) in [(0, true), (8, true), (48, false), (504, true), (504, false)]
        {
            world(2)
                .settings(settings.clone())
                .run_finished(move |world: Comm| async move {
                    if world.rank() == 0 {
                        world.sleep(if posted_first { 1.0 } else { 0.0 }).await;
                        for _ in 0..3 {
                            world.send(&pattern(length, 0), 1, 7).await?;
                        }
                        return Ok(());
                    }
                    world.sleep(if posted_first { 0.0 } else { 1.0 }).await;
                    for room in [length, length + 30] {
                        let mut buffer = Buffer::room(room);
                        assert_eq!(world.recv(&mut buffer, 0, 7).await?.length, length);
                        assert_eq!(buffer.bytes(), pattern(length, 0).bytes());
                    }
                    let mut short = Buffer::room(length.saturating_sub(1));
                    let received = world.recv(&mut short, 0, 7).await;
                    let is_cut = received.is_err_and(|error| error.class() == ErrorClass::Truncate);
                    assert_eq!(is_cut, length > 0, "{length} bytes, one too many");
                    Ok(())
                });
        }
    }
}

#[test]
fn a_rank_sends_to_itself() {
    for length in [1, THRESHOLD] {
        world(1).run_finished(move |world: Comm| async move {
            let mut sending = world.isend(pattern(length, 3), 0, 1)?;
            let mut buffer = world.buffer(length);
            let status = world.recv(&mut buffer, 0, 1).await?;
            assert_eq!(status.source, 0);
            assert_eq!(buffer.bytes(), pattern(length, 3).bytes());
            sending.wait().await?;
            Ok(())
        });
    }
}

#[test]
fn a_blocking_send_to_itself_is_over_if_eager_and_a_deadlock_otherwise() {
    let run = |length: u64| {
        world(1).run(move |world: Comm| async move {
            let mut buffer = pattern(length, 0);
            world.send(&buffer, 0, 0).await?;
            world.recv(&mut buffer, 0, 0).await?;
            Ok(())
        })
    };
    run(THRESHOLD - 1).finished();
    let stuck = run(THRESHOLD);
    let text = "send (destination 0, tag 0, 100 bytes, rendezvous)";
    assert_eq!(stuck.blocked(0), (text, &[0][..]));
}

#[test]
fn two_ranks_that_both_send_first() {
    let run = |length: u64| {
        world(2).run(move |world: Comm| async move {
            let other = 1 - world.rank();
            let mut buffer = pattern(length, world.rank() as u64);
            world.send(&buffer, other, 0).await?;
            world.recv(&mut buffer, other, 0).await?;
            assert_eq!(buffer.bytes(), pattern(length, other as u64).bytes());
            Ok(())
        })
    };
    run(THRESHOLD - 1).finished();
    let stuck = run(THRESHOLD);
    for rank in 0..2 {
        let other = u32::try_from(1 - rank).expect("small");
        let text = format!("send (destination {other}, tag 0, 100 bytes, rendezvous)");
        assert_eq!(stuck.blocked(rank), (text.as_str(), &[other][..]));
    }
    assert_eq!(
        stuck.transcript,
        ["0>1 rts tag 0 length 100", "1>0 rts tag 0 length 100"]
    );
}

#[test]
fn a_message_is_what_it_was_when_it_was_sent() {
    for length in [10, 1000] {
        world(2).run_finished(move |world: Comm| async move {
            if world.rank() == 0 {
                let mut buffer = pattern(length, 0);
                let mut sending = world.isend(buffer.clone(), 1, 0)?;
                buffer.bytes_mut().unwrap().fill(0);
                let back = sending.wait().await?;
                assert_eq!(back.buffer.bytes(), pattern(length, 0).bytes());
                assert_eq!(back.status.length, length);
            } else {
                world.sleep(1.0).await;
                let mut buffer = world.buffer(length + 5);
                world.recv(&mut buffer, 0, 0).await?;
                let (message, rest) = buffer
                    .bytes()
                    .unwrap()
                    .split_at(usize::try_from(length).unwrap());
                assert_eq!(message, pattern(length, 0).bytes().unwrap());
                assert_eq!(rest, [0; 5]);
                // What was received belongs to the receiver: the sender's copy is another one.
                buffer.bytes_mut().unwrap().fill(1);
            }
            Ok(())
        });
    }
}

#[test]
fn phantoms_take_the_same_packets_as_bytes() {
    let outcome = world(2).phantom().run_finished(|world: Comm| async move {
        let mut buffer = world.buffer(1 << 40);
        assert!(buffer.is_phantom() && world.buffer_from(&[1, 2]).is_phantom());
        if world.rank() == 0 {
            world.send(&buffer, 1, 0).await?;
            world.send(&world.buffer(3), 1, 0).await?;
        } else {
            assert_eq!(world.recv(&mut buffer, 0, 0).await?.length, 1 << 40);
            assert_eq!(world.recv(&mut buffer, 0, 0).await?.length, 3);
            assert_eq!(buffer.len(), 1 << 40);
        }
        Ok(())
    });
    assert_eq!(
        outcome.transcript,
        [
            "0>1 rts tag 0 length 1099511627776",
            "1>0 cts",
            "0>1 data length 1099511627776",
            "0>1 eager tag 0 length 3"
        ]
    );
}

#[test]
fn a_real_message_meets_a_phantom_buffer_and_the_other_way_round() {
    async fn program(world: Comm) -> Result<()> {
        let (real, phantom) = (pattern(200, 0), Buffer::phantom(200));
        if world.rank() == 0 {
            world.send(&real, 1, 0).await?;
            world.send(&phantom, 1, 1).await?;
        } else {
            let mut first = Buffer::phantom(200);
            let mut second = Buffer::from(vec![4; 300]);
            assert_eq!(world.recv(&mut first, 0, 0).await?.length, 200);
            assert!(first.is_phantom());
            assert_eq!(world.recv(&mut second, 0, 1).await?.length, 200);
            assert_eq!(second.bytes(), Some(&[4; 300][..]));
        }
        Ok(())
    }
    world(2).run(program).finished();
}

#[test]
fn a_cts_may_come_in_any_order() {
    // Rank 1 answers the second announcement first; the data may overtake each other, the
    // announcements may not.
    for seed in 1..50 {
        world(2)
            .order(Order::Seeded(seed))
            .run_finished(|world: Comm| async move {
                if world.rank() == 0 {
                    let mut sends = [
                        world.isend(pattern(300, 0), 1, 0)?,
                        world.isend(pattern(400, 1), 1, 1)?,
                        world.isend(pattern(40, 2), 1, 2)?,
                    ];
                    waitall(&mut sends).await?;
                } else {
                    let mut receives = [
                        world.irecv(world.buffer(400), 0, 1)?,
                        world.irecv(world.buffer(300), 0, 0)?,
                        world.irecv(world.buffer(40), 0, 2)?,
                    ];
                    let all = waitall(&mut receives).await?;
                    for (completion, (length, salt)) in
                        all.iter().zip([(400, 1), (300, 0), (40, 2)])
                    {
                        let completion = completion.as_ref().expect("not null");
                        assert_eq!(completion.buffer.bytes(), pattern(length, salt).bytes());
                    }
                }
                Ok(())
            });
    }
}
