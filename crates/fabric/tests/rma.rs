//! Promise: when one-sided accesses end, as closed forms. A message of n bytes alone takes
//! 2 us + n ns on these nodes; requests and answers without data take no time unless a length of
//! control messages is set, which makes them messages.

use crate::common::{DONE, ranks};
use mpi::{Settings, prelude::*};

/// A message of n bytes alone, in seconds.
fn alone(bytes: f64) -> f64 {
    2e-6 + bytes * 1e-9
}

/// Waits until no operation is in progress.
async fn settle(world: &Comm) {
    world.sleep(1e-2 - world.wtime()).await;
}

#[test]
fn an_access_takes_one_message() {
    for length in [1_u32, 8, 9999, 1_000_000] {
        let run = ranks(2).run(move |world, notes| async move {
            let length = u64::from(length);
            let window = world.window(world.buffer(length), 1).await?;
            settle(&world).await;
            let start = world.wtime();
            let data = world.buffer(length);
            let date = |call: &str, since: f64| {
                let taken = (world.wtime() - since) * 1e12;
                notes.add(&world, format!("{call} {:.0}", taken));
            };
            if world.rank() == 0 {
                window.lock(1, true).await?;
                window.put(&data, 1, 0).await?;
                date("put", start);
                window.flush(1).await?;
                date("flush", start);
                let start = world.wtime();
                window.get(&mut data.clone(), 1, 0).await?;
                date("get", start);
                let start = world.wtime();
                window.accumulate(&data, 1, 0, &Op::sum::<u8>()).await?;
                window.unlock(1).await?;
                date("accumulate", start);
            } else {
                // Answers do not overtake messages of rank 1.
                world.sleep(1.0).await;
            }
            window.free().await?;
            DONE
        });
        let texts: Vec<&str> = run.notes.iter().map(|note| note.2.as_str()).collect();
        let picoseconds = (alone(f64::from(length)) * 1e12).round();
        let one = |call: &str| format!("{call} {picoseconds}");
        assert_eq!(
            texts,
            ["put 0", &one("flush"), &one("get"), &one("accumulate")],
            "{length} bytes"
        );
    }
}

#[test]
fn a_fence_is_a_flush_and_a_barrier() {
    // The barrier of two ranks is one message without data each way.
    let barrier = alone(0.0);
    let run = ranks(2).run(|world, notes| async move {
        let window = world.window(world.buffer(100_000), 1).await?;
        window.fence().await?;
        settle(&world).await;
        let start = world.wtime();
        if world.rank() == 0 {
            window.put(&world.buffer(100_000), 1, 0).await?;
        }
        window.fence().await?;
        let taken = (world.wtime() - start) * 1e12;
        notes.add(&world, format!("{taken:.0}"));
        DONE
    });
    // Rank 1 has entered the barrier before.
    let expected = [alone(1e5), alone(1e5) + barrier].map(|s| format!("{:.0}", s * 1e12));
    let taken: Vec<&str> = run.notes.iter().map(|note| note.2.as_str()).collect();
    assert_eq!(taken, expected);
}

#[test]
fn requests_and_answers_are_messages_if_control_messages_are() {
    let settings = Settings {
        control: Some(64),
        phantom: true,
        ..Settings::new(10_000)
    };
    let run = ranks(2)
        .with_settings(settings)
        .run(|world, notes| async move {
            let window = world.window(world.buffer(1000), 1).await?;
            settle(&world).await;
            let start = world.wtime();
            if world.rank() == 0 {
                window.lock(1, true).await?;
                let mut got = world.buffer(1000);
                window.get(&mut got, 1, 0).await?;
                window.unlock(1).await?;
                let taken = (world.wtime() - start) * 1e12;
                notes.add(&world, format!("{taken:.0}"));
            }
            window.free().await?;
            DONE
        });
    let control = alone(64.0);
    // Lock and grant; request and data; unlock and answer.
    let expected = format!("{:.0}", (5.0 * control + alone(1000.0)) * 1e12);
    assert_eq!(run.notes[0].2, expected);
    run.finished();
}

#[test]
fn a_lock_waits_for_its_holder() {
    let run = ranks(3).run(|world, notes| async move {
        let window = world.window(world.buffer(8), 1).await?;
        settle(&world).await;
        let start = world.wtime();
        if world.rank() > 0 {
            // Rank 2 asks later.
            world.sleep(1e-3 * world.rank() as f64).await;
            window.lock(0, true).await?;
            world.sleep(5e-3).await;
            window.unlock(0).await?;
            let taken = (world.wtime() - start) * 1e3;
            notes.add(&world, format!("{taken:.3} ms"));
        }
        window.free().await?;
        DONE
    });
    let taken: Vec<&str> = run.notes.iter().map(|note| note.2.as_str()).collect();
    assert_eq!(taken, ["6.000 ms", "11.000 ms"]);
    run.finished();
}
