//! Promise: the cost of a call is paid before later actions, once, and by the rank of the call. A
//! message of n bytes alone takes 2 us + n ns on these nodes; os is 10 us, ois 20 us and or 30 us.

use crate::common;
use crate::common::{DONE, Runner, ranks};
use mpi::{OverheadSection, OverheadTable, Overheads, Settings, prelude::*};

fn cost(time: f64) -> OverheadTable {
    let per_byte = 0.0;
    let above = 0;
    OverheadTable::new(vec![OverheadSection {
        above,
        time,
        per_byte,
    }])
}

fn costly(count: u32) -> Runner {
    ranks(count).with_settings(Settings {
        phantom: true,
        overheads: Overheads {
            os: cost(10e-6),
            ois: cost(20e-6),
            or: cost(30e-6),
        },
        ..Settings::new(common::THRESHOLD)
    })
}

const US: f64 = 1e-6;

#[test]
fn everything_after_a_call_that_does_not_block_is_later() {
    let run = costly(2).run(|world, notes| async move {
        if world.rank() == 0 {
            let mut first = world.isend(world.buffer(1000), 1, 0)?;
            notes.add(&world, "isend");
            let mut second = world.isend(world.buffer(1000), 1, 0)?;
            notes.add(&world, "isend");
            world.compute(5e3).await;
            notes.add(&world, "compute");
            world.sleep(1e-6).await;
            notes.add(&world, "sleep");
            first.wait().await?;
            second.wait().await?;
            notes.add(&world, "wait");
        } else {
            for _ in 0..2 {
                world.recv(&mut world.buffer(1000), 0, 0).await?;
                notes.add(&world, "recv");
            }
        }
        DONE
    });
    let mut notes = run.finished().notes;
    notes.sort_by_key(|note| note.1);
    let found: Vec<f64> = notes.iter().map(|note| note.0 / US).collect();
    // Messages leave at 20 and 40, arrive 3 us later, and are paid one after the other.
    let expected = [20.0, 40.0, 45.0, 46.0, 46.0, 53.0, 83.0];
    let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-9;
    assert!(
        found.len() == 7 && found.iter().zip(&expected).all(near),
        "{found:?}"
    );
}

#[test]
fn a_receive_posted_after_a_costly_call_is_posted_later() {
    // The message of rank 1 is there at 13; rank 0 posts its receive at 20 and pays until 50.
    let run = costly(2).run(|world, notes| async move {
        let other = 1 - world.rank();
        if world.rank() == 0 {
            let mut sending = world.isend(world.buffer(1000), other, 0)?;
            let mut receiving = world.irecv(world.buffer(1000), ANY_SOURCE, 0)?;
            receiving.wait().await?;
            notes.add(&world, "");
            sending.wait().await?;
        } else {
            world.send(&world.buffer(1000), other, 0).await?;
            world.recv(&mut world.buffer(1000), other, 0).await?;
        }
        DONE
    });
    run.finished().noted(&[(50.0 * US, 0, "")]);
}

#[test]
fn who_completes_a_receive_pays_for_it_and_for_no_other() {
    let run = costly(3).run(|world, notes| async move {
        if world.rank() > 0 {
            world.sleep(1e-6 * world.rank() as f64).await;
            return world.send(&world.buffer(1000), 0, 0).await;
        }
        let mut requests = [
            world.irecv(world.buffer(1000), 2, 0)?,
            world.irecv(world.buffer(1000), 1, 0)?,
        ];
        let found = waitany(&mut requests).await?.map(|(position, _)| position);
        notes.add(&world, format!("{found:?}"));
        // The other arrived at 15, and is not paid before it is asked for.
        world.sleep(100e-6).await;
        waitall(&mut requests).await?;
        notes.add(&world, "all");
        DONE
    });
    run.finished()
        .noted(&[(44.0 * US, 0, "Some(1)"), (174.0 * US, 0, "all")]);
}

#[test]
fn tests_pay_too() {
    let run = costly(2).run(|world, notes| async move {
        if world.rank() == 0 {
            return world.send(&world.buffer(1000), 1, 0).await;
        }
        let mut request = world.irecv(world.buffer(1000), 0, 0)?;
        while request.test().await?.is_none() {}
        notes.add(&world, "");
        DONE
    });
    run.finished().noted(&[(43.0 * US, 1, "")]);
}

#[test]
fn nobody_pays_for_a_request_that_was_dropped() {
    let run = costly(2).run(|world, notes| async move {
        if world.rank() == 0 {
            return world.send(&world.buffer(1000), 1, 0).await;
        }
        let request = world.irecv(world.buffer(1000), 0, 0)?;
        world.sleep(50e-6).await;
        drop(request);
        world.sleep(50e-6).await;
        notes.add(&world, "");
        DONE
    });
    run.finished().noted(&[(100.0 * US, 1, "")]);
}

#[test]
fn without_time_calls_cost_nothing() {
    let run = costly(2).untimed().run(|world, _| async move {
        let other = 1 - world.rank();
        let mut sending = world.isend(world.buffer(1000), other, 0)?;
        world.recv(&mut world.buffer(1000), other, 0).await?;
        sending.wait().await.map(drop)
    });
    assert_eq!(run.finished().report.time.as_secs(), 0.0);
}

#[test]
fn a_detached_message_leaves_when_it_is_received_and_keeps_its_rank() {
    let settings = Settings {
        phantom: true,
        async_small_threshold: 100,
        ..Settings::new(common::THRESHOLD)
    };
    let run = |bytes| {
        let runner = ranks(2).with_settings(settings.clone());
        runner.run(move |world, notes| async move {
            if world.rank() == 0 {
                world.send(&world.buffer(bytes), 1, 0).await?;
            } else {
                world.sleep(50e-6).await;
                world.recv(&mut world.buffer(bytes), 0, 0).await?;
            }
            notes.add(&world, "");
            DONE
        })
    };
    run(99)
        .finished()
        .noted(&[(0.0, 0, ""), (50.0 * US, 1, "")]);
    run(100)
        .finished()
        .noted(&[(0.0, 0, ""), (52.1 * US, 1, "")]);
    run(common::THRESHOLD)
        .finished()
        .noted(&[(62.0 * US, 0, ""), (62.0 * US, 1, "")]);
}

#[test]
fn a_receive_that_is_dropped_before_its_turn_takes_its_message() {
    let run = costly(2).run(|world, _| async move {
        let other = 1 - world.rank();
        let mut sending = world.isend(world.buffer(1000), other, 0)?;
        drop(world.irecv(world.buffer(1000), other, 0)?);
        sending.wait().await?;
        world.send(&world.buffer(999), other, 0).await?;
        let second = world.recv(&mut world.buffer(1000), other, 0).await?;
        assert_eq!(second.length, 999);
        DONE
    });
    assert!(run.leftovers.iter().all(Vec::is_empty));
    run.finished();
}
