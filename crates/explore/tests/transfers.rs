//! Promise: the search does not know the duration of work. A step that meets work comes before or
//! after its end, in each way that a run could show; with instant transfers only after the end.

use crate::explored;
use std::collections::BTreeSet;
use std::rc::Rc;

use crate::explored::{Observation, set};
use explore::{Report, Verdict};
use sim_core::{Activity, Mailbox, Simulation, Stepper};

fn explored(
    allow: impl Fn(&mut Stepper),
    program: impl Fn(&mut Simulation, &Observation) + Clone + 'static,
) -> (Report, BTreeSet<String>) {
    explored::explored(fuzz::actors::two_hosts, allow, program)
}

fn lasting(_: &mut Stepper) {}

/// One actor puts and the other gets; when both have posted, each actor takes a further action.
fn pair<P, G>(put: P, get: G) -> impl Fn(&mut Simulation, &Observation) + Clone + 'static
where
    P: AsyncFn(Activity, Mailbox, Observation) + Clone + 'static,
    G: AsyncFn(Activity, Mailbox, Observation) + Clone + 'static,
{
    move |simulation, seen| {
        let [data, talk] = [simulation.new_mailbox(), simulation.new_mailbox()];
        let barrier = simulation.new_barrier(2);
        let (put, seen_by_putter) = (put.clone(), Rc::clone(seen));
        let own = (data.clone(), talk.clone(), barrier.clone());
        simulation.spawn_anonymous(0, move |_| async move {
            let activity = own.0.put_async(1_u64, 8.0).await;
            own.2.wait().await;
            put(activity, own.1, seen_by_putter).await;
        });
        let (get, seen) = (get.clone(), Rc::clone(seen));
        simulation.spawn_anonymous(1, move |_| async move {
            let activity = data.get_async().await;
            barrier.wait().await;
            get(activity, talk, seen).await;
        });
    }
}

fn note(seen: &Observation, what: &str, value: impl std::fmt::Debug) {
    seen.borrow_mut().insert(format!("{what}: {value:?}"));
}

async fn waits(activity: Activity, _: Mailbox, _: Observation) {
    activity.wait().await.ok();
}

#[test]
fn a_test_meets_a_transfer_before_or_after_its_end() {
    let program = pair(waits, async |get: Activity, _, seen| {
        note(&seen, "over", get.test().await);
        get.wait().await.ok();
    });
    let (report, seen) = explored(lasting, program.clone());
    assert_eq!(seen, set(&["over: false", "over: true"]));
    assert_eq!(report.verdict, Verdict::Ok);
    let (report, seen) = explored(Stepper::use_instant_transfers, program);
    assert_eq!(seen, set(&["over: true"]));
    assert_eq!(report.statistics.executions, 1);
}

/// An actor that was told about the end can tell others: the end has one date.
#[test]
fn both_sides_see_one_end() {
    let program = pair(
        async |put: Activity, talk: Mailbox, _| {
            put.wait().await.ok();
            talk.put(1_u64, 8.0).await.ok();
        },
        async |get: Activity, talk: Mailbox, seen| {
            talk.get().await.ok();
            note(&seen, "over", get.test().await);
            get.wait().await.ok();
        },
    );
    assert_eq!(explored(lasting, program).1, set(&["over: true"]));
}

/// A loop of tests ends when the transfer does: neither a livelock nor a bound.
#[test]
fn loops_of_tests_end() {
    let program = pair(
        async |put: Activity, talk: Mailbox, _| {
            while !put.test().await {}
            talk.put(1_u64, 8.0).await.ok();
        },
        async |get: Activity, talk: Mailbox, _| {
            let other = talk.get_async().await;
            loop {
                if other.test().await || get.test().await {
                    break;
                }
            }
            get.wait().await.ok();
            while !get.test().await {
                get.test().await;
            }
            other.wait().await.ok();
        },
    );
    assert_eq!(explored(lasting, program).0.verdict, Verdict::Ok);
}

#[test]
fn a_cancellation_catches_a_transfer_or_comes_too_late() {
    let program = pair(
        async |put: Activity, _, _| put.cancel().await,
        async |get: Activity, _, seen| {
            note(&seen, "received", get.wait().await.is_ok());
        },
    );
    let both = set(&["received: false", "received: true"]);
    assert_eq!(explored(lasting, program.clone()).1, both);
    let instant = explored(Stepper::use_instant_transfers, program);
    assert_eq!(instant.1, set(&["received: true"]));
}

/// The failure comes before, on the way, or after; both sides are told the same.
#[test]
fn a_link_fails_under_a_transfer() {
    let told = async |side: &str, activity: Activity, seen: Observation| {
        note(&seen, side, activity.wait().await.is_ok());
    };
    let program = pair(
        async move |put: Activity, _, seen| told("put", put, seen).await,
        async move |get: Activity, _, seen| told("get", get, seen).await,
    );
    let wire_fails = |stepper: &mut Stepper| {
        stepper
            .allow_failures(1, &["wire".to_owned()])
            .expect("there is a wire");
    };
    let all = set(&["put: true", "put: false", "get: true", "get: false"]);
    assert_eq!(explored(wire_fails, program).1, all);
}

/// The same program, but the link goes off only when both sides have posted: only a failure in
/// flight can be seen.
#[test]
fn a_link_that_goes_off_later_fails_what_is_on_its_way() {
    let program = |simulation: &mut Simulation, seen: &Observation| {
        let data = simulation.new_mailbox();
        let barrier = simulation.new_barrier(2);
        let (own, seen) = ((data.clone(), barrier.clone()), Rc::clone(seen));
        simulation.spawn_anonymous(0, move |me| async move {
            let put = own.0.put_async(1_u64, 8.0).await;
            own.1.wait().await;
            let wire = me.link_by_name("wire").expect("there is one");
            wire.turn_off().await;
            note(&seen, "received", put.wait().await.is_ok());
        });
        simulation.spawn_anonymous(1, move |_| async move {
            let get = data.get_async().await;
            barrier.wait().await;
            get.wait().await.ok();
        });
    };
    let both = set(&["received: false", "received: true"]);
    assert_eq!(explored(lasting, program).1, both);
    let instant = explored(Stepper::use_instant_transfers, program);
    assert_eq!(instant.1, set(&["received: true"]));
}
