//! Promise: the outcomes of runs that fail, in exact words; and the leftovers of ranks.

use crate::common::{DONE, Runner, THRESHOLD, ranks};
use mpi::prelude::*;
use sim_core::{ActorId, Failure, Outcome, Time};

/// The place of the line of this file that ends with this comment.
fn place(comment: &str) -> String {
    let text = include_str!("outcomes.rs");
    let comment = format!("// {comment}");
    let line = text.lines().position(|line| line.ends_with(&comment));
    format!("{}:{}", file!(), line.expect("a line with the comment") + 1)
}

/// Both ranks send first.
async fn both_send_first(world: Comm, length: u64) -> Result<()> {
    let other = 1 - world.rank();
    let mut buffer = world.buffer(length);
    world.send(&buffer, other, 7).await?; // first
    world.recv(&mut buffer, other, 7).await?;
    Ok(())
}

#[test]
fn two_ranks_that_both_send_first() {
    let run = |runner: Runner, length| {
        runner.run(move |world, _| async move { both_send_first(world, length).await })
    };
    run(ranks(2), THRESHOLD - 1).finished();
    run(ranks(2).threshold(u64::MAX), 1 << 40).finished();
    for run in [
        run(ranks(2), THRESHOLD),
        run(ranks(2).threshold(0), THRESHOLD),
    ] {
        let graph = run.deadlock();
        let at = place("first");
        assert_eq!(
            graph.to_string(),
            format!(
                "  rank 0 on host node-0 waits in send (destination 1, tag 7, 10000 bytes, rendezvous) at {at}, for rank 1\n  \
                 rank 1 on host node-1 waits in send (destination 0, tag 7, 10000 bytes, rendezvous) at {at}, for rank 0\n  \
                 cycle: rank 0 -> rank 1 -> rank 0\n"
            )
        );
        assert_eq!(run.report.time, Time::ZERO);
    }
}

#[test]
fn a_rank_that_waits_for_one_that_has_ended() {
    let run = ranks(2).run(|world, _| async move {
        if world.rank() == 1 {
            world.sleep(1e-3).await;
            return Ok(());
        }
        world.recv(&mut world.buffer(1), 1, ANY_TAG).await.map(drop) // ended
    });
    let at = place("ended");
    assert_eq!(
        run.deadlock().to_string(),
        format!(
            "  rank 0 on host node-0 waits in recv (source 1, any tag) at {at}, for rank 1 (ended)\n",
        )
    );
    assert_eq!(run.report.time, Time::from_secs(1e-3));
}

#[test]
fn three_ranks_in_a_circle_and_one_that_waits_for_anybody() {
    let run = ranks(4).run(|world, _| async move {
        let mut buffer = world.buffer(1);
        match world.rank() {
            3 => world.probe(ANY_SOURCE, 0).await.map(drop),
            rank => world.recv(&mut buffer, (rank + 1) % 3, 0).await.map(drop),
        }
    });
    let graph = run.deadlock();
    let cycle: Vec<ActorId> = [1, 2, 3].map(ActorId::from_number).to_vec();
    assert_eq!(graph.cycle(), Some(cycle));
    assert_eq!(graph.blocked[3].waits_in, "probe (any source, tag 0)");
    assert!(graph.blocked[3].waits_for.is_empty());
}

#[test]
fn a_loop_of_tests_for_what_cannot_come_is_a_deadlock() {
    let run = ranks(2).run(|world, _| async move {
        let mut request = world.irecv(world.buffer(1), 1 - world.rank(), 0)?;
        while request.test().await?.is_none() {}
        DONE
    });
    let graph = run.deadlock();
    assert_eq!(
        graph.blocked[0].waits_in,
        "polling: test of recv (source 1, tag 0)"
    );
    assert!(graph.cycle().is_some());
}

#[test]
fn a_rank_that_returns_early_goes_on_until_its_send_is_over() {
    let run = |receive: bool| {
        ranks(2).run(move |world, notes| async move {
            if world.rank() == 0 {
                drop(world.isend(world.buffer(1_000_000), 1, 0)?); // early
            } else if receive {
                world.sleep(5e-3).await;
                world.recv(&mut world.buffer(1_000_000), 0, 0).await?;
                notes.add(&world, "received");
            }
            DONE
        })
    };
    let fine = run(true).finished();
    fine.noted(&[(5e-3 + 2e-6 + 1e-3, 1, "received")]);
    assert!(fine.leftovers.iter().all(Vec::is_empty));
    let stuck = run(false);
    let at = place("early");
    assert_eq!(
        stuck.deadlock().to_string(),
        format!(
            "  rank 0 on host node-0 waits in finalize, for send (destination 1, tag 0, 1000000 bytes, rendezvous) \
             at {at}, for rank 1 (ended)\n",
        )
    );
}

#[track_caller]
fn failure(outcome: &Outcome) -> &Failure {
    match outcome {
        Outcome::Failed(failure) => failure,
        other => panic!("a failure was expected, not {other:?}"),
    }
}

#[test]
fn a_rank_that_returns_an_error() {
    let run = ranks(2).run(|world, _| async move {
        let mut buffer = world.buffer(if world.rank() == 0 { 10 } else { 4 });
        if world.rank() == 0 {
            world.send(&buffer, 1, 3).await
        } else {
            world.recv(&mut buffer, 0, 3).await.map(drop)
        }
    });
    assert_eq!(
        failure(&run.report.outcome).to_string(),
        "rank 1 on host node-1 failed at 2.01e-6 s: message truncated: 10 bytes from rank 0 with tag 3, buffer of 4 bytes"
            .replace("2.01e-6 s", &run.report.time.to_string())
    );
}

#[test]
fn a_rank_that_panics_while_others_wait_and_messages_travel() {
    let run = ranks(3).run(|world, _| async move {
        drop(world.isend(world.buffer(1_000_000), (world.rank() + 1) % 3, 0)?);
        drop(world.isend(world.buffer(10), (world.rank() + 1) % 3, 1)?);
        world.sleep(1e-6).await;
        assert!(world.rank() != 1, "rank {} had enough", world.rank());
        world
            .recv(&mut world.buffer(10), ANY_SOURCE, 9)
            .await
            .map(drop)
    });
    let failure = failure(&run.report.outcome);
    assert_eq!(
        (failure.name.as_str(), failure.message.as_str()),
        ("rank 1", "rank 1 had enough")
    );
    assert!(failure.panicked);
    assert_eq!(failure.time, Time::from_secs(1e-6));
}

#[test]
fn a_rank_that_aborts() {
    let run = ranks(2).run(|world, notes| async move {
        if world.rank() == 0 {
            world.sleep(1e-3).await;
            world.abort(3).await;
        }
        world.recv(&mut world.buffer(1), 0, 0).await?;
        notes.add(&world, "never");
        DONE
    });
    let failure = failure(&run.report.outcome);
    assert_eq!(
        (failure.name.as_str(), failure.message.as_str()),
        ("rank 0", "called abort with code 3")
    );
    assert!(!failure.panicked && run.notes.is_empty());
    assert_eq!(failure.time, Time::from_secs(1e-3));
}

#[test]
fn an_abort_is_the_outcome_whatever_others_do_at_the_same_date() {
    let run = ranks(3).run(|world, _| async move {
        if world.rank() == 1 {
            world.abort(3).await;
        }
        assert!(world.rank() != 2, "too late");
        world.recv(&mut world.buffer(1), 0, 0).await.map(drop)
    });
    let failure = failure(&run.report.outcome);
    assert_eq!(
        failure.to_string(),
        "rank 1 on host node-1 failed at 0 s: called abort with code 3"
    );
}

#[test]
fn what_is_left_behind_is_told() {
    let run = ranks(2).run(|world, _| async move {
        if world.rank() == 0 {
            // The first two arrive, the last is still on its way when both ranks have ended.
            world.send(&world.buffer(10), 1, 5).await?;
            world.send(&world.buffer(20), 1, 5).await?;
            world.sleep(1e-3).await;
            world.send(&world.buffer(30), 1, 6).await?;
        } else {
            drop(world.irecv(world.buffer(1), 0, 9)?); // dropped
        }
        DONE
    });
    let at = place("dropped");
    assert!(run.leftovers[0].is_empty());
    assert_eq!(
        run.leftovers[1],
        [
            format!("unmatched receive (source 0, tag 9) dropped, posted at {at}",),
            "unreceived: 2 messages, 30 bytes in all, from rank 0, tag 5".to_owned(),
            "unreceived message: 30 bytes from rank 0, tag 6".to_owned(),
        ]
    );
    run.finished();
}

#[test]
fn a_receive_that_gives_up_leaves_the_message_to_the_next() {
    let run = ranks(2).run(|world, notes| async move {
        if world.rank() == 0 {
            world.sleep(2e-3).await;
            world.send(&world.buffer(1000), 1, 0).await?;
            return DONE;
        }
        let mut buffer = world.buffer(1000);
        for _ in 0..3 {
            let mut receive = Box::pin(world.recv(&mut buffer, 0, 0));
            let mut timeout = Box::pin(world.sleep(1e-3));
            let received = std::future::poll_fn(|context| {
                use std::task::Poll;
                if let Poll::Ready(result) = receive.as_mut().poll(context) {
                    return Poll::Ready(Some(result));
                }
                timeout.as_mut().poll(context).map(|()| None)
            });
            match received.await {
                Some(result) => notes.add(&world, result?.length),
                None => notes.add(&world, "timeout"),
            }
        }
        DONE
    });
    run.finished().noted(&[
        (1e-3, 1, "timeout"),
        (2e-3, 1, "timeout"),
        (2e-3 + 3e-6, 1, "1000"),
    ]);
}

#[test]
fn a_program_may_print_its_communicator() {
    let run = ranks(2).run(|world, notes| async move {
        world.println(format_args!("{world:?}"));
        world.log(
            mpi::Level::Info,
            format_args!("{world:?} at {}", world.wtime()),
        );
        notes.add(&world, format_args!("{world:?}"));
    });
    run.finished().noted(&[
        (0.0, 0, "Comm(rank 0 of 2, context 0)"),
        (0.0, 1, "Comm(rank 1 of 2, context 0)"),
    ]);
}
