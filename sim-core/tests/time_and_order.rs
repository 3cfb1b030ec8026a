//! Events leave in the order of their dates, and at one date in the order in which they were
//! created.

use crate::common::{Log, secs};
use sim_core::{HostId, Outcome, Simulation, Time};

#[test]
fn sleeps_end_in_the_order_of_their_dates() {
    let mut simulation = Simulation::with_constant_model(1);
    let log = Log::new();
    for delay in [3.0, 1.0, 2.0] {
        let log = log.clone();
        simulation.spawn_anonymous(0, move |me| async move {
            me.sleep(secs(delay)).await;
            log.add((delay, me.now().as_secs()));
        });
    }
    let report = simulation.run();
    assert_eq!(report.outcome, Outcome::Finished);
    assert_eq!(report.time, Time::from_secs(3.0));
    assert_eq!(report.events, 3);
    assert_eq!(log.take(), [(1.0, 1.0), (2.0, 2.0), (3.0, 3.0)]);
}

#[test]
fn at_one_date_the_first_created_goes_first() {
    // Actor 2 begins its last sleep at 0.5, actor 1 its only one at 0: both end at 1, the older
    // timer first.
    let mut simulation = Simulation::with_constant_model(1);
    let log = Log::new();
    let (first, second) = (log.clone(), log.clone());
    simulation.spawn_anonymous(0, |me| async move {
        me.sleep(secs(0.5)).await;
        me.sleep(secs(0.5)).await;
        second.add("two sleeps");
    });
    simulation.spawn_anonymous(0, |me| async move {
        me.sleep(secs(1.0)).await;
        first.add("one sleep");
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(log.take(), ["one sleep", "two sleeps"]);
}

#[test]
fn a_sleep_of_no_time_lets_go_first_what_is_due() {
    let mut simulation = Simulation::with_constant_model(1);
    let log = Log::new();
    for name in ["a", "b"] {
        let log = log.clone();
        simulation.spawn(name, 0, move |me| async move {
            for round in 0..2 {
                log.add((name, round));
                me.sleep(secs(0.0)).await;
            }
            assert_eq!(me.now(), Time::ZERO);
        });
    }
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(log.take(), [("a", 0), ("b", 0), ("a", 1), ("b", 1)]);
}

#[test]
fn a_yield_lets_the_runnable_go_first() {
    let mut simulation = Simulation::with_constant_model(1);
    let log = Log::new();
    for name in ["a", "b", "c"] {
        let log = log.clone();
        simulation.spawn(name, 0, move |me| async move {
            for _ in 0..2 {
                me.yield_now().await;
                log.add(name);
            }
        });
    }
    let report = simulation.run();
    assert_eq!(report.events, 0);
    assert_eq!(log.take(), ["a", "b", "c", "a", "b", "c"]);
}

#[test]
fn at_a_barrier_all_go_on_in_the_order_of_their_arrival() {
    let mut simulation = Simulation::with_constant_model(1);
    let (log, barrier) = (Log::new(), simulation.new_barrier(3));
    for delay in [2.0, 3.0, 1.0] {
        let (log, barrier) = (log.clone(), barrier.clone());
        simulation.spawn_anonymous(0, move |me| async move {
            me.sleep(secs(delay)).await;
            let last = barrier.wait_leader().await;
            log.add((delay, last, me.now().as_secs()));
        });
    }
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(
        log.take(),
        [(1.0, false, 3.0), (2.0, false, 3.0), (3.0, true, 3.0)]
    );
}

#[test]
fn timers_and_ends_of_activities_at_one_date_go_by_number() {
    // A timer, a computation of 1 Gflop at 1 Gflop/s, and a timer: all end at 1, and were created
    // in this order.
    let mut simulation = Simulation::with_constant_model(1);
    let log = Log::new();
    for (name, computes) in [("early", false), ("computes", true), ("late", false)] {
        let log = log.clone();
        simulation.spawn(name, 0, move |me| async move {
            if computes {
                me.execute(1e9).await.unwrap();
            } else {
                me.sleep(secs(1.0)).await;
            }
            log.add(name);
        });
    }
    assert_eq!(simulation.run().time, Time::from_secs(1.0));
    assert_eq!(log.take(), ["early", "computes", "late"]);
}

#[test]
fn a_new_actor_runs_up_to_its_first_operation_before_others_go_on() {
    let mut simulation = Simulation::with_constant_model(1);
    let log = Log::new();
    let (root, other) = (log.clone(), log.clone());
    simulation.spawn("root", 0, |me| async move {
        let child = root.clone();
        me.spawn("child", HostId(0), |me| async move {
            child.add("child begins");
            me.yield_now().await;
            child.add("child continues");
        })
        .await;
        root.add("root continues");
        // A step that is possible at once: it is still root's turn after it.
        me.random(2).await;
        root.add("root after its next step");
    });
    simulation.spawn("other", 0, |me| async move {
        other.add("other begins");
        me.yield_now().await;
        other.add("other continues");
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
    assert_eq!(
        log.take(),
        [
            "other begins",
            "root continues",
            "child begins",
            "root after its next step",
            "other continues",
            "child continues",
        ]
    );
}

#[test]
fn a_date_in_the_past_is_no_sleep() {
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn_anonymous(0, |me| async move {
        me.sleep(secs(2.0)).await;
        me.sleep_until(Time::from_secs(1.0)).await;
        assert_eq!(me.now(), Time::from_secs(2.0));
        me.sleep_until(Time::from_secs(5.0)).await;
        assert_eq!(me.now(), Time::from_secs(5.0));
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}
