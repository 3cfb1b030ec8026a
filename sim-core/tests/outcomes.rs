//! The end of a run is a value: a failing actor ends its run, never the process or another
//! simulation.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use sim_core::{
    ActivityId, Change, Constant, End, Limit, Outcome, Report, Resource, Simulation, Span,
    StartError, Time, Work,
};

fn secs(seconds: f64) -> Span {
    Span::from_secs(seconds)
}

#[test]
fn a_panic_is_told_with_actor_host_and_date() {
    let mut other = Simulation::with_constant_model(1);
    other.spawn_anonymous(0, |me| async move { me.sleep(secs(1.0)).await });
    let mut simulation = Simulation::with_constant_model(2);
    simulation.spawn("bob", 1, |me| async move {
        me.sleep(secs(1.5)).await;
        panic!("out of {}", "coffee");
    });
    simulation.spawn("alice", 0, |me| async move { me.sleep(secs(9.0)).await });
    let Outcome::Failed(failure) = simulation.run().outcome else {
        panic!("bob panics");
    };
    assert!(failure.panicked);
    assert_eq!(failure.actor.number(), 1);
    assert_eq!((&*failure.name, &*failure.host), ("bob", "host-1"));
    assert_eq!(
        (failure.time, &*failure.message),
        (Time::from_secs(1.5), "out of coffee")
    );
    assert_eq!(
        failure.to_string(),
        "bob on host host-1 panicked at 1.5 s: out of coffee"
    );
    // Another simulation continues.
    assert_eq!(other.run().outcome, Outcome::Finished);
}

#[test]
fn a_returned_error_fails_the_actor() {
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn("alice", 0, |_| async move { Err("no more") });
    let report = simulation.run();
    let Outcome::Failed(failure) = report.outcome else {
        panic!("{report:?}");
    };
    assert_eq!(
        failure.to_string(),
        "alice on host host-0 failed at 0 s: no more"
    );
}

#[test]
fn only_the_one_that_failed_or_was_killed_failed() {
    // Both end at 0; the first returns an error, the second was well, and the third is stopped by
    // the end of the run.
    let seen = Rc::new(Cell::new([None; 3]));
    let mut simulation = Simulation::with_constant_model(1);
    for number in 0..3 {
        let seen = Rc::clone(&seen);
        simulation.spawn_anonymous(0, move |me| async move {
            me.on_exit(move |failed| {
                let mut all = seen.get();
                all[number] = Some(failed);
                seen.set(all);
            });
            match number {
                0 => me.yield_now().await,
                1 => {}
                _ => me.sleep(secs(9.0)).await,
            }
            if number == 0 { Err("it fails") } else { Ok(()) }
        });
    }
    assert!(matches!(simulation.run().outcome, Outcome::Failed(_)));
    assert_eq!(seen.get(), [Some(true), Some(false), Some(true)]);
}

#[test]
fn a_foreign_future_is_named() {
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn("alice", 0, |_| std::future::pending::<()>());
    let Outcome::ForeignFuture(failure) = simulation.run().outcome else {
        panic!("nobody would wake it");
    };
    assert_eq!(failure.name, "alice");
    assert_eq!(
        failure.message,
        "awaited a future that is not part of the simulation"
    );
}

fn ticks() -> Simulation {
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn_anonymous(0, |me| async move {
        loop {
            me.sleep(secs(1.0)).await;
        }
    });
    simulation
}

#[test]
fn limits_of_time_and_of_events() {
    let mut simulation = ticks();
    simulation.set_until(Time::from_secs(2.5));
    let report = simulation.run();
    assert_eq!(
        report.outcome,
        Outcome::Limit(Limit::Time(Time::from_secs(2.5)))
    );
    assert_eq!((report.time, report.events), (Time::from_secs(2.5), 2));
    // What happens at the very date still happens.
    let mut simulation = ticks();
    simulation.set_until(Time::from_secs(3.0));
    assert_eq!(simulation.run().events, 3);
    let mut simulation = ticks();
    simulation.set_events_max(5);
    let report = simulation.run();
    assert_eq!(report.outcome, Outcome::Limit(Limit::Events(5)));
    assert_eq!((report.time, report.events), (Time::from_secs(5.0), 5));
}

#[test]
fn an_event_at_the_end_of_time_or_later_is_a_limit() {
    let ends = |flops: f64, bound: f64| {
        let mut simulation = Simulation::with_constant_model(1);
        simulation.spawn_anonymous(0, move |me| async move {
            me.execution(flops)
                .bound(bound)
                .start()
                .wait()
                .await
                .map(drop)
        });
        simulation.run().outcome
    };
    let at = |seconds: f64| Outcome::Limit(Limit::Overflow(Time::from_secs(seconds)));
    assert_eq!(ends(1e28, f64::INFINITY), Outcome::Finished);
    assert_eq!(ends(1e30, f64::INFINITY), at(1e21));
    assert_eq!(ends(1e300, 1e-10), at(f64::INFINITY));
}

#[test]
fn an_interrupt_ends_the_run_soon() {
    for yields in [false, true] {
        let flag = Arc::new(AtomicBool::new(false));
        let mut simulation = ticks();
        simulation.set_interrupt(Arc::clone(&flag));
        simulation.spawn_anonymous(0, move |me| async move {
            me.sleep(secs(3.5)).await;
            flag.store(true, Ordering::Relaxed);
            // Also within one date.
            if yields {
                loop {
                    me.yield_now().await;
                }
            }
        });
        let report = simulation.run();
        assert_eq!(report.outcome, Outcome::Interrupted);
        assert_eq!(report.time, Time::from_secs(3.5));
    }
}

/// A model without any route.
#[derive(Debug)]
struct Unconnected(Constant);

impl Resource for Unconnected {
    fn start(&mut self, activity: ActivityId, work: &Work, now: Time) -> Result<(), StartError> {
        match work {
            Work::Transfer { from, to, .. } => {
                Err(StartError(format!("no route from {} to {}", from.0, to.0)))
            }
            Work::Exec { .. } | Work::Io { .. } | Work::Parallel(_) => {
                self.0.start(activity, work, now)
            }
        }
    }
    fn cancel(&mut self, activity: ActivityId, now: Time) {
        self.0.cancel(activity, now);
    }
    fn set_suspended(&mut self, activity: ActivityId, suspended: bool, now: Time) {
        self.0.set_suspended(activity, suspended, now);
    }
    fn update(&mut self, activity: ActivityId, change: Change, now: Time) {
        self.0.update(activity, change, now);
    }
    fn remaining(&mut self, activity: ActivityId, now: Time) -> f64 {
        self.0.remaining(activity, now)
    }
    fn next_event(&mut self, now: Time, horizon: Time) -> Option<Time> {
        self.0.next_event(now, horizon)
    }
    fn advance(&mut self, now: Time, ended: &mut Vec<(ActivityId, End)>) -> bool {
        self.0.advance(now, ended)
    }
}

#[test]
fn what_the_input_does_not_allow_is_bad_input() {
    let model = Unconnected(Constant::new(secs(1.0), 1e9));
    let hosts = Rc::new(vec!["here".to_owned(), "there".to_owned()]);
    let mut simulation = Simulation::new(Box::new(model), hosts, 0);
    let mailbox = simulation.new_mailbox();
    let same = mailbox.clone();
    simulation.spawn("putter", 0, |_| async move { mailbox.put(1, 1.0).await });
    simulation.spawn("getter", 1, |_| async move { same.get().await.map(drop) });
    simulation.spawn("worker", 0, |me| async move { me.execute(1e9).await });
    let report = simulation.run();
    assert_eq!(
        report.outcome,
        Outcome::BadInput("no route from 0 to 1".to_owned())
    );
    assert_eq!(report.time, Time::ZERO);
}

#[test]
fn an_actor_on_a_host_that_is_not_there_fails_its_creator() {
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn("root", 0, |me| async move {
        me.spawn("child", sim_core::HostId(7), |_| async {}).await;
    });
    let Outcome::Failed(failure) = simulation.run().outcome else {
        panic!("there is one host");
    };
    assert_eq!(
        (&*failure.name, &*failure.message),
        ("root", "there is no host number 7")
    );
}

/// A value that panics when dropped.
struct Broken;

impl Drop for Broken {
    fn drop(&mut self) {
        panic!("broken destructor");
    }
}

fn with_broken_destructors(killed: bool) -> Report {
    let mut simulation = Simulation::with_constant_model(1);
    let mut victims = Vec::new();
    for name in ["first", "second"] {
        victims.push(simulation.spawn(name, 0, |me| async move {
            me.daemonize();
            let _broken = Broken;
            me.on_exit(|_| panic!("broken hook"));
            me.sleep(secs(9.0)).await;
        }));
    }
    simulation.spawn("other", 0, move |me| async move {
        me.sleep(secs(1.0)).await;
        if killed {
            victims[1].kill().await;
            unreachable!("the run ends with the failure");
        }
    });
    simulation.run()
}

#[test]
fn a_broken_destructor_fails_its_actor_and_never_ends_the_process() {
    let Outcome::Failed(failure) = with_broken_destructors(true).outcome else {
        panic!("the destructor panics");
    };
    assert_eq!(
        (&*failure.name, &*failure.message),
        ("second", "broken destructor")
    );
    // After the end of the run there is nothing left to fail: several at once do no harm.
    assert_eq!(with_broken_destructors(false).outcome, Outcome::Finished);
}

#[test]
fn a_simulation_without_actors_is_finished() {
    let report = Simulation::with_constant_model(1).run();
    assert_eq!(report.outcome, Outcome::Finished);
    assert_eq!(
        (report.time, report.events, report.transitions),
        (Time::ZERO, 0, 0)
    );
}

#[test]
fn the_trace_shows_each_transition() {
    let log = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&log);
    let mut simulation = Simulation::with_constant_model(1);
    simulation.set_trace(move |event| sink.borrow_mut().push(*event));
    let mutex = simulation.new_mutex();
    simulation.spawn_anonymous(0, |me| async move {
        mutex.lock().await;
        me.sleep(secs(1.0)).await;
    });
    let report = simulation.run();
    assert_eq!(report.transitions, 3);
    let texts: Vec<String> = log
        .borrow()
        .iter()
        .map(|event| format!("{} {:?}", event.time, event.transition))
        .collect();
    assert_eq!(
        texts,
        [
            "0 s MutexAsyncLock { mutex: 0 }",
            "0 s MutexWait { mutex: 0, owned: true }",
            "1 s Sleep",
        ]
    );
}

#[test]
fn an_invariant_that_does_not_hold_may_own_an_activity() {
    let mut simulation = Simulation::with_constant_model(1);
    let owned = Rc::new(RefCell::new(None));
    let given = Rc::clone(&owned);
    simulation.invariant("no activity", move || owned.borrow().is_none());
    simulation.spawn("one", 0, |me| async move {
        me.sleep(secs(1.0)).await;
        given.replace(Some(me.start_execution(1e9)));
        drop(given);
        me.sleep(secs(1.0)).await;
    });
    let Outcome::Failed(failure) = simulation.run().outcome else {
        panic!("the invariant does not hold")
    };
    assert_eq!(failure.invariant.as_deref(), Some("no activity"));
    assert_eq!(failure.time.as_secs(), 1.0);
}

#[test]
fn an_invariant_that_does_not_hold_is_a_failure_of_who_went_on_last() {
    let run = |limit: u32| {
        let mut simulation = Simulation::with_constant_model(1);
        let count = Rc::new(Cell::new(0));
        let same = Rc::clone(&count);
        simulation.invariant("few", move || same.get() < limit);
        for name in ["one", "two"] {
            let count = Rc::clone(&count);
            simulation.spawn(name, 0, |me| async move {
                for _ in 0..3 {
                    me.sleep(secs(1.0)).await;
                    count.set(count.get() + 1);
                }
            });
        }
        simulation.run()
    };
    assert_eq!(run(7).outcome, Outcome::Finished);
    let Outcome::Failed(failure) = run(4).outcome else {
        panic!("the fourth step violates it")
    };
    assert_eq!((failure.name.as_str(), failure.panicked), ("two", false));
    assert_eq!(failure.invariant.as_deref(), Some("few"));
    assert_eq!(failure.message, "the invariant \"few\" does not hold");
    assert_eq!(failure.time.as_secs(), 2.0);
    // What the end of an actor does counts too.
    let Outcome::Failed(failure) = run(6).outcome else {
        panic!("the last step violates it")
    };
    assert_eq!(failure.time.as_secs(), 3.0);
}
