//! Mutexes, semaphores, barriers and condition variables: queues are first in, first out, and
//! misuse fails the actor.

use crate::common::{Log, secs};
use proptest::prelude::*;
use proptest::test_runner::RngSeed;
use sim_core::{Actor, Mutex, Outcome, Simulation, Time, TimedOut};

#[test]
fn dates_and_order_of_simgrid() {
    // O21. Actors come at 0.3 (a0), 0.2 (a1), 0.1 (a2) and hold the mutex for 1 s: a2 until 1.1, a1
    // 2.1, a0 3.1. All meet at a barrier at 3.1, and continue as they came. Two units of a
    // semaphore are held for 1 s: a2 and a1 until 4.1, a0 until 5.1. All wait 2 s for a condition
    // that nobody signals: until 6.1, 6.1 and 7.1.
    let mut simulation = Simulation::with_constant_model(1);
    let (mutex, barrier) = (simulation.new_mutex(), simulation.new_barrier(3));
    let (semaphore, condvar) = (simulation.new_semaphore(2), simulation.new_condvar());
    let guard = simulation.new_mutex();
    let log = Log::new();
    for (name, delay) in [("a0", 0.3), ("a1", 0.2), ("a2", 0.1)] {
        let (mutex, barrier, guard) = (mutex.clone(), barrier.clone(), guard.clone());
        let (semaphore, condvar, log) = (semaphore.clone(), condvar.clone(), log.clone());
        simulation.spawn(name, 0, move |me| async move {
            let seen = || log.add((name, (me.now().as_secs() * 10.0).round() / 10.0));
            me.sleep(secs(delay)).await;
            mutex.lock().await;
            me.sleep(secs(1.0)).await;
            mutex.unlock().await;
            seen();
            barrier.wait().await;
            seen();
            semaphore.acquire().await;
            me.sleep(secs(1.0)).await;
            semaphore.release().await;
            seen();
            guard.lock().await;
            assert_eq!(condvar.wait_timeout(&guard, secs(2.0)).await, Err(TimedOut));
            guard.unlock().await;
            seen();
        });
    }
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    let expected = [
        ("a2", 1.1),
        ("a1", 2.1),
        ("a0", 3.1),
        ("a2", 3.1),
        ("a1", 3.1),
        ("a0", 3.1),
        ("a2", 4.1),
        ("a1", 4.1),
        ("a0", 5.1),
        ("a2", 6.1),
        ("a1", 6.1),
        ("a0", 7.1),
    ];
    assert_eq!(log.take(), expected);
}

#[test]
fn locking_in_two_steps() {
    let mut simulation = Simulation::with_constant_model(1);
    let (mutex, log) = (simulation.new_mutex(), Log::new());
    let (second, third, seen) = (mutex.clone(), mutex.clone(), log.clone());
    simulation.spawn("owner", 0, |me| async move {
        mutex.lock_async().await;
        assert!(mutex.test().await);
        mutex.wait().await;
        me.sleep(secs(1.0)).await;
        mutex.unlock().await;
    });
    simulation.spawn("withdraws", 0, |me| async move {
        second.lock_async().await;
        assert!(!second.test().await);
        me.sleep(secs(0.5)).await;
        second.cancel().await;
        assert!(!second.try_lock().await);
    });
    simulation.spawn("next", 0, |me| async move {
        third.lock_async().await;
        third.wait().await;
        seen.add(me.now().as_secs());
        third.unlock().await;
        assert!(third.try_lock().await);
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(log.take(), [1.0]);
}

#[test]
fn semaphores_serve_in_order_and_time_out() {
    let mut simulation = Simulation::with_constant_model(1);
    let (semaphore, log) = (simulation.new_semaphore(0), Log::new());
    for (name, timeout) in [("patient", 9.0), ("impatient", 1.0), ("last", 9.0)] {
        let (semaphore, log) = (semaphore.clone(), log.clone());
        simulation.spawn(name, 0, move |me| async move {
            let got = semaphore.acquire_timeout(secs(timeout)).await;
            log.add((name, got.is_ok(), me.now().as_secs()));
        });
    }
    simulation.spawn("gives", 0, move |me| async move {
        for date in [2.0, 3.0, 4.0] {
            me.sleep_until(Time::from_secs(date)).await;
            semaphore.release().await;
        }
        // The request that timed out takes nothing.
        assert_eq!(semaphore.value(), 1);
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    let expected = [
        ("impatient", false, 1.0),
        ("patient", true, 2.0),
        ("last", true, 3.0),
    ];
    assert_eq!(log.take(), expected);
}

#[test]
fn a_barrier_serves_more_actors_than_its_size_round_by_round() {
    // Four actors, two per round, both rounds at date 0: in each the second is the last.
    let mut simulation = Simulation::with_constant_model(1);
    let (barrier, log) = (simulation.new_barrier(2), Log::new());
    for number in 0..4 {
        let (barrier, log) = (barrier.clone(), log.clone());
        simulation.spawn_anonymous(0, move |_| async move {
            log.add((number, barrier.wait_leader().await));
        });
    }
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(log.take(), [(0, false), (1, true), (2, false), (3, true)]);
}

#[test]
fn a_condition_is_signalled_in_order() {
    let mut simulation = Simulation::with_constant_model(1);
    let (mutex, condvar) = (simulation.new_mutex(), simulation.new_condvar());
    let log = Log::new();
    for name in ["a", "b", "c", "d"] {
        let (mutex, condvar, log) = (mutex.clone(), condvar.clone(), log.clone());
        simulation.spawn(name, 0, move |me| async move {
            mutex.lock().await;
            condvar.wait(&mutex).await.unwrap();
            log.add((name, me.now().as_secs()));
            mutex.unlock().await;
        });
    }
    simulation.spawn("signals", 0, move |me| async move {
        for date in [1.0, 2.0] {
            me.sleep_until(Time::from_secs(date)).await;
            condvar.signal().await;
        }
        me.sleep(secs(1.0)).await;
        condvar.broadcast().await;
        // Nobody waits: it is lost.
        condvar.signal().await;
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(log.take(), [("a", 1.0), ("b", 2.0), ("c", 3.0), ("d", 3.0)]);
}

#[test]
fn a_wait_that_times_out_still_gets_the_mutex_back() {
    // The time is up at 1; the mutex is free at 3.
    let mut simulation = Simulation::with_constant_model(1);
    let (mutex, condvar) = (simulation.new_mutex(), simulation.new_condvar());
    let held = mutex.clone();
    simulation.spawn("waits", 0, |me| async move {
        mutex.lock().await;
        let result = condvar.wait_timeout(&mutex, secs(1.0)).await;
        assert_eq!(result, Err(TimedOut));
        assert_eq!(me.now(), Time::from_secs(3.0));
        assert!(mutex.test().await);
        mutex.unlock().await;
    });
    simulation.spawn("holds", 0, |me| async move {
        me.sleep(secs(0.5)).await;
        held.lock().await;
        me.sleep(secs(2.5)).await;
        held.unlock().await;
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

/// Runs one actor that misuses a mutex; returns the message of its failure.
fn misuse<Fut: Future<Output = ()> + 'static>(
    program: impl FnOnce(Actor, Mutex) -> Fut + 'static,
) -> String {
    let mut simulation = Simulation::with_constant_model(1);
    let mutex = simulation.new_mutex();
    simulation.spawn("actor", 0, |me| program(me, mutex));
    match simulation.run().outcome {
        Outcome::Failed(failure) => failure.message,
        other => panic!("{other:?}"),
    }
}

#[test]
fn misuse_fails_the_actor() {
    let not_locked = "mutex 0 is unlocked by an actor that has not locked it";
    let recursive = "mutex 0 is not recursive: the actor has asked for it already";
    // As the first operation, which the loop executes, and as a later one.
    assert_eq!(
        misuse(|_, mutex| async move { mutex.unlock().await }),
        not_locked
    );
    assert_eq!(
        misuse(|_, mutex| async move { mutex.cancel().await }),
        not_locked
    );
    let twice = |_, mutex: Mutex| async move {
        mutex.lock().await;
        mutex.lock().await;
    };
    assert_eq!(misuse(twice), recursive);
    let not_owned = |me: Actor, mutex: Mutex| async move {
        let _ = me.new_condvar().wait(&mutex).await;
    };
    assert_eq!(misuse(not_owned), not_locked);
    // The lock that a condition variable takes again when it is signalled, while another branch has
    // taken it.
    let both = |me: Actor, mutex: Mutex| async move {
        let condvar = me.new_condvar();
        mutex.lock().await;
        let wait = condvar.wait_timeout(&mutex, secs(1.0));
        let _ = futures::future::join(wait, mutex.lock()).await;
    };
    assert_eq!(misuse(both), recursive);
}

/// One step of one of three actors on a mutex.
#[derive(Clone, Copy, Debug)]
enum MutexStep {
    Ask,
    TryLock,
    Leave,
    Kill,
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 400,
        failure_persistence: None,
        rng_seed: RngSeed::Fixed(1),
        ..ProptestConfig::default()
    })]

    /// The model: a list with the owner at the head. A director tells each actor its next step
    /// through a mailbox; after each step every actor compares its observation with the list.
    #[test]
    fn a_mutex_is_a_queue(steps in proptest::collection::vec((0..3_usize, prop_oneof![
        4 => Just(MutexStep::Ask),
        2 => Just(MutexStep::TryLock),
        4 => Just(MutexStep::Leave),
        1 => Just(MutexStep::Kill),
    ]), 0..25)) {
        let mut simulation = Simulation::with_constant_model(1);
        let mutex = simulation.new_mutex();
        let (orders, answers) = ([(); 3].map(|()| simulation.new_mailbox()), Log::new());
        let mut actors = Vec::new();
        for mailbox in orders.clone() {
            let (mutex, answers) = (mutex.clone(), answers.clone());
            actors.push(simulation.spawn("obeys", 0, move |me| async move {
                me.daemonize();
                loop {
                    let order = mailbox.get().await.unwrap().downcast().unwrap();
                    match order {
                        Some(MutexStep::Ask) => mutex.lock_async().await,
                        Some(MutexStep::TryLock) => answers.add(mutex.try_lock().await),
                        Some(MutexStep::Leave) => mutex.unlock().await,
                        // Asks who is the owner.
                        _ => answers.add(mutex.test().await),
                    }
                }
            }));
        }
        simulation.spawn("director", 0, |_| async move {
            let mut queue: Vec<usize> = Vec::new();
            for (actor, step) in steps {
                if actors[actor].has_ended() {
                    continue;
                }
                let waits = queue.contains(&actor);
                let tell = |to: usize, step: Option<MutexStep>| {
                    orders[to].put(sim_core::Message::new(step), 1.0)
                };
                match step {
                    MutexStep::Ask if !waits => {
                        tell(actor, Some(step)).await.unwrap();
                        queue.push(actor);
                    }
                    MutexStep::TryLock if !waits => {
                        tell(actor, Some(step)).await.unwrap();
                        // The second message is taken after the first has been obeyed.
                        tell(actor, None).await.unwrap();
                        assert_eq!(answers.take()[0], queue.is_empty());
                        if queue.is_empty() {
                            queue.push(actor);
                        }
                    }
                    MutexStep::Leave if waits => {
                        tell(actor, Some(step)).await.unwrap();
                        queue.retain(|&other| other != actor);
                    }
                    MutexStep::Kill => {
                        actors[actor].kill().await;
                        queue.retain(|&other| other != actor);
                    }
                    _ => {}
                }
                answers.take();
                for other in (0..3).filter(|&other| !actors[other].has_ended()) {
                    tell(other, None).await.unwrap();
                    tell(other, None).await.unwrap();
                    let owner = queue.first() == Some(&other);
                    assert_eq!(answers.take()[0], owner, "{queue:?}");
                }
            }
            // A final observer behind all that are in the queue.
            for actor in actors {
                actor.kill().await;
            }
            assert!(mutex.try_lock().await);
        });
        prop_assert_eq!(simulation.run().outcome, Outcome::Finished);
    }
}
