//! Promise: protocols take the time that their packets, copies and postings take: formulas of
//! `docs/protocols.md`, on nodes between which n bytes alone take 2 us + n ns.

use crate::common::{DONE, Notes, Run, THRESHOLD, ranks};
use mpi::{Limits, PostingCost, Settings, TransportMode, prelude::*};
use sim_core::Outcome;

/// Returns the time that n bytes travel, in seconds.
fn travel(bytes: u32) -> f64 {
    2e-6 + f64::from(bytes) * 1e-9
}

const CONTROL: u32 = 64;

/// Control messages are messages, as in the preset of that name.
fn explicit() -> Settings {
    Settings {
        phantom: true,
        control: Some(CONTROL.into()),
        acknowledged_ssend: true,
        limits: Some(Limits::NONE),
        ..Settings::new(THRESHOLD)
    }
}

fn free() -> Settings {
    Settings {
        phantom: true,
        ..Settings::new(THRESHOLD)
    }
}

/// Rank 0 sends at once, rank 1 receives after a while; both note the end.
fn one_message(settings: Settings, bytes: u32, synchronous: bool, late: f64) -> Run {
    let runner = ranks(2).with_settings(settings);
    runner.run(move |world, notes| one_side(world, notes, bytes, synchronous, late))
}

async fn one_side(
    world: Comm,
    notes: Notes,
    bytes: u32,
    synchronous: bool,
    late: f64,
) -> Result<()> {
    let mut buffer = world.buffer(bytes.into());
    if world.rank() == 0 {
        if synchronous {
            world.ssend(&buffer, 1, 0).await?;
        } else {
            world.send(&buffer, 1, 0).await?;
        }
        notes.add(&world, "sent");
    } else {
        world.sleep(late).await;
        world.recv(&mut buffer, 0, 0).await?;
        notes.add(&world, "received");
    }
    DONE
}

/// The dates at which the send and the receive are over.
fn ends(run: Run) -> (f64, f64) {
    let run = run.finished();
    let of = |rank: usize| {
        let mut all = run.notes.iter();
        all.find(|note| note.1 == rank).expect("a note").0
    };
    (of(0), of(1))
}

#[track_caller]
fn same(found: (f64, f64), expected: (f64, f64)) {
    let near = |a: f64, b: f64| (a - b).abs() < 1e-12;
    assert!(
        near(found.0, expected.0) && near(found.1, expected.1),
        "found {found:?}, expected {expected:?}"
    );
}

#[test]
fn explicit_control_messages_travel() {
    let (control, data) = (travel(CONTROL), travel(50_000));
    let end = 2.0 * control + data;
    same(
        ends(one_message(explicit(), 50_000, false, 0.0)),
        (end, end),
    );
    // The answer waits for the receive.
    let end = 1e-3 + control + data;
    same(
        ends(one_message(explicit(), 50_000, false, 1e-3)),
        (end, end),
    );
    // Without the machines it is the same.
    let plain = Settings {
        limits: None,
        ..explicit()
    };
    same(ends(one_message(plain, 50_000, false, 1e-3)), (end, end));
    same(
        ends(one_message(free(), 50_000, false, 1e-3)),
        (1e-3 + data, 1e-3 + data),
    );
}

/// E3: from the threshold on a message is announced; the curve has a step of two control messages
/// there.
#[test]
fn e3_the_curve_has_a_step_at_the_threshold() {
    let threshold = u32::try_from(THRESHOLD).expect("small");
    let received = |settings: Settings, bytes| ends(one_message(settings, bytes, false, 0.0)).1;
    for bytes in [threshold - 1, threshold, threshold + 1] {
        let announced = bytes >= threshold;
        let step = if announced {
            2.0 * travel(CONTROL)
        } else {
            0.0
        };
        let found = received(explicit(), bytes);
        assert!(
            (found - step - travel(bytes)).abs() < 1e-12,
            "{bytes}: {found}"
        );
        // Control messages that take no time make no step; but the sender waits.
        let found = ends(one_message(free(), bytes, false, 0.0));
        let sent = if announced { travel(bytes) } else { 0.0 };
        same(found, (sent, travel(bytes)));
    }
}

/// E3: the table in the document equals the simulated times.
#[test]
fn e3_the_table_of_the_document() {
    let text = include_str!("../../../docs/protocols.md");
    let threshold = u32::try_from(THRESHOLD).expect("small");
    for bytes in threshold - 2..threshold + 3 {
        let received = |settings: Settings| ends(one_message(settings, bytes, false, 0.0)).1 * 1e6;
        let row = format!(
            "| {bytes} | {:.3} | {:.3} |",
            received(free()),
            received(explicit())
        );
        assert!(text.contains(&row), "docs/protocols.md lacks {row}");
    }
}

#[test]
fn a_short_synchronous_message_leaves_at_once_and_is_acknowledged() {
    let (ack, data) = (travel(CONTROL), travel(1000));
    same(
        ends(one_message(explicit(), 1000, true, 0.0)),
        (data + ack, data),
    );
    // It has come when the receive is posted.
    same(
        ends(one_message(explicit(), 1000, true, 1e-3)),
        (1e-3 + ack, 1e-3),
    );
    // Otherwise it is announced.
    let end = 1e-3 + data;
    same(ends(one_message(free(), 1000, true, 1e-3)), (end, end));
}

/// M-4: eager messages are copied into packets, and out of where they waited if they came before
/// their receives.
#[test]
fn m4_packing_takes_time() {
    let settings = Settings {
        copy_bandwidth: 1e9,
        limits: Some(Limits::NONE),
        ..free()
    };
    let copy = 1e-6;
    same(
        ends(one_message(settings.clone(), 1000, false, 0.0)),
        (copy, copy + travel(1000)),
    );
    same(
        ends(one_message(settings.clone(), 1000, false, 1e-3)),
        (copy, 1e-3 + copy),
    );
    // A rendezvous of one packet leaves from the program's memory.
    let end = travel(20_000);
    same(
        ends(one_message(settings.clone(), 20_000, false, 0.0)),
        (end, end),
    );
    // Packed, it does not.
    let packed = Settings {
        limits: Some(Limits {
            direct: false,
            ..Limits::NONE
        }),
        ..settings
    };
    let (_, received) = ends(one_message(packed, 20_000, false, 0.0));
    assert!((received - end - 20e-6).abs() < 1e-12, "{received}");
    // The copy out of the memory for unexpected messages is there without packets too.
    let plain = Settings {
        copy_bandwidth: 1e9,
        ..free()
    };
    same(
        ends(one_message(plain, 1000, false, 1e-3)),
        (0.0, 1e-3 + copy),
    );
}

/// M-5: k packets at once are looked after once: P packets take P packet costs, and one batch cost
/// for the first and for each k others.
#[test]
fn m5_batches_share_what_posting_costs() {
    for (batch, postings) in [(1, 10), (3, 4), (9, 2)] {
        let settings = Settings {
            posting: PostingCost {
                packet: 1e-6,
                batch: 10e-6,
            },
            limits: Some(Limits {
                packet: Some(1000),
                credits: Some(100),
                reserved: 50,
                batch,
                direct: false,
                ..Limits::NONE
            }),
            ..free()
        };
        // Each packet travels while the next ones are made ready, since that takes longer; the last
        // batch ends it.
        let (_, received) = ends(one_message(settings.clone(), 10_000, false, 0.0));
        // The announcement and the answer are packets too.
        let ready = f64::from(postings) * 10e-6 + 10.0 * 1e-6 + 2.0 * 11e-6;
        let last = 9 - (9 - 1) / batch * batch;
        let expected = ready + 2e-6 + f64::from(last) * 1e-6;
        assert!(
            (received - expected).abs() < 1e-12,
            "batch {batch}: {received}, not {expected}"
        );
    }
}

/// M-6: a stream carries a message whole, and its table never waits for data buffers or credits.
#[test]
fn m6_a_stream_has_no_packets() {
    let limits = Limits {
        packet: Some(100),
        credits: Some(2),
        buffers: Some(1),
        direct: false,
        ..Limits::NONE
    };
    let settings = |variant| Settings {
        variant,
        limits: Some(limits.clone()),
        ..free()
    };
    for bytes in [5000, 50_000] {
        let (_, received) = ends(one_message(
            settings(TransportMode::Stream),
            bytes,
            false,
            0.0,
        ));
        assert!((received - travel(bytes)).abs() < 1e-12, "{received}");
        let (_, received) = ends(one_message(
            settings(TransportMode::Packet),
            bytes,
            false,
            0.0,
        ));
        assert!(received > 10.0 * travel(bytes), "{received}");
    }
}

/// A detached message without a receive does not keep the run going; the run reports the message at
/// its end.
#[test]
fn a_detached_message_that_nobody_receives_ends_with_the_run() {
    let settings = Settings {
        async_small_threshold: 0,
        ..free()
    };
    let run = ranks(2)
        .with_settings(settings)
        .run(|world, notes| async move {
            if world.rank() == 0 {
                world.send(&world.buffer(10), 1, 7).await?;
            } else {
                world.sleep(1.0).await;
            }
            notes.add(&world, "done");
            DONE
        });
    let run = run.finished();
    run.noted(&[(0.0, 0, "done"), (1.0, 1, "done")]);
    assert_eq!(
        run.leftovers[1],
        ["unreceived message: 10 bytes from rank 0, tag 7"]
    );
    assert_eq!(run.report.time.as_secs(), 1.0);
}

/// Other ranks that wait are still found; the sender of the message without a receive is not among
/// them.
#[test]
fn a_deadlock_is_not_hidden_by_a_detached_message() {
    let settings = Settings {
        async_small_threshold: 0,
        ..free()
    };
    let run = ranks(2).with_settings(settings).run(|world, _| async move {
        if world.rank() == 0 {
            world.send(&world.buffer(10), 1, 7).await?;
        } else {
            world.recv(&mut world.buffer(10), 0, 8).await?;
        }
        DONE
    });
    let waiting: Vec<String> = run
        .deadlock()
        .blocked
        .iter()
        .map(|one| one.waits_in.clone())
        .collect();
    assert_eq!(waiting, ["recv (source 0, tag 8)"]);
}

/// M-14: a message that has been announced is given back after a request and an answer.
#[test]
fn m14_a_cancelled_send_takes_two_control_messages() {
    let run = ranks(2)
        .with_settings(explicit())
        .run(|world, notes| async move {
            if world.rank() == 0 {
                let mut send = world.isend(world.buffer(50_000), 1, 0)?;
                world.sleep(1e-3).await;
                send.cancel().await;
                assert!(send.wait().await?.status.cancelled);
                notes.add(&world, "cancelled");
            } else {
                world.sleep(5e-3).await;
            }
            DONE
        });
    run.finished()
        .noted(&[(1e-3 + 2.0 * travel(CONTROL), 0, "cancelled")]);
}

/// M-12: without a posted receive a ready send is a mistake where that is wanted, and a standard
/// one otherwise.
#[test]
fn m12_a_ready_send_needs_a_posted_receive_where_that_is_strict() {
    for (strict, late, bytes, fails) in [
        (true, 1e-3, 100, true),
        (true, 1e-3, 50_000, true),
        (true, 0.0, 100, false),
        (true, 0.0, 50_000, false),
        (false, 1e-3, 100, false),
        (false, 1e-3, 50_000, false),
    ] {
        for limits in [None, Some(Limits::NONE)] {
            let settings = Settings {
                strict_ready_send: strict,
                limits,
                ..free()
            };
            let run = ranks(2)
                .with_settings(settings)
                .run(move |world, _| async move {
                    let mut buffer = world.buffer(bytes);
                    if world.rank() == 0 {
                        world.sleep(1e-5).await;
                        world.rsend(&buffer, 1, 3).await?;
                    } else {
                        world.sleep(late).await;
                        world.recv(&mut buffer, 0, 3).await?;
                    }
                    DONE
                });
            match run.report.outcome {
                Outcome::Finished => assert!(!fails, "{strict} {late} {bytes}"),
                Outcome::Failed(failure) => assert!(
                    fails
                        && failure
                            .message
                            .contains("ready send without a posted receive"),
                    "{failure:?}"
                ),
                other => panic!("{other:?}"),
            }
        }
    }
}
