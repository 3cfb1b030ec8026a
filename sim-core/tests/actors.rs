//! Actors: creation, names, hosts, joining, daemons, exit hooks.

use std::cell::RefCell;
use std::rc::Rc;

use crate::common::{Log, secs};
use sim_core::{HostId, Outcome, Simulation, Time, TimedOut};

#[test]
fn an_actor_knows_its_name_number_and_host() {
    let mut simulation = Simulation::with_constant_model(3);
    simulation.spawn("alice", 2, |me| async move {
        assert_eq!((me.name().as_str(), me.id().number()), ("alice", 1));
        assert_eq!((me.host(), me.host_name().as_str()), (HostId(2), "host-2"));
        assert_eq!(me.host_count(), 3);
    });
    simulation.spawn_anonymous(0, |me| async move { assert_eq!(me.name(), "actor-2") });
    let report = simulation.run();
    assert_eq!(report.outcome, Outcome::Finished);
    assert_eq!(report.actors, 2);
}

#[test]
fn an_actor_creates_others() {
    let mut simulation = Simulation::with_constant_model(2);
    let log = Log::new();
    let seen = log.clone();
    simulation.spawn("root", 0, |me| async move {
        for (number, host) in [(0, 0), (1, 1)] {
            let seen = seen.clone();
            let child = me
                .spawn(&format!("child-{number}"), HostId(host), |me| async move {
                    me.sleep(secs(f64::from(number) + 1.0)).await;
                    seen.add((me.name(), me.host(), me.now().as_secs()));
                })
                .await;
            assert_eq!(child.id().number(), number + 2);
        }
        // The root may end first.
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(
        log.take(),
        [
            ("child-0".to_owned(), HostId(0), 1.0),
            ("child-1".to_owned(), HostId(1), 2.0)
        ]
    );
}

#[test]
fn join_waits_for_the_end_or_its_timeout() {
    let mut simulation = Simulation::with_constant_model(1);
    let sleeper = simulation.spawn("sleeper", 0, |me| async move { me.sleep(secs(2.0)).await });
    simulation.spawn("joiner", 0, |me| async move {
        assert_eq!(sleeper.join_timeout(secs(1.0)).await, Err(TimedOut));
        assert_eq!(me.now(), Time::from_secs(1.0));
        assert!(!sleeper.has_ended());
        assert_eq!(sleeper.join_timeout(secs(5.0)).await, Ok(()));
        assert_eq!(me.now(), Time::from_secs(2.0));
        // Joining what has ended takes no time.
        sleeper.join().await;
        assert!(sleeper.has_ended());
        assert_eq!(me.now(), Time::from_secs(2.0));
    });
    assert_eq!(simulation.run().time, Time::from_secs(2.0));
}

#[test]
fn the_run_does_not_wait_for_daemons() {
    let mut simulation = Simulation::with_constant_model(1);
    let daemon = simulation.spawn("daemon", 0, |me| async move {
        loop {
            me.sleep(secs(1.0)).await;
        }
    });
    daemon.daemonize();
    // Before it exists, too.
    simulation.spawn("born a daemon", 0, |me| {
        me.daemonize();
        async move { me.new_mailbox().get().await.map(drop) }
    });
    simulation.spawn("worker", 0, |me| async move { me.sleep(secs(2.5)).await });
    let report = simulation.run();
    assert_eq!(report.outcome, Outcome::Finished);
    assert_eq!(report.time, Time::from_secs(2.5));
}

#[test]
fn a_daemon_that_polls_does_not_keep_the_run_alive() {
    let mut simulation = Simulation::with_constant_model(1);
    let mailbox = simulation.mailbox("never");
    simulation.spawn("daemon", 0, |me| async move {
        me.daemonize();
        while !mailbox.probe().await {}
    });
    simulation.spawn("worker", 0, |me| async move { me.sleep(secs(1.0)).await });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn exit_hooks_run_after_the_destructors_the_latest_first() {
    struct Destructor(Log<String>);
    impl Drop for Destructor {
        fn drop(&mut self) {
            self.0.add("destructor".to_owned());
        }
    }
    for killed in [false, true] {
        let mut simulation = Simulation::with_constant_model(1);
        let log = Log::new();
        let seen = log.clone();
        let actor = simulation.spawn("actor", 0, |me| async move {
            let _destructor = Destructor(seen.clone());
            for name in ["first", "second"] {
                let seen = seen.clone();
                me.on_exit(move |failed| seen.add(format!("{name} {failed}")));
            }
            me.sleep(secs(1.0)).await;
        });
        let seen = log.clone();
        simulation.spawn("other", 0, move |me| async move {
            me.sleep(secs(0.5)).await;
            if killed {
                actor.kill().await;
            }
            actor.join().await;
            seen.add("joined".to_owned());
        });
        assert_eq!(simulation.run().outcome, Outcome::Finished);
        let expected = [
            "destructor",
            &format!("second {killed}"),
            &format!("first {killed}"),
            "joined",
        ];
        assert_eq!(log.take(), expected);
    }
}

#[test]
fn the_end_of_the_run_calls_the_hooks_that_are_left() {
    let mut simulation = Simulation::with_constant_model(1);
    let log = Log::new();
    for name in ["a", "b"] {
        let seen = log.clone();
        simulation.spawn(name, 0, move |me| async move {
            me.daemonize();
            for number in [1, 2] {
                let seen = seen.clone();
                me.on_exit(move |failed| seen.add((name, number, failed)));
            }
            me.sleep(secs(9.0)).await;
        });
    }
    simulation.spawn("worker", 0, |me| async move { me.yield_now().await });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    let expected = [
        ("a", 2, true),
        ("a", 1, true),
        ("b", 2, true),
        ("b", 1, true),
    ];
    assert_eq!(log.take(), expected);
}

#[test]
fn a_creation_that_is_dropped_creates_nobody() {
    struct Destructor(Log<&'static str>);
    impl Drop for Destructor {
        fn drop(&mut self) {
            self.0.add("dropped");
        }
    }
    let mut simulation = Simulation::with_constant_model(1);
    let log = Log::new();
    let seen = log.clone();
    simulation.spawn("root", 0, |me| async move {
        let destructor = Destructor(seen.clone());
        let inner = seen.clone();
        drop(me.spawn("never", HostId(0), |_| async move {
            inner.add("it ran");
            drop(destructor);
        }));
        // What the program of the child owns is dropped before anybody continues.
        me.sleep(secs(1.0)).await;
        seen.add("root continues");
    });
    let report = simulation.run();
    assert_eq!(report.outcome, Outcome::Finished);
    assert_eq!(log.take(), ["dropped", "root continues"]);
}

#[test]
fn the_program_of_an_actor_may_daemonize_and_kill_before_the_creation() {
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn("root", 0, |me| async move {
        let leaked = Rc::new(RefCell::new(None));
        let keep = Rc::clone(&leaked);
        let creation = me.spawn("child", HostId(0), move |me| {
            me.daemonize();
            *keep.borrow_mut() = Some(me);
            async { unreachable!("it is killed before it is created") }
        });
        let child = leaked.take().expect("the closure ran");
        child.kill().await;
        assert!(child.has_ended());
        let same = creation.await;
        same.join().await;
        assert_eq!(same, child);
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn nothing_is_left_in_memory_after_a_run() {
    let owned = Rc::new(());
    let mut simulation = Simulation::with_constant_model(1);
    let mailbox = simulation.mailbox("lost");
    let (in_message, in_program) = (Rc::clone(&owned), Rc::clone(&owned));
    simulation.spawn("a", 0, |me| async move {
        // The message holds a handle of the mailbox that holds the message.
        let content = (in_message, mailbox.clone());
        mailbox
            .put_detached(sim_core::Message::new(content), 1.0)
            .await;
        let in_hook = Rc::clone(&in_program);
        let keep = me.clone();
        me.on_exit(move |_| drop((in_hook, keep)));
        me.sleep(secs(1.0)).await;
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(Rc::strong_count(&owned), 1);
}
