//! Promise: the numbers of classes that can be derived come out, without a run in vain and without
//! a class twice.

use crate::programs;
use std::cell::Cell;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::seen::Observation;
use explore::{Options, Reduction, Statistics, TraceId, explore};
use sim_core::Stepper;

/// Explores a program and checks the properties of every exploration.
pub(crate) fn traces(
    mut stepper: Stepper,
    reduction: Reduction,
) -> (Statistics, BTreeSet<TraceId>) {
    let mut seen = Observation::default();
    let options = Options {
        reduction,
        ..Options::default()
    };
    let (statistics, broken) = explore(&mut stepper, &options, &mut seen);
    let seen = seen.0;
    assert_eq!(broken, None);
    assert!(statistics.bounds.is_empty());
    if reduction == Reduction::Odpor {
        assert_eq!(statistics.sleep_set_blocked, 0, "runs in vain");
        assert_eq!(statistics.executions, seen.len() as u64, "classes twice");
    }
    (statistics, seen)
}

/// Checks the number of runs that finish and the number of runs that end in a deadlock.
#[track_caller]
pub(crate) fn check(stepper: Stepper, finished: u64, deadlocks: u64) {
    let (statistics, _) = traces(stepper, Reduction::Odpor);
    assert_eq!(
        (statistics.finished, statistics.deadlocks),
        (finished, deadlocks),
        "{statistics:?}"
    );
}

/// Checks the same numbers, and that the reference searches find the same classes.
#[track_caller]
pub(crate) fn check_judged(make: impl Fn() -> Stepper, finished: u64, deadlocks: u64) {
    check(make(), finished, deadlocks);
    let (_, optimal) = traces(make(), Reduction::Odpor);
    for judge in [Reduction::None, Reduction::Sleep, Reduction::Sdpor] {
        let (_, all) = traces(make(), judge);
        assert!(
            optimal == all,
            "{judge:?}: {} classes, not {}",
            all.len(),
            optimal.len()
        );
    }
}

/// The orders in which n actors can ask for one mutex.
#[test]
fn users_of_a_mutex_come_in_every_order() {
    for (users, orders) in [(2, 2), (3, 6)] {
        check_judged(|| programs::mutex_users(users), orders, 0);
    }
    for (users, orders) in [(4, 24), (5, 120), (6, 720), (7, 5040)] {
        check(programs::mutex_users(users), orders, 0);
    }
}

/// Each fork is first taken by one of its two philosophers: 2^n ways, less the two ways in which
/// each philosopher waits for the next.
#[test]
fn ordered_philosophers_have_two_ways_less_than_forks_have() {
    check_judged(|| programs::philosophers(3, true), 6, 0);
    for (number, ways) in [(4, 14), (5, 30), (7, 126), (10, 1022)] {
        check(programs::philosophers(number, true), ways, 0);
    }
}

/// The same, and one of the two is a deadlock.
#[test]
fn unordered_philosophers_have_one_deadlock() {
    for (number, ways) in [(2, 2), (3, 6)] {
        check_judged(|| programs::philosophers(number, false), ways, 1);
    }
    for (number, ways) in [(4, 14), (5, 30)] {
        check(programs::philosophers(number, false), ways, 1);
    }
}

#[test]
fn philosophers_at_a_table_eat_in_every_order() {
    for (number, orders) in [(2, 2), (3, 6), (4, 24)] {
        check(programs::philosophers_with_table(number), orders, 0);
    }
}

/// Published: 96 (philosophers semaphores, 3).
#[test]
fn philosophers_with_a_semaphore() {
    check(programs::philosophers_with_semaphore(3), 96, 0);
}

#[test]
fn receives_meet_sends_in_every_order() {
    for (number, orders) in [(2, 2), (3, 6)] {
        check_judged(|| programs::receives(number), orders, 0);
    }
    for (number, orders) in [(4, 24), (5, 120), (6, 720), (7, 5040)] {
        check(programs::receives(number), orders, 0);
    }
}

#[test]
fn producers_and_consumers() {
    check(programs::producers_consumers(2, 2, 1, 1), 4, 0);
    check(programs::producers_consumers(2, 2, 1, 2), 64, 0);
    check(programs::producers_consumers(2, 2, 2, 1), 36, 0);
}

/// 25,812 classes, by three independent enumerations. A published checker says 25,754.
#[test]
fn producers_and_consumers_with_room_for_two() {
    check(programs::producers_consumers(2, 2, 2, 2), 25_812, 0);
}

#[test]
fn arrivals_at_a_barrier_commute() {
    for actors in 1..4 {
        check_judged(|| programs::barrier(actors, 1), 1, 0);
    }
    check(programs::barrier(3, 3), 1, 0);
}

/// An actor locks a mutex before a barrier of two, another actor locks the mutex behind.
fn locks_around_a_barrier() -> Stepper {
    Stepper::on_one_host(|simulation| {
        let (mutex, barrier) = (simulation.new_mutex(), simulation.new_barrier(2));
        let (same, other) = (mutex.clone(), barrier.clone());
        simulation.spawn_anonymous(0, |_| async move {
            mutex.lock().await;
            mutex.unlock().await;
            barrier.wait().await;
        });
        simulation.spawn_anonymous(0, |_| async move {
            other.wait().await;
            same.lock().await;
            same.unlock().await;
        });
    })
}

/// One class: the lock before the barrier comes first.
#[test]
fn what_comes_after_a_barrier_never_comes_before_an_arrival() {
    check_judged(locks_around_a_barrier, 1, 0);
}

#[test]
fn draws_are_branches() {
    let (statistics, seen) = traces(programs::draws(), Reduction::Odpor);
    assert_eq!(
        (statistics.executions, seen.len(), statistics.failed),
        (36, 36, 1)
    );
}

/// Some actors wait for a flag under a mutex and a condition variable; one more actor sets the flag
/// and wakes all.
fn broadcast(waiters: u32) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let (mutex, condvar) = (simulation.new_mutex(), simulation.new_condvar());
        // Used only by who has the mutex.
        let flag = Rc::new(Cell::new(false));
        for _ in 0..waiters {
            let (mutex, condvar, flag) = (mutex.clone(), condvar.clone(), Rc::clone(&flag));
            simulation.spawn_anonymous(0, move |_| async move {
                mutex.lock().await;
                while !flag.get() {
                    condvar.wait(&mutex).await.expect("no limit");
                }
                mutex.unlock().await;
            });
        }
        simulation.spawn_anonymous(0, move |_| async move {
            mutex.lock().await;
            flag.set(true);
            condvar.broadcast().await;
            mutex.unlock().await;
        });
    })
}

/// One actor waits for any of two messages, then for the other message; `bugged`: the actor fails
/// unless the first message comes first.
fn wait_any(bugged: bool) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let mailboxes = [simulation.new_mailbox(), simulation.new_mailbox()];
        for mailbox in mailboxes.clone() {
            simulation.spawn_anonymous(0, move |_| async move { mailbox.put(1, 1.0).await });
        }
        simulation.spawn_anonymous(0, move |me| async move {
            let [one, other] = &mailboxes;
            let gets = [one.get_async().await, other.get_async().await];
            let first = me.wait_any(&[&gets[0], &gets[1]]).await;
            if bugged && first == 1 {
                return Err("the second one came first".to_owned());
            }
            let rest = gets[1 - first].wait().await;
            rest.map(drop).map_err(|error| error.to_string())
        });
    })
}

/// With n waiters: k of them have the mutex before the broadcast, in any of n!/(n-k)! orders. These
/// ask for the mutex again after the broadcast, and the others for the first time, in any of n!
/// orders. Sums: 2, 10, 96. (A published program of this name uses no condition variable:
/// `created::programs::roll_call`.)
#[test]
fn waiters_for_a_broadcast() {
    check_judged(|| broadcast(1), 2, 0);
    check_judged(|| broadcast(2), 10, 0);
    check(broadcast(3), 96, 0);
    check(broadcast(4), 65 * 24, 0);
}

/// Published: 2, and a violation. Which of the two messages is taken first is the only choice.
#[test]
fn any_of_two_messages() {
    check_judged(|| wait_any(false), 2, 0);
    // An actor that fails gives up its other get, which its sender sees sooner or later.
    let (statistics, _) = traces(wait_any(true), Reduction::Odpor);
    assert!(statistics.finished > 0 && statistics.failed > 0);
}
