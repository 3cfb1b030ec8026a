//! Source sets: each class at least once, some redundant runs, and less memory.
//!
//! Source-DPOR (the same paper as [`odpor`](crate::odpor)). At *every* executed event, each
//! reversible race of the event adds one step at the place of the race, unless a step with which
//! the reversed run could begin is already there. Races must also be examined on runs that the
//! sleep sets cut: a search that examines races only at the ends of whole runs loses classes.
//!
//! At a place all steps of an actor go together: if one value of a draw is to be tried, all values
//! are tried.

use sim_core::Executed;

use crate::independence::dependent;
use crate::races::stops_others;
use crate::reversible::{come_first, reversible};
use crate::seeded::{Seeded, SeededDefect};
use crate::walk::Walk;
use crate::{Event, Halt};

/// One place of the path.
#[derive(Debug, Default)]
struct PathEntry {
    /// The actors to be tried at this place, in order.
    wanted: Vec<u16>,
    /// The steps of the actor that is being tried that are left.
    todo: Vec<Event>,
    /// The number of wanted actors with steps that have been put into `todo`.
    tried: usize,
    sleep: Vec<Event>,
    /// The actors that can take a step here.
    able: Vec<u16>,
}

/// Explores with source sets.
pub(crate) fn explore_source_sets(walk: &mut Walk<'_>) -> Result<(), Halt> {
    let mut frames = vec![open_entry(walk, Vec::new())?];
    while let Some(frame) = frames.last_mut() {
        if frame.todo.is_empty() && frame.tried < frame.wanted.len() {
            let actor = frame.wanted[frame.tried];
            frame.tried += 1;
            walk.reach()?;
            walk.machine.enabled_steps(actor, &mut frame.todo);
            frame.todo.reverse();
            continue;
        }
        let Some(step) = frame.todo.pop() else {
            frames.pop();
            if let (Some(frame), Some(event)) = (frames.last_mut(), walk.retreat()) {
                frame.sleep.push(event);
            }
            continue;
        };
        if frame
            .sleep
            .iter()
            .any(|sleeper| sleeper.is_same_step(&step))
        {
            continue;
        }
        walk.reach()?;
        let event = walk.take_step(step.actor, step.choice)?;
        let lists = &walk.machine.lists;
        let awake = |sleeper: &&Event| !dependent(sleeper, &event, lists);
        let sleep: Vec<Event> = frame.sleep.iter().filter(awake).copied().collect();
        if !Seeded::from_options(walk.options).has_defect(SeededDefect::RacesOnlyAtTheEnd) {
            look_at_races(walk, &mut frames, walk.path.len() - 1)?;
            walk.reach()?;
        }
        let next = open_entry(walk, sleep)?;
        if next.able.is_empty()
            && Seeded::from_options(walk.options).has_defect(SeededDefect::RacesOnlyAtTheEnd)
        {
            for second in 0..walk.path.len() {
                look_at_races(walk, &mut frames, second)?;
            }
        }
        frames.push(next);
    }
    Ok(())
}

/// The place at the end of the path: one actor that does not sleep is to be tried.
fn open_entry(walk: &mut Walk<'_>, sleep: Vec<Event>) -> Result<PathEntry, Halt> {
    let mut frame = PathEntry {
        sleep,
        ..PathEntry::default()
    };
    if !walk.is_too_deep() {
        let mut actor = walk.next_able(0);
        while let Some(able) = actor {
            frame.able.push(able);
            actor = walk.next_able(able + 1);
        }
    }
    if frame.able.is_empty() {
        walk.end_run()?;
        return Ok(frame);
    }
    if walk.spins(u32::from(frame.able[0])) {
        let spins = |actor: &u16| walk.spins(u32::from(*actor));
        frame.able.sort_by_key(spins);
    }
    let mut enabled_steps = Vec::new();
    for &actor in &frame.able {
        enabled_steps.clear();
        walk.machine.enabled_steps(actor, &mut enabled_steps);
        let sleeps = |enabled_step: &Event| {
            frame
                .sleep
                .iter()
                .any(|sleeper| sleeper.is_same_step(enabled_step))
        };
        if !enabled_steps.iter().all(sleeps) {
            frame.wanted.push(actor);
            return Ok(frame);
        }
    }
    walk.statistics.sleep_set_blocked += 1;
    Ok(frame)
}

/// Adds the actors that the races of an event require.
fn look_at_races(walk: &mut Walk<'_>, frames: &mut [PathEntry], second: usize) -> Result<(), Halt> {
    for race in 0..walk.path.races(second).len() {
        let first = walk.path.races(second)[race] as usize;
        let events = walk.path.events();
        if events[first].actor == events[second].actor {
            continue;
        }
        let verdict = reversible(&walk.path, &walk.machine.units, first, second);
        let Some(last) = come_first(walk, verdict, first, second)? else {
            continue;
        };
        let mut sequence = before(walk, first, second);
        sequence.push(last);
        want(walk, &mut frames[first], &sequence, second);
    }
    look_at_choices(walk, frames, second);
    Ok(())
}

/// The events between two that do not happen after the first.
fn before(walk: &Walk<'_>, first: usize, second: usize) -> Vec<Event> {
    let mut positions = Vec::new();
    walk.path.add_not_after(first, second, &mut positions);
    let events = walk.path.events();
    let positions = positions.iter();
    positions
        .map(|&position| events[position as usize])
        .collect()
}

/// Ensures that an actor is tried that can take a first step of the sequence.
fn want(walk: &Walk<'_>, frame: &mut PathEntry, sequence: &[Event], second: usize) {
    let lists = &walk.machine.lists;
    if Seeded::from_options(walk.options).has_defect(SeededDefect::AncestorsWithSleepSets) {
        return want_an_ancestor(walk, frame, second);
    }
    let mut initials = Vec::new();
    for (position, event) in sequence.iter().enumerate() {
        let earlier = &sequence[..position];
        if !earlier.iter().any(|other| dependent(other, event, lists)) {
            initials.push(event.actor);
        }
    }
    if !initials.iter().any(|actor| frame.wanted.contains(actor)) {
        frame.wanted.push(initials[0]);
    }
}

/// The rule of persistent sets, which is wrong together with sleep sets: any actor that has to do
/// with the race will do, and one that sleeps counts as tried.
fn want_an_ancestor(walk: &Walk<'_>, frame: &mut PathEntry, second: usize) {
    let racing = walk.path.events()[second].actor;
    let place = walk
        .path
        .races(second)
        .last()
        .map_or(0, |&first| first as usize);
    let is_ancestor = |actor: u16| {
        actor == racing
            || (place + 1..second).any(|position| {
                walk.path.events()[position].actor == actor
                    && walk.path.happens_before(position, second)
            })
    };
    let ancestors: Vec<u16> = frame
        .able
        .iter()
        .copied()
        .filter(|&actor| is_ancestor(actor))
        .collect();
    let candidates = if ancestors.is_empty() {
        frame.able.clone()
    } else {
        ancestors
    };
    let is_considered = |actor: &u16| {
        frame.wanted.contains(actor) || frame.sleep.iter().any(|sleeper| sleeper.actor == *actor)
    };
    if !candidates.iter().any(is_considered) {
        frame.wanted.push(candidates[0]);
    }
}

/// Adds the actors for choices that were made before other branches were possible, and the actors
/// that were ended before their steps.
fn look_at_choices(walk: &Walk<'_>, frames: &mut [PathEntry], second: usize) {
    // What completes a member of a wait-any that has already chosen should also come before it.
    for first in 0..second {
        let events = walk.path.events();
        let (chooser, later) = (events[first], events[second]);
        let chose = chooser.effects & Executed::SEVERAL != 0 && chooser.actor != later.actor;
        if chose && !walk.path.happens_before(first, second) {
            let mut sequence = before(walk, first, second);
            sequence.push(later);
            want(walk, &mut frames[first], &sequence, second);
        }
    }
    if stops_others(walk.path.events()[second].kind) {
        let PathEntry { able, wanted, .. } = &mut frames[second];
        for actor in able
            .iter()
            .filter(|&actor| !wanted.contains(actor))
            .copied()
            .collect::<Vec<_>>()
        {
            wanted.push(actor);
        }
    }
}
