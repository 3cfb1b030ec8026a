//! Promise: if time limits and failures are allowed, the search finds exactly the possible effects,
//! and no such effect unless they are allowed.

use crate::explored;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::explored::{Observation, set};
use explore::{Options, Report, Verdict, check};
use sim_core::{ActivityError, Actor, Simulation, Span, Stepper};

fn explored(
    allow: fn(&mut Stepper),
    program: impl Fn(&mut Simulation, &Observation) + Clone + 'static,
) -> (Report, BTreeSet<String>) {
    explored::explored(|| Simulation::with_constant_model(2), allow, program)
}

/// Counts of runs that finish and that end in a deadlock.
const fn ends(report: &Report) -> (u64, u64) {
    (report.statistics.finished, report.statistics.deadlocks)
}

fn nothing(_: &mut Stepper) {}

fn a_get_with_a_limit(simulation: &mut Simulation, seen: &Observation) {
    let mailbox = simulation.new_mailbox();
    let (from, notes) = (mailbox.clone(), Rc::clone(seen));
    simulation.spawn("sender", 0, move |_| async move {
        let end = mailbox.put(1, 8.0).await;
        notes.borrow_mut().insert(format!("put: {end:?}"));
    });
    let notes = Rc::clone(seen);
    simulation.spawn("receiver", 1, move |_| async move {
        let end = from.get_timeout(Span::from_secs(1.0)).await;
        let end = end.map(|message| message.word());
        notes.borrow_mut().insert(format!("get: {end:?}"));
    });
}

/// The limit expires before the message is sent (the sender then waits for ever), while the message
/// is in flight (the sender sees this), or too late to matter: the sender already knows that the
/// message was received. Or the limit does not expire.
#[test]
fn a_get_with_a_limit_ends_in_each_possible_way() {
    let (report, seen) = explored(nothing, a_get_with_a_limit);
    assert_eq!((ends(&report), report.verdict), ((1, 0), Verdict::Ok));
    assert_eq!(seen, set(&["put: Ok(())", "get: Ok(Some(1))"]));
    let (report, seen) = explored(Stepper::allow_timeouts, a_get_with_a_limit);
    assert_eq!(ends(&report), (3, 1));
    let cancelled = format!("put: Err({:?})", ActivityError::Cancelled);
    let late = format!("get: Err({:?})", ActivityError::TimedOut);
    let all = ["put: Ok(())", "get: Ok(Some(1))", &cancelled, &late];
    assert_eq!(seen, set(&all));
}

/// A unit that is there is got: no time passes before the wait. One that has to be given back may
/// come too late.
#[test]
fn an_acquire_with_a_limit_waits_only_for_what_is_not_there() {
    for (units, orders) in [(1, 1), (0, 2)] {
        let (report, seen) = explored(Stepper::allow_timeouts, move |simulation, seen| {
            let semaphore = simulation.new_semaphore(units);
            let (same, notes) = (semaphore.clone(), Rc::clone(seen));
            simulation.spawn("taker", 0, move |_| async move {
                let got = same.acquire_timeout(Span::ZERO).await.is_ok();
                notes.borrow_mut().insert(got.to_string());
            });
            simulation.spawn("giver", 0, move |me| async move {
                me.yield_now().await;
                if units == 0 {
                    semaphore.release().await;
                }
            });
        });
        assert_eq!(ends(&report), (orders, 0), "{units} units");
        let all: &[&str] = if units == 0 {
            &["false", "true"]
        } else {
            &["true"]
        };
        assert_eq!(seen, set(all));
    }
}

/// The target ends, or the time limit: before each of the two steps of the target, or after both.
#[test]
fn a_join_with_a_limit_comes_before_each_step_of_its_target_and_after() {
    let (report, seen) = explored(Stepper::allow_timeouts, |simulation, seen| {
        let target = simulation.spawn("target", 0, |me| async move {
            me.yield_now().await;
            me.yield_now().await;
        });
        let notes = Rc::clone(seen);
        simulation.spawn("joiner", 0, move |_| async move {
            let ended = target.join_timeout(Span::ZERO).await.is_ok();
            notes.borrow_mut().insert(ended.to_string());
        });
    });
    assert_eq!(ends(&report), (3, 0));
    assert_eq!(seen, set(&["false", "true"]));
}

/// A computation takes time that the explorer does not know.
#[test]
fn work_may_take_longer_than_a_limit() {
    let (report, seen) = explored(Stepper::allow_timeouts, |simulation, seen| {
        let notes = Rc::clone(seen);
        simulation.spawn_anonymous(0, move |me| async move {
            let works = [me.start_execution(1e9), me.start_execution(1e9)];
            let [one, other] = &works;
            let first = me.wait_any_timeout(&[one, other], Span::ZERO).await;
            notes.borrow_mut().insert(format!("any: {first:?}"));
            let end = one.wait_timeout(Span::ZERO).await.is_ok();
            notes.borrow_mut().insert(format!("one: {end}"));
        });
    });
    // Three ends of the first wait, two of the second.
    assert_eq!(ends(&report), (6, 0));
    let first = ["any: Ok(0)", "any: Ok(1)", "any: Err(TimedOut)"];
    assert_eq!(seen, &set(&first) | &set(&["one: true", "one: false"]));
}

/// No actor receives the message, so the limit ends the wait: no deadlock.
#[test]
fn a_put_with_a_limit_that_nobody_receives_ends() {
    let put = |simulation: &mut Simulation, seen: &Observation| {
        let (mailbox, notes) = (simulation.new_mailbox(), Rc::clone(seen));
        simulation.spawn_anonymous(0, move |_| async move {
            let end = mailbox.put_timeout(1, 8.0, Span::from_secs(1.0)).await;
            notes.borrow_mut().insert(format!("{end:?}"));
        });
    };
    let late = format!("Err({:?})", ActivityError::TimedOut);
    for allow in [nothing, Stepper::allow_timeouts, no_host_fails] {
        let (report, seen) = explored(allow, put);
        assert_eq!((ends(&report), report.verdict), ((1, 0), Verdict::Ok));
        assert_eq!(seen, set(&[&late]));
    }
}

fn no_host_fails(stepper: &mut Stepper) {
    let host = ["host-1".to_owned()];
    stepper.allow_failures(0, &host).expect("it is there");
}

/// Each timed wait fails after the limit, and a wait without a limit is still a deadlock.
#[test]
fn every_wait_with_a_limit_ends_when_nothing_else_can_happen() {
    for is_last in [true, false] {
        let (report, seen) = explored(nothing, move |simulation, seen| {
            let mailbox = simulation.new_mailbox();
            let (semaphore, mutex) = (simulation.new_semaphore(0), simulation.new_mutex());
            let condvar = simulation.new_condvar();
            let (silent, notes) = (mailbox.clone(), Rc::clone(seen));
            let target = simulation.spawn_anonymous(1, move |_| async move {
                drop(silent.get().await);
            });
            target.daemonize();
            simulation.spawn_anonymous(0, move |me| async move {
                let limit = Span::from_secs(1.0);
                let acquired = semaphore.acquire_timeout(limit).await.is_err();
                let joined = target.join_timeout(limit).await.is_err();
                mutex.lock().await;
                let signalled = condvar.wait_timeout(&mutex, limit).await.is_err();
                mutex.unlock().await;
                let other = me.new_mailbox();
                let activity = other.get_async().await;
                let any = me.wait_any_timeout(&[&activity], limit).await.is_err();
                let one = activity.wait_timeout(limit).await.is_err();
                let ends = [acquired, joined, signalled, any, one];
                notes.borrow_mut().insert(format!("{ends:?}"));
                if !is_last {
                    drop(other.get().await);
                }
            });
        });
        let expected = if is_last { (1, 0) } else { (0, 1) };
        assert_eq!(ends(&report), expected);
        assert_eq!(seen, set(&["[true, true, true, true, true]"]));
    }
}

/// As if all else took no time: an answer after some limits of a second comes in time or does not.
#[test]
fn the_limit_that_ends_first_is_up_first() {
    for (seconds, in_time) in [(1, true), (4, true), (6, false)] {
        let (report, seen) = explored(nothing, move |simulation, seen| {
            let (answers, silent) = (simulation.new_mailbox(), simulation.new_mailbox());
            let (same, notes) = (answers.clone(), Rc::clone(seen));
            simulation.spawn("master", 0, move |_| async move {
                let got = same.get_timeout(Span::from_secs(5.0)).await.is_ok();
                notes.borrow_mut().insert(got.to_string());
            });
            simulation.spawn("worker", 1, move |_| async move {
                for _ in 0..seconds {
                    drop(silent.get_timeout(Span::from_secs(1.0)).await);
                }
                answers.put_detached(1, 8.0).await;
            });
        });
        assert_eq!((ends(&report), report.verdict), ((1, 0), Verdict::Ok));
        assert_eq!(seen, set(&[&in_time.to_string()]), "{seconds} s");
    }
}

/// A daemon that looks again and again every second lets the run end.
#[test]
fn limits_of_daemons_do_not_keep_a_run_going() {
    let (report, _) = explored(nothing, |simulation, _| {
        let mailbox = simulation.new_mailbox();
        let daemon = simulation.spawn_anonymous(0, move |_| async move {
            loop {
                drop(mailbox.get_timeout(Span::from_secs(1.0)).await);
            }
        });
        daemon.daemonize();
        simulation.spawn_anonymous(0, |me| async move { me.yield_now().await });
    });
    assert_eq!(report.verdict, Verdict::Ok);
}

/// A worker that answers a master.
async fn worker(me: Actor, answers: sim_core::Mailbox) {
    me.yield_now().await;
    answers.put_detached(1, 8.0).await;
}

fn host_1_fails(stepper: &mut Stepper) {
    stepper
        .allow_failures(1, &["host-1".to_owned()])
        .expect("there is such a host");
}

/// No host fails; or the host fails before the first step of the worker, between the two steps,
/// while the answer is in flight, or after the answer.
#[test]
fn a_host_may_fail_at_any_moment() {
    let program = |simulation: &mut Simulation, seen: &Observation| {
        let answers = simulation.new_mailbox();
        let (same, notes) = (answers.clone(), Rc::clone(seen));
        simulation.spawn("worker", 1, move |me| worker(me, answers));
        simulation.spawn("master", 0, move |_| async move {
            let got = same.get().await.is_ok();
            notes.borrow_mut().insert(got.to_string());
        });
    };
    assert_eq!(explored(nothing, program).0.verdict, Verdict::Ok);
    let (report, seen) = explored(host_1_fails, program);
    assert_eq!(report.findings[0].kind.name(), "deadlock");
    // Once it fails while the answer is on its way.
    assert_eq!(seen, set(&["false", "true"]));
    let (_, seen) = explored(
        |stepper| {
            stepper.use_instant_transfers();
            host_1_fails(stepper);
        },
        program,
    );
    assert_eq!(seen, set(&["true"]));
    // The way there is what matters only: the draw that something fails, and the failure.
    let shortest = report.findings.iter().map(|found| found.steps.len()).min();
    assert!(shortest.is_some_and(|steps| steps <= 4), "{shortest:?}");
}

/// With a limit the master continues without the worker.
#[test]
fn a_master_that_does_not_wait_for_ever_survives() {
    let (report, seen) = explored(
        |stepper| {
            stepper.allow_timeouts();
            host_1_fails(stepper);
        },
        |simulation, seen| {
            let answers = simulation.new_mailbox();
            let (same, notes) = (answers.clone(), Rc::clone(seen));
            simulation.spawn("worker", 1, move |me| worker(me, answers));
            simulation.spawn("master", 0, move |_| async move {
                let got = same.get_timeout(Span::from_secs(1.0)).await.is_ok();
                notes.borrow_mut().insert(got.to_string());
            });
        },
    );
    assert_eq!(report.verdict, Verdict::Ok);
    assert_eq!(seen, set(&["false", "true"]));
}

/// Each of two hosts has an actor that waits for ever. With one failure one of them continues
/// waiting; with two, both may be gone.
#[test]
fn failures_are_bounded() {
    let program = |simulation: &mut Simulation| {
        for host in 0..2 {
            let mailbox = simulation.new_mailbox();
            simulation.spawn_anonymous(host, move |_| async move { drop(mailbox.get().await) });
        }
    };
    for (most, finished) in [(1, 0), (2, 2)] {
        let mut stepper = Stepper::new(|| Simulation::with_constant_model(2), program);
        stepper.allow_failures(most, &[]).expect("all hosts");
        let statistics = check(stepper, &Options::default()).statistics;
        assert!(statistics.deadlocks > 0);
        // In the order of the failures.
        assert_eq!(statistics.finished > 0, finished > 0, "{statistics:?}");
    }
}

#[test]
fn names_of_nothing_are_told() {
    let mut stepper = Stepper::on_one_host(|_| {});
    let names = ["host-0", "host-9", "wire"].map(str::to_owned);
    let unknown = stepper.allow_failures(1, &names);
    assert_eq!(unknown, Err(vec!["host-9".to_owned(), "wire".to_owned()]));
}
