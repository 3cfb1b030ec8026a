//! Promise: a bound that was hit is reported, and then the verdict is never "ok"; random runs find
//! the defects of the program.

mod findings;

use explore::{Bound, Options, Report, Strategy, Verdict, check};
use sim_core::Stepper;

use crate::programs;

fn bounded(options: Options) -> Report {
    check(programs::mutex_users(5), &options)
}

#[track_caller]
fn hits(report: &Report, bound: Bound) {
    assert_eq!(report.verdict, Verdict::Bounded, "{report:?}");
    assert!(!report.is_exhaustive());
    assert!(
        report.statistics.bounds.iter().any(|other| other == bound),
        "{report:?}"
    );
}

#[test]
fn bounds_are_said() {
    assert_eq!(bounded(Options::default()).verdict, Verdict::Ok);
    let traces = Options {
        executions_max: 7,
        ..Options::default()
    };
    hits(&bounded(traces), Bound::Executions);
    let transitions = Options {
        transitions_max: 5_000,
        ..Options::default()
    };
    let report = check(programs::mutex_users(7), &transitions);
    hits(&report, Bound::Transitions);
    assert!(report.statistics.transitions < 20_000);
    let depth = Options {
        depth_max: 6,
        ..Options::default()
    };
    hits(&bounded(depth), Bound::Depth);
    let time = Options {
        seconds_max: 0.0,
        ..Options::default()
    };
    hits(&check(programs::mutex_users(7), &time), Bound::Time);
}

#[test]
fn a_search_can_stop_at_the_first_finding() {
    let first = Options {
        findings_max: 1,
        goes_on: false,
        ..Options::default()
    };
    let report = check(programs::philosophers(3, false), &first);
    assert_eq!(report.verdict, Verdict::Found);
    assert!(!report.is_exhaustive());
    assert_eq!(report.statistics.deadlocks, 1);
}

#[test]
fn drawn_runs_find_a_deadlock_and_the_same_seed_draws_the_same() {
    for strategy in [
        Strategy::Uniform { seed: 3 },
        Strategy::Pct { seed: 3, depth: 3 },
    ] {
        let options = Options {
            strategy,
            findings_max: 1,
            goes_on: false,
            executions_max: 5_000,
            ..Options::default()
        };
        let search = || check(programs::philosophers(3, false), &options);
        let (one, same) = (search(), search());
        assert_eq!(one.verdict, Verdict::Found, "{strategy:?}");
        assert_eq!(one.statistics.executions, same.statistics.executions);
        assert_eq!(one.findings, same.findings);
        // Nothing found is not a proof.
        let fine = check(
            programs::mutex_users(2),
            &Options {
                executions_max: 50,
                ..options.clone()
            },
        );
        hits(&fine, Bound::Sampling);
    }
}

#[test]
fn a_busy_loop_ends_and_one_that_never_will_is_a_livelock() {
    let spin = |releases: bool| {
        Stepper::on_one_host(move |simulation| {
            let mutex = simulation.new_mutex();
            let same = mutex.clone();
            simulation.spawn_anonymous(0, move |me| async move {
                mutex.lock().await;
                if releases {
                    mutex.unlock().await;
                } else {
                    me.sleep(sim_core::Span::INFINITE).await;
                    std::future::pending::<()>().await;
                }
            });
            simulation.spawn_anonymous(0, move |me| async move {
                while !same.try_lock().await {
                    me.yield_now().await;
                }
                same.unlock().await;
            });
        })
    };
    let report = check(spin(true), &Options::default());
    assert_eq!(report.verdict, Verdict::Ok, "{report:?}");
    let depth = Options {
        depth_max: 100,
        ..Options::default()
    };
    assert_eq!(check(spin(false), &depth).verdict, Verdict::Found);
}

#[test]
fn a_program_that_is_not_deterministic_is_called_so() {
    let runs = std::cell::Cell::new(0);
    let stepper = Stepper::on_one_host(move |simulation| {
        runs.set(runs.get() + 1);
        let objects = [simulation.new_mutex(), simulation.new_mutex()];
        for _ in 0..3 {
            let mutex = objects[usize::from(runs.get() > 2 && runs.get() % 3 > 0)].clone();
            simulation.spawn_anonymous(0, |_| async move { mutex.lock().await });
        }
    });
    let report = check(stepper, &Options::default());
    assert!(matches!(report.verdict, Verdict::Broken(_)), "{report:?}");
}

/// A program that changes once repeats its steps from then on, but not the steps of the first run.
#[test]
fn a_program_that_changes_once_is_not_deterministic() {
    let runs = std::cell::Cell::new(0);
    let stepper = Stepper::on_one_host(move |simulation| {
        runs.set(runs.get() + 1);
        let objects = [simulation.new_mutex(), simulation.new_mutex()];
        for _ in 0..3 {
            let mutex = objects[usize::from(runs.get() > 2)].clone();
            simulation.spawn_anonymous(0, |_| async move { mutex.lock().await });
        }
    });
    let report = check(stepper, &Options::default());
    assert!(matches!(report.verdict, Verdict::Broken(_)), "{report:?}");
}
