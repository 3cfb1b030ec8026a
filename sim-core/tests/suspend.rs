//! A suspended actor does not continue before it is resumed; computations stop, timers do not.

use crate::common::{Log, secs};
use sim_core::{ActivityError, Outcome, Simulation, Time};

#[test]
fn the_lazy_guy_of_simgrid() {
    // S27 (SimGrid's example actor-suspend): 10, 15, 25, 30, 32, 35, 47. Suspended from the start
    // until 10. Sleeps from 10 to 20, but is suspended from 15 to 25: wakes at 25. Sleeps from 25
    // to 35, suspended from 30 to 32, which does not matter: wakes at 35. Computes 10 s from 35,
    // suspended from 37 to 39, which does: ends at 47.
    let mut simulation = Simulation::with_constant_model(1);
    let log = Log::new();
    let (lazy, master) = (log.clone(), log.clone());
    let guy = simulation.spawn("lazy", 0, |me| async move {
        me.suspend().await;
        lazy.add(("awake", me.now().as_secs()));
        for _ in 0..2 {
            me.sleep(secs(10.0)).await;
            lazy.add(("awake", me.now().as_secs()));
        }
        me.execute(1e10).await.unwrap();
        lazy.add(("done", me.now().as_secs()));
    });
    simulation.spawn("master", 0, |me| async move {
        me.sleep(secs(10.0)).await;
        guy.resume().await;
        for (busy, pause) in [(5.0, 10.0), (5.0, 2.0), (5.0, 2.0)] {
            me.sleep(secs(busy)).await;
            master.add(("suspend", me.now().as_secs()));
            guy.suspend().await;
            me.sleep(secs(pause)).await;
            guy.resume().await;
        }
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(
        log.take(),
        [
            ("awake", 10.0),
            ("suspend", 15.0),
            ("awake", 25.0),
            ("suspend", 30.0),
            ("awake", 35.0),
            ("suspend", 37.0),
            ("done", 47.0),
        ]
    );
}

#[test]
fn a_suspended_actor_does_not_wake() {
    // The message is there at 1 µs, the mutex is free at 2: both are seen at 5.
    let mut simulation = Simulation::with_constant_model(1);
    let (mailbox, mutex) = (simulation.new_mailbox(), simulation.new_mutex());
    let (puts, held) = (mailbox.clone(), mutex.clone());
    let getter = simulation.spawn("getter", 0, |me| async move {
        assert_eq!(mailbox.get().await.unwrap().word(), Some(1));
        assert_eq!(me.now(), Time::from_secs(5.0));
    });
    let locker = simulation.spawn("locker", 0, |me| async move {
        me.yield_now().await;
        mutex.lock().await;
        assert_eq!(me.now(), Time::from_secs(5.0));
    });
    simulation.spawn("other", 0, |me| async move {
        held.lock().await;
        me.sleep(secs(1.0)).await;
        getter.suspend().await;
        locker.suspend().await;
        puts.put(1, 1.0).await.unwrap();
        me.sleep_until(Time::from_secs(2.0)).await;
        held.unlock().await;
        // The suspended actor owns it already: the queue continues without it.
        assert!(!held.try_lock().await);
        me.sleep_until(Time::from_secs(5.0)).await;
        getter.resume().await;
        locker.resume().await;
    });
    let report = simulation.run();
    assert_eq!(report.outcome, Outcome::Finished);
}

#[test]
fn suspending_twice_is_suspending_once() {
    // 1 Gflop at 1 Gflop/s, stopped from 0.25 to 1.25: ends at 2.
    let mut simulation = Simulation::with_constant_model(1);
    let worker = simulation.spawn("worker", 0, |me| async move {
        me.execute(1e9).await.unwrap();
        assert_eq!(me.now(), Time::from_secs(2.0));
    });
    simulation.spawn("other", 0, |me| async move {
        worker.resume().await;
        me.sleep(secs(0.25)).await;
        worker.suspend().await;
        worker.suspend().await;
        me.sleep(secs(1.0)).await;
        worker.resume().await;
        worker.resume().await;
    });
    assert_eq!(simulation.run().time, Time::from_secs(2.0));
}

#[test]
fn a_computation_that_two_wait_for_stops_and_goes_on_once() {
    // Both waiters are suspended from 0.5 on. Resuming one of them, at 1, lets it continue: 0.5 s
    // are left.
    let mut simulation = Simulation::with_constant_model(1);
    let shared = Log::new();
    let give = shared.clone();
    let first = simulation.spawn("first", 0, |me| async move {
        let work = me.start_execution(1e9);
        give.add(work.clone());
        work.wait().await.unwrap();
        assert_eq!(me.now(), Time::from_secs(1.5));
    });
    let second = simulation.spawn("second", 0, |me| async move {
        let work = shared.take().pop().expect("the first has begun");
        work.wait().await.unwrap();
        assert_eq!(me.now(), Time::from_secs(2.0));
    });
    simulation.spawn("other", 0, |me| async move {
        me.sleep(secs(0.5)).await;
        first.suspend().await;
        second.suspend().await;
        me.sleep(secs(0.5)).await;
        first.resume().await;
        me.sleep(secs(1.0)).await;
        second.resume().await;
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn a_timeout_counts_on_while_suspended() {
    let mut simulation = Simulation::with_constant_model(1);
    let mailbox = simulation.new_mailbox();
    let waiter = simulation.spawn("waiter", 0, |me| async move {
        let got = mailbox.get_timeout(secs(1.0)).await;
        assert_eq!(got.unwrap_err(), ActivityError::TimedOut);
        assert_eq!(me.now(), Time::from_secs(3.0));
    });
    simulation.spawn("other", 0, |me| async move {
        waiter.suspend().await;
        me.sleep(secs(3.0)).await;
        waiter.resume().await;
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn one_that_nobody_resumes_is_a_deadlock_that_says_so() {
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn("a", 0, |me| async move { me.suspend().await });
    let b = simulation.spawn("b", 0, |me| async move { me.sleep(secs(1.0)).await });
    simulation.spawn("c", 0, |_| async move { b.suspend().await });
    let Outcome::Deadlock(graph) = simulation.run().outcome else {
        panic!("nobody resumes them");
    };
    let texts: Vec<&str> = graph.blocked.iter().map(|entry| &*entry.waits_in).collect();
    assert_eq!(texts, ["suspension", "suspension during a sleep"]);
}
