//! Combinators over waits: an actor may wait for several operations at once, with any library.

use futures::future::{Either, join, join_all, select};
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt, select_biased};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sim_core::{
    Choice, Chooser, EnabledTransition, HostId, Outcome, Replay, Simulation, Span, Time,
};

fn secs(seconds: f64) -> Span {
    Span::from_secs(seconds)
}

#[test]
fn join_ends_with_the_last() {
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn_anonymous(0, |me| async move {
        join(me.sleep(secs(2.0)), me.sleep(secs(1.0))).await;
        assert_eq!(me.now(), Time::from_secs(2.0));
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn no_wake_up_is_lost_when_one_operation_is_left() {
    // The second sleep of one branch and the only sleep of the other end at the same date.
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn_anonymous(0, |me| async move {
        let two = async {
            me.sleep(secs(0.5)).await;
            me.sleep(secs(0.5)).await;
        };
        join(two, me.sleep(secs(1.0))).await;
        assert_eq!(me.now(), Time::from_secs(1.0));
        // A branch that ends the actor for which the other waits.
        let child = me
            .spawn(
                "child",
                HostId(0),
                |me| async move { me.sleep(secs(9.0)).await },
            )
            .await;
        join(child.join(), child.kill()).await;
        assert_eq!(me.now(), Time::from_secs(1.0));
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn the_dropped_loser_withdraws_its_request() {
    let mut simulation = Simulation::with_constant_model(1);
    let (mailbox, mutex) = (simulation.new_mailbox(), simulation.new_mutex());
    let semaphore = simulation.new_semaphore(0);
    let held = mutex.clone();
    simulation.spawn("holds", 0, |me| async move {
        held.lock().await;
        me.sleep(secs(5.0)).await;
        held.unlock().await;
    });
    simulation.spawn("selects", 0, |me| async move {
        me.sleep(secs(1.0)).await;
        select_biased! {
            _ = mailbox.get().fuse() => unreachable!("nobody puts"),
            () = mutex.lock().fuse() => unreachable!("it is held"),
            () = semaphore.acquire().fuse() => unreachable!("there is no unit"),
            () = me.sleep(secs(1.0)).fuse() => {}
        }
        assert_eq!(me.now(), Time::from_secs(2.0));
        // Nothing is left in any queue.
        mailbox.put_detached(1, 1.0).await;
        assert!(mailbox.probe().await);
        semaphore.release().await;
        assert_eq!(semaphore.value(), 1);
        me.sleep_until(Time::from_secs(6.0)).await;
        assert!(mutex.try_lock().await);
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn a_loser_that_had_won_gives_back_what_it_got() {
    // Both branches can continue at 1 s. The first to be polled wins, the other has its answer or
    // not: in any case the mutex and the unit are free afterwards.
    let mut simulation = Simulation::with_constant_model(1);
    let (mutex, semaphore) = (simulation.new_mutex(), simulation.new_semaphore(1));
    let (held, taken) = (mutex.clone(), semaphore.clone());
    simulation.spawn("holds", 0, |me| async move {
        held.lock().await;
        taken.acquire().await;
        me.sleep(secs(1.0)).await;
        held.unlock().await;
        taken.release().await;
    });
    simulation.spawn("selects", 0, |me| async move {
        me.sleep(secs(0.5)).await;
        let sleep = me.sleep(secs(0.5));
        match select(select(mutex.lock(), semaphore.acquire()), sleep).await {
            Either::Left((Either::Left(_), _)) => mutex.unlock().await,
            Either::Left((Either::Right(_), _)) => semaphore.release().await,
            Either::Right(_) => {}
        }
        me.sleep(secs(1.0)).await;
        assert!(mutex.try_lock().await);
        assert_eq!(semaphore.value(), 1);
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn a_combinator_may_keep_wakers_of_its_own() {
    // More than 30 members make join_all use FuturesUnordered, which polls only those that were
    // woken.
    let mut simulation = Simulation::with_constant_model(1);
    let mailbox = simulation.new_mailbox();
    let same = mailbox.clone();
    simulation.spawn("sleeps", 0, |me| async move {
        join_all((0..100).map(|number| me.sleep(secs(f64::from(number % 7))))).await;
        assert_eq!(me.now(), Time::from_secs(6.0));
        let puts = (0..100).map(|word| mailbox.put(word, 1.0));
        assert!(join_all(puts).await.iter().all(Result::is_ok));
        let children = (0..40).map(|_| {
            me.spawn(
                "child",
                HostId(0),
                |me| async move { me.sleep(secs(9.0)).await },
            )
        });
        let children = join_all(children).await;
        join_all(children.iter().map(sim_core::Actor::kill)).await;
        join_all(children.iter().map(sim_core::Actor::join)).await;
        assert_eq!(me.now(), Time::from_secs(6.0 + 1e-6));
    });
    simulation.spawn("gets", 0, |_| async move {
        let mut gets: FuturesUnordered<_> = (0..100).map(|_| same.get()).collect();
        let mut sum = 0;
        while let Some(message) = gets.next().await {
            sum += message.unwrap().word().unwrap();
        }
        assert_eq!(sum, 99 * 100 / 2);
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn what_is_ready_at_once_is_no_wait() {
    let mut simulation = Simulation::with_constant_model(1);
    let mutex = simulation.new_mutex();
    simulation.spawn_anonymous(0, |me| async move {
        // The loser was never polled.
        let ready = futures::future::ready(());
        select(ready, mutex.lock()).await;
        drop(me.sleep(secs(5.0)));
        assert!(mutex.try_lock().await);
    });
    assert_eq!(simulation.run().time, Time::ZERO);
}

/// Takes the last branch of the last candidate.
struct Last;

impl Chooser for Last {
    fn choose(&mut self, candidates: &[EnabledTransition]) -> Option<Choice> {
        let last = candidates.last()?;
        Some(Choice {
            actor: last.actor,
            branch: last.branches - 1,
        })
    }
}

/// Each actor joins branches that sleep, yield (0) or pass a semaphore of one unit (7) in turn.
fn joins(actors: &[Vec<Vec<u8>>]) -> Simulation {
    let mut simulation = Simulation::with_constant_model(1);
    let semaphore = simulation.new_semaphore(1);
    for branches in actors.iter().cloned() {
        let semaphore = semaphore.clone();
        simulation.spawn_anonymous(0, |me| async move {
            let (me, semaphore) = (&me, &semaphore);
            join_all(branches.into_iter().map(|steps| async move {
                for step in steps {
                    match step {
                        0 => me.yield_now().await,
                        7 => {
                            semaphore.acquire().await;
                            me.yield_now().await;
                            semaphore.release().await;
                        }
                        quarters => me.sleep(secs(f64::from(quarters) / 4.0)).await,
                    }
                }
            }))
            .await;
        });
    }
    simulation
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    /// No wake-up is lost: a run lasts as long as its longest branch, also with own wakers of the
    /// combinator, and also under a chooser; the decisions of a chooser replay.
    #[test]
    fn joins_of_sleeps_last_as_long_as_the_longest(actors in proptest::collection::vec(
        proptest::collection::vec(proptest::collection::vec(0..8_u8, 0..6), 0..40), 1..4,
    )) {
        let quarters = |steps: &Vec<u8>| steps.iter().filter(|&&step| step != 7).map(|&step| u32::from(step)).sum();
        let longest: u32 = actors.iter().flatten().map(quarters).max().unwrap_or(0);
        let end = Time::from_secs(f64::from(longest) / 4.0);
        let plain = joins(&actors).run();
        prop_assert_eq!(&plain.outcome, &Outcome::Finished);
        prop_assert_eq!(plain.time, end);
        let mut chosen = joins(&actors);
        chosen.set_chooser(Box::new(Last));
        chosen.record_schedule();
        let chosen = chosen.run();
        prop_assert_eq!(&chosen.outcome, &Outcome::Finished);
        prop_assert_eq!(chosen.time, end);
        let mut again = joins(&actors);
        again.set_chooser(Box::new(Replay::new(chosen.schedule.clone().unwrap())));
        again.record_schedule();
        prop_assert_eq!(again.run(), chosen);
    }
}
