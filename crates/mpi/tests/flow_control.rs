//! Promise: the machines of a connection do as their tables say, every transition of the tables is
//! needed, and with few buffers and credits all messages still arrive, unless no buffers are
//! reserved for control traffic.

use std::rc::Rc;

use mpi::{Limits, Settings, machine, prelude::*};
use testing::ranks::exchange::{FEW, Receives, WAYS, every_order, exchange, run_exchange, scarce};
use testing::ranks::{Order, THRESHOLD, pattern, world};

/// E1: one sender, one receiver: no deadlock and no lost wake-up in any order of delivery. All
/// orders are tried.
#[test]
fn e1_no_order_deadlocks_between_a_sender_and_a_receiver() {
    const RUNS_MAX: usize = 20_000;
    let mut all = 0;
    for limits in scarce() {
        let limits = Limits {
            packet: Some(50),
            ..limits
        };
        for lengths in [&[60, 5], &[5, 5], &[5, 100]] {
            let runs = every_order(&limits, lengths, Receives::OneWay, RUNS_MAX, |outcome| {
                outcome.finished().settled(&limits);
            });
            assert!(
                runs < RUNS_MAX,
                "all orders are tried: {limits:?}, {lengths:?}"
            );
            all += runs;
        }
    }
    assert!(all > 100, "there is more than one order: {all}");
}

/// E1: the same for two ranks that send to each other; the first orders of a great many.
#[test]
fn e1_no_order_deadlocks_between_two_senders() {
    for limits in scarce() {
        for when in [Receives::First, Receives::Then] {
            every_order(&limits, &[5, 30, 110], when, 150, |outcome| {
                outcome.finished().settled(&limits);
            });
        }
    }
}

/// One buffer and one credit, none of them reserved.
const BARE: Limits = Limits {
    buffers: Some(1),
    credits: Some(1),
    reserved: 0,
    ..FEW
};

/// E2, M-8: without reserved buffers each rank fills its buffers with packets that wait for a
/// credit of the other, and the update that would bring the credit needs a buffer.
#[test]
fn e2_without_reserved_buffers_there_is_a_deadlock() {
    let find = |limits: &Limits| {
        let mut stuck = 0;
        every_order(limits, &[5, 5, 5], Receives::Then, 300, |outcome| {
            stuck += usize::from(outcome.results.contains(&None));
        });
        stuck
    };
    assert!(find(&BARE) > 0, "the known deadlock is found");
    for reserved in 1..4 {
        let reserved = Limits { reserved, ..BARE };
        assert_eq!(find(&reserved), 0);
    }
}

/// The report of a blocked rank names the resource for which the rank waits.
#[test]
fn a_deadlock_says_what_the_connection_waits_for() {
    let outcome = world(2).limits(BARE).run(|world| async move {
        if world.rank() == 0 {
            for _ in 0..3 {
                world.send(&pattern(5, 0), 1, 0).await?;
            }
        } else {
            world.recv(&mut world.buffer(5), 0, 1).await?;
        }
        Ok(())
    });
    let text = "send (destination 1, tag 0), queued; connection waits for credits";
    let found = outcome.blocked(0);
    assert!(
        found == (text, &[1][..]) || found.0.contains("rendezvous"),
        "{found:?}"
    );
}

/// M-2: excess messages are announced, until half of the outstanding messages has been received.
#[test]
fn m2_eager_messages_beyond_the_limit_are_converted_until_half_are_received() {
    let limits = Limits {
        eager_messages: Some(4),
        ..Limits::NONE
    };
    let outcome = world(2)
        .limits(limits)
        .run_finished(|world: Comm| async move {
            let mut buffer = world.buffer(5);
            if world.rank() == 0 {
                let mut sends = Vec::new();
                for tag in 0..6 {
                    sends.push(world.isend(pattern(5, 0), 1, tag)?);
                }
                // The answers bring back what has been received: first 1 of 4, then 2 of 4.
                world.recv(&mut buffer, 1, 0).await?;
                sends.push(world.isend(pattern(5, 0), 1, 6)?);
                world.recv(&mut buffer, 1, 0).await?;
                sends.push(world.isend(pattern(5, 0), 1, 7)?);
                waitall(&mut sends).await?;
                return Ok(());
            }
            world.sleep(1.0).await;
            for tag in 0..8 {
                world.recv(&mut buffer, 0, tag).await?;
                if tag < 2 {
                    world.send(&buffer, 0, 0).await?;
                }
            }
            Ok(())
        });
    let kind = |tag: u32| {
        let eager = format!("0>1 eager tag {tag} length 5");
        let mut lines = outcome.transcript.iter();
        match lines.any(|line| *line == eager) {
            true => 'e',
            false => 'r',
        }
    };
    assert_eq!((0..8).map(kind).collect::<String>(), "eeeerrre");
}

/// M-2: the same, counted in bytes.
#[test]
fn m2_eager_bytes_are_limited_too() {
    let limits = Limits {
        eager_bytes: Some(10),
        ..Limits::NONE
    };
    let outcome = run_exchange(2, &limits, &[6, 6], Receives::Late, Order::Posted);
    let outcome = outcome.finished().settled(&limits);
    let lines = outcome.transcript;
    for sent in ["0>1 eager tag 0 length 6", "0>1 rts tag 1 length 6"] {
        assert!(lines.iter().any(|line| line == sent), "{lines:?}");
    }
}

const EIGHT_CREDITS: Limits = Limits {
    credits: Some(8),
    reserved: 4,
    ..Limits::NONE
};

/// M-3: a separate update leaves when half of the window is unreported, and needs no credit.
#[test]
fn m3_credits_come_back_by_an_explicit_update_at_half_of_the_window() {
    let outcome = world(2)
        .limits(EIGHT_CREDITS)
        .run(|world: Comm| async move {
            let mut buffer = world.buffer(5);
            for _ in 0..9 {
                if world.rank() == 0 {
                    world.send(&buffer, 1, 0).await?;
                } else {
                    world.recv(&mut buffer, 0, 0).await?;
                }
            }
            Ok(())
        })
        .returned()
        .settled(&EIGHT_CREDITS);
    let lines = outcome.transcript;
    let updates = lines.iter().filter(|line| *line == "1>0 credits");
    assert_eq!(updates.count(), 2, "{lines:?}");
}

/// M-3: packets that leave anyway take the credits along.
#[test]
fn m3_credits_come_back_with_other_packets() {
    let outcome = world(2)
        .limits(EIGHT_CREDITS)
        .run_finished(|world: Comm| async move {
            let mut buffer = world.buffer(5);
            for _ in 0..50 {
                if world.rank() == 0 {
                    world.send(&buffer, 1, 0).await?;
                    world.recv(&mut buffer, 1, 0).await?;
                } else {
                    world.recv(&mut buffer, 0, 0).await?;
                    world.send(&buffer, 0, 0).await?;
                }
            }
            Ok(())
        })
        .settled(&EIGHT_CREDITS);
    assert_eq!(outcome.transcript.len(), 100, "no packet but the messages");
}

/// M-5: a batch takes buffers and credits for several packets at once; the packets are the same.
#[test]
fn m5_batches_post_the_same_packets() {
    let transcript = |batch| {
        let limits = Limits {
            batch,
            direct: false,
            buffers: Some(4),
            credits: Some(8),
            reserved: 4,
            ..FEW
        };
        let outcome = run_exchange(2, &limits, &[130], Receives::Then, Order::Posted)
            .finished()
            .settled(&limits);
        let posted: u64 = outcome
            .flow
            .iter()
            .flatten()
            .map(|report| {
                let rows = machine::send_machine().transitions;
                let batches = rows.iter().zip(&report.taken.send);
                batches
                    .filter(|(row, _)| row.action == "PostBatch")
                    .map(|(_, count)| count)
                    .sum::<u64>()
            })
            .sum();
        let lines = outcome.transcript.into_iter();
        let data = lines.filter(|line| line.contains("data from"));
        (posted, data.collect::<Vec<_>>())
    };
    let (one, single) = transcript(1);
    let (three, batched) = transcript(3);
    assert_eq!(
        (one, three),
        (12, 4),
        "6 further packets of each of two messages"
    );
    let sorted = |mut lines: Vec<String>| {
        lines.sort();
        lines
    };
    assert_eq!(sorted(single), sorted(batched));
}

/// M-8: an answer does not wait for the data that are queued before it.
#[test]
fn m8_an_answer_overtakes_data() {
    let limits = Limits {
        packet: Some(10),
        credits: Some(3),
        ..Limits::NONE
    };
    let outcome = world(2)
        .limits(limits.clone())
        .run_finished(|world: Comm| async move {
            let other = 1 - world.rank();
            let mut sends = Vec::new();
            for tag in 0..3 {
                sends.push(world.isend(pattern(200, 0), other, tag)?);
            }
            let mut buffer = world.buffer(200);
            for tag in 0..3 {
                world.recv(&mut buffer, other, tag).await?;
            }
            waitall(&mut sends).await?;
            Ok(())
        })
        .settled(&limits);
    let first_data = |line: &&String| line.starts_with("0>1 data from 190");
    let cts = |line: &&String| *line == "0>1 cts";
    let position = |wanted: &dyn Fn(&&String) -> bool| {
        outcome.transcript.iter().position(|line| wanted(&line))
    };
    assert!(
        position(&cts) < position(&first_data),
        "{:?}",
        outcome.transcript
    );
}

/// E3: the threshold is the first length that is announced, with limits as without.
#[test]
fn e3_the_threshold_switches() {
    for (length, expected) in [
        (THRESHOLD - 1, "eager"),
        (THRESHOLD, "rts"),
        (THRESHOLD + 1, "rts"),
    ] {
        let limits = Limits {
            packet: Some(1000),
            ..FEW
        };
        let outcome = run_exchange(2, &limits, &[length], Receives::Then, Order::Posted)
            .finished()
            .settled(&limits);
        let mut lines = outcome.transcript.iter();
        let line = lines.find(|line| line.starts_with("0>1"));
        let line = line.expect("a message");
        assert!(line.starts_with(&format!("0>1 {expected} ")), "{line}");
    }
}

/// E5: unexpected messages take at most the memory that is reserved for them; the rest stays in its
/// packets, until the sender announces messages instead.
#[test]
fn e5_unexpected_messages_stay_within_their_memory() {
    let limits = Limits {
        unexpected: Some(100),
        credits: Some(6),
        ..Limits::NONE
    };
    let outcome = run_exchange(2, &limits, &[30; 12], Receives::Late, Order::Posted)
        .finished()
        .settled(&limits);
    for report in outcome.flow.iter().flatten() {
        assert_eq!(report.unexpected_peak, 90);
    }
    let count = |what: &str| {
        let lines = outcome.transcript.iter();
        lines.filter(|line| line.starts_with(what)).count()
    };
    // Three in memory, and four in packets: two of the six credits are for control traffic.
    assert_eq!((count("0>1 eager"), count("0>1 rts")), (7, 5));
}

/// Limits that are not reached have no effect: the same packets in the same order, the same end.
/// (Detached messages are the exception: only with limits do they wait at their sender.)
#[test]
fn without_anything_scarce_the_machines_do_what_happens_without_them() {
    for seed in 1..40 {
        let when = WAYS[usize::try_from(seed).expect("small") % 4];
        for told in [false, true] {
            let transcript = |limits: Option<Limits>| {
                let settings = Settings {
                    limits,
                    tells_eager_sends: told,
                    ..Settings::new(THRESHOLD)
                };
                let lengths = Rc::new(vec![0, 5, 60, 99, 100, 300]);
                let program = move |world| exchange(world, Rc::clone(&lengths), when);
                let outcome = world(3)
                    .settings(settings)
                    .order(Order::Seeded(seed))
                    .run(program);
                let outcome = outcome.finished();
                (outcome.transcript, outcome.now)
            };
            assert_eq!(transcript(None), transcript(Some(Limits::NONE)));
        }
    }
}

/// Without limits there is no state of connections at all.
#[test]
fn nothing_is_kept_without_limits() {
    let program = |world: Comm| async move {
        let other = 1 - world.rank();
        let mut send = world.isend(pattern(5, 0), other, 0)?;
        world.recv(&mut world.buffer(5), other, ANY_TAG).await?;
        send.wait().await?;
        Ok(())
    };
    assert_eq!(world(2).run(program).finished().flow, [None, None]);
    let outcome = world(5).limits(FEW).run(move |world| async move {
        if world.rank() < 2 {
            program(world).await
        } else {
            Ok(())
        }
    });
    let peers = |rank: usize| {
        outcome.flow[rank]
            .as_ref()
            .map(|report| report.connections.len())
    };
    // A connection is made when the first packet goes either way.
    assert_eq!([0, 1, 2].map(peers), [Some(1), Some(1), None]);
}

/// The time in each waiting state: rank 0 waits two seconds for the credits of rank 1, which
/// receives late.
#[test]
fn waiting_times_are_told() {
    let limits = Limits {
        credits: Some(1),
        unexpected: Some(0),
        reserved: 0,
        ..Limits::NONE
    };
    let outcome = world(2)
        .limits(limits)
        .run_finished(|world: Comm| async move {
            let mut buffer = world.buffer(5);
            if world.rank() == 0 {
                world.sleep(1.0).await;
                let mut sends = [
                    world.isend(pattern(5, 0), 1, 0)?,
                    world.isend(pattern(5, 0), 1, 1)?,
                ];
                waitall(&mut sends).await?;
            } else {
                world.sleep(3.0).await;
                world.recv(&mut buffer, 0, 0).await?;
                world.recv(&mut buffer, 0, 1).await?;
            }
            Ok(())
        });
    let report = outcome.flow[0].as_ref().expect("limits are set");
    let connection = &report.connections[0];
    assert_eq!(
        (
            connection.peer,
            connection.awaited_credits,
            connection.awaited_buffers
        ),
        (1, 2.0, 0.0)
    );
}

/// The data from which a communicator is made are cut into packets as other messages are.
#[test]
fn communicators_are_made_in_packets_too() {
    let limits = Limits {
        packet: Some(1),
        ..FEW
    };
    let outcome = world(3).limits(limits.clone()).run(|world| async move {
        let half = world.split(Some(u32::from(world.rank() > 0)), 0).await?;
        let half = half.expect("a colour");
        half.dup().await?.barrier().await
    });
    outcome.finished().settled(&limits);
}

/// M-9: sends of different contexts to one peer, which could be reordered, leave in the order of
/// the calls.
#[test]
fn m9_sends_of_all_contexts_leave_in_the_order_of_the_calls() {
    let limits = Limits {
        credits: Some(3),
        ..Limits::NONE
    };
    let outcome = world(2).limits(limits.clone()).run(|world| async move {
        let other = world.dup().await?;
        let mut requests = Vec::new();
        for tag in (0..6).map(|number| 50 + number) {
            let comm = if tag % 2 == 0 { &world } else { &other };
            if world.rank() == 0 {
                requests.push(comm.isend(pattern(5, 0), 1, tag)?);
            } else {
                requests.push(comm.irecv(world.buffer(5), 0, tag)?);
            }
        }
        waitall(&mut requests).await.map(drop)
    });
    let outcome = outcome.finished().settled(&limits);
    let tags: Vec<&str> = outcome
        .transcript
        .iter()
        .filter(|line| line.starts_with("0>1") && line.contains(" tag 5"))
        .map(|line| &line[line.find("tag").expect("a tag")..][..6])
        .collect();
    assert_eq!(
        tags,
        ["tag 50", "tag 51", "tag 52", "tag 53", "tag 54", "tag 55"]
    );
}

/// M-10: a persistent request costs exactly the packets of the calls that the request repeats.
#[test]
fn m10_persistent_requests_send_what_their_calls_send() {
    let transcript = |persistent: bool| {
        world(2)
            .limits(FEW)
            .run_finished(move |world: Comm| async move {
                let content = pattern(130, 0);
                let mode = SendMode::Standard;
                let mut request = if world.rank() == 0 {
                    world.send_init(mode, content.clone(), 1, 0)
                } else {
                    world.recv_init(world.buffer(130), 0, 0)
                };
                for _ in 0..3 {
                    if persistent {
                        request.start()?;
                        request.wait().await?;
                    } else if world.rank() == 0 {
                        world.isend(content.clone(), 1, 0)?.wait().await?;
                    } else {
                        world.irecv(world.buffer(130), 0, 0)?.wait().await?;
                    }
                }
                Ok(())
            })
            .transcript
    };
    assert_eq!(transcript(true), transcript(false));
}
