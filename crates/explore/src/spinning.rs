//! Livelocks that are found by a bound: from some step on, actors only yield and sleep.
//!
//! The state of an actor is not known, so an endless loop of such steps looks like a loop that ends
//! later. An actor *spins* if its latest [`STEPS`] steps are of these kinds. A search lets other
//! actors go first ([`spins`]), in turns of as many steps. A run that is cut because it is too long
//! is a livelock if no other step was taken since every actor that can take a step began to spin.
//!
//! A rank sleeps inside one step; the device stops the rank after a separate bound
//! ([`sim_core::Device::is_spinning`]).
//!
//! *Not modelled*: an actor that would take another kind of step only beyond the greatest depth of
//! a search is reported, too.

use std::collections::{BTreeMap, BTreeSet};

use sim_core::{StepKind, Stepper};

use crate::{Event, Path};

/// Number of yields and sleeps of one actor, without another step between, that count as spinning.
pub const STEPS: usize = 1000;

/// Returns true if such a step changes no state that an actor could observe.
const fn is_idle(kind: StepKind) -> bool {
    matches!(kind, StepKind::Yield | StepKind::Sleep)
}

/// Returns true if an actor spins and another actor has the turn.
#[inline]
pub(crate) fn spins(path: &Path, actor: u16) -> bool {
    let own = path.events_of(actor as usize);
    if own.is_empty() || !own.len().is_multiple_of(STEPS) {
        return false;
    }
    let events = path.events();
    let latest = own.iter().rev().take(STEPS);
    latest
        .map(|&position| events[position as usize].kind)
        .all(is_idle)
}

/// The actors that spin, from 0, if no other step is possible after these events; otherwise none.
pub(crate) fn spinners(stepper: &Stepper, events: &[Event]) -> Vec<u32> {
    let actors = 0..stepper.actors();
    let mut spinners: Vec<u32> = actors.filter(|&actor| stepper.is_spinning(actor)).collect();
    let mut counts: BTreeMap<u32, usize> = BTreeMap::new();
    if stepper.next_able(0).is_some() {
        let latest = events.iter().rev();
        for event in latest.take_while(|event| is_idle(event.kind)) {
            *counts.entry(u32::from(event.actor)).or_default() += 1;
        }
    }
    let mut next = stepper.next_able(0);
    while let Some(actor) = next {
        if counts.get(&actor).is_none_or(|&count| count < STEPS) {
            return Vec::new();
        }
        spinners.push(actor);
        next = stepper.next_able(actor + 1);
    }
    spinners.sort_unstable();
    spinners
}

/// The events of a run with spinning actors, with the fewest last steps that show the spinning.
pub(crate) fn shortened(events: &[Event]) -> Vec<Event> {
    let tail = events.iter().rev();
    let tail = tail.take_while(|event| is_idle(event.kind)).count();
    let (before, tail) = events.split_at(events.len() - tail);
    let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
    let is_needed = |event: &&Event| {
        let count = counts.entry(event.actor).or_default();
        *count += 1;
        *count <= STEPS
    };
    let mut kept = before.to_vec();
    kept.extend(tail.iter().filter(is_needed));
    kept
}

/// Returns the events without the yields and sleeps with which an actor began to spin while other
/// actors still took other steps.
pub(crate) fn without_early_steps(events: &[Event]) -> Vec<Event> {
    let tail = events.iter().rev();
    let mut spinning: BTreeSet<u16> = tail
        .take_while(|event| is_idle(event.kind))
        .map(|event| event.actor)
        .collect();
    let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
    let mut kept: Vec<Event> = Vec::new();
    for event in events.iter().rev() {
        if !is_idle(event.kind) {
            spinning.remove(&event.actor);
        } else if spinning.contains(&event.actor) {
            let count = counts.entry(event.actor).or_default();
            *count += 1;
            if *count > STEPS {
                continue;
            }
        }
        kept.push(*event);
    }
    kept.reverse();
    kept
}

/// The names of actors that spin, in a sentence.
pub(crate) fn sentence(stepper: &Stepper, spinners: &[u32]) -> String {
    let names: Vec<String> = spinners.iter().map(|&one| stepper.name_of(one)).collect();
    let rest = "nothing but yields, sleeps and computations any more; \
                found by a bound, not proven";
    match &names[..] {
        [name] => format!("  {name} does {rest}\n"),
        names => format!("  {} do {rest}\n", names.join(", ")),
    }
}
