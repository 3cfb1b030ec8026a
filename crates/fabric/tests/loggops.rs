//! Promise: the costs of messages under LogGOPS, as closed forms. L = 10 us, o = 1 us, g = 3 us, G
//! = 5 ns and O = 2 ns unless a test says otherwise; all dates in microseconds.

use crate::common;
use crate::common::{DONE, Run, exchange, loggops_costs, ranks};
use mpi::prelude::*;
use settings::LogGopsParameters;
use sim_core::{Outcome, Span};

/// Asserts the notes: rank, date in microseconds; ranks in ascending order.
#[track_caller]
fn noted(run: &Run, expected: &[(usize, f64)]) {
    assert_eq!(run.report.outcome, Outcome::Finished);
    let mut notes: Vec<(usize, f64)> = run
        .notes
        .iter()
        .map(|note| (note.1, note.0 * 1e6))
        .collect();
    notes.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
    let same = notes.len() == expected.len()
        && notes
            .iter()
            .zip(expected)
            .all(|(a, b)| a.0 == b.0 && (a.1 - b.1).abs() <= 1e-9);
    assert!(same, "noted {notes:?}\nexpected {expected:?}");
}

/// The time of s bytes but the first, in microseconds, at `nanoseconds` per byte.
fn rest(bytes: u64, nanoseconds: f64) -> f64 {
    bytes.saturating_sub(1) as f64 * nanoseconds * 1e-3
}

#[test]
fn a_message_alone() {
    for bytes in [0, 1, 2, 1000, 9999] {
        let run = ranks(2)
            .with_costs(loggops_costs())
            .run(move |world, notes| async move {
                exchange(world.clone(), bytes).await?;
                notes.add(&world, "");
                DONE
            });
        // The sender copies: o + (s-1) O. The receiver waits for the last byte: o + L + o + (s-1)
        // G.
        let (sent, received) = (1.0 + rest(bytes, 2.0), 12.0 + rest(bytes, 5.0));
        noted(&run, &[(0, sent), (1, received)]);
    }
}

#[test]
fn a_processor_slower_than_the_adapter() {
    let costs = LogGopsParameters {
        overhead_per_byte: Span::from_secs(8e-9),
        ..loggops_costs()
    };
    let run = ranks(2).with_costs(costs).run(|world, notes| async move {
        exchange(world.clone(), 1001).await?;
        notes.add(&world, "");
        DONE
    });
    noted(&run, &[(0, 1.0 + 8.0), (1, 12.0 + 8.0)]);
}

#[test]
fn the_border_between_eager_and_rendezvous() {
    // RTS and CTS are messages of one byte: 12 us each; then the message itself. The sender is done
    // with the last byte that leaves, 1 + (s-1) G after it began.
    let run = |bytes| {
        ranks(2)
            .with_costs(loggops_costs())
            .run(move |world, notes| async move {
                exchange(world.clone(), bytes).await?;
                notes.add(&world, "");
                DONE
            })
    };
    noted(
        &run(common::THRESHOLD - 1),
        &[(0, 1.0 + 9998.0 * 2e-3), (1, 12.0 + 9998.0 * 5e-3)],
    );
    let rest = 9999.0 * 5e-3;
    noted(
        &run(common::THRESHOLD),
        &[(0, 24.0 + 1.0 + rest), (1, 36.0 + rest)],
    );
}

#[test]
fn several_messages_from_one_sender() {
    for (bytes, gap) in [(1, 3.0), (1001, 8.0)] {
        let run = ranks(2)
            .with_costs(loggops_costs())
            .run(move |world, notes| async move {
                if world.rank() == 0 {
                    let mut requests = Vec::new();
                    for _ in 0..4 {
                        requests.push(world.isend(world.buffer(bytes), 1, 0)?);
                    }
                    // They are over one by one: the adapter holds the next back.
                    for request in &mut requests {
                        request.wait().await?;
                        notes.add(&world, "");
                    }
                } else {
                    for _ in 0..4 {
                        world.recv(&mut world.buffer(bytes), 0, 0).await?;
                        notes.add(&world, "");
                    }
                }
                DONE
            });
        let (copy, through) = (1.0 + rest(bytes, 2.0), 1.0 + rest(bytes, 5.0));
        let mut expected: Vec<(usize, f64)> =
            (0..4).map(|k| (0, gap * f64::from(k) + copy)).collect();
        expected.extend((0..4).map(|k| (1, gap * f64::from(k) + 11.0 + through)));
        noted(&run, &expected);
    }
}

#[test]
fn a_sender_whose_processor_is_slower_than_its_adapter() {
    let costs = LogGopsParameters {
        overhead: Span::from_micros(4.0),
        ..loggops_costs()
    };
    let run = ranks(2).with_costs(costs).run(|world, notes| async move {
        for _ in 0..3 {
            exchange(world.clone(), 1).await?;
        }
        notes.add(&world, "");
        DONE
    });
    // The last leaves at 8, arrives at 22, and is received in 4; the receiver keeps up exactly.
    noted(&run, &[(0, 12.0), (1, 26.0)]);
}

#[test]
fn many_senders_to_one_receiver() {
    let senders = 3;
    let run = |bytes| {
        ranks(4)
            .with_costs(loggops_costs())
            .run(move |world, notes| async move {
                if world.rank() > 0 {
                    return world.send(&world.buffer(bytes), 0, 0).await;
                }
                for _ in 0..senders {
                    world.recv(&mut world.buffer(bytes), ANY_SOURCE, 0).await?;
                    notes.add(&world, "");
                }
                DONE
            })
    };
    // All arrive at 11; the adapter takes one every g + (s-1) G.
    noted(&run(1), &[(0, 12.0), (0, 15.0), (0, 18.0)]);
    noted(&run(1001), &[(0, 17.0), (0, 25.0), (0, 33.0)]);
}

#[test]
fn ping_pong() {
    let run = ranks(2)
        .with_costs(loggops_costs())
        .run(|world, notes| async move {
            let mut buffer = world.buffer(101);
            for _ in 0..10 {
                if world.rank() == 0 {
                    world.send(&buffer, 1, 0).await?;
                    world.recv(&mut buffer, 1, 0).await?;
                } else {
                    world.recv(&mut buffer, 0, 0).await?;
                    world.send(&buffer, 0, 0).await?;
                }
            }
            notes.add(&world, "");
            DONE
        });
    // 20 times 2 o + L + (s-1) G; rank 1 is done with its last copy, 11.3 before rank 0 has
    // received it.
    noted(&run, &[(0, 20.0 * 12.5), (1, 20.0 * 12.5 - 11.3)]);
}

#[test]
fn an_exchange_overlaps_at_the_two_ends() {
    let run = ranks(2)
        .with_costs(loggops_costs())
        .run(|world, notes| async move {
            let other = 1 - world.rank();
            let mut buffer = world.buffer(1);
            world
                .sendrecv(&Buffer::phantom(1), other, 0, &mut buffer, other, 0)
                .await?;
            notes.add(&world, "");
            DONE
        });
    noted(&run, &[(0, 12.0), (1, 12.0)]);
}

#[test]
fn what_arrives_at_a_rank_that_computes_waits() {
    let run = ranks(2)
        .with_costs(loggops_costs())
        .run(|world, notes| async move {
            let buffer = world.buffer(1);
            if world.rank() == 0 {
                world.send(&buffer, 1, 0).await?;
            } else {
                let mut request = world.irecv(buffer, 0, 0)?;
                world.compute(50e3).await;
                notes.add(&world, "");
                request.wait().await?;
                notes.add(&world, "");
            }
            DONE
        });
    // At 1 Gflop/s 50 us; the message of the date 11 is received then.
    noted(&run, &[(1, 50.0), (1, 51.0)]);
}

#[test]
fn a_computation_begins_when_the_sends_before_it_have() {
    let run = ranks(2)
        .with_costs(loggops_costs())
        .run(|world, notes| async move {
            if world.rank() == 0 {
                let mut requests = [
                    world.isend(world.buffer(1), 1, 0)?,
                    world.isend(world.buffer(1), 1, 0)?,
                ];
                world.compute(10e3).await;
                notes.add(&world, "");
                waitall(&mut requests).await?;
                notes.add(&world, "");
            } else {
                for _ in 0..2 {
                    world.recv(&mut world.buffer(1), 0, 0).await?;
                    notes.add(&world, "");
                }
            }
            DONE
        });
    // Sends at 0 and 3, until 4; 10 us of computation.
    noted(&run, &[(0, 14.0), (0, 14.0), (1, 12.0), (1, 15.0)]);
}

#[test]
fn receiving_goes_on_while_a_send_waits_for_the_adapter() {
    // Rank 0 sends twice: at 0 and, because of g, at 30. In between the message of rank 1 is
    // received.
    let costs = LogGopsParameters {
        gap: Span::from_micros(30.0),
        ..loggops_costs()
    };
    let run = ranks(2).with_costs(costs).run(|world, notes| async move {
        let other = 1 - world.rank();
        let mut sends = Vec::new();
        for _ in 0..2 - world.rank() {
            sends.push(world.isend(world.buffer(1), other, 0)?);
        }
        for _ in 0..=world.rank() {
            world.recv(&mut world.buffer(1), other, 0).await?;
            notes.add(&world, "");
        }
        waitall(&mut sends).await?;
        notes.add(&world, "");
        DONE
    });
    noted(
        &run,
        &[(0, 12.0), (0, 31.0), (1, 12.0), (1, 42.0), (1, 42.0)],
    );
}

#[test]
fn sleep_occupies_nothing() {
    let run = ranks(2)
        .with_costs(loggops_costs())
        .run(|world, notes| async move {
            if world.rank() == 0 {
                world.send(&world.buffer(1), 1, 0).await?;
            } else {
                let mut request = world.irecv(world.buffer(1), 0, 0)?;
                world.sleep(50e-6).await;
                request.wait().await?;
                notes.add(&world, "");
            }
            DONE
        });
    noted(&run, &[(1, 50.0)]);
}

#[test]
fn without_time_nothing_costs() {
    let run = ranks(2)
        .with_costs(loggops_costs())
        .untimed()
        .run(|world, _| async move {
            for bytes in [1, 1 << 20] {
                exchange(world.clone(), bytes).await?;
            }
            DONE
        })
        .finished();
    assert_eq!(run.report.time.as_secs(), 0.0);
}

#[test]
fn what_was_never_received_is_reported() {
    let run = ranks(2)
        .with_costs(loggops_costs())
        .run(|world, _| async move {
            if world.rank() == 0 {
                world.send(&world.buffer(7), 1, 3).await?;
            }
            DONE
        });
    let text = "unreceived message: 7 bytes from rank 0, tag 3";
    assert_eq!(run.leftovers, [vec![], vec![text.to_owned()]]);
    run.finished();
}

#[test]
fn both_send_first_by_rendezvous() {
    let run = ranks(2)
        .with_costs(loggops_costs())
        .run(|world, _| async move {
            let other = 1 - world.rank();
            world.send(&world.buffer(20_000), other, 0).await?;
            world
                .recv(&mut world.buffer(20_000), other, 0)
                .await
                .map(drop)
        });
    assert_eq!(run.deadlock().to_string().lines().count(), 3);
}

/// The same program twice: the same digest, also with wildcards and ties everywhere.
#[test]
fn the_same_run_twice() {
    let run = || {
        ranks(4)
            .with_costs(loggops_costs())
            .run(|world, _| async move {
                let (rank, size) = (world.rank(), world.size());
                for round in 0_u32..5 {
                    let mut requests = Vec::new();
                    for distance in 1..size {
                        let bytes = u64::from(round) * 5_000;
                        requests.push(world.irecv(world.buffer(20_000), ANY_SOURCE, round)?);
                        requests.push(world.isend(
                            world.buffer(bytes),
                            (rank + distance) % size,
                            round,
                        )?);
                    }
                    waitall(&mut requests).await?;
                }
                DONE
            })
            .finished()
            .report
    };
    let (first, second) = (run(), run());
    assert_eq!(first.digest, second.digest);
    assert_eq!(first.time, second.time);
}
