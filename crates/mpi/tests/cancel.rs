//! Promise: a send that waits for its receive can be cancelled. In every order of arrival of
//! messages, answers and cancel requests, both sides agree on the winner (M-14).

use std::cell::RefCell;
use std::rc::Rc;

use mpi::{Limits, Settings, prelude::*};
use testing::ranks::exchange::{FEW, Race, race};
use testing::ranks::{Order, World, pattern, world};

const RENDEZVOUS: u64 = 150;

fn worlds(order: &Order) -> Vec<World> {
    // Whole messages: parts would only make more orders.
    let few = Limits {
        packet: None,
        ..FEW
    };
    let limits = [None, Some(Limits::NONE), Some(few)];
    let both = limits.into_iter().flat_map(|limits| {
        [false, true].map(|acknowledged| Settings {
            acknowledged_ssend: acknowledged,
            limits: limits.clone(),
            ..Settings::new(testing::ranks::THRESHOLD)
        })
    });
    both.map(|settings| world(2).settings(settings).order(order.clone()))
        .collect()
}

/// Runs all orders of delivery of a race. Counts the wins of the message and of the cancellation.
fn every_race(world: &World, with: Race) -> (usize, usize) {
    let (mut message, mut cancellation) = (0, 0);
    let mut choices: Vec<usize> = Vec::new();
    loop {
        let widths = Rc::new(RefCell::new(Vec::new()));
        let path = Order::Path {
            choices: choices.clone(),
            widths: Rc::clone(&widths),
        };
        let won = Rc::new(RefCell::new(Vec::new()));
        world.clone().order(path).run_finished(|comm: Comm| {
            let won = Rc::clone(&won);
            async move {
                let cancelled = race(comm, with, 5).await?;
                won.borrow_mut().push(cancelled);
                Ok(())
            }
        });
        match won.borrow()[..] {
            [true, true] => cancellation += 1,
            [false, false] => message += 1,
            ref other => panic!("both know who has won: {other:?}"),
        }
        let widths = widths.borrow();
        choices.resize(widths.len(), 0);
        let mut last = (0..widths.len()).rev();
        let Some(at) = last.find(|&at| choices[at] + 1 < widths[at]) else {
            return (message, cancellation);
        };
        choices.truncate(at + 1);
        choices[at] += 1;
    }
}

#[test]
fn m14_there_is_one_winner_in_every_order() {
    for world in worlds(&Order::Posted) {
        let mut all = (0, 0);
        for mode in [SendMode::Standard, SendMode::Synchronous] {
            for length in [5, RENDEZVOUS] {
                for (cancel_after, receive_after) in [
                    (0.0, None),
                    (0.0, Some(0.0)),
                    (1.0, Some(0.0)),
                    (1.0, Some(1.0)),
                    (1.0, Some(2.0)),
                ] {
                    let with = Race {
                        mode,
                        length,
                        cancel_after,
                        receive_after,
                    };
                    let (message, cancellation) = every_race(&world, with);
                    let is_eager = mode == SendMode::Standard && length < RENDEZVOUS;
                    if is_eager {
                        assert_eq!(cancellation, 0, "an eager send is over");
                    } else if receive_after.is_none() {
                        assert_eq!(message, 0, "nobody receives it: {with:?}");
                    }
                    all = (all.0 + message, all.1 + cancellation);
                }
            }
        }
        assert!(all.0 > 0 && all.1 > 0, "{all:?}");
    }
}

/// The packets of each case.
#[test]
fn m14_an_announcement_is_given_back_by_request_and_response() {
    let with = Race {
        mode: SendMode::Standard,
        length: RENDEZVOUS,
        cancel_after: 1.0,
        receive_after: None,
    };
    let run = |with: Race| {
        let program = move |world| async move { race(world, with, 5).await.map(drop) };
        world(2).run(program).finished().transcript
    };
    assert_eq!(
        run(with),
        [
            "0>1 rts tag 5 length 150",
            "0>1 cancel tag 5",
            "1>0 cancelled",
            "0>1 eager tag 6 length 1"
        ]
    );
    // The CTS is the answer if a receive has met the message.
    let met = Race {
        receive_after: Some(0.0),
        cancel_after: 0.0,
        ..with
    };
    assert_eq!(
        run(met),
        [
            "0>1 rts tag 5 length 150",
            "0>1 cancel tag 5",
            "1>0 cts",
            "0>1 data length 150",
            "0>1 eager tag 6 length 1"
        ]
    );
}

/// A message in the queue of its connection has not left: no cancel request is sent.
#[test]
fn m14_a_queued_message_is_taken_out_of_the_queue() {
    let limits = Limits {
        credits: Some(1),
        reserved: 0,
        unexpected: Some(0),
        ..Limits::NONE
    };
    let outcome = world(2)
        .limits(limits.clone())
        .run(|world: Comm| async move {
            if world.rank() == 1 {
                world.sleep(1.0).await;
                return world.recv(&mut world.buffer(9), 0, 0).await.map(drop);
            }
            let mut sends = Vec::new();
            for tag in 0..4 {
                sends.push(world.isend(pattern(9, 0), 1, tag)?);
            }
            // The first one uses the only credit, the second one waits for it, the others are
            // behind.
            for send in &mut sends[1..] {
                send.cancel().await;
                assert!(send.wait().await?.status.cancelled);
            }
            sends[0].wait().await.map(drop)
        });
    let outcome = outcome.finished().settled(&limits);
    assert_eq!(
        outcome.transcript,
        ["0>1 eager tag 0 length 9", "1>0 credits"]
    );
}

/// A message that a matched probe has taken is matched; a message that the probe gave back is not.
#[test]
fn m14_matched_probes_and_cancellation() {
    for gives_back in [false, true] {
        let program = move |world: Comm| async move {
            if world.rank() == 0 {
                let mut send = world.isend(pattern(RENDEZVOUS, 0), 1, 4)?;
                world.recv(&mut world.buffer(0), 1, 0).await?;
                send.cancel().await;
                let completion = send.wait().await?;
                assert_eq!(completion.status.cancelled, gives_back);
            } else {
                let message = world.mprobe(0, 4).await?;
                if gives_back {
                    drop(message);
                    world.send(&world.buffer(0), 0, 0).await?;
                    // A rank that has ended answers nothing.
                    world.sleep(1.0).await;
                } else {
                    world.send(&world.buffer(0), 0, 0).await?;
                    world.sleep(1.0).await;
                    let buffer = message.recv(world.buffer(RENDEZVOUS)).await?.buffer;
                    assert_eq!(buffer.bytes(), pattern(RENDEZVOUS, 0).bytes());
                }
            }
            Ok(())
        };
        for world in worlds(&Order::Posted) {
            world.run(program).finished();
        }
    }
}
