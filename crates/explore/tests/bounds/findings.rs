//! Promise: a shorter counterexample shows the same finding, and the critical step is the step that
//! leaves the last correct run.

use std::cell::Cell;
use std::rc::Rc;

use explore::{
    Critical, Deadline, Options, Reduction, check, critical, minimise, replay, shortest,
};
use sim_core::Stepper;

use crate::programs;

#[test]
fn what_does_not_matter_is_left_out() {
    // Two actors that have nothing to do with the mistake, and one that draws it.
    let stepper = || {
        Stepper::on_one_host(|simulation| {
            let mutex = simulation.new_mutex();
            for _ in 0..2 {
                let mutex = mutex.clone();
                simulation.spawn_anonymous(0, |_| async move {
                    mutex.lock().await;
                    mutex.unlock().await;
                });
            }
            simulation.spawn_anonymous(0, |me| async move {
                if me.random(5).await > 1 {
                    return Err("above 1");
                }
                Ok(())
            });
        })
    };
    let report = check(stepper(), &Options::default());
    let finding = &report.findings[0];
    assert!(finding.steps.len() > 1);
    let small = minimise(&mut stepper(), finding, &Deadline::default());
    assert_eq!(
        (small.kind.clone(), small.replay.to_string()),
        (finding.kind.clone(), "3/2".to_owned())
    );
    assert_eq!(replay(&mut stepper(), &small.replay), 1);
    // The draw is where it is decided.
    assert_eq!(
        critical(&mut stepper(), &small, 10_000, &Deadline::default()),
        Critical::Step(0)
    );
}

#[test]
fn another_run_may_fail_sooner() {
    // The smaller the number that is drawn, the later the failure.
    let stepper = || {
        Stepper::on_one_host(|simulation| {
            simulation.spawn_anonymous(0, |me| async move {
                for _ in me.random(4).await..3 {
                    me.yield_now().await;
                }
                Err::<(), _>("too late")
            });
            simulation.spawn_anonymous(0, |me| async move { me.yield_now().await });
        })
    };
    let report = check(stepper(), &Options::default());
    let small = minimise(&mut stepper(), &report.findings[0], &Deadline::default());
    assert_eq!(
        (small.steps.len(), small.replay.to_string()),
        (4, "1;1;1;1".to_owned())
    );
    let best = shortest(&mut stepper(), &small, 1_000, &Deadline::default());
    assert_eq!(best.finding.replay.to_string(), "1/3");
    assert_eq!(best.finding.kind, small.kind);
    assert!(best.is_proven);
    // Without steps to look, it stays, and nothing is claimed.
    let same = shortest(&mut stepper(), &small, 0, &Deadline::default());
    assert_eq!(
        (same.finding.replay, same.is_proven),
        (small.replay.clone(), false)
    );
    // Nor after the deadline.
    let over = Deadline::new(0.0, None);
    let same = shortest(&mut stepper(), &small, 1_000, &over);
    assert_eq!(
        (same.finding.replay, same.is_proven),
        (small.replay.clone(), false)
    );
    let place = critical(&mut stepper(), &small, 10_000, &over);
    assert_eq!(place, Critical::Unknown(small.steps.len() - 1));
    let given = &report.findings[0];
    assert_eq!(minimise(&mut stepper(), given, &over), *given);
}

/// A finding that is said to be the shortest is as short as the first finding of brute force that
/// is cut later and later.
#[test]
fn a_way_that_is_proven_to_be_the_shortest_is() {
    type Make = fn() -> Stepper;
    let all: [(Make, usize); 3] = [
        (|| programs::philosophers(2, false), 6),
        (|| programs::philosophers(3, false), 9),
        (programs::draws, 2),
    ];
    for (make, steps) in all {
        let report = check(make(), &Options::default());
        let best = shortest(
            &mut make(),
            &report.findings[0],
            1_000_000,
            &Deadline::default(),
        );
        assert!(best.is_proven);
        let first = (1..).find(|&depth_max| {
            let options = Options {
                reduction: Reduction::None,
                depth_max,
                ..Options::default()
            };
            !check(make(), &options).findings.is_empty()
        });
        assert_eq!((first, best.finding.steps.len()), (Some(steps), steps));
        // Enough to look with the optimal reduction, and not for a proof.
        let found = shortest(&mut make(), &best.finding, 2, &Deadline::default());
        assert_eq!((found.is_proven, found.finding), (false, best.finding));
    }
}

#[test]
fn the_last_fork_that_is_taken_decides() {
    let stepper = || programs::philosophers(3, false);
    let report = check(stepper(), &Options::default());
    let finding = minimise(&mut stepper(), &report.findings[0], &Deadline::default());
    assert_eq!(finding.kind.name(), "deadlock");
    let Critical::Step(step) = critical(&mut stepper(), &finding, 100_000, &Deadline::default())
    else {
        panic!("a correct run is possible at the beginning")
    };
    // Before it one philosopher has not asked for a fork.
    let text = finding.replay.to_string();
    assert!(
        step > 0 && step < finding.steps.len() - 1,
        "{step} of {text}"
    );
    assert_eq!(finding.steps[step].kind, sim_core::StepKind::MutexAsyncLock);
    assert_eq!(
        critical(&mut stepper(), &finding, 0, &Deadline::default()),
        Critical::Unknown(finding.steps.len() - 1)
    );
}

const ROUNDS: u64 = 4_000;

/// Two actors that exchange messages in rounds; the first then fails. `rounds` counts the rounds of
/// all runs.
fn late_failure(rounds: &Rc<Cell<u64>>) -> Stepper {
    let rounds = Rc::clone(rounds);
    Stepper::on_one_host(move |simulation| {
        let (there, back) = (simulation.new_mailbox(), simulation.new_mailbox());
        let (there_end, back_end, rounds) = (there.clone(), back.clone(), Rc::clone(&rounds));
        simulation.spawn_anonymous(0, move |_| async move {
            for _ in 0..ROUNDS {
                there.put(1, 8.0).await.map_err(|_| "not sent")?;
                back.get().await.map_err(|_| "not received")?;
                rounds.set(rounds.get() + 1);
            }
            Err::<(), _>("too late")
        });
        simulation.spawn_anonymous(0, move |_| async move {
            for _ in 0..ROUNDS {
                there_end.get().await.map_err(|_| "not received")?;
                back_end.put(1, 8.0).await.map_err(|_| "not sent")?;
            }
            Ok::<(), &str>(())
        });
    })
}

/// An actor that draws, locks a mutex in rounds, and fails if the number is 1.
fn drawn_failure() -> Stepper {
    Stepper::on_one_host(move |simulation| {
        let mutex = simulation.new_mutex();
        simulation.spawn_anonymous(0, move |me| async move {
            let drawn = me.random(2).await;
            for _ in 0..ROUNDS {
                mutex.lock().await;
                mutex.unlock().await;
            }
            if drawn == 1 { Err("too late") } else { Ok(()) }
        });
    })
}

/// The work to explain a finding is a number of runs that does not depend on the number of steps.
#[test]
fn a_long_counterexample_is_explained_in_few_runs() {
    let rounds = Rc::new(Cell::new(0));
    let finding = &check(late_failure(&rounds), &Options::default()).findings[0];
    assert!(finding.steps.len() as u64 > 4 * ROUNDS);
    rounds.set(0);
    let small = minimise(&mut late_failure(&rounds), finding, &Deadline::default());
    assert_eq!(small.steps.len(), finding.steps.len());
    // The given run, two tries, the run to sort, and the result; one more if a fact is learnt.
    let runs = rounds.get().div_ceil(ROUNDS);
    assert!(runs <= 6, "{runs}");

    let finding = &check(drawn_failure(), &Options::default()).findings[0];
    assert!(finding.steps.len() as u64 > 2 * ROUNDS);
    // The run of the finding, and the run with the other draw.
    let budget = 2 * finding.steps.len() as u64 + 2;
    let place = critical(&mut drawn_failure(), finding, budget, &Deadline::default());
    assert_eq!(place, Critical::Step(0));
}
