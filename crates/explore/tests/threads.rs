//! Promise: the same runs, in the same order, with the same counts, on any number of threads.
//!
//! `EXPLORE_PROGRAMS` sets how many random programs of each family are compared, 40 by default.

use crate::programs;
use std::ops::ControlFlow;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::time::Duration;

use explore::{
    Checkpoint, Collector, End, Options, Report, Run, Statistics, Threads, TraceId, Verdict, check,
    check_on_threads, explore_on_threads,
};
use fuzz::actors::{self, Family};
use sim_core::Stepper;

/// All runs, in order.
#[derive(Default, PartialEq, Debug)]
struct Runs(Vec<(TraceId, End)>);

impl Collector for Runs {
    type Observation = (TraceId, End);

    fn examine_run(run: &Run<'_>) -> Self::Observation {
        (run.path.trace_id(), run.end)
    }

    fn collect_observation(&mut self, seen: Self::Observation) -> ControlFlow<()> {
        self.0.push(seen);
        ControlFlow::Continue(())
    }

    fn on_restart(&mut self) {
        self.0.clear();
    }
}

type Make<'a> = &'a (dyn Fn() -> Stepper + Sync);

fn threads(number: usize, make: Make<'_>) -> Threads<'_> {
    Threads {
        number,
        make,
        around: &|work| work(),
    }
}

/// Returns the runs and the counts of a search, without the times.
fn search(number: usize, make: Make<'_>, options: &Options) -> (Runs, Statistics) {
    let mut runs = Runs::default();
    let (mut statistics, broken) = explore_on_threads(&threads(number, make), options, &mut runs);
    assert_eq!(broken, None);
    // How many steps are pending at one time depends on what is explored ahead of its turn.
    (statistics.seconds, statistics.pending_max) = (0.0, 0);
    (runs, statistics)
}

#[track_caller]
fn compare(what: &str, make: Make<'_>, options: &Options) {
    let mut alone = search(1, make, options);
    let number_of_steps = search(2, make, options).1.transitions;
    for number in [2, 3] {
        let mut together = search(number, make, options);
        assert_eq!(together.1.transitions, number_of_steps, "{what}");
        if alone.1.restarts > 0 {
            // How far a run comes in which something is learnt is not the same.
            (alone.1.transitions, together.1.transitions) = (0, 0);
        }
        assert!(
            alone == together,
            "{what} on {number} threads: {:?}\nalone: {:?}",
            together.1,
            alone.1
        );
    }
}

#[test]
fn programs_with_known_answers() {
    let all: [(&str, Make<'_>); 12] = [
        ("mutex users", &|| programs::mutex_users(5)),
        ("more mutex users", &|| programs::mutex_users(6)),
        ("ordered philosophers", &|| programs::philosophers(7, true)),
        ("philosophers", &|| programs::philosophers(5, false)),
        ("with a semaphore", &|| {
            programs::philosophers_with_semaphore(3)
        }),
        ("at a table", &|| programs::philosophers_with_table(4)),
        ("receives", &|| programs::receives(5)),
        ("more receives", &|| programs::receives(6)),
        ("room 1", &|| programs::producers_consumers(2, 2, 2, 1)),
        ("room 2", &|| programs::producers_consumers(2, 2, 1, 2)),
        ("barrier", &|| programs::barrier(3, 3)),
        ("draws", &programs::draws),
    ];
    for (what, make) in all {
        compare(what, make, &Options::default());
    }
}

#[test]
fn random_programs() {
    #[expect(clippy::disallowed_methods, reason = "a test may ask how much to do")]
    let number = std::env::var("EXPLORE_PROGRAMS");
    let programs = number.map_or(40, |text| text.parse().expect("a number"));
    let mut runs = 0;
    let all = Family::ALL.into_iter();
    let all = all.flat_map(|family| (0..programs).map(move |number| (family, number)));
    // Programs of which something is learnt in a run with choices, and behind the last run that
    // counts.
    let learnt = [(Family::Condvars, 535), (Family::OneMutex, 639)];
    for (family, number) in all.chain(learnt) {
        let program = actors::program(family, number);
        let options = Options {
            executions_max: 300,
            depth_max: 60,
            every_race: number % 4 == 0,
            ..Options::default()
        };
        let what = format!("{family:?} {number}");
        compare(&what, &|| actors::stepper(&program), &options);
        runs += search(2, &|| actors::stepper(&program), &options)
            .1
            .executions;
    }
    assert!(runs > programs * 5 * 4, "{runs} runs");
}

/// Findings, their order and the schedules are the same too, also where the search ends early.
#[test]
fn reports_are_the_same() {
    let make: Make<'_> = &|| programs::philosophers(5, false);
    for options in [
        Options::default(),
        Options {
            findings_max: 1,
            goes_on: false,
            ..Options::default()
        },
        Options {
            executions_max: 9,
            ..Options::default()
        },
    ] {
        let alone = check(make(), &options);
        let together = check_on_threads(&threads(2, make), &options, None);
        assert_eq!(alone.findings, together.findings);
        assert_eq!(alone.verdict, together.verdict);
        assert_eq!(alone.statistics.executions, together.statistics.executions);
        assert_eq!(alone.statistics.bounds, together.statistics.bounds);
    }
}

/// Runs a search that stops after every few runs, is saved and restored, and continues, until no
/// step is left.
fn in_parts(number: usize, make: Make<'_>, options: &Options, parts: &mut u64) -> Report {
    let mut from: Option<Checkpoint> = None;
    loop {
        let report = check_on_threads(&threads(number, make), options, from.as_ref());
        let Some(checkpoint) = report.checkpoint else {
            return report;
        };
        assert!(!report.statistics.bounds.is_empty());
        *parts += 1;
        from =
            Some(Checkpoint::from_words(checkpoint.words().to_vec()).expect("it was not damaged"));
    }
}

#[test]
fn parts_are_the_whole() {
    let mut parts = 0;
    for family in Family::ALL {
        for number in 0..20 {
            let program = actors::program(family, number);
            let make: Make<'_> = &|| actors::stepper(&program);
            let whole = Options {
                depth_max: 60,
                findings_max: 5,
                ..Options::default()
            };
            let bounded = Options {
                executions_max: 400,
                ..whole.clone()
            };
            let all = check(make(), &bounded);
            if all.checkpoint.is_some() {
                continue;
            }
            for threads in [1, 2] {
                for part in [
                    Options {
                        executions_max: 3,
                        ..whole.clone()
                    },
                    Options {
                        transitions_max: 5000,
                        ..whole.clone()
                    },
                ] {
                    let sum = in_parts(threads, make, &part, &mut parts);
                    assert_eq!(sum.findings, all.findings, "{family:?} {number}");
                    assert_eq!(sum.verdict, all.verdict);
                    let counts = |report: &Report| {
                        let Statistics {
                            executions,
                            finished,
                            deadlocks,
                            failed,
                            cut,
                            ..
                        } = report.statistics;
                        [executions, finished, deadlocks, failed, cut]
                    };
                    assert_eq!(counts(&sum), counts(&all), "{family:?} {number}");
                    assert_eq!(
                        sum.statistics.tree_nodes(),
                        all.statistics.tree_nodes(),
                        "{family:?} {number}"
                    );
                }
            }
        }
    }
    assert!(parts > 200, "only {parts} parts");
}

#[test]
fn damaged_checkpoints_are_refused_or_read() {
    let make: Make<'_> = &|| programs::philosophers(4, false);
    let options = Options {
        executions_max: 5,
        ..Options::default()
    };
    let report = check_on_threads(&threads(1, make), &options, None);
    let words = report.checkpoint.expect("it was stopped").words().to_vec();
    for position in 0..words.len() {
        assert_eq!(Checkpoint::from_words(words[..position].to_vec()), None);
        for damage in [0, 1, 1 << 33, u64::MAX] {
            let mut damaged = words.clone();
            damaged[position] ^= damage;
            // It is refused, or taken for another one; it never panics.
            drop(Checkpoint::from_words(damaged));
        }
    }
}

/// A child that is forked while a thread creates a program has no other thread that ends the wait
/// for a job.
#[test]
fn a_thread_that_is_interrupted_does_not_wait_for_a_job() {
    let first = std::thread::current().id();
    let interrupt = Arc::new(AtomicBool::new(false));
    let make: Make<'_> = &|| {
        if std::thread::current().id() != first {
            interrupt.store(true, Ordering::Relaxed);
        }
        programs::mutex_users(6)
    };
    let (sender, receiver) = mpsc::channel();
    let (receiver, is_back) = (Mutex::new(receiver), AtomicBool::new(false));
    let threads = Threads {
        number: 2,
        make,
        around: &|work| {
            if std::thread::current().id() == first {
                let returned = receiver
                    .lock()
                    .unwrap()
                    .recv_timeout(Duration::from_secs(20));
                is_back.store(returned.is_ok(), Ordering::Relaxed);
            }
            work();
            let _ = sender.send(());
        },
    };
    let options = Options {
        interrupt: Some(Arc::clone(&interrupt)),
        ..Options::default()
    };
    let report = check_on_threads(&threads, &options, None);
    assert!(report.checkpoint.is_some(), "{report:?}");
    let is_back = is_back.into_inner();
    assert!(is_back, "the thread waited for a job");
}

/// An actor that cannot even begin, on every thread but the first.
#[test]
fn what_breaks_elsewhere_is_not_lost() {
    let first = std::thread::current().id();
    let make: Make<'_> = &|| {
        assert_eq!(std::thread::current().id(), first, "made elsewhere");
        programs::mutex_users(6)
    };
    let search = || check_on_threads(&threads(2, make), &Options::default(), None);
    let result = catch_unwind(AssertUnwindSafe(search));
    // All may be done before the other thread begins.
    if let Ok(report) = result {
        assert_eq!(report.verdict, Verdict::Ok);
    }
}
