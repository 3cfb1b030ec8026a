//! Promise: a step that is repeated accesses the same object, has the same answer and leaves the
//! same state as the step that was executed and reported.

use fuzz::actors::{self, Family};
use sim_core::{EnabledStep, Failure, Stepper, Stream};

/// The part of the state after a step that an explorer knows.
type State = (u64, Vec<(u32, EnabledStep)>, Vec<Failure>);

fn state(stepper: &Stepper) -> State {
    let mut all = Vec::new();
    for actor in 0..stepper.actors() {
        let mut enabled_steps = Vec::new();
        stepper.enabled_steps(actor, &mut enabled_steps);
        all.extend(enabled_steps.into_iter().map(|step| (actor, step)));
    }
    let digest = stepper.object_digest().value();
    (digest, all, stepper.failures().to_vec())
}

#[test]
fn repeated_steps_are_the_executed_steps() {
    let mut count = 0;
    for family in Family::ALL {
        for number in 0..40 {
            let mut stepper = actors::stepper(&actors::program(family, number));
            let mut stream = Stream::new(number, "steps");
            let mut before = state(&stepper);
            let mut run = Vec::new();
            while run.len() < 60 && !before.1.is_empty() {
                let drawn = stream.below(before.1.len() as u64);
                let (actor, step) = before.1[usize::try_from(drawn).expect("few")];
                let executed = stepper.execute_step(actor, step.choice);
                before = state(&stepper);
                run.push((
                    actor,
                    step.choice,
                    executed.expect("enabled"),
                    before.clone(),
                ));
            }
            stepper.restart();
            for (actor, choice, executed, after) in run {
                let expected = (executed.footprint, executed.answer);
                let repeated = stepper.repeat_step(actor, choice);
                assert_eq!(repeated, Some(expected), "{family:?} {number}");
                assert_eq!(state(&stepper), after, "{family:?} {number}");
                count += 1;
            }
        }
    }
    assert!(count > 1000, "{count} steps");
}
