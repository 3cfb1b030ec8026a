//! No reduction: the reference for the other reductions.
//!
//! Every step that is possible at every place is taken, depth first. With sleep sets (Godefroid)
//! the search cuts runs that only swap independent steps of earlier runs, and never loses a class;
//! without sleep sets every interleaving is run.
//!
//! A search through states continues from each state once. This is sound without sleep sets: the
//! possible steps from a state do not depend on the path to the state.

use std::collections::BTreeSet;

use crate::independence::dependent;
use crate::walk::Walk;
use crate::{Event, Halt};

/// One place of the path.
#[derive(Debug, Default)]
struct Frame {
    /// The steps that are left.
    todo: Vec<Event>,
    /// The steps that earlier siblings cover.
    sleep: Vec<Event>,
}

/// The states from which the search has gone on.
type Visited = BTreeSet<(u64, u64)>;

/// Explores each state once, if the program reports states.
pub(crate) fn run_states(walk: &mut Walk<'_>) -> Result<(), Halt> {
    let mut visited = Some(Visited::new());
    let mut frames = vec![open_frame(walk, Vec::new(), &mut visited)?];
    explore_frames(walk, &mut frames, false, 0, &mut visited)
}

/// Explores without reduction.
pub(crate) fn explore_all_runs(walk: &mut Walk<'_>, with_sleep_sets: bool) -> Result<(), Halt> {
    let mut frames = vec![open_frame(walk, Vec::new(), &mut None)?];
    explore_frames(walk, &mut frames, with_sleep_sets, 0, &mut None)
}

/// Explores the steps that the frames have left; the first frame is at the given depth.
fn explore_frames(
    walk: &mut Walk<'_>,
    frames: &mut Vec<Frame>,
    with_sleep_sets: bool,
    depth: usize,
    visited: &mut Option<Visited>,
) -> Result<(), Halt> {
    while let Some(frame) = frames.last_mut() {
        let Some(step) = frame.todo.pop() else {
            frames.pop();
            if walk.path.len() == depth {
                break;
            }
            let event = walk.retreat();
            if let (Some(frame), Some(event), true) = (frames.last_mut(), event, with_sleep_sets) {
                frame.sleep.push(event);
            }
            continue;
        };
        let mut asleep = frame.sleep.iter();
        if asleep.any(|sleeper| sleeper.is_same_step(&step)) {
            continue;
        }
        walk.reach()?;
        let event = walk.take_step(step.actor, step.choice)?;
        let lists = &walk.machine.lists;
        let awake = |sleeper: &&Event| !dependent(sleeper, &event, lists);
        let sleep: Vec<Event> = frame.sleep.iter().filter(awake).copied().collect();
        frames.push(open_frame(walk, sleep, visited)?);
    }
    Ok(())
}

/// Explores with sleep sets, depth first: the run of these events, and then the runs that leave the
/// events at the latest place, at the place before, and so on. Runs that begin with the events and
/// a failure are left out.
pub(crate) fn explore_backwards(walk: &mut Walk<'_>, events: &[Event]) -> Result<(), Halt> {
    let mut frames = vec![open_frame(walk, Vec::new(), &mut None)?];
    for event in events {
        if let Some(frame) = frames.last_mut() {
            frame.todo.retain(|step| !step.is_same_step(event));
        }
        walk.take_step(event.actor, event.choice)?;
        // After a failure no run is correct, whatever the other actors do.
        frames.push(match walk.machine.stepper.failures() {
            [] => open_frame(walk, Vec::new(), &mut None)?,
            _ => Frame::default(),
        });
    }
    explore_frames(walk, &mut frames, true, 0, &mut None)
}

/// The place at the end of the path.
fn open_frame(
    walk: &mut Walk<'_>,
    sleep: Vec<Event>,
    visited: &mut Option<Visited>,
) -> Result<Frame, Halt> {
    if let (Some(visited), Some(state)) = (visited, walk.machine.stepper.state_fingerprint())
        && !visited.insert(state)
    {
        return Ok(Frame::default());
    }
    let mut todo = Vec::new();
    if !walk.is_too_deep() {
        let mut actor = walk.next_able(0);
        while let Some(able) = actor {
            walk.machine.enabled_steps(able, &mut todo);
            actor = walk.next_able(able + 1);
        }
    }
    // What is tried first is taken from the end.
    todo.reverse();
    if todo.iter().any(|step| walk.spins(u32::from(step.actor))) {
        todo.sort_by_key(|step| !walk.spins(u32::from(step.actor)));
    }
    if todo.is_empty() {
        walk.end_run()?;
    } else if todo
        .iter()
        .all(|step| sleep.iter().any(|sleeper| sleeper.is_same_step(step)))
    {
        walk.statistics.sleep_set_blocked += 1;
    }
    Ok(Frame { todo, sleep })
}
