//! Execution of a given schedule, step by step, up to the first step that is not possible.
//!
//! If the program has changed since the schedule was written, only steps that are not possible any
//! more are detected: a schedule that fits by chance is executed.

use sim_core::{ActorId, Choice, EnabledStep, Schedule, StepKind, Stepper};

use crate::machine::Machine;
use crate::search::end_of_finished;
use crate::{End, Event, Finding, FindingStep, finding, spinning};

/// Result of the execution of a schedule.
#[derive(Clone, PartialEq, Debug)]
pub struct ReplayResult {
    /// The steps that were taken, up to the first failure if there was one.
    pub steps: Vec<FindingStep>,
    /// End of the run; `None` if an actor can still take a step.
    pub end: Option<End>,
    /// The finding, if the end is one.
    pub finding: Option<Finding>,
    /// Position in the schedule, from 0, of the step that was not possible.
    pub impossible: Option<usize>,
    /// Actors with enabled steps at the end, and the number of branches of each.
    pub possible: Vec<(ActorId, u32)>,
}

/// Takes the steps of a schedule as far as they are possible. The program is left where they end.
pub fn replay_schedule(stepper: &mut Stepper, schedule: &Schedule) -> ReplayResult {
    stepper.restart();
    let mut events: Vec<Event> = Vec::new();
    let mut impossible = None;
    let own = std::mem::replace(stepper, Stepper::on_one_host(|_| {}));
    let mut machine = Machine::new(own);
    for (position, choice) in schedule.0.iter().enumerate() {
        if !machine.stepper.failures().is_empty() {
            break;
        }
        let actor = choice.actor.number() - 1;
        let step = machine.stepper.choice_of(actor, choice.branch);
        let (Ok(short), Some(step)) = (u16::try_from(actor), step) else {
            impossible = Some(position);
            break;
        };
        let mut enabled_steps = Vec::new();
        machine.enabled_steps(short, &mut enabled_steps);
        let Some(event) = enabled_steps.into_iter().find(|event| event.choice == step) else {
            impossible = Some(position);
            break;
        };
        // What is learnt on the way changes no step.
        let _ = machine.execute_step(short, step);
        events.push(event);
    }
    *stepper = machine.stepper;
    let end = end_of(stepper, &events);
    let possible = possible(stepper);
    let found = Finding::from_events(stepper, &events, end.unwrap_or(End::Finished));
    ReplayResult {
        steps: found.steps.clone(),
        finding: end.filter(|&end| finding::is_finding(end)).map(|_| found),
        end,
        impossible,
        possible,
    }
}

/// Returns the schedule with the same steps as in a search, for a program that begins for the first
/// time.
///
/// Queues of a device are numbered in the order of their first use, over all runs of a search. The
/// names of queues do not depend on this order. `None` if the steps are not possible.
pub fn schedule_alone(
    stepper: &mut Stepper,
    steps: &[FindingStep],
    replay: &Schedule,
) -> Option<Schedule> {
    stepper.restart();
    let mut schedule = Schedule::default();
    for (step, choice) in steps.iter().zip(&replay.0) {
        let mut actor = choice.actor.number() - 1;
        if step.kind == StepKind::Deliver {
            let mut next = stepper.next_able(stepper.actors());
            while let Some(queue) = next.filter(|&queue| stepper.name_of(queue) != step.name) {
                next = stepper.next_able(queue + 1);
            }
            actor = next?;
        }
        let position = stepper.choice_of(actor, choice.branch)?;
        stepper.execute_step(actor, position)?;
        schedule.0.push(Choice {
            actor: ActorId::from_number(actor + 1),
            branch: choice.branch,
        });
    }
    Some(schedule)
}

/// Returns the actors with enabled steps, and the number of branches of each.
fn possible(stepper: &Stepper) -> Vec<(ActorId, u32)> {
    let mut possible = Vec::new();
    let mut enabled_steps: Vec<EnabledStep> = Vec::new();
    let mut next = stepper.next_able(0);
    while let Some(actor) = next {
        enabled_steps.clear();
        stepper.enabled_steps(actor, &mut enabled_steps);
        let branches = u32::try_from(enabled_steps.len()).expect("branches are counted in 32 bits");
        possible.push((ActorId::from_number(actor + 1), branches));
        next = stepper.next_able(actor + 1);
    }
    possible
}

/// Returns the end of the run, if the run has ended.
fn end_of(stepper: &Stepper, events: &[Event]) -> Option<End> {
    if !stepper.failures().is_empty() {
        return Some(End::Failed);
    }
    let is_finished = stepper.is_finished();
    if !is_finished && !spinning::spinners(stepper, events).is_empty() {
        return Some(End::Spinning);
    }
    if stepper.next_able(0).is_some() {
        return None;
    }
    if stepper.is_covered() {
        return Some(End::Covered);
    }
    let polls = (0..stepper.actors()).any(|actor| stepper.is_polling(actor));
    Some(match (is_finished, polls) {
        (true, _) => end_of_finished(stepper),
        (false, true) => End::Livelock,
        (false, false) => End::Deadlock,
    })
}
