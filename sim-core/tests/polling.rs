//! Loops of tests end: the first failing test answers at once, the same question again waits for
//! the next event.

use std::cell::Cell;
use std::rc::Rc;

use sim_core::{Outcome, Simulation, Span, Time};

fn secs(seconds: f64) -> Span {
    Span::from_secs(seconds)
}

#[test]
fn test_compute_test_gives_the_right_dates() {
    // A computation of 1 s in the background, looked at after each 0.3 s of other work: seen at
    // 1.2.
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn_anonymous(0, |me| async move {
        let work = me.start_execution(1e9);
        let mut looks = 0;
        while !work.test().await {
            looks += 1;
            me.execute(3e8).await.unwrap();
        }
        assert_eq!(looks, 4);
        assert!((me.now().as_secs() - 1.2).abs() < 1e-12);
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn a_busy_loop_costs_no_time_and_ends_when_the_event_comes() {
    let mut simulation = Simulation::with_constant_model(1);
    let (mailbox, mutex) = (simulation.new_mailbox(), simulation.new_mutex());
    let (puts, held) = (mailbox.clone(), mutex.clone());
    let looks = Rc::new(Cell::new(0));
    let count = Rc::clone(&looks);
    simulation.spawn("holds", 0, |me| async move {
        held.lock().await;
        me.sleep(secs(3.0)).await;
        held.unlock().await;
        me.sleep(secs(1.0)).await;
        puts.put_detached(1, 1.0).await;
    });
    simulation.spawn("polls", 0, |me| async move {
        while !mutex.try_lock().await {
            count.set(count.get() + 1);
        }
        assert_eq!(me.now(), Time::from_secs(3.0));
        while !mailbox.probe().await {
            count.set(count.get() + 1);
            me.yield_now().await;
        }
        assert_eq!(me.now(), Time::from_secs(4.0));
        let work = me.start_execution(1e9);
        while !work.test().await {}
        assert_eq!(me.now(), Time::from_secs(5.0));
        let works = [me.start_execution(2e9), me.start_execution(1e9)];
        while me.test_any(&[&works[0], &works[1]]).await.is_none() {}
        assert_eq!(me.now(), Time::from_secs(6.0));
        mutex.unlock().await;
        mutex.lock_async().await;
        while !mutex.test().await {}
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert!(looks.get() < 10, "{} looks at three events", looks.get());
}

#[test]
fn two_pollers_at_one_date_end() {
    // Each looks for a message that comes at 1 s, with other events in between.
    let mut simulation = Simulation::with_constant_model(1);
    let mailbox = simulation.new_mailbox();
    for _ in 0..2 {
        let mailbox = mailbox.clone();
        simulation.spawn("polls", 0, |me| async move {
            while !mailbox.probe().await {}
            assert_eq!(me.now(), Time::from_secs(1.0));
        });
    }
    simulation.spawn("ticks", 0, |me| async move {
        for _ in 0..4 {
            me.sleep(secs(0.25)).await;
        }
        mailbox.put_detached(1, 1.0).await;
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn questions_to_different_objects_are_answered_at_once() {
    // Nothing will ever happen; each of the questions is asked once, and all are answered.
    let mut simulation = Simulation::with_constant_model(1);
    let mutexes = [(); 4].map(|()| simulation.new_mutex());
    let mailboxes = [(); 4].map(|()| simulation.new_mailbox());
    simulation.spawn_anonymous(0, |_| async move {
        for mutex in &mutexes {
            mutex.lock().await;
        }
        for mutex in &mutexes {
            assert!(!mutex.try_lock().await);
        }
        for mailbox in &mailboxes {
            assert!(!mailbox.probe().await);
        }
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn a_loop_without_an_event_to_come_is_a_deadlock() {
    let mut simulation = Simulation::with_constant_model(1);
    let (mailbox, mutex) = (simulation.mailbox("never"), simulation.new_mutex());
    let held = mutex.clone();
    simulation.spawn("holds", 0, |me| async move {
        held.lock().await;
        me.sleep(Span::INFINITE).await;
    });
    simulation.spawn(
        "probes",
        0,
        |_| async move { while !mailbox.probe().await {} },
    );
    simulation.spawn(
        "tries",
        0,
        |_| async move { while !mutex.try_lock().await {} },
    );
    simulation.spawn("tests", 0, |me| async move {
        let get = me.mailbox("empty").get_async().await;
        while !get.test().await {
            me.yield_now().await;
        }
    });
    simulation.spawn("tests two", 0, |me| async move {
        let gets = [
            me.mailbox("a").get_async().await,
            me.mailbox("b").get_async().await,
        ];
        while !gets[0].test().await && !gets[1].test().await {}
    });
    let Outcome::Deadlock(graph) = simulation.run().outcome else {
        panic!("no event is to come");
    };
    let texts: Vec<&str> = graph.blocked.iter().map(|entry| &*entry.waits_in).collect();
    assert_eq!(
        texts,
        [
            "infinite sleep",
            "polling: probe of mailbox \"never\"",
            "polling: test of mutex 0",
            "polling: test of get from mailbox \"empty\" (no matching put)",
            "polling: test of get from mailbox \"a\" (no matching put)",
        ]
    );
}
