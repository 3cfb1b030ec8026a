//! Promise: an invariant is checked after every step of every order. No order is left out, even if
//! the steps are independent.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use explore::{
    Deadline, Options, Reduction, Report, Threads, Verdict, check, check_on_threads, minimise,
    replay_schedule,
};
use sim_core::{Actor, Stepper};

/// Two actors take two unrelated steps each, and record the actor of each step. One order of the
/// six is forbidden. `late`: the first actor states this invariant in the first step; otherwise the
/// invariant holds from the beginning.
fn notes(states: bool, late: bool) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let order = Rc::new(RefCell::new(Vec::new()));
        let same = Rc::clone(&order);
        let holds = move || *same.borrow() != [0, 1, 1, 0];
        if states && !late {
            simulation.invariant("not 0110", holds.clone());
        }
        for number in 0..2 {
            let (order, holds) = (Rc::clone(&order), holds.clone());
            simulation.spawn_anonymous(0, move |me: Actor| async move {
                for step in 0..2 {
                    me.yield_now().await;
                    order.borrow_mut().push(number);
                    if states && late && (number, step) == (0, 0) {
                        me.invariant("not 0110", holds.clone());
                    }
                }
            });
        }
    })
}

fn options(reduction: Reduction) -> Options {
    Options {
        reduction,
        ..Options::default()
    }
}

#[track_caller]
fn is_found(report: &Report) {
    let counted = &report.statistics;
    // 4! / (2! 2!) orders.
    assert_eq!((counted.executions, counted.failed), (6, 1), "{report:?}");
    assert_eq!(report.verdict, Verdict::Found);
    let [finding] = &report.findings[..] else {
        panic!("one order violates it: {report:?}")
    };
    assert_eq!(finding.kind.name(), "invariant");
    assert_eq!(finding.message, "the invariant \"not 0110\" does not hold");
    assert_eq!(finding.replay.to_string(), "1;2;2;1");
}

#[test]
fn independent_steps_are_not_left_out() {
    let report = check(notes(false, false), &options(Reduction::Odpor));
    assert_eq!(report.statistics.executions, 1, "they are independent");
    for late in [false, true] {
        for reduction in [
            Reduction::Odpor,
            Reduction::Sdpor,
            Reduction::Sleep,
            Reduction::None,
        ] {
            is_found(&check(notes(true, late), &options(reduction)));
        }
    }
}

#[test]
fn a_finding_replays() {
    let report = check(notes(true, true), &Options::default());
    let finding = &report.findings[0];
    let mut stepper = notes(true, true);
    let again = replay_schedule(&mut stepper, &finding.replay);
    assert_eq!(again.steps.len(), 4);
    let found = again.finding.expect("it is there again");
    assert_eq!(
        (found.kind.name(), &found.message),
        ("invariant", &finding.message)
    );
    assert_eq!(
        minimise(&mut stepper, finding, &Deadline::default()).replay,
        finding.replay
    );
    let other = replay_schedule(&mut stepper, &"1;2;1;2".parse().expect("a schedule"));
    assert_eq!(other.finding, None);
}

#[test]
fn threads_and_interruptions_change_nothing() {
    for number in [1, 2] {
        let threads = Threads {
            number,
            make: &|| notes(true, true),
            around: &|work| work(),
        };
        is_found(&check_on_threads(&threads, &Options::default(), None));
        let few = Options {
            executions_max: 2,
            ..Options::default()
        };
        let first = check_on_threads(&threads, &few, None);
        let kept = first.checkpoint.expect("it was interrupted");
        let rest = check_on_threads(&threads, &Options::default(), Some(&kept));
        is_found(&rest);
    }
}

/// Critical sections with a lock and without one.
fn sections(actors: usize, locks: bool) -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let inside = Rc::new(Cell::new(0));
        let same = Rc::clone(&inside);
        simulation.invariant("at most one inside", move || same.get() <= 1);
        let mutex = simulation.new_mutex();
        for _ in 0..actors {
            let (inside, mutex) = (Rc::clone(&inside), mutex.clone());
            simulation.spawn_anonymous(0, move |me: Actor| async move {
                if locks {
                    mutex.lock().await;
                }
                inside.set(inside.get() + 1);
                me.yield_now().await;
                inside.set(inside.get() - 1);
                if locks {
                    mutex.unlock().await;
                }
            });
        }
    })
}

#[test]
fn a_lock_excludes_others() {
    let report = check(sections(3, true), &Options::default());
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
    assert!(report.is_exhaustive());
    // Every order is a class of its own.
    let judge = check(sections(3, true), &options(Reduction::None));
    assert_eq!(report.statistics.executions, judge.statistics.executions);
    assert_eq!(
        check(sections(2, false), &Options::default()).verdict,
        Verdict::Found
    );
}

/// A violated invariant ends the actor and is not violated again; the other actors continue.
#[test]
fn an_invariant_is_violated_once_per_run() {
    let stepper = Stepper::on_one_host(|simulation| {
        simulation.invariant("never", || false);
        for _ in 0..2 {
            simulation.spawn_anonymous(0, |me: Actor| async move { me.yield_now().await });
        }
    });
    let report = check(stepper, &Options::default());
    assert_eq!(
        (report.statistics.executions, report.statistics.failed),
        (1, 1)
    );
}
