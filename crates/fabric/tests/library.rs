//! Promise: the parts of a library that a platform sets take the time of their closed forms, on
//! nodes between which n bytes alone take 2 us + n ns.

use std::sync::Arc;

use crate::common::{DONE, Notes, Run, THRESHOLD, ranks};
use mpi::{Limits, Settings, prelude::*};
use settings::{LibrarySettings, LogGopsParameters, RendezvousMode, RendezvousSettings};
use sim_core::Span;

/// Returns the time that n bytes travel, in seconds.
fn travel(bytes: u32) -> f64 {
    2e-6 + f64::from(bytes) * 1e-9
}

const CONTROL: u32 = 64;

const GET: RendezvousSettings = RendezvousSettings {
    mode: RendezvousMode::Get,
    ..RendezvousSettings::NONE
};

fn with(rendezvous: RendezvousSettings) -> Settings {
    Settings {
        phantom: true,
        control: Some(CONTROL.into()),
        library: Some(Arc::new(LibrarySettings { rendezvous })),
        ..Settings::new(THRESHOLD)
    }
}

/// Rank 0 sends, rank 1 receives from a date on; both note the end.
async fn one_message(
    world: Comm,
    notes: Notes,
    (bytes, blocks, late): (u32, bool, f64),
) -> Result<()> {
    let mut buffer = world.buffer(bytes.into());
    if world.rank() == 0 && blocks {
        world.send(&buffer, 1, 0).await?;
    } else if world.rank() == 0 {
        world.isend(buffer, 1, 0)?.wait().await?;
    } else {
        world.sleep(late).await;
        world.recv(&mut buffer, 0, 0).await?;
    }
    notes.add(&world, "");
    DONE
}

fn run(settings: Settings, message: (u32, bool, f64)) -> Run {
    let runner = ranks(2).with_settings(settings);
    runner.run(move |world, notes| one_message(world, notes, message))
}

/// Returns the dates at which the send and the receive are over.
fn ends(run: Run) -> [f64; 2] {
    let run = run.finished();
    [0, 1].map(|rank| {
        let mut all = run.notes.iter();
        all.find(|note| note.1 == rank).expect("a note").0
    })
}

#[track_caller]
fn same(found: [f64; 2], expected: [f64; 2]) {
    let near = |at: usize| (found[at] - expected[at]).abs() < 1e-12;
    assert!(near(0) && near(1), "found {found:?}, expected {expected:?}");
}

/// Announcement, request, data, acknowledgement.
#[test]
fn a_get_ends_with_its_acknowledgement() {
    let (control, data) = (travel(CONTROL), travel(50_000));
    for limits in [None, Some(Limits::NONE)] {
        let settings = |rendezvous| Settings {
            limits: limits.clone(),
            ..with(rendezvous)
        };
        let received = 2.0 * control + data;
        let found = ends(run(settings(GET), (50_000, true, 0.0)));
        same(found, [received + control, received]);
        let put = ends(run(settings(RendezvousSettings::NONE), (50_000, true, 0.0)));
        same(put, [received; 2]);
        // A receive that is posted later reads when it is posted.
        let received = 1e-3 + control + data;
        let found = ends(run(settings(GET), (50_000, true, 1e-3)));
        same(found, [received + control, received]);
    }
}

/// Data in several packets are acknowledged once.
#[test]
fn a_get_in_packets_ends_with_its_acknowledgement() {
    let limits = Limits {
        packet: Some(20_000),
        ..Limits::NONE
    };
    let settings = Settings {
        limits: Some(limits),
        ..with(GET)
    };
    let [sent, received] = ends(run(settings, (50_000, true, 0.0)));
    assert!((sent - received - travel(CONTROL)).abs() < 1e-12);
}

/// The processor of the receiver matches, and the request leaves after that.
#[test]
fn matching_takes_time() {
    let (control, data) = (travel(CONTROL), travel(50_000));
    let slow = RendezvousSettings {
        cost: Some(3e-7),
        ..GET
    };
    let received = 2.0 * control + 3e-7 + data;
    let found = ends(run(with(slow), (50_000, true, 0.0)));
    same(found, [received + control, received]);
    let put = RendezvousSettings {
        mode: RendezvousMode::Put,
        ..slow
    };
    let received = 1e-3 + 3e-7 + control + data;
    let found = ends(run(with(put), (50_000, true, 1e-3)));
    same(found, [received; 2]);
}

#[test]
fn a_nonblocking_send_has_its_own_threshold() {
    let settings = with(RendezvousSettings {
        eager_threshold_nonblocking: Some(5000),
        ..RendezvousSettings::NONE
    });
    let eager = |bytes| [0.0, travel(bytes)];
    let announced = |bytes| [2.0 * travel(CONTROL) + travel(bytes); 2];
    let found = |bytes, blocks| ends(run(settings.clone(), (bytes, blocks, 0.0)));
    same(found(4999, false), eager(4999));
    same(found(5000, false), announced(5000));
    same(found(5000, true), eager(5000));
    let threshold = u32::try_from(THRESHOLD).expect("small");
    same(found(threshold, true), announced(threshold));
}

/// In a collective an exchange has the threshold of a blocking send.
#[test]
fn an_exchange_has_the_threshold_of_blocking_sends() {
    let end = |rendezvous| {
        let run =
            ranks(2)
                .with_settings(with(rendezvous))
                .run(|world: Comm, notes: Notes| async move {
                    let (send, op) = (world.buffer(6000), Op::sum::<u8>());
                    world.allreduce(&send, &op).await?;
                    notes.add(&world, "");
                    DONE
                });
        ends(run)
    };
    let own = RendezvousSettings {
        eager_threshold_nonblocking: Some(5000),
        ..RendezvousSettings::NONE
    };
    assert_eq!(end(own), end(RendezvousSettings::NONE));
}

/// Under LogGOPS, the acknowledgement is one message more.
#[test]
fn a_get_under_loggops() {
    let costs = LogGopsParameters {
        latency: 10e-6,
        overhead: 1e-6,
        gap: 3e-6,
        gap_per_byte: 5e-9,
        overhead_per_byte: 0.0,
        loopback: None,
    };
    let settings = Settings {
        tells_eager_sends: true,
        ..with(GET)
    };
    let run = ranks(2)
        .with_settings(settings)
        .with_costs(costs.map(|seconds| Span::from_secs(*seconds)))
        .run(|world, notes| one_message(world, notes, (50_000, true, 0.0)));
    let [sent, received] = ends(run);
    let message = |bytes: f64| 2.0 * 1e-6 + 10e-6 + (bytes - 1.0) * 5e-9;
    // A control message has no bytes there.
    let expected = 2.0 * message(1.0) + message(50_000.0);
    same([sent, received], [expected + message(1.0), expected]);
}

/// The root sends to two peers at a time; an acknowledgement takes the time of an empty packet.
#[test]
fn a_packet_waits_for_an_initiator() {
    let settings = Settings {
        initiators: Some(2),
        ..Settings::new(THRESHOLD)
    };
    let program = |world: Comm, notes: Notes| async move {
        let mut buffer = world.buffer(0);
        if world.rank() == 0 {
            for peer in [1, 1, 2, 3, 3] {
                world.send(&buffer, peer, 0).await?;
            }
            return DONE;
        }
        let count = if world.rank() == 2 { 1 } else { 2 };
        for _ in 0..count {
            world.recv(&mut buffer, 0, 0).await?;
        }
        notes.add(&world, "");
        DONE
    };
    let run = ranks(4).with_settings(settings).run(program).finished();
    let first = travel(0);
    run.noted(&[(first, 1, ""), (first, 2, ""), (3.0 * first, 3, "")]);
}

/// One initiator: the eager message waits for the acknowledgement of the announcement; the data,
/// which the receiver reads, do not wait.
#[test]
fn data_that_are_read_need_no_initiator_of_the_sender() {
    let settings = Settings {
        initiators: Some(1),
        ..with(GET)
    };
    let program = |world: Comm, notes: Notes| async move {
        let mut long = world.buffer(50_000);
        let mut short = world.buffer(0);
        match world.rank() {
            0 => {
                let mut announced = world.isend(long, 1, 0)?;
                world.send(&short, 2, 0).await?;
                announced.wait().await?;
            }
            1 => drop(world.recv(&mut long, 0, 0).await?),
            _ => drop(world.recv(&mut short, 0, 0).await?),
        }
        notes.add(&world, "");
        DONE
    };
    let run = ranks(3).with_settings(settings).run(program).finished();
    let control = travel(CONTROL);
    let read = 2.0 * control + travel(50_000);
    let eager = control + 2.0 * travel(0);
    run.noted(&[(eager, 2, ""), (read, 1, ""), (read + control, 0, "")]);
}
