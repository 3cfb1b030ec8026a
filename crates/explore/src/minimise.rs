//! Finds a shorter and simpler counterexample of the same finding.
//!
//! Each step is verified by running the program:
//!
//! 1. *Past closure*: only the events that happen before the failing event are kept; for a deadlock
//!    only the events that happen before the requests of the blocked actors of the cycle, and the
//!    events without which another actor could continue. The omitted events did not matter.
//! 2. *Order*: among the orders of the same partial order, one with few changes of the actor: the
//!    present actor continues as long as the next event may.
//! 3. *Choices*: smaller drawn values, if they lead to the same finding.
//!
//! "The same" is the kind of the finding, and for a failure the actor and the message.

use sim_core::{Schedule, StepKind, Stepper};

use crate::finding::FindingKind;
use crate::{Deadline, End, Event, Finding, Path, Played, Player, spinning};

/// Returns a way to the same finding that is not longer, and simpler: the simplest that was tried
/// before the deadline.
pub fn minimise(stepper: &mut Stepper, finding: &Finding, deadline: &Deadline) -> Finding {
    if deadline.is_over() {
        return finding.clone();
    }
    let Some(path) = play(stepper, &finding.replay) else {
        return finding.clone();
    };
    let mut best: Vec<Event> = path.events().to_vec();
    let whole = best.clone();
    let mut tries = vec![past_of_the_last(&path)];
    if matches!(finding.kind, FindingKind::Spinning(_)) {
        tries.push(spinning::without_early_steps(&best));
    }
    for events in tries.into_iter().chain(with_smaller_draws(&whole)) {
        if deadline.is_over() {
            break;
        }
        if events.len() <= best.len() && leads_there(stepper, &events, finding) {
            best = events;
        }
    }
    if !deadline.is_over() {
        let again = follow_events(stepper, &best).unwrap_or(path);
        let sorted = by_actor(&again);
        if leads_there(stepper, &sorted, finding) {
            best = sorted;
        }
    }
    Finding::from_events(stepper, &best, end_of(finding))
}

/// The end of a run that has such a finding.
const fn end_of(finding: &Finding) -> End {
    match finding.kind {
        FindingKind::Failure(_) => End::Failed,
        FindingKind::Leftovers(_) => End::Leftovers,
        FindingKind::Livelock(_) => End::Livelock,
        FindingKind::Spinning(_) => End::Spinning,
        FindingKind::Deadlock(_) => End::Deadlock,
        FindingKind::ConditionalDeadlock(_) => End::ConditionalDeadlock,
    }
}

/// The run of a schedule.
pub(crate) fn play(stepper: &mut Stepper, schedule: &Schedule) -> Option<Path> {
    with_player(stepper, |player| {
        'again: loop {
            player.restart();
            for choice in &schedule.0 {
                let actor = choice.actor.number() - 1;
                let step = player.stepper().choice_of(actor, choice.branch)?;
                match player.take_step(u16::try_from(actor).ok()?, step) {
                    Played::Event(_) => {}
                    Played::Impossible => return None,
                    Played::Learnt => continue 'again,
                }
            }
            return Some(player.path().clone());
        }
    })
}

/// The run of a list of events.
fn follow_events(stepper: &mut Stepper, events: &[Event]) -> Option<Path> {
    with_player(stepper, |player| {
        'again: loop {
            player.restart();
            for event in events {
                match player.take_step(event.actor, event.choice) {
                    Played::Event(_) => {}
                    Played::Impossible => return None,
                    Played::Learnt => continue 'again,
                }
            }
            return Some(player.path().clone());
        }
    })
}

fn with_player<T>(stepper: &mut Stepper, f: impl FnOnce(&mut Player) -> T) -> T {
    let own = std::mem::replace(stepper, Stepper::on_one_host(|_| {}));
    let mut player = Player::new(own);
    let result = f(&mut player);
    *stepper = player.into_stepper();
    result
}

/// Returns true if the events lead to the same finding.
fn leads_there(stepper: &mut Stepper, events: &[Event], finding: &Finding) -> bool {
    if follow_events(stepper, events).is_none() {
        return false;
    }
    let stuck = stepper.next_able(0).is_none();
    let fails = stepper.failures().first();
    match &finding.kind {
        FindingKind::Failure(failure) => fails
            .is_some_and(|other| other.actor == failure.actor && other.message == failure.message),
        FindingKind::Spinning(_) => {
            fails.is_none() && !spinning::spinners(stepper, events).is_empty()
        }
        FindingKind::Deadlock(_) | FindingKind::Livelock(_) => {
            stuck && fails.is_none() && !stepper.is_finished()
        }
        FindingKind::ConditionalDeadlock(wanted) => {
            let found = stepper.optional_waits().deadlock();
            stuck && fails.is_none() && found.as_ref() == Some(wanted)
        }
        FindingKind::Leftovers(_) => {
            stuck && stepper.is_finished() && !stepper.leftovers().is_empty()
        }
    }
}

/// Returns the last event and the events that happen before it, in order.
fn past_of_the_last(path: &Path) -> Vec<Event> {
    let Some(last) = path.len().checked_sub(1) else {
        return Vec::new();
    };
    let matters = |&position: &usize| position == last || path.happens_before(position, last);
    let past = (0..path.len()).filter(matters);
    past.map(|position| path.events()[position]).collect()
}

/// The same events with one draw made smaller, for each draw and each smaller value.
fn with_smaller_draws(events: &[Event]) -> impl Iterator<Item = Vec<Event>> {
    let draws = events.iter().enumerate();
    let draws = draws.filter(|(_, event)| event.kind == StepKind::Random);
    draws.flat_map(move |(position, event)| {
        (0..event.choice).rev().map(move |choice| {
            let mut other = events.to_vec();
            other[position].choice = choice;
            other
        })
    })
}

/// The same partial order, with few changes of the actor: an actor continues while its next event
/// depends on no other pending event. At most events × actors counts are compared.
pub(crate) fn by_actor(path: &Path) -> Vec<Event> {
    let mut done = vec![false; path.len()];
    let mut counts = vec![0; path.actors()];
    let mut sorted = Vec::with_capacity(path.len());
    let mut actor = path.events().first().map_or(0, |event| event.actor);
    let mut first = 0;
    while sorted.len() < path.len() {
        while done[first] {
            first += 1;
        }
        // Of an actor only the next event can be free; the first pending event of all is free.
        let next = path.events_of(actor as usize);
        let next = next.get(counts[actor as usize] as usize);
        let own = next.map(|&position| position as usize);
        let own = own.filter(|&position| path.comes_next(position, &counts));
        let position = own.unwrap_or(first);
        done[position] = true;
        actor = path.events()[position].actor;
        counts[actor as usize] += 1;
        sorted.push(path.events()[position]);
    }
    sorted
}
