//! Promise: when messages arrive, as closed forms. A message of n bytes alone takes 2 us + n ns on
//! these nodes.

use std::sync::Arc;

use crate::common::{DONE, NODES, THRESHOLD, ranks};
use mpi::{Collective, Selector, Settings, prelude::*};

#[test]
fn one_message() {
    for length in [0_u32, 1, 9999] {
        let run = ranks(2).run(move |world, notes| async move {
            let mut buffer = world.buffer(length.into());
            if world.rank() == 0 {
                world.send(&buffer, 1, 0).await?;
                notes.add(&world, "sent");
            } else {
                world.recv(&mut buffer, 0, 0).await?;
                notes.add(&world, "received");
            }
            DONE
        });
        let arrival = 2e-6 + f64::from(length) * 1e-9;
        run.noted(&[(0.0, 0, "sent"), (arrival, 1, "received")]);
        assert_eq!(run.report.messages, 1);
        assert!((run.report.bytes - f64::from(length)).abs() < 0.5);
        run.finished();
    }
}

#[test]
fn half_round_trips() {
    for length in [0_u32, 8, 4096, 1_000_000] {
        let run = ranks(2).run(move |world, notes| async move {
            let mut buffer = world.buffer(length.into());
            for _ in 0..10 {
                if world.rank() == 0 {
                    world.send(&buffer, 1, 0).await?;
                    world.recv(&mut buffer, 1, 0).await?;
                } else {
                    world.recv(&mut buffer, 0, 0).await?;
                    world.send(&buffer, 0, 0).await?;
                }
            }
            if world.rank() == 0 {
                notes.add(&world, "end");
            }
            DONE
        });
        // Eager or rendezvous: the other rank waits already, so the transfer starts with the send.
        run.finished()
            .noted(&[(20.0 * (2e-6 + f64::from(length) * 1e-9), 0, "end")]);
    }
}

#[test]
fn two_messages_share_a_link_in_one_direction_only() {
    let send = |pairs: &'static [(usize, usize)]| {
        ranks(4).run(move |world, notes| async move {
            let mut requests = Vec::new();
            for &(from, to) in pairs {
                if world.rank() == from {
                    requests.push(world.isend(world.buffer(1_000_000), to, 0)?);
                }
                if world.rank() == to {
                    requests.push(world.irecv(world.buffer(1_000_000), from, 0)?);
                }
            }
            let receives = pairs.iter().any(|&(_, to)| to == world.rank());
            waitall(&mut requests).await?;
            if receives {
                notes.add(&world, "received");
            }
            DONE
        })
    };
    // Both cross the link down to node 2: half the bandwidth each.
    send(&[(0, 2), (1, 2)]).noted(&[(2e-6 + 2e-3, 2, "received")]);
    // Opposite directions, and different nodes, share nothing.
    let alone = 2e-6 + 1e-3;
    send(&[(0, 1), (1, 0)]).noted(&[(alone, 0, "received"), (alone, 1, "received")]);
    send(&[(0, 1), (2, 3)]).noted(&[(alone, 1, "received"), (alone, 3, "received")]);
}

/// The sender calls at one date, the receiver at another; when either is done.
fn meeting(length: u64, send_at: f64, recv_at: f64) -> (f64, f64) {
    let run = ranks(2)
        .run(move |world, notes| async move {
            let mut buffer = world.buffer(length);
            if world.rank() == 0 {
                world.sleep(send_at).await;
                world.send(&buffer, 1, 0).await?;
            } else {
                world.sleep(recv_at).await;
                world.recv(&mut buffer, 0, 0).await?;
            }
            notes.add(&world, "");
            DONE
        })
        .finished();
    let of = |rank| {
        run.notes
            .iter()
            .find(|note| note.1 == rank)
            .expect("noted")
            .0
    };
    (of(0), of(1))
}

#[track_caller]
fn near(found: (f64, f64), expected: (f64, f64)) {
    let distance = (found.0 - expected.0)
        .abs()
        .max((found.1 - expected.1).abs());
    assert!(distance <= 1e-12, "{found:?} instead of {expected:?}");
}

#[test]
fn an_eager_transfer_starts_with_the_send() {
    let travel = 2e-6 + 1e-6;
    near(meeting(1000, 0.0, 5e-3), (0.0, 5e-3));
    near(meeting(1000, 5e-3, 0.0), (5e-3, 5e-3 + travel));
    // The receive comes while the message travels.
    near(meeting(1000, 5e-3, 5e-3 + 1e-6), (5e-3, 5e-3 + travel));
}

#[test]
fn a_rendezvous_starts_when_both_are_there_and_ends_for_both_at_once() {
    let travel = 2e-6 + 1e-3;
    near(
        meeting(1_000_000, 0.0, 5e-3),
        (5e-3 + travel, 5e-3 + travel),
    );
    near(
        meeting(1_000_000, 5e-3, 0.0),
        (5e-3 + travel, 5e-3 + travel),
    );
    near(meeting(THRESHOLD, 1e-3, 1e-3), (1e-3 + 12e-6, 1e-3 + 12e-6));
    near(meeting(THRESHOLD - 1, 1e-3, 1e-3), (1e-3, 1e-3 + 11.999e-6));
}

#[test]
fn computing_overlaps_a_transfer() {
    let run = |flops: f64| {
        ranks(2).run(move |world, notes| async move {
            let buffer = world.buffer(1_000_000);
            let mut request = if world.rank() == 0 {
                world.isend(buffer, 1, 0)?
            } else {
                world.irecv(buffer, 0, 0)?
            };
            world.compute(flops).await;
            request.wait().await?;
            notes.add(&world, "");
            DONE
        })
    };
    // 1e5 flop at 1 Gflop/s are 0.1 ms, 5e6 are 5 ms.
    run(1e5).noted(&[(2e-6 + 1e-3, 0, ""), (2e-6 + 1e-3, 1, "")]);
    run(5e6).noted(&[(5e-3, 0, ""), (5e-3, 1, "")]);
}

#[test]
fn sleeping_computing_and_nothing_at_all() {
    let run = ranks(2).run(|world, notes| async move {
        notes.add(&world, "start");
        world.sleep(0.0).await;
        world.compute(0.0).await;
        notes.add(&world, "nothing");
        if world.rank() == 1 {
            world.sleep(0.25).await;
            world.compute(2e9).await;
            notes.add(&world, "end");
        }
    });
    run.finished().noted(&[
        (0.0, 0, "start"),
        (0.0, 1, "start"),
        (0.0, 0, "nothing"),
        (0.0, 1, "nothing"),
        (2.25, 1, "end"),
    ]);
}

#[test]
fn two_ranks_of_one_host_share_its_core() {
    let run = ranks(0).on_hosts(&[3, 3]).run(|world, notes| async move {
        world.compute(1e9).await;
        notes.add(&world, world.host_name());
    });
    run.finished()
        .noted(&[(2.0, 0, "node-3"), (2.0, 1, "node-3")]);
}

#[test]
fn a_small_message_does_not_overtake_a_large_one_of_its_pair() {
    let run = ranks(2).threshold(u64::MAX).run(|world, notes| async move {
        if world.rank() == 0 {
            world.send(&world.buffer(1_000_000), 1, 0).await?;
            world.send(&world.buffer(1), 1, 1).await?;
            world.send(&world.buffer(0), 1, 2).await?;
        } else {
            let mut buffer = world.buffer(1_000_000);
            for tag in [2, 1, 0] {
                world.recv(&mut buffer, 0, tag).await?;
                notes.add(&world, tag);
            }
        }
        DONE
    });
    // They share the bandwidth, so the large one is later by the one byte of the small one.
    let arrival = 2e-6 + 1_000_001e-9;
    run.finished()
        .noted(&[(arrival, 1, "2"), (arrival, 1, "1"), (arrival, 1, "0")]);
}

#[test]
fn an_announcement_waits_for_the_eager_message_before_it() {
    let run = ranks(2).run(|world, notes| async move {
        if world.rank() == 0 {
            world.send(&world.buffer(5000), 1, 0).await?;
            world.send(&world.buffer(1_000_000), 1, 1).await?;
        } else {
            let status = world.probe(ANY_SOURCE, 1).await?;
            notes.add(&world, status.length);
            world.recv(&mut world.buffer(5000), 0, 0).await?;
            world.recv(&mut world.buffer(1_000_000), 0, 1).await?;
            notes.add(&world, "end");
        }
        DONE
    });
    run.finished()
        .noted(&[(7e-6, 1, "1000000"), (7e-6 + 2e-6 + 1e-3, 1, "end")]);
}

#[test]
fn a_relayed_message_overtakes_a_direct_one() {
    let run = ranks(3).threshold(u64::MAX).run(|world, notes| async move {
        let mut buffer = world.buffer(1_000_000);
        match world.rank() {
            0 => {
                world.send(&buffer, 2, 0).await?;
                world.send(&world.buffer(0), 1, 0).await?;
            }
            1 => {
                world.recv(&mut buffer, 0, 0).await?;
                world.send(&world.buffer(0), 2, 0).await?;
            }
            _ => {
                for _ in 0..2 {
                    let status = world.recv(&mut buffer, ANY_SOURCE, 0).await?;
                    notes.add(&world, status.source);
                }
            }
        }
        DONE
    });
    run.finished()
        .noted(&[(4e-6, 2, "1"), (2e-6 + 1e-3, 2, "0")]);
}

#[test]
fn ranks_of_one_host_use_its_loopback() {
    // 10 GB/s without latency.
    for (length, hosts) in [(1000_u32, [1, 1]), (100_000, [1, 1])] {
        let run = ranks(0)
            .on_hosts(&hosts)
            .run(move |world, notes| async move {
                let mut buffer = world.buffer(length.into());
                if world.rank() == 0 {
                    world.send(&buffer, 1, 0).await?;
                } else {
                    world.recv(&mut buffer, 0, 0).await?;
                    notes.add(&world, "received");
                }
                DONE
            });
        run.finished()
            .noted(&[(f64::from(length) * 1e-10, 1, "received")]);
    }
}

#[test]
fn a_rank_sends_to_itself() {
    for length in [1000_u32, 100_000] {
        let run = ranks(1).run(move |world, notes| async move {
            let mut buffer = world.buffer(length.into());
            let mut sending = world.isend(Buffer::phantom(length.into()), 0, 0)?;
            world.recv(&mut buffer, 0, 0).await?;
            sending.wait().await?;
            notes.add(&world, "received");
            DONE
        });
        run.finished()
            .noted(&[(f64::from(length) * 1e-10, 0, "received")]);
    }
}

#[test]
fn a_loop_of_tests_ends_when_the_message_arrives() {
    let run = ranks(2).run(|world, notes| async move {
        if world.rank() == 0 {
            world.sleep(1e-3).await;
            world.send(&world.buffer(1000), 1, 0).await?;
        } else {
            let mut request = world.irecv(world.buffer(1000), 0, 0)?;
            while request.test().await?.is_none() {}
            notes.add(&world, "tested");
        }
        DONE
    });
    run.finished().noted(&[(1e-3 + 3e-6, 1, "tested")]);
}

#[test]
fn a_barrier_takes_two_rounds_of_latency_among_four() {
    let run = ranks(4).run(|world, notes| async move {
        world.sleep(if world.rank() == 2 { 1.0 } else { 0.0 }).await;
        world.barrier().await?;
        notes.add(&world, "");
        DONE
    });
    for (date, _, _) in &run.notes {
        assert!((1.0..=1.0 + 4e-6 + 1e-12).contains(date), "{date}");
    }
    assert_eq!(run.notes.len(), 4);
    assert_eq!(run.finished().report.messages, 8);
}

/// Rank 0 sends a block of 1000 bytes to each of three other ranks. With a gap above the time of a
/// block, the last block leaves two gaps after the first. With a shorter gap, the blocks share the
/// link of rank 0.
#[test]
fn the_blocks_of_a_scatter_leave_a_gap_apart() {
    let mut selector = Selector::ours().clone();
    let forced = selector.force(Collective::Scatter, "linear", 0, 0);
    forced.expect("an algorithm");
    let settings = Settings {
        collectives: Some(Arc::new(selector)),
        ..Settings::new(THRESHOLD)
    };
    for (gap, last) in [("0s", 5e-6), ("400ns", 5e-6), ("3us", 9e-6)] {
        let platform = format!("{NODES}[network]\nmessage_gap = \"{gap}\"\n");
        let run = ranks(4)
            .on_platform(&platform)
            .with_settings(settings.clone());
        let run = run.run(|world, notes| async move {
            let all = world.buffer(4000);
            world
                .scatter(Some(&all), &mut world.buffer(1000), 0)
                .await?;
            if world.rank() == 3 {
                notes.add(&world, gap);
            }
            DONE
        });
        run.finished().noted(&[(last, 3, gap)]);
    }
}
