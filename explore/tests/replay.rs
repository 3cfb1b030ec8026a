//! Promise: what is reported happens again when its schedule is replayed; and the order of a plain run is one that the model
//! checker accepts.

mod random;

use explore::{FindingKind, Options, check, replay};
use random::{Family, Op, Program};
use sim_core::{Clock, Outcome, Simulation};

fn options() -> Options {
    Options {
        traces_max: 300,
        depth_max: 60,
        findings_max: 3,
        ..Options::default()
    }
}

#[test]
fn what_is_reported_replays_to_the_same() {
    let mut kinds = [0, 0];
    for number in 0..300 {
        let program = random::program(Family::ALL[0], number);
        for finding in check(random::stepper(&program), &options()).findings {
            let mut stepper = random::stepper(&program);
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
                FindingKind::Leftovers(_) => unreachable!("actors leave nothing behind"),
            }
        }
    }
    assert!(kinds[0] > 10 && kinds[1] > 100, "{kinds:?}");
}

/// Whether an actor may ask the same twice in a row. A plain run then waits for anything at all, the model checker for what
/// matters.
fn asks_again(program: &Program) -> bool {
    let asks = |op: &&Op| matches!(op, Op::Test | Op::TryLock(_));
    program
        .iter()
        .any(|ops| ops.iter().filter(asks).count() > 1)
}

#[test]
fn the_order_of_a_plain_run_is_accepted() {
    let mut accepted = 0;
    for number in 0..600 {
        for family in &Family::ALL[..2] {
            let program = random::program(*family, number);
            if asks_again(&program) {
                continue;
            }
            let mut simulation = Simulation::with_constant_model(1);
            simulation.set_clock(Clock::Untimed);
            simulation.record_schedule();
            random::start(&mut simulation, &program);
            let report = simulation.run();
            if matches!(report.outcome, Outcome::Failed(_)) {
                // A plain run ends at the first failure, in the middle of a step.
                continue;
            }
            let schedule = report.schedule.expect("it was recorded");
            let mut stepper = random::stepper(&program);
            let steps = replay(&mut stepper, &schedule);
            assert_eq!(
                steps,
                schedule.0.len(),
                "{family:?} {number} {schedule} {program:?}"
            );
            assert_eq!(stepper.next_able(0), None);
            assert_eq!(stepper.is_finished(), report.outcome == Outcome::Finished);
            accepted += 1;
        }
    }
    assert!(accepted > 500, "only {accepted} programs");
}
