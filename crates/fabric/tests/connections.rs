//! Promise: connections cost as much as their packets, and only pairs with messages have any.
//!
//! A packet of 64 bytes takes 2.064 us between two nodes, and a message of n bytes 2 us + n ns.

use crate::common;
use crate::common::{DONE, Run, ranks};
use mpi::{AtLimit, ConnectionMode, ConnectionSettings, ConnectionStatistics, prelude::*};

/// A packet of the handshake.
const HOP: f64 = 2.064e-6;

/// A message of 1000 bytes.
const MESSAGE: f64 = 3e-6;

fn statistics(run: &Run, rank: usize) -> &ConnectionStatistics {
    run.connections[rank]
        .as_ref()
        .expect("connections are made")
}

/// Upper bound of each wait of a rank in these tests, in seconds.
const LONG: f64 = 1.0;

/// Rank 0 sends 1000 bytes to rank 1, which notes when they are there; so often, with `pause`
/// seconds in between.
async fn messages(world: Comm, notes: common::Notes, count: u32, pause: f64) -> Result<()> {
    let mut buffer = world.buffer(1000);
    for _ in 0..count {
        let began = world.wtime();
        if world.rank() == 0 {
            world.send(&buffer, 1, 0).await?;
        } else {
            world.recv(&mut buffer, 0, 0).await?;
            notes.add(&world, "received");
        }
        world.sleep(began + pause - world.wtime()).await;
    }
    DONE
}

/// §7, N-6: a socket costs a round trip, the handshake another one. The second message of the pair
/// pays for no connection.
#[test]
fn the_first_message_of_a_pair_pays_for_the_connection() {
    let runner = ranks(2).connecting(ConnectionSettings::on_demand());
    let run = runner
        .run(|world, notes| messages(world, notes, 2, LONG))
        .finished();
    run.noted(&[
        (4.0 * HOP + MESSAGE, 1, "received"),
        (LONG + MESSAGE, 1, "received"),
    ]);
    assert_eq!(statistics(&run, 0).counts.opened, 1);
    let &[(1, waited)] = &statistics(&run, 0).waited[..] else {
        panic!("rank 0 waits for the connection to rank 1 only");
    };
    assert!((waited - 4.0 * HOP).abs() < 1e-12, "{waited}");
    assert_eq!(statistics(&run, 1).waited, []);
    // Both close at 2 s: each writes CLOSE(0) and then CLOSE(1).
    let end = run.report.time.as_secs();
    assert!((end - (2.0 * LONG + 2.0 * HOP)).abs() < 1e-12, "{end}");
    assert_eq!(statistics(&run, 1).counts.closed, 1);
}

/// The time of the process: to open, to accept, and for each of request and answer.
#[test]
fn handshakes_take_time_of_the_processes() {
    let connections = ConnectionSettings {
        connect_time: 1e-4,
        accept_time: 2e-4,
        message_time: 3e-4,
        socket_size: 1064,
        request_size: 2064,
        response_size: 3064,
        ..ConnectionSettings::on_demand()
    };
    let runner = ranks(2).connecting(connections);
    let run = runner
        .run(|world, notes| messages(world, notes, 1, LONG))
        .finished();
    let packets = 2.0 * (HOP + 1e-6) + (HOP + 2e-6) + (HOP + 3e-6);
    let expected = packets + 1e-4 + 2e-4 + 2.0 * 3e-4 + MESSAGE;
    run.noted(&[(expected, 1, "received")]);
}

/// With LogGOPS a packet of s bytes takes 2 o + L + (s - 1) G, here 1 us + 5 us + (s - 1) ns.
#[test]
fn handshakes_over_loggops() {
    let micros = sim_core::Span::from_micros;
    let costs = settings::LogGopsParameters {
        latency: micros(5.0),
        overhead: micros(0.5),
        gap: micros(0.0),
        gap_per_byte: micros(0.001),
        overhead_per_byte: micros(0.0),
        loopback: None,
    };
    let runner = ranks(2)
        .with_costs(costs)
        .connecting(ConnectionSettings::on_demand());
    let run = runner
        .run(|world, notes| messages(world, notes, 2, LONG))
        .finished();
    let (hop, message) = (6e-6 + 63e-9, 6e-6 + 999e-9);
    run.noted(&[
        (4.0 * hop + message, 1, "received"),
        (LONG + message, 1, "received"),
    ]);
}

/// A rendezvous needs the connection for the announcement; the data start on this connection.
#[test]
fn a_rendezvous_pays_for_the_connection_once() {
    let runner = ranks(2)
        .threshold(0)
        .connecting(ConnectionSettings::on_demand());
    let run = runner
        .run(|world, notes| messages(world, notes, 2, LONG))
        .finished();
    run.noted(&[
        (4.0 * HOP + MESSAGE, 1, "received"),
        (LONG + MESSAGE, 1, "received"),
    ]);
}

/// All pairs before the program: the program begins when the rank is connected to all others, and
/// messages then cost as ever.
#[test]
fn static_connections_are_made_before_the_program() {
    let connections = ConnectionSettings {
        mode: ConnectionMode::Static,
        ..ConnectionSettings::on_demand()
    };
    let program = |world: Comm, notes: common::Notes| async move {
        notes.add(&world, "begins");
        let late = LONG - world.wtime();
        world.sleep(late).await;
        if world.rank() > 1 {
            return DONE;
        }
        messages(world, notes, 1, LONG).await
    };
    let run = ranks(2).connecting(connections).run(program).finished();
    // The side that accepts is connected when its answer is written, the other one when it has read
    // it.
    run.noted(&[
        (3.0 * HOP, 0, "begins"),
        (4.0 * HOP, 1, "begins"),
        (LONG + MESSAGE, 1, "received"),
    ]);
    let run = ranks(4).connecting(connections).run(program).finished();
    for rank in 0..4 {
        let counts = statistics(&run, rank).counts;
        assert_eq!((counts.opened, counts.refused, counts.discarded), (3, 0, 0));
    }
    let begins = run.notes.iter().filter(|note| note.2 == "begins");
    assert!(
        begins
            .map(|note| note.0)
            .all(|date| date > 3.0 * HOP - 1e-12)
    );
}

/// N-3, §4: both ask at once. The connection of the larger rank survives: the other's request is
/// refused there, and is given up here.
#[test]
fn a_head_to_head_ends_with_one_connection() {
    let run = ranks(2)
        .connecting(ConnectionSettings::on_demand())
        .run(|world, notes| async move {
            let peer = 1 - world.rank();
            let mut buffer = world.buffer(1000);
            let mut send = world.isend(world.buffer(1000), peer, 0)?;
            world.recv(&mut buffer, peer, 0).await?;
            notes.add(&world, "received");
            send.wait().await?;
            DONE
        });
    let run = run.finished();
    // The answer of rank 0 is ahead of its message, and shares the link with it.
    let counts = [0, 1].map(|rank| statistics(&run, rank).counts);
    assert_eq!(counts.map(|counts| counts.opened), [1, 1]);
    assert_eq!(counts.map(|counts| counts.discarded), [1, 0]);
    assert_eq!(
        counts.map(|counts| counts.refused),
        [0, 0],
        "a discarded attempt is not counted as refused"
    );
    assert_eq!(counts.map(|counts| counts.closed), [1, 1]);
    assert_eq!(run.notes.len(), 2);
}

/// §4: equal ids never connect.
#[test]
fn messages_to_oneself_need_no_connection() {
    let run = ranks(1)
        .connecting(ConnectionSettings::on_demand())
        .run(|world, notes| async move {
            let mut buffer = world.buffer(1000);
            world.send(&buffer, 0, 0).await?;
            world.recv(&mut buffer, 0, 0).await?;
            let mut send = world.isend(world.buffer(100_000), 0, 0)?;
            let mut long = world.buffer(100_000);
            world.recv(&mut long, 0, 0).await?;
            send.wait().await?;
            notes.add(&world, "received");
            DONE
        });
    let run = run.finished();
    assert_eq!(
        statistics(&run, 0).counts,
        mpi::connection::Counts::default()
    );
    assert_eq!(statistics(&run, 0).peers, 0);
    let free = ranks(1).run(|_, _| async { DONE }).finished();
    assert_eq!(free.connections, [None]);
}

/// Memory from first use only: in a ring each rank knows two others.
#[test]
fn only_pairs_that_talk_are_connected() {
    let hosts: Vec<u32> = (0..32).map(|rank| rank % 4).collect();
    let run = ranks(4)
        .on_hosts(&hosts)
        .connecting(ConnectionSettings::on_demand());
    let run = run.run(|world, _| async move {
        let (rank, size) = (world.rank(), world.size());
        let (next, previous) = ((rank + 1) % size, (rank + size - 1) % size);
        let mut send = world.isend(world.buffer(10), next, 0)?;
        let mut buffer = world.buffer(10);
        world.recv(&mut buffer, previous, 0).await?;
        send.wait().await?;
        DONE
    });
    let run = run.finished();
    for rank in 0..32 {
        assert_eq!(statistics(&run, rank).peers, 2);
    }
}

/// N-8: a rank that has finalized refuses connections, and the sender gets an error.
#[test]
fn n8_a_message_to_a_rank_that_has_ended_is_refused() {
    for threshold in [0, 10_000] {
        let runner = ranks(2)
            .threshold(threshold)
            .connecting(ConnectionSettings::on_demand());
        let run = runner.run(|world, notes| async move {
            if world.rank() == 0 {
                world.sleep(LONG).await;
                let error = world.send(&world.buffer(1000), 1, 0).await.unwrap_err();
                assert_eq!(error.class(), ErrorClass::ProcFailed);
                notes.add(&world, error);
            }
            DONE
        });
        let text = "no connection to rank 1: the peer no longer accepts connections";
        run.finished().noted(&[(LONG + HOP, 0, text)]);
    }
}

/// N-9, N-16: requests that come while the process ends are refused in order, also when the process
/// has no time to read them.
#[test]
fn n9_n16_requests_that_come_while_a_rank_ends_are_refused() {
    for accept_time in [0.0, 0.5e-6, 1.5e-6, 3e-6] {
        let connections = ConnectionSettings {
            accept_time,
            message_time: accept_time,
            ..ConnectionSettings::on_demand()
        };
        for step in 0..24 {
            let late = f64::from(step) * 0.5e-6;
            let run = ranks(3)
                .connecting(connections)
                .run(move |world, _| async move {
                    if world.rank() == 0 {
                        world.sleep(late).await;
                    } else {
                        // Accepted or refused, but not left alone.
                        let sent = world.send(&world.buffer(1000), 0, 0).await;
                        assert!(matches!(
                            sent,
                            Ok(()) | Err(Error::Connection { rank: 0, .. })
                        ));
                    }
                    DONE
                });
            let run = run.finished();
            let counts = [0, 1, 2].map(|rank| statistics(&run, rank).counts);
            let used: u64 = counts[1].opened + counts[2].opened;
            assert_eq!(counts[0].opened, used, "after {late} s");
        }
    }
}

/// N-17: one descriptor at a hub that talks to three others in turn.
#[test]
fn n17_idle_connections_make_room() {
    for at_limit in [AtLimit::Wait, AtLimit::Fail] {
        let connections = ConnectionSettings {
            descriptors: Some(1),
            at_limit,
            ..ConnectionSettings::on_demand()
        };
        let run = ranks(4).connecting(connections).run(|world, _| async move {
            let mut buffer = world.buffer(1000);
            for _ in 0..3 {
                for leaf in 1..4 {
                    if world.rank() == 0 {
                        world.send(&buffer, leaf, 0).await?;
                        world.sleep(LONG).await;
                    } else if world.rank() == leaf {
                        world.recv(&mut buffer, 0, 0).await?;
                    }
                }
            }
            DONE
        });
        let run = run.finished();
        let counts = statistics(&run, 0).counts;
        // Two leaves close when they end, and the hub the last one.
        assert_eq!((counts.opened, counts.evicted, counts.closed), (9, 6, 9));
        assert_eq!(statistics(&run, 0).reopened, 6);
    }
}

/// N-17: the clear error.
#[test]
fn n17_without_an_idle_connection_the_send_fails_if_wanted() {
    let connections = ConnectionSettings {
        descriptors: Some(1),
        at_limit: AtLimit::Fail,
        ..ConnectionSettings::on_demand()
    };
    let run = ranks(3)
        .connecting(connections)
        .run(|world, notes| async move {
            let mut buffer = world.buffer(1000);
            match world.rank() {
                0 => {
                    let mut first = world.isend(world.buffer(1000), 1, 0)?;
                    let error = world.send(&buffer, 2, 0).await.unwrap_err();
                    assert_eq!(error.class(), ErrorClass::Other);
                    notes.add(&world, error);
                    first.wait().await?;
                }
                1 => drop(world.recv(&mut buffer, 0, 0).await?),
                _ => {}
            }
            DONE
        });
    let text = "no connection to rank 2: descriptor limit reached and no idle connection to close";
    run.finished().noted(&[(0.0, 0, text)]);
}

/// Unused connections are closed after a time, and opened again when they are needed (N-15).
#[test]
fn n15_idle_connections_are_closed_and_opened_again() {
    let connections = ConnectionSettings {
        idle_close: Some(0.25),
        ..ConnectionSettings::on_demand()
    };
    let runner = ranks(2).connecting(connections);
    let run = runner
        .run(|world, notes| messages(world, notes, 3, LONG))
        .finished();
    run.noted(&[
        (4.0 * HOP + MESSAGE, 1, "received"),
        (LONG + 4.0 * HOP + MESSAGE, 1, "received"),
        (2.0 * LONG + 4.0 * HOP + MESSAGE, 1, "received"),
    ]);
    let counts = statistics(&run, 0).counts;
    assert_eq!((counts.opened, counts.closed), (3, 3));
    assert_eq!(statistics(&run, 0).reopened, 2);
    // The last one is closed when it is idle as well, before the program ends.
    assert_eq!(counts.idle + statistics(&run, 1).counts.idle, 3);
}

/// F5: each of two ranks is disconnected from and connected to again more than a thousand times.
#[test]
fn f5_a_thousand_reconnects() {
    let connections = ConnectionSettings {
        descriptors: Some(1),
        ..ConnectionSettings::on_demand()
    };
    const ROUNDS: u32 = 600;
    let run = ranks(3).connecting(connections).run(|world, _| async move {
        let mut buffer = world.buffer(8);
        for round in 0..ROUNDS {
            for leaf in 1..3 {
                if world.rank() == 0 {
                    world.send(&buffer, leaf, round).await?;
                    world.recv(&mut buffer, leaf, round).await?;
                } else if world.rank() == leaf {
                    world.recv(&mut buffer, 0, round).await?;
                    world.send(&buffer, 0, round).await?;
                }
            }
        }
        DONE
    });
    let run = run.finished();
    assert_eq!(statistics(&run, 0).reopened, u64::from(2 * ROUNDS - 2));
    let counts = [0, 1, 2].map(|rank| statistics(&run, rank).counts);
    assert_eq!(
        counts.map(|counts| counts.closed),
        counts.map(|counts| counts.opened)
    );
    assert!(run.leftovers.iter().all(Vec::is_empty));
}

/// The same run twice; and where no time passes, connections are made all the same.
#[test]
fn runs_with_connections_repeat_themselves() {
    let connections = ConnectionSettings {
        idle_close: Some(1e-5),
        message_time: 1e-6,
        ..ConnectionSettings::on_demand()
    };
    let program = |world: Comm, _: common::Notes| async move {
        for round in 0..3 {
            let mut requests = Vec::new();
            for peer in (0..world.size()).filter(|peer| *peer != world.rank()) {
                for length in [10, 20_000] {
                    requests.push(world.irecv(world.buffer(length), peer, round)?);
                    requests.push(world.isend(world.buffer(length), peer, round)?);
                }
            }
            waitall(&mut requests).await?;
            world.sleep(1e-4).await;
        }
        DONE
    };
    let runner = ranks(4).connecting(connections);
    let runs = [(); 2].map(|()| runner.run(program).finished());
    assert_eq!(runs[0].report.digest, runs[1].report.digest);
    assert_eq!(runs[0].connections, runs[1].connections);
    let untimed = runner.untimed().run(program).finished();
    assert!(statistics(&untimed, 0).counts.opened >= 3);
}
