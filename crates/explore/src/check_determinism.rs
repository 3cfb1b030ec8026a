//! Comparison of two runs along the same steps, to detect a program that is not deterministic.
//!
//! After each step the runs are compared: the enabled steps of all actors, the source line, the
//! accessed object, the answer, and the contents of messages as far as the device knows them. At
//! the end: the failures, the blocked actors and their waits, and the unfinished operations.
//!
//! A C program may send bytes without a value: padding of structures, variables that are not set.
//! Other contents of messages are only noted, if the steps are the same.
//!
//! *Not modelled*: reads of a clock, a file or a variable that outlives its run are detected only
//! if they change one of these in the runs that are compared.

use sim_core::{EnabledStep, Executed, Schedule, SendCall, Stepper, Stream};

use crate::{Deadline, Event};

/// Maximum number of steps that are compared.
const STEPS_MAX: usize = 10_000;

/// The part of a step that is compared.
#[derive(PartialEq, Eq)]
struct ObservedStep {
    /// The enabled steps of all actors before this step.
    enabled_steps: Vec<(u32, EnabledStep)>,
    name: String,
    line: String,
    executed: Executed,
}

/// The end of a run.
#[derive(PartialEq, Eq)]
struct Ended {
    failures: Vec<String>,
    waits: String,
    leftovers: Vec<String>,
}

/// Takes the first run of a search and one that is drawn at random, each twice. Returns a note if
/// a message had other contents that are no error. Runs end at the deadline.
///
/// # Errors
/// If the program took other steps the second time: the text names the step.
pub fn check_determinism(
    stepper: &mut Stepper,
    seed: u64,
    deadline: &Deadline,
) -> Result<Option<String>, String> {
    stepper.compare_sends();
    let first = compare_runs(stepper, &mut |stepper, _| {
        if deadline.is_over() {
            return None;
        }
        stepper.first_step_that(|_| true)
    })?;
    let mut stream = Stream::new(seed, "runs that are compared");
    let drawn = compare_runs(stepper, &mut |_, enabled_steps| {
        if deadline.is_over() {
            return None;
        }
        let count = u64::try_from(enabled_steps.len())
            .ok()
            .filter(|&count| count > 0)?;
        let drawn = usize::try_from(stream.below(count)).ok()?;
        let (actor, enabled_step) = *enabled_steps.get(drawn)?;
        Some((actor, enabled_step.choice))
    })?;
    Ok(first.or(drawn))
}

/// Number of comparisons before a program is taken to be deterministic.
const COMPARISONS: usize = 4;

/// Returns true if the program takes these steps in the same way each time, without reduction.
pub(crate) fn repeats_events(stepper: &mut Stepper, events: &[Event]) -> bool {
    repeats_picks(stepper, events, &|_, event| {
        Some((u32::from(event.actor), event.choice))
    })
}

/// Returns true if the program follows a schedule in the same way each time.
pub fn repeats_schedule(stepper: &mut Stepper, schedule: &Schedule) -> bool {
    repeats_picks(stepper, &schedule.0, &|stepper, choice| {
        let actor = choice.actor.number() - 1;
        Some((actor, stepper.choice_of(actor, choice.branch)?))
    })
}

/// Returns true if the program takes the steps of a list in the same way each time; `pick` returns
/// the actor and the step of an entry.
fn repeats_picks<T>(stepper: &mut Stepper, list: &[T], pick: &PickOf<T>) -> bool {
    (0..COMPARISONS).all(|_| {
        let mut left = list.iter();
        compare_runs(stepper, &mut |stepper, _| pick(stepper, left.next()?)).is_ok()
    })
}

/// Picks the actor and the step of an entry of a list.
type PickOf<T> = dyn Fn(&Stepper, &T) -> Option<(u32, u32)>;

/// Selects an actor and a step of the actor.
type Pick<'a> = dyn FnMut(&Stepper, &[(u32, EnabledStep)]) -> Option<(u32, u32)> + 'a;

/// Executes a run of selected steps, and then the same steps again.
fn compare_runs(stepper: &mut Stepper, pick: &mut Pick<'_>) -> Result<Option<String>, String> {
    stepper.restart();
    let mut steps: Vec<(u32, u32, ObservedStep)> = Vec::new();
    while steps.len() < STEPS_MAX {
        let Some((actor, choice)) = pick(stepper, &enabled_steps(stepper)) else {
            break;
        };
        let Some(seen) = take_step(stepper, actor, choice) else {
            break;
        };
        steps.push((actor, choice, seen));
    }
    let (end, sends) = (run_end(stepper), stepper.sends());
    stepper.restart();
    for (position, (actor, choice, before)) in steps.iter().enumerate() {
        let again = take_step(stepper, *actor, *choice);
        if again.as_ref() != Some(before) {
            compare_sends(stepper, &sends)?;
            return Err(describe_difference(position, before, again.as_ref()));
        }
    }
    let note = compare_sends(stepper, &sends)?;
    let again = run_end(stepper);
    if again == end {
        return Ok(note);
    }
    Err(format!(
        "the program is not deterministic: the same {} steps ended in another way when they were taken again: {}",
        steps.len(),
        first_other(&end, &again)
    ))
}

/// Compares the sends of the second run so far with the sends of the first run. Returns a note if a
/// message of a native executable has other contents.
fn compare_sends(stepper: &Stepper, before: &[SendCall]) -> Result<Option<String>, String> {
    let again = stepper.sends();
    let name = |call: &SendCall| stepper.name_of(call.actor.number() - 1);
    let mut note = None;
    for (again, before) in again.iter().zip(before) {
        if again == before {
            continue;
        }
        let place = format!("{} at {}", name(before), before.location);
        let is_same_call = (again.actor, again.location) == (before.actor, before.location);
        if is_same_call && again.location.is_native() {
            note.get_or_insert_with(|| {
                format!(
                    "when the same steps were taken again, the message of {place} had other contents: bytes of it may have no value, as in variables that are not set and in padding of structures"
                )
            });
            continue;
        }
        let what = if is_same_call {
            "had other contents".to_owned()
        } else {
            format!("was that of {} at {}", name(again), again.location)
        };
        return Err(format!(
            "the program is not deterministic: when the same steps were taken again, the message of {place} {what}"
        ));
    }
    Ok(note)
}

/// Executes a step and returns the compared properties. `None` if the step is not possible.
fn take_step(stepper: &mut Stepper, actor: u32, choice: u32) -> Option<ObservedStep> {
    if actor >= stepper.actors() {
        return None;
    }
    let enabled_steps = enabled_steps(stepper);
    let name = stepper.name_of(actor);
    let line = stepper
        .line_of(actor)
        .map_or_else(String::new, |at| at.to_string());
    let executed = stepper.execute_step(actor, choice)?;
    Some(ObservedStep {
        enabled_steps,
        name,
        line,
        executed,
    })
}

fn enabled_steps(stepper: &Stepper) -> Vec<(u32, EnabledStep)> {
    let (mut all, mut own) = (Vec::new(), Vec::new());
    let mut next = stepper.next_able(0);
    while let Some(actor) = next {
        own.clear();
        stepper.enabled_steps(actor, &mut own);
        all.extend(own.iter().map(|&enabled_step| (actor, enabled_step)));
        next = stepper.next_able(actor + 1);
    }
    all
}

fn run_end(stepper: &Stepper) -> Ended {
    let failures = stepper.failures().iter();
    Ended {
        failures: failures
            .map(|failure| format!("{}: {}", failure.name, failure.message))
            .collect(),
        waits: stepper.wait_graph().to_string(),
        leftovers: stepper.leftovers(),
    }
}

/// Describes the difference between two executions of a step.
fn describe_difference(
    position: usize,
    before: &ObservedStep,
    again: Option<&ObservedStep>,
) -> String {
    let ObservedStep { name, line, .. } = before;
    let at = if line.is_empty() {
        name.clone()
    } else {
        format!("{name} at {line}")
    };
    let what = match again {
        None => "was not possible any more".to_owned(),
        Some(again) if again.name != *name || again.line != *line => {
            format!("was of {} at {}", again.name, again.line)
        }
        Some(again) if again.enabled_steps != before.enabled_steps => {
            "came where other steps were possible than before".to_owned()
        }
        Some(_) => "had another result".to_owned(),
    };
    format!(
        "the program is not deterministic: when the same steps were taken again, step {} of {at} {what}",
        position + 1
    )
}

/// The first part of an end that is another one.
fn first_other(before: &Ended, again: &Ended) -> String {
    let word = |ended: &Ended| {
        let all = [ended.failures.join(", "), ended.leftovers.join(", ")];
        let text = all.into_iter().find(|text| !text.is_empty());
        text.unwrap_or_else(|| ended.waits.trim().to_owned())
    };
    let or_nothing = |text: String| {
        if text.is_empty() {
            "without a failure".to_owned()
        } else {
            text
        }
    };
    format!(
        "{}; then {}",
        or_nothing(word(before)),
        or_nothing(word(again))
    )
}
