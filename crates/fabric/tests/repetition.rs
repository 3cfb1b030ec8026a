//! Promise: a program has the same digest in every run, and another program has another digest;
//! programs also run without time.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll, Wake, Waker};

use crate::common::{DONE, Run, ranks};
use mpi::prelude::*;

async fn everybody_to_everybody(world: Comm, length: u64) -> Result<()> {
    for round in 0..3_u32 {
        let mut requests = Vec::new();
        for peer in 0..world.size() {
            requests.push(world.irecv(world.buffer(1 << 20), ANY_SOURCE, round)?);
            requests.push(world.isend(world.buffer(length * (1 + peer as u64)), peer, round)?);
        }
        world.compute(1e3).await;
        waitall(&mut requests).await?;
        world.barrier().await?;
    }
    Ok(())
}

fn run(length: u64) -> Run {
    let runner = ranks(0).on_hosts(&[0, 1, 2, 3, 0, 1]);
    let run = runner.run(move |world, _| everybody_to_everybody(world, length));
    run.finished()
}

#[test]
fn the_same_program_has_the_same_digest() {
    let first = run(5000);
    for _ in 0..5 {
        let again = run(5000);
        assert_eq!(again.report.digest, first.report.digest);
        assert_eq!(again.report.time, first.report.time);
        assert_eq!(again.report.events, first.report.events);
    }
    assert_ne!(run(5001).report.digest, first.report.digest);
    assert!(first.leftovers.iter().all(Vec::is_empty));
    assert_eq!(
        first.report.messages,
        3 * 6 * (6 + 3),
        "6 to each, and 3 rounds of a barrier"
    );
}

#[test]
fn without_time_the_same_messages_arrive() {
    let run = ranks(3).untimed().run(|world, notes| async move {
        everybody_to_everybody(world.clone(), 5000).await?;
        world.sleep(1.0).await;
        world.compute(1e12).await;
        notes.add(&world, "end");
        DONE
    });
    run.finished()
        .noted(&[(0.0, 0, "end"), (0.0, 1, "end"), (0.0, 2, "end")]);
}

struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn combinators_that_poll_only_what_was_woken_see_every_message() {
    let run = ranks(2).run(|world, notes| async move {
        if world.rank() == 0 {
            for tag in [2, 0, 1] {
                world.sleep(1e-3).await;
                world.send(&world.buffer(0), 1, tag).await?;
            }
            return Ok(());
        }
        let receive = |tag: u32| {
            let (world, notes) = (world.clone(), notes.clone());
            let future: Pin<Box<dyn Future<Output = ()>>> = Box::pin(async move {
                let mut buffer = world.buffer(0);
                world.recv(&mut buffer, 0, tag).await.unwrap();
                notes.add(&world, tag);
            });
            (future, Arc::new(Flag(AtomicBool::new(true))))
        };
        let mut all = vec![receive(0), receive(1), receive(2)];
        std::future::poll_fn(|_| {
            all.retain_mut(|(future, flag)| {
                if !flag.0.swap(false, Ordering::Relaxed) {
                    return true;
                }
                let waker = Waker::from(Arc::clone(flag));
                future
                    .as_mut()
                    .poll(&mut Context::from_waker(&waker))
                    .is_pending()
            });
            if all.is_empty() {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
        world.probe(ANY_SOURCE, ANY_TAG).await.map(drop)
    });
    run.noted(&[
        (1e-3 + 2e-6, 1, "2"),
        (2e-3 + 2e-6, 1, "0"),
        (3e-3 + 2e-6, 1, "1"),
    ]);
    assert_eq!(run.deadlock().blocked.len(), 1);
}
