//! Promise (N-18, F4): where ranks get connected, the loss of a rank is an error of the ranks that
//! wait for it or send to it, and not the end of the run; at any instant, and no rank hangs.
//!
//! Three hosts, of which any two share a link of 1 us and 1 GB/s; the host of rank 1 goes off.

use crate::common::{DONE, Notes, Run, Runner, ranks};
use mpi::{ConnectionMode, ConnectionSettings, Limits, Settings, prelude::*};
use settings::LogGopsParameters;
use sim_core::{Outcome, Time};

/// Returns a runner in which `what` goes off: host b, or the link between a and b.
fn off(what: &str, date: &str) -> Runner {
    let profile = format!("state_profile = {{ points = [[\"{date}\", \"off\"]] }}");
    let of = |name: &str| if name == what { profile.as_str() } else { "" };
    let mut text = "version = 1\n".to_owned();
    for host in ["a", "b", "c"] {
        text += &format!("[hosts.{host}]\nspeed = \"1Gf\"\n{}\n", of(host));
    }
    for link in ["ab", "ac", "bc"] {
        let profile = of(link);
        text += &format!("[links.{link}]\nbandwidth = \"1GBps\"\nlatency = \"1us\"\n{profile}\n");
    }
    for (from, to) in [("a", "b"), ("a", "c"), ("b", "c")] {
        text +=
            &format!("[[routes]]\nfrom = \"{from}\"\nto = \"{to}\"\nlinks = [\"{from}{to}\"]\n");
    }
    ranks(3)
        .on_platform(&text)
        .connecting(ConnectionSettings::on_demand())
}

fn lost(run: &Run) -> Vec<u32> {
    run.lost.iter().map(|&(rank, _)| rank).collect()
}

/// Four packets of 64 bytes for the connection, and a message of 1000 bytes. The message shares the
/// link with the CLOSE of a rank that ends after the message.
const FIRST: f64 = 4.0 * 1.064e-6 + 2e-6 + 64e-9;

const TEXT: &str = "no connection to rank 1: it is lost";

/// A posted receive fails at the date of the loss, a send after that at once; other ranks continue.
#[test]
fn n18_what_waits_for_a_lost_rank_fails_at_once() {
    let run = off("b", "1s").run(|world, notes| async move {
        let mut buffer = world.buffer(1000);
        match world.rank() {
            0 => {
                let error = world.recv(&mut buffer, 1, 0).await.unwrap_err();
                assert_eq!(error.class(), ErrorClass::ProcFailed);
                notes.add(&world, error);
                for length in [10, 100_000] {
                    let error = world.send(&world.buffer(length), 1, 0).await.unwrap_err();
                    notes.add(&world, error);
                }
                let error = world.recv(&mut buffer, 1, 0).await.unwrap_err();
                notes.add(&world, error);
                world.send(&buffer, 2, 0).await?;
            }
            1 => world.sleep(10.0).await,
            _ => {
                world.recv(&mut buffer, 0, 0).await?;
                notes.add(&world, "received");
            }
        }
        DONE
    });
    let run = run.finished();
    let received = 1.0 + FIRST;
    let failed = (1.0, 0, TEXT);
    run.noted(&[failed, failed, failed, failed, (received, 2, "received")]);
    assert_eq!(run.lost, [(1, Time::from_secs(1.0))]);
}

/// Messages that have arrived can be received; a rendezvous that was announced fails.
#[test]
fn messages_that_came_before_the_loss_are_there() {
    let run = off("b", "1s").run(|world, notes| async move {
        let mut buffer = world.buffer(100_000);
        match world.rank() {
            0 => {
                world.sleep(2.0).await;
                notes.add(&world, world.recv(&mut buffer, 1, 1).await?.length);
                let error = world.recv(&mut buffer, 1, 2).await.unwrap_err();
                notes.add(&world, error);
            }
            1 => {
                world.send(&world.buffer(1000), 0, 1).await?;
                world.send(&buffer, 0, 2).await?;
            }
            _ => {}
        }
        DONE
    });
    run.finished().noted(&[(2.0, 0, "1000"), (2.0, 0, TEXT)]);
}

/// A program that does not handle the error ends as with any error of a rank.
#[test]
fn an_error_that_nobody_handles_fails_the_rank() {
    let run = off("b", "1s").run(|world, _| async move {
        let mut buffer = world.buffer(1000);
        match world.rank() {
            0 => drop(world.recv(&mut buffer, 1, 0).await?),
            1 => world.sleep(10.0).await,
            _ => {}
        }
        DONE
    });
    let Outcome::Failed(failure) = run.report.outcome else {
        panic!("{:?}", run.report.outcome);
    };
    assert_eq!(
        failure.to_string(),
        format!("rank 0 on host a failed at 1 s: {TEXT}")
    );
}

/// A receive from any source waits for the ranks that are not lost.
#[test]
fn a_receive_from_any_source_goes_on() {
    let run = off("b", "1s").run(|world, notes| async move {
        let mut buffer = world.buffer(1000);
        match world.rank() {
            0 => notes.add(&world, world.recv(&mut buffer, ANY_SOURCE, 0).await?.source),
            1 => world.sleep(10.0).await,
            _ => {
                world.sleep(2.0).await;
                world.send(&buffer, 0, 0).await?;
            }
        }
        DONE
    });
    run.finished().noted(&[(2.0 + FIRST, 0, "2")]);
}

/// A link that goes off breaks the connection over it: both sides lose each other, and no other
/// rank loses them.
#[test]
fn a_link_that_goes_off_breaks_the_connection() {
    let run = off("ab", "1s").run(|world, notes| async move {
        let mut buffer = world.buffer(1000);
        let (rank, peer) = (world.rank(), 1 - world.rank().min(1));
        if rank < 2 {
            // 2 s of data are on the way when the link goes off.
            let sent = match rank {
                0 => world.send(&world.buffer(2_000_000_000), peer, 0).await,
                _ => {
                    let mut long = world.buffer(2_000_000_000);
                    world.recv(&mut long, peer, 0).await.map(drop)
                }
            };
            notes.add(&world, sent.unwrap_err());
            world.send(&buffer, 2, 0).await?;
        } else {
            for source in [0, 1] {
                world.recv(&mut buffer, source, 0).await?;
            }
            notes.add(&world, "received");
        }
        DONE
    });
    let run = run.finished();
    let received = 1.0 + FIRST;
    run.noted(&[
        (1.0, 0, TEXT),
        (1.0, 1, "no connection to rank 0: it is lost"),
        (received, 2, "received"),
    ]);
    assert_eq!(lost(&run), [0; 0]);
}

/// Sends and receives in all ways; each operation ends, with success or an error. The ranks that
/// are not lost finish their messages among each other.
async fn everything(world: Comm, _: Notes) -> Result<()> {
    let mut requests = Vec::new();
    let others = (0..world.size()).filter(|rank| *rank != world.rank());
    for peer in others {
        for (tag, length) in [(0, 10), (1, 3000), (2, 20_000), (3, 10)] {
            requests.push(world.irecv(world.buffer(length), peer, tag)?);
            requests.push(world.isend(world.buffer(length), peer, tag)?);
        }
    }
    for request in &mut requests {
        if let Err(error) = request.wait().await {
            assert_eq!(error.class(), ErrorClass::ProcFailed);
            assert_ne!(world.rank(), 1);
        }
    }
    world.sleep(1e-6).await;
    let peer = 2 - world.rank();
    if world.rank() != 1 {
        let mut buffer = world.buffer(20_000);
        let mut send = world.isend(world.buffer(20_000), peer, 4)?;
        world.recv(&mut buffer, peer, 4).await?;
        send.wait().await?;
    }
    DONE
}

/// F4: the peer is lost at any instant of handshakes, data and closes.
#[test]
fn f4_a_rank_that_is_lost_at_any_instant_leaves_nobody_hanging() {
    let limits = Limits {
        packet: Some(1000),
        buffers: Some(3),
        credits: Some(4),
        unexpected: Some(2000),
        ..Limits::NONE
    };
    let micros = sim_core::Span::from_micros;
    let costs = LogGopsParameters {
        latency: micros(1.0),
        overhead: micros(0.5),
        gap: micros(0.1),
        gap_per_byte: micros(0.001),
        overhead_per_byte: micros(0.0),
        loopback: None,
    };
    for (limits, costs) in [
        (None, None),
        (Some(limits.clone()), None),
        (None, Some(costs)),
        (Some(limits), Some(costs)),
    ] {
        let settings = Settings {
            phantom: true,
            limits,
            connections: Some(ConnectionSettings::on_demand()),
            ..Settings::new(5000)
        };
        let pace = if costs.is_some() { 4001 } else { 613 };
        let mut ends = [0, 0];
        for step in 0..150 {
            let mut runner =
                off("b", &format!("{}ns", step * pace)).with_settings(settings.clone());
            if let Some(costs) = costs {
                runner = runner.with_costs(costs);
            }
            let run = runner.run(everything).finished();
            ends[usize::from(lost(&run) == [1])] += 1;
        }
        assert!(ends[0] > 10 && ends[1] > 20, "{ends:?}");
    }
}

/// F4: the same for the link between two ranks, which then lose each other.
#[test]
fn f4_a_connection_that_breaks_at_any_instant_leaves_nobody_hanging() {
    for step in 0..150 {
        let runner = off("ab", &format!("{}ns", step * 613)).threshold(5000);
        let run = runner.run(|world, _| async move {
            let mut buffer = world.buffer(20_000);
            let peer = 1 - world.rank().min(1);
            if world.rank() == 2 {
                return DONE;
            }
            for length in [10, 20_000, 10] {
                let mut send = world.isend(world.buffer(length), peer, 0)?;
                let received = world.recv(&mut buffer, peer, 0).await;
                let sent = send.wait().await;
                for error in [received.err(), sent.err()].into_iter().flatten() {
                    assert_eq!(error.class(), ErrorClass::ProcFailed);
                }
            }
            DONE
        });
        let run = run.finished();
        assert_eq!(lost(&run), [0; 0]);
    }
}

/// Static connections: the others begin without the rank that was lost meanwhile.
#[test]
fn a_loss_while_all_get_connected_holds_nobody_up() {
    for step in 0..12 {
        let connections = ConnectionSettings {
            mode: ConnectionMode::Static,
            ..ConnectionSettings::on_demand()
        };
        let runner = off("b", &format!("{}ns", step * 500)).connecting(connections);
        let run = runner.run(|world, notes| async move {
            notes.add(&world, "begins");
            let peer = 2 - world.rank();
            let mut buffer = world.buffer(10);
            if peer != world.rank() {
                let send = world.buffer(10);
                world.sendrecv(&send, peer, 0, &mut buffer, peer, 0).await?;
            }
            world.sleep(1.0).await;
            DONE
        });
        let run = run.finished();
        assert_eq!(lost(&run), [1]);
        let begins = run.notes.iter().map(|note| note.1);
        assert_eq!(begins.filter(|rank| *rank != 1).count(), 2);
    }
}
