//! Promise: the report of a blocked rank names its wait in words, with the line of the program and
//! the ranks that could help.

use mpi::prelude::*;
use testing::ranks::{Either, Outcome, THRESHOLD, join, pattern, select, world};

/// Runs this program at rank 0, and none at the other ranks; rank 0 must stay blocked. Returns the
/// outcome.
fn stuck<F, Fut>(program: F) -> Outcome
where
    F: Fn(Comm) -> Fut + 'static,
    Fut: Future<Output = Result<()>> + 'static,
{
    let outcome = world(3).run(move |world: Comm| {
        let program = (world.rank() == 0).then(|| program(world.clone()));
        async move {
            match program {
                Some(program) => program.await,
                None => Ok(()),
            }
        }
    });
    assert!(outcome.results[0].is_none(), "rank 0 is blocked");
    outcome
}

#[test]
fn each_operation_has_its_words_and_its_line() {
    let outcome = stuck(|world| async move {
        world.recv(&mut world.buffer(1), 1, 4).await.map(drop) // this line
    });
    let waiting = outcome.waiting[0].clone().expect("blocked");
    assert_eq!(waiting.operation, "recv (source 1, tag 4)");
    assert_eq!(waiting.location, format!("{}:{}", file!(), line!() - 4));
    assert_eq!(waiting.ranks, [1]);

    let outcome = stuck(|world| async move {
        world
            .recv(&mut world.buffer(1), ANY_SOURCE, ANY_TAG)
            .await
            .map(drop)
    });
    assert_eq!(outcome.blocked(0), ("recv (any source, any tag)", &[][..]));

    let outcome = stuck(|world| async move { world.send(&pattern(THRESHOLD, 0), 2, 1).await });
    let text = "send (destination 2, tag 1, 100 bytes, rendezvous)";
    assert_eq!(outcome.blocked(0), (text, &[2][..]));

    let outcome = stuck(|world| async move { world.probe(1, 4).await.map(drop) });
    assert_eq!(outcome.blocked(0), ("probe (source 1, tag 4)", &[1][..]));

    let outcome = stuck(|world| async move { world.barrier().await });
    let text = "barrier #1 (dissemination, round 1 of 2)";
    assert_eq!(outcome.blocked(0), (text, &[2][..]));

    let outcome = stuck(|world| async move {
        let message = pattern(THRESHOLD, 0);
        world
            .sendrecv(&message, 1, 0, &mut world.buffer(1), 2, 0)
            .await
            .map(drop)
    });
    assert_eq!(outcome.blocked(0), ("recv (source 2, tag 0)", &[2][..]));
}

#[test]
fn several_requests_are_listed() {
    let outcome = stuck(|world| async move {
        let mut requests = [
            world.irecv(world.buffer(1), 1, 0)?,
            world.irecv(world.buffer(1), 2, 0)?,
            world.isend(world.buffer(THRESHOLD), 2, 0)?,
            world.isend(world.buffer(1), 2, 0)?,
            world.irecv(world.buffer(1), 2, 1)?,
            world.irecv(world.buffer(1), 1, 1)?,
        ];
        waitall(&mut requests).await.map(drop)
    });
    let text = "waitall (recv (source 1, tag 0), recv (source 2, tag 0), \
                send (destination 2, tag 0, 100 bytes, rendezvous) and 2 more)";
    assert_eq!(outcome.blocked(0), (text, &[1, 2][..]));

    let outcome = stuck(|world| async move {
        let mut requests = [
            world.irecv(world.buffer(1), 1, 0)?,
            world.irecv(world.buffer(1), ANY_SOURCE, 0)?,
        ];
        waitany(&mut requests).await.map(drop)
    });
    let text = "waitany (recv (source 1, tag 0), recv (any source, tag 0))";
    assert_eq!(outcome.blocked(0), (text, &[][..]), "any rank could end it");
}

#[test]
fn join_tells_all_that_is_pending() {
    let outcome = stuck(|world| async move {
        let (mut a, mut b) = (world.buffer(1), world.buffer(1));
        let waits = join(world.recv(&mut a, 1, 0), world.recv(&mut b, 2, 0));
        // The last one is over at once, which says nothing about the others.
        join(waits, world.send(&pattern(1, 0), 1, 0)).await.1
    });
    let text = "recv (source 1, tag 0) or recv (source 2, tag 0)";
    assert_eq!(outcome.blocked(0), (text, &[1, 2][..]));
}

#[test]
fn what_was_dropped_is_not_told() {
    let outcome = stuck(|world| async move {
        let mut buffer = world.buffer(1);
        let mut request = world.irecv(world.buffer(1), 2, 3)?;
        let mut more = [world.irecv(world.buffer(1), 2, 4)?];
        // All but the last are pending when the last one is over.
        let waits = select(
            select(world.recv(&mut buffer, 1, 0), request.wait()),
            select(world.probe(1, 1), waitall(&mut more)),
        );
        let first = select(waits, world.send(&pattern(1, 0), 1, 0)).await;
        assert!(matches!(first, Either::Right(Ok(()))));
        world.probe(1, 2).await.map(drop)
    });
    assert_eq!(outcome.blocked(0), ("probe (source 1, tag 2)", &[1][..]));
}

#[test]
fn finalize_tells_the_sends_and_where_they_were_started() {
    let outcome = stuck(|world| async move {
        drop(world.isend(pattern(THRESHOLD, 0), 1, 0)?); // this line
        drop(world.isend(pattern(THRESHOLD, 0), 2, 5)?);
        Ok(())
    });
    let waiting = outcome.waiting[0].clone().expect("blocked");
    let sends = "send (destination 1, tag 0, 100 bytes, rendezvous), \
                 send (destination 2, tag 5, 100 bytes, rendezvous)";
    assert_eq!(waiting.operation, format!("finalize, for {sends}"));
    assert_eq!(waiting.location, format!("{}:{}", file!(), line!() - 8));
    assert_eq!(waiting.ranks, [1, 2]);
}

#[test]
fn a_rank_that_has_ended_waits_for_nothing() {
    let outcome = world(1).run(|_| async { Ok(()) }).finished();
    assert_eq!(outcome.waiting, [None]);
}
