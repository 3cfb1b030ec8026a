//! Promise: with connections every message is delivered once and in order, in any order of packet
//! arrivals, with few descriptors and with limits; and the effects of programs on each other are
//! right while connections begin and end (F7).

use mpi::{ConnectionMode, ConnectionSettings, Limits, Settings, prelude::*};
use std::rc::Rc;
use testing::ranks::exchange::{Receives, exchange};
use testing::ranks::{Order, pattern, world};

fn connecting(descriptors: Option<u32>, limits: Option<Limits>) -> Settings {
    Settings {
        connections: Some(ConnectionSettings {
            descriptors,
            ..ConnectionSettings::on_demand()
        }),
        limits,
        ..Settings::new(testing::ranks::THRESHOLD)
    }
}

/// Short and long messages between all pairs, which all connect to each other at once (N-3, N-15,
/// N-17, N-19).
#[test]
fn everybody_talks_to_everybody_in_any_order_of_delivery() {
    let limits = Limits {
        packet: Some(60),
        buffers: Some(2),
        credits: Some(4),
        unexpected: Some(150),
        ..Limits::NONE
    };
    let lengths = Rc::new(vec![10, 250, 99, 100, 0]);
    for limits in [None, Some(limits)] {
        for descriptors in [None, Some(1), Some(2)] {
            for seed in 1..40 {
                for when in [Receives::First, Receives::Then, Receives::Late] {
                    let settings = connecting(descriptors, limits.clone());
                    let run = world(3).settings(settings).order(Order::Seeded(seed));
                    let lengths = Rc::clone(&lengths);
                    let run = run.run(move |world| exchange(world, Rc::clone(&lengths), when));
                    run.finished();
                }
            }
        }
    }
}

/// The same with the times of processes, which keep the handshakes of a rank one behind the other.
#[test]
fn everybody_talks_to_everybody_and_handshakes_take_time() {
    let lengths = Rc::new(vec![10, 250]);
    for mode in [ConnectionMode::OnDemand, ConnectionMode::Static] {
        for seed in 1..20 {
            let connections = ConnectionSettings {
                mode,
                idle_close: Some(0.02),
                connect_time: 0.01,
                accept_time: 0.02,
                message_time: 0.03,
                ..ConnectionSettings::on_demand()
            };
            let settings = Settings {
                connections: Some(connections),
                ..connecting(None, None)
            };
            let run = world(4).settings(settings).order(Order::Seeded(seed));
            let lengths = Rc::clone(&lengths);
            run.run(move |world| exchange(world, Rc::clone(&lengths), Receives::Late))
                .finished();
        }
    }
}

/// F7, after MPICH's `pt2pt/bsendpending`: the buffer is given back when the buffered messages have
/// left, although their receives come two seconds later and there was no connection when they were
/// sent.
#[test]
fn f7_buffered_messages_that_are_pending_when_the_buffer_is_detached() {
    const LENGTH: u64 = 128 * 1024;
    world(2)
        .settings(connecting(None, None))
        .run_finished(|world: Comm| async move {
            let nothing = world.buffer(0);
            let mut other = world.buffer(0);
            if world.rank() == 0 {
                world.buffer_attach(world.buffer(3 * LENGTH))?;
                for seed in [1, 3, 5] {
                    world.bsend(&pattern(LENGTH, seed), 1, 0).await?;
                }
                world.sendrecv(&nothing, 1, 10, &mut other, 1, 10).await?;
                assert_eq!(world.buffer_detach().await?.len(), 3 * LENGTH);
                assert_eq!(world.wtime(), 2.0);
            } else {
                world.sendrecv(&nothing, 0, 10, &mut other, 0, 10).await?;
                world.sleep(2.0).await;
                for seed in [1, 3, 5] {
                    let mut buffer = world.buffer(LENGTH);
                    world.recv(&mut buffer, 0, 0).await?;
                    assert_eq!(buffer.bytes(), pattern(LENGTH, seed).bytes());
                }
            }
            Ok(())
        });
}

/// F7, the part of MPICH's `spawn/disconnect_reconnect` that needs no dynamic processes: two groups
/// of ranks talk, stop, and talk again, and the connections between them are closed in between.
#[test]
fn f7_groups_that_part_and_meet_again() {
    let connections = ConnectionSettings {
        idle_close: Some(0.1),
        ..ConnectionSettings::on_demand()
    };
    let settings = Settings {
        connections: Some(connections),
        ..connecting(None, None)
    };
    world(4)
        .settings(settings)
        .run_finished(|world: Comm| async move {
            for round in 0..20 {
                let half = world.split(Some((world.rank() % 2) as u32), 0).await?;
                let half = half.expect("everybody has a colour");
                half.barrier().await?;
                let peer = world.rank() ^ 1;
                let mut buffer = world.buffer(300);
                let content = pattern(300, round);
                world
                    .sendrecv(&content, peer, 1, &mut buffer, peer, 1)
                    .await?;
                assert_eq!(buffer.bytes(), content.bytes());
                half.free()?;
                world.sleep(1.0).await;
            }
            Result::Ok(())
        });
}
