//! Activities: one vocabulary for computations and communications.

use sim_core::{ActivityError, Change, HostId, Outcome, Simulation, Span, Time, TimedOut};

fn secs(seconds: f64) -> Span {
    Span::from_secs(seconds)
}

/// Runs one actor on a host of 1 Gflop/s; returns the last date.
fn alone<Fut: Future<Output = ()> + 'static>(
    program: impl FnOnce(sim_core::Actor) -> Fut + 'static,
) -> f64 {
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn("actor", 0, program);
    let report = simulation.run();
    assert_eq!(report.outcome, Outcome::Finished);
    report.time.as_secs()
}

#[test]
fn a_computation_lasts_its_flops_over_the_speed() {
    assert_eq!(
        alone(|me| async move { me.execute(2.5e9).await.unwrap() }),
        2.5
    );
    // With a bound of 0.5 Gflop/s: O19 has 1e9 flop bound to 2.5e8 flop/s, which last 4 s.
    let bound = |me: sim_core::Actor| async move {
        let work = me.start_execution_with(1e9, 1.0, 2.5e8);
        work.wait().await.unwrap();
    };
    assert_eq!(alone(bound), 4.0);
}

#[test]
fn test_tells_whether_it_is_over() {
    let end = alone(|me| async move {
        let work = me.start_execution(1e9);
        assert!(!work.test().await);
        me.sleep(secs(0.25)).await;
        assert!(!work.test().await);
        assert_eq!(work.remaining(), 0.75e9);
        me.sleep(secs(1.0)).await;
        assert!(work.test().await);
        assert_eq!(work.remaining(), 0.0);
        work.wait().await.unwrap();
    });
    assert_eq!(end, 1.25);
}

#[test]
fn a_wait_that_times_out_leaves_it_running() {
    alone(|me| async move {
        let work = me.start_execution(1e9);
        let first = work.wait_timeout(secs(0.25)).await;
        assert_eq!(first.unwrap_err(), ActivityError::TimedOut);
        assert_eq!(me.now(), Time::from_secs(0.25));
        work.wait_timeout(secs(1.0)).await.unwrap();
        assert_eq!(me.now(), Time::from_secs(1.0));
        // An end at the very date of the timeout is an end.
        let work = me.start_execution(1e9);
        work.wait_timeout(secs(1.0)).await.unwrap();
    });
}

#[test]
fn wait_any_gives_the_first_that_is_over() {
    alone(|me| async move {
        let (slow, fast) = (me.start_execution(3e9), me.start_execution(1e9));
        let early = me.wait_any_timeout(&[&slow, &fast], secs(0.5)).await;
        assert_eq!(early, Err(TimedOut));
        assert_eq!(me.test_any(&[&slow, &fast]).await, None);
        assert_eq!(me.wait_any(&[&slow, &fast]).await, 1);
        assert_eq!(me.now(), Time::from_secs(1.0));
        assert_eq!(me.test_any(&[&slow, &fast]).await, Some(1));
        assert_eq!(me.wait_any_timeout(&[&slow], secs(9.0)).await, Ok(0));
        assert_eq!(me.now(), Time::from_secs(3.0));
        // The lowest position, if several are over.
        assert_eq!(me.wait_any(&[&fast, &slow]).await, 0);
        assert_eq!(me.test_any(&[]).await, None);
    });
}

#[test]
fn lists_of_dropped_waits_are_used_again_one_at_a_time() {
    // A list that were freed twice would be given to two waits at once, and the outer one would
    // wait for the wrong work.
    alone(|me| async move {
        let (slow, fast) = (me.start_execution(3e9), me.start_execution(1e9));
        drop(me.wait_any(&[&slow]));
        drop(me.wait_any_timeout(&[&slow], secs(1.0)));
        assert_eq!(
            me.wait_any_timeout(&[&slow], secs(0.1)).await,
            Err(TimedOut)
        );
        let outer = me.wait_any(&[&fast]);
        let inner = me.wait_any(&[&slow]);
        assert_eq!(outer.await, 0);
        assert_eq!(me.now(), Time::from_secs(1.0));
        assert_eq!(inner.await, 0);
        assert_eq!(me.now(), Time::from_secs(3.0));
    });
}

#[test]
fn wait_all_waits_for_all_and_tells_of_the_first_that_failed() {
    alone(|me| async move {
        let works = [3e9, 1e9, 2e9].map(|flops| me.start_execution(flops));
        works[1].cancel().await;
        let all: Vec<_> = works.iter().collect();
        assert_eq!(me.wait_all(&all).await, Err(ActivityError::Cancelled));
        assert_eq!(me.now(), Time::from_secs(3.0));
    });
}

#[test]
fn cancel_ends_it_at_once() {
    let end = alone(|me| async move {
        let work = me.start_execution(1e9);
        me.sleep(secs(0.5)).await;
        work.cancel().await;
        assert!(work.test().await);
        assert_eq!(work.wait().await.unwrap_err(), ActivityError::Cancelled);
        // What is over stays as it was.
        let done = me.start_execution(0.0);
        done.wait().await.unwrap();
        done.cancel().await;
        done.wait().await.unwrap();
    });
    assert_eq!(end, 0.5);
}

#[test]
fn dropping_the_handle_cancels_it() {
    // The run does not wait for the 100 s.
    let end = alone(|me| async move {
        let work = me.start_execution(1e11);
        let same = work.clone();
        me.sleep(secs(1.0)).await;
        drop(work);
        // Any of the handles, as documented.
        assert_eq!(same.wait().await.unwrap_err(), ActivityError::Cancelled);
        drop(me.start_execution(1e11));
        drop(me.execute(1e11));
    });
    assert_eq!(end, 1.0);
}

#[test]
fn a_dropped_handle_of_a_transfer_shows_to_the_partner() {
    for drop_put in [false, true] {
        let mut simulation = Simulation::with_constant_model(1);
        let mailbox = simulation.new_mailbox();
        let same = mailbox.clone();
        simulation.spawn("drops", 0, move |me| async move {
            let handle = if drop_put {
                mailbox.put_async(1, 1.0).await
            } else {
                mailbox.get_async().await
            };
            me.sleep(secs(5e-7)).await;
            drop(handle);
        });
        simulation.spawn("partner", 0, move |me| async move {
            let result = if drop_put {
                same.get().await.map(drop)
            } else {
                same.put(1, 1.0).await
            };
            assert_eq!(result, Err(ActivityError::Cancelled));
            assert_eq!(me.now(), Time::from_secs(5e-7));
        });
        assert_eq!(simulation.run().outcome, Outcome::Finished);
    }
}

#[test]
fn a_bound_changes_how_long_it_takes() {
    // 2 Gflop: 1 s at full speed does half, the other half at 0.25 Gflop/s takes 4 s.
    let end = alone(|me| async move {
        let work = me.start_execution(2e9);
        me.sleep(secs(1.0)).await;
        work.update(Change::Bound(2.5e8));
        assert_eq!(work.remaining(), 1e9);
        work.wait().await.unwrap();
        // Nothing happens to what is over.
        work.update(Change::Bound(1.0));
    });
    assert_eq!(end, 5.0);
}

#[test]
fn a_handle_may_be_waited_for_by_another_actor() {
    let mut simulation = Simulation::with_constant_model(1);
    simulation.spawn("root", 0, |me| async move {
        let work = me.start_execution(2e9);
        let child = me
            .spawn("child", HostId(0), |me| async move {
                work.wait().await.unwrap();
                assert_eq!(me.now(), Time::from_secs(2.0));
            })
            .await;
        me.sleep(secs(1.0)).await;
        // The one that waits is killed: with it goes the handle, and the work.
        child.kill().await;
    });
    let report = simulation.run();
    assert_eq!(report.outcome, Outcome::Finished);
    assert_eq!(report.time, Time::from_secs(1.0));
}

#[test]
fn an_actor_may_be_killed_while_others_wait_for_its_work() {
    let mut simulation = Simulation::with_constant_model(1);
    let mailbox = simulation.new_mailbox();
    let same = mailbox.clone();
    let owner = simulation.spawn("owner", 0, |me| async move {
        let work = me.start_execution(5e9);
        let handle = sim_core::Message::new(work.clone());
        mailbox.put(handle, 1.0).await.unwrap();
        work.wait().await.map(drop)
    });
    simulation.spawn("waiter", 0, |me| async move {
        let message = same.get().await.unwrap();
        let work = message.downcast::<sim_core::Activity>().unwrap();
        assert_eq!(work.wait().await.unwrap_err(), ActivityError::Cancelled);
        assert_eq!(me.now(), Time::from_secs(1.0));
    });
    simulation.spawn("killer", 0, |me| async move {
        me.sleep(secs(1.0)).await;
        owner.kill().await;
    });
    assert_eq!(simulation.run().outcome, Outcome::Finished);
}

#[test]
fn an_actor_that_returns_the_end_of_an_activity_fails_in_its_words() {
    let ends = [
        (ActivityError::TimedOut, "timeout"),
        (ActivityError::Failed, "a host or a link failed"),
        (ActivityError::Cancelled, "the activity was cancelled"),
    ];
    for (error, text) in ends {
        let mut simulation = Simulation::with_constant_model(1);
        simulation.spawn("actor", 0, move |_| async move { Err::<(), _>(error) });
        let Outcome::Failed(failure) = simulation.run().outcome else {
            panic!("it returned {error:?}");
        };
        assert_eq!(failure.message, text);
    }
}
