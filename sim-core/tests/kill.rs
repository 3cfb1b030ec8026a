//! A kill runs destructors and leaves no trace: no request in any queue, no mutex owned.

use crate::common::{Log, secs};
use sim_core::{ActivityError, Actor, HostId, Outcome, Simulation, Time};

/// Fails the actor that comes here.
fn never(why: &str) {
    panic!("{why}");
}

/// Runs a victim that is killed at 1 s and an observer that looks at 2 s; the run must finish.
fn killed_at_one<V, W, O, P>(victim: impl FnOnce(&Simulation) -> (V, O))
where
    V: FnOnce(Actor) -> W + 'static,
    W: Future<Output = ()> + 'static,
    O: FnOnce(Actor) -> P + 'static,
    P: Future<Output = ()> + 'static,
{
    let mut simulation = Simulation::with_constant_model(1);
    let (victim, observer) = victim(&simulation);
    let victim = simulation.spawn("victim", 0, |me| async move {
        victim(me).await;
        never("the victim is killed while it waits");
    });
    simulation.spawn("killer", 0, |me| async move {
        me.sleep(secs(1.0)).await;
        victim.kill().await;
        assert!(victim.has_ended());
    });
    simulation.spawn("observer", 0, |me| async move {
        me.sleep(secs(2.0)).await;
        observer(me).await;
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn a_get_leaves_the_mailbox() {
    killed_at_one(|simulation| {
        let (mailbox, same) = (simulation.new_mailbox(), simulation.new_mailbox());
        let other = mailbox.clone();
        drop(same);
        (
            |_| async move { drop(mailbox.get().await) },
            |me: Actor| async move {
                // A put does not meet the dead: it stays until an actor gets it.
                let put = other.put_async(7, 1.0).await;
                assert!(other.probe().await);
                assert_eq!(other.get().await.unwrap().word(), Some(7));
                put.wait().await.unwrap();
                assert_eq!(me.now(), Time::from_secs(2.0 + 1e-6));
            },
        )
    });
}

#[test]
fn a_put_leaves_the_mailbox() {
    killed_at_one(|simulation| {
        let mailbox = simulation.new_mailbox();
        let other = mailbox.clone();
        (
            |_| async move { mailbox.put(1, 1.0).await.unwrap() },
            |_| async move { assert!(!other.probe().await) },
        )
    });
}

#[test]
fn a_mutex_passes_from_a_dead_owner_and_forgets_a_dead_waiter() {
    let mut simulation = Simulation::with_constant_model(1);
    let (mutex, log) = (simulation.new_mutex(), Log::new());
    let mut actors = Vec::new();
    for name in ["owner", "waiter", "next"] {
        let (mutex, log) = (mutex.clone(), log.clone());
        actors.push(simulation.spawn(name, 0, move |me| async move {
            mutex.lock().await;
            log.add((name, me.now().as_secs()));
            me.sleep(secs(5.0)).await;
            mutex.unlock().await;
        }));
    }
    simulation.spawn("killer", 0, move |me| async move {
        me.sleep(secs(1.0)).await;
        actors[1].kill().await;
        me.sleep(secs(1.0)).await;
        actors[0].kill().await;
        actors[2].join().await;
        assert!(mutex.try_lock().await);
    });
    // The waiter dies at 1, the owner at 2: then it is the turn of the next, which holds it for 5
    // s.
    let report = simulation.run();
    assert_eq!(report.outcome, Outcome::Finished);
    assert_eq!(report.time, Time::from_secs(7.0));
    assert_eq!(log.take(), [("owner", 0.0), ("next", 2.0)]);
}

#[test]
fn a_semaphore_forgets_a_request_and_passes_on_a_granted_unit() {
    killed_at_one(|simulation| {
        let semaphore = simulation.new_semaphore(0);
        let other = semaphore.clone();
        (
            |_| async move { semaphore.acquire().await },
            |_| async move {
                other.release().await;
                assert_eq!(other.value(), 1);
            },
        )
    });
    // Granted at 0 and killed before it continued: the unit goes to the next in the queue.
    let mut simulation = Simulation::with_constant_model(1);
    let semaphore = simulation.new_semaphore(0);
    let (first, second) = (semaphore.clone(), semaphore.clone());
    let first = simulation.spawn("first", 0, |_| async move { first.acquire().await });
    let second = simulation.spawn("second", 0, |_| async move { second.acquire().await });
    simulation.spawn("killer", 0, |me| async move {
        me.yield_now().await;
        semaphore.release().await;
        first.kill().await;
        second.join().await;
        assert_eq!(semaphore.value(), 0);
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn a_barrier_forgets_the_arrival() {
    killed_at_one(|simulation| {
        let barrier = simulation.new_barrier(2);
        let other = barrier.clone();
        (
            |_| async move { assert!(barrier.wait_leader().await) },
            |me: Actor| async move {
                let same = other.clone();
                me.spawn("partner", HostId(0), |me| async move {
                    me.sleep(secs(1.0)).await;
                    assert!(same.wait_leader().await);
                })
                .await;
                assert!(!other.wait_leader().await);
                assert_eq!(me.now(), Time::from_secs(3.0));
            },
        )
    });
}

#[test]
fn a_condition_variable_forgets_the_wait_and_passes_the_signal_on() {
    let mut simulation = Simulation::with_constant_model(1);
    let (mutex, condvar) = (simulation.new_mutex(), simulation.new_condvar());
    let log = Log::new();
    let mut waiters = Vec::new();
    for name in ["dead", "killed after the signal", "woken"] {
        let (mutex, condvar, log) = (mutex.clone(), condvar.clone(), log.clone());
        waiters.push(simulation.spawn(name, 0, move |_| async move {
            mutex.lock().await;
            condvar.wait(&mutex).await.unwrap();
            log.add(name);
            mutex.unlock().await;
        }));
    }
    simulation.spawn("killer", 0, move |me| async move {
        me.sleep(secs(1.0)).await;
        waiters[0].kill().await;
        condvar.signal().await;
        waiters[1].kill().await;
        waiters[2].join().await;
        assert!(mutex.try_lock().await);
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(log.take(), ["woken"]);
}

#[test]
fn the_partner_of_a_transfer_sees_that_it_was_cancelled() {
    for kill_sender in [false, true] {
        let mut simulation = Simulation::with_constant_model(1);
        let mailbox = simulation.new_mailbox();
        let same = mailbox.clone();
        let sender = simulation.spawn("sender", 0, move |_| async move {
            assert_eq!(mailbox.put(1, 1.0).await, Err(ActivityError::Cancelled));
        });
        let receiver = simulation.spawn("receiver", 0, move |_| async move {
            assert_eq!(same.get().await.unwrap_err(), ActivityError::Cancelled);
        });
        simulation.spawn("killer", 0, move |me| async move {
            me.sleep(secs(5e-7)).await;
            let (victim, partner) = if kill_sender {
                (sender, receiver)
            } else {
                (receiver, sender)
            };
            victim.kill().await;
            partner.join().await;
            assert_eq!(me.now(), Time::from_secs(5e-7));
        });
        assert_eq!(simulation.run().outcome, Outcome::Finished);
    }
}

#[test]
fn an_actor_may_kill_itself_and_does_not_return_from_that() {
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn("actor", 0, |me| async move {
        me.kill().await;
        never("a dead actor does not continue");
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn one_may_be_killed_before_its_first_step_and_while_it_is_suspended() {
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn("root", 0, |me| async move {
        let child = me
            .spawn("suspended", HostId(0), |me| async move {
                me.yield_now().await;
                never("its first operation never happens");
            })
            .await;
        child.suspend().await;
        child.kill().await;
        assert!(child.has_ended());
        let computes = me
            .spawn(
                "computes",
                HostId(0),
                |me| async move { me.execute(1e9).await },
            )
            .await;
        me.sleep(secs(0.5)).await;
        computes.suspend().await;
        computes.kill().await;
        // Resuming or killing the dead does nothing.
        computes.resume().await;
        computes.kill().await;
        computes.join().await;
        assert_eq!(me.now(), Time::from_secs(0.5));
    });
    let report = simulation.run();
    assert_eq!(report.outcome, Outcome::Finished);
    assert_eq!(report.time, Time::from_secs(0.5));
}

#[test]
fn one_may_be_killed_while_it_is_about_to_go_on() {
    let mut simulation = Simulation::with_constant_model(1);
    // Both wake at 1; the killer's timer is older, so the victim is in the queue when it dies.
    let victims = Log::new();
    let seen = victims.clone();
    simulation.spawn("killer", 0, |me| async move {
        me.sleep(secs(1.0)).await;
        for victim in seen.take() {
            let victim: Actor = victim;
            victim.kill().await;
        }
    });
    victims.add(simulation.spawn("victim", 0, |me| async move {
        me.sleep(secs(1.0)).await;
        never("it was killed in its turn");
    }));
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}
