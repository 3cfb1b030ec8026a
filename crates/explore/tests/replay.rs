//! Promise: a reported finding happens again when its schedule is replayed; and the model checker
//! accepts the order of a plain run.

use std::cell::RefCell;
use std::rc::Rc;

use explore::{FindingKind, Options, check, replay, schedule_of_run};
use fuzz::actors::{self, Family, Op, Program};
use sim_core::{Observed, OperationResult, Outcome, Stepper};

fn options() -> Options {
    Options {
        executions_max: 300,
        depth_max: 60,
        findings_max: 3,
        ..Options::default()
    }
}

#[test]
fn what_is_reported_replays_to_the_same() {
    let mut kinds = [0, 0];
    for number in 0..300 {
        let program = actors::program(Family::ALL[0], number);
        for finding in check(actors::stepper(&program), &options()).findings {
            let mut stepper = actors::stepper(&program);
            let text = finding.replay.to_string();
            let schedule = text.parse().expect("a schedule reads back as it prints");
            assert_eq!(
                replay(&mut stepper, &schedule),
                finding.steps.len(),
                "{text}"
            );
            match &finding.kind {
                FindingKind::Failure(failure) => {
                    kinds[0] += 1;
                    assert_eq!(stepper.failures(), std::slice::from_ref(failure));
                }
                FindingKind::Deadlock(graph) | FindingKind::Livelock(graph) => {
                    kinds[1] += 1;
                    assert_eq!(stepper.next_able(0), None);
                    assert_eq!(&stepper.wait_graph(), graph);
                }
                FindingKind::Spinning(_) | FindingKind::ConditionalDeadlock(_) => {
                    unreachable!("no actor loops, and none may wait")
                }
                FindingKind::Leftovers(_) => unreachable!("actors leave nothing behind"),
            }
        }
    }
    assert!(kinds[0] > 10 && kinds[1] > 100, "{kinds:?}");
}

/// The end of a run for an explorer. A plain run that failed may have taken more steps before.
fn end(stepper: &Stepper) -> &'static str {
    match (stepper.failures().is_empty(), stepper.is_finished()) {
        (false, _) => "failed",
        (true, true) => "finished",
        (true, false) => "deadlocked",
    }
}

/// Runs a program in simulated time. Returns the steps and the end of the run.
fn plain_run(program: &Program) -> Option<(Vec<Observed>, &'static str)> {
    let mut simulation = actors::two_hosts();
    let steps = Rc::new(RefCell::new(Vec::new()));
    let sink = Rc::clone(&steps);
    simulation.set_trace(move |event| sink.borrow_mut().push(Observed::Transition(*event)));
    actors::start(&mut simulation, program);
    let end = match simulation.run().outcome {
        Outcome::Finished => "finished",
        Outcome::Deadlock(_) => "deadlocked",
        Outcome::Failed(_) => "failed",
        // The constant model switches no host and no link.
        Outcome::BadInput(_) => return None,
        other => panic!("{other:?}"),
    };
    Some((steps.take(), end))
}

#[test]
fn a_plain_run_is_taken_again_or_its_first_other_step_is_told() {
    let (mut accepted, mut refused, mut asking) = (0, 0, 0);
    for number in 0..300 {
        for family in Family::ALL {
            let program = actors::program(family, number);
            let Some((steps, expected)) = plain_run(&program) else {
                continue;
            };
            let has_timeouts = steps.iter().any(|step| {
                matches!(step, Observed::Transition(event) if event.answer == OperationResult::Timeout)
            });
            let moved = program.clone();
            let start = move |simulation: &mut _| actors::start(simulation, &moved);
            let mut stepper = Stepper::new(actors::two_hosts, start);
            if has_timeouts {
                stepper.allow_timeouts();
            }
            let Ok(schedule) = schedule_of_run(&mut stepper, &steps) else {
                refused += 1;
                continue;
            };
            accepted += 1;
            let what = || format!("{family:?} {number} {schedule} {program:?}");
            let taken = replay(&mut stepper, &schedule);
            assert_eq!(taken, schedule.0.len(), "{}", what());
            // A plain run asks again when anything has happened, an explorer when it matters.
            let is_asking = (0..stepper.actors()).any(|actor| stepper.is_polling(actor));
            if is_asking && end(&stepper) != expected {
                asking += 1;
            } else {
                assert_eq!(end(&stepper), expected, "{}", what());
            }
        }
    }
    assert!(accepted > 3000, "only {accepted} programs");
    // Those in which an actor ends, or drops a handle, under a transfer, and loops of several
    // tests.
    let most = accepted / 100;
    assert!(
        refused < most && asking < 10,
        "{refused} refused, {asking} asking"
    );
}

#[test]
fn the_step_that_no_explorer_can_take_is_named() {
    let program = vec![vec![Op::Send(0), Op::Wait], vec![Op::Receive(0), Op::Wait]];
    let (mut steps, _) = plain_run(&program).expect("no host is switched");
    let Some(Observed::Transition(last)) = steps.last_mut() else {
        panic!("{steps:?}");
    };
    let name = format!("actor-{}", last.actor);
    last.answer = OperationResult::Number(1);
    let position = steps.len() - 1;
    let start = move |simulation: &mut _| actors::start(simulation, &program);
    let mut stepper = Stepper::new(actors::two_hosts, start);
    let refused = schedule_of_run(&mut stepper, &steps).unwrap_err();
    assert_eq!(refused.position, position);
    let expected = format!("Wait of {name} answered Number(1), and under check Number(0)");
    assert_eq!(refused.problem, expected);
    // Of a transfer that was not begun.
    let refused = schedule_of_run(&mut stepper, &steps[position..]).unwrap_err();
    assert_eq!(refused.position, 0);
    let expected = format!("Wait of {name} is not possible under check: it stands before Async");
    assert!(refused.problem.starts_with(&expected), "{refused:?}");
}
