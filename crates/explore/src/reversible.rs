//! Reversible races: the later event could also be executed first.
//!
//! A race from e to f is reversible if f is enabled without e and all events that happen after e.
//! The race is not reversible if e enables f. For most pairs the kinds decide, for semaphores the
//! number of units. In rare cases the answer is [`Verdict::Try`]: only an execution of the program
//! shows the answer.

use sim_core::{Executed, StepKind};

use crate::independence::OVERSUBSCRIBED;
use crate::walk::Walk;
use crate::{Event, Halt, Path};

/// Reversibility of a race.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Verdict {
    /// The later event can be executed first.
    Yes,
    /// The earlier event enables the later one.
    No,
    /// Only an execution of the program shows the answer.
    Try,
}

/// Decides whether the race between two events of a path, the earlier first, can be reversed.
/// `units` are the initial units of each semaphore.
pub(crate) fn reversible(path: &Path, units: &[u32], first: usize, second: usize) -> Verdict {
    let (e, f) = (&path.events()[first], &path.events()[second]);
    // As long as something else can happen no limit is up; then only that is possible.
    if (e.effects | f.effects) & Executed::IDLE != 0 {
        return Verdict::No;
    }
    // What was repeated in vain was enabled by something; hidden effects may enable anything.
    if f.effects & Executed::AWAITED != 0 || e.effects & Executed::HIDDEN != 0 {
        return Verdict::Try;
    }
    if enables(e, f) {
        return Verdict::No;
    }
    match f.kind {
        StepKind::SemaphoreWait if e.kind == StepKind::SemaphoreUnlock && e.object == f.object => {
            semaphore(path, units, second)
        }
        StepKind::Wait
        | StepKind::WaitAny
        | StepKind::TestEnded
        | StepKind::TestAnyEnded
        | StepKind::MutexWait
        | StepKind::MutexUnlock
        | StepKind::BarrierWait
        | StepKind::SemaphoreWait
        | StepKind::CondvarWait
        // The rank may have come to look only because of what was delivered.
        | StepKind::Device
        | StepKind::Join => Verdict::Try,
        // What it catches on its way may have begun only because of the other.
        StepKind::Cancel | StepKind::SwitchHost | StepKind::Control
            if f.effects & Executed::SEVERAL != 0 =>
        {
            Verdict::Try
        }
        _ => match e.kind {
            StepKind::Kill
            | StepKind::Suspend
            | StepKind::Resume
            | StepKind::SwitchHost
            | StepKind::Control
            | StepKind::Cancel
            | StepKind::Withdraw => Verdict::Try,
            _ => Verdict::Yes,
        },
    }
}

/// Returns true if the earlier of two events is known to have made the later one possible.
const fn enables(e: &Event, f: &Event) -> bool {
    match (e.kind, f.kind) {
        (
            StepKind::AsyncSend | StepKind::AsyncReceive,
            StepKind::Wait | StepKind::WaitAny | StepKind::TestEnded | StepKind::TestAnyEnded,
        ) => e.object == f.object && e.detail == f.detail,
        (StepKind::MutexUnlock, StepKind::MutexWait | StepKind::MutexUnlock) => {
            e.object == f.object
        }
        (StepKind::BarrierAsyncLock, StepKind::BarrierWait) => {
            e.object == f.object && e.detail & OVERSUBSCRIBED == 0 && e.detail >> 1 == f.detail
        }
        (StepKind::CondvarAsyncLock, StepKind::MutexWait | StepKind::MutexUnlock) => {
            e.detail == f.object
        }
        (StepKind::Create, StepKind::Join) => e.object == f.object,
        (StepKind::Create, _) => e.object == f.actor as u32,
        (_, StepKind::Join) => e.actor as u32 == f.object,
        _ => false,
    }
}

/// Decides whether a semaphore wait is possible without a release, from the number of other units.
/// No other release is ordered between release and wait: the race would not be immediate.
fn semaphore(path: &Path, units: &[u32], wait: usize) -> Verdict {
    let Event { object, detail, .. } = path.events()[wait];
    let Some(released) = path.released_before(wait) else {
        return Verdict::Try;
    };
    // The request's number is its place in the queue: this many units have to have been there.
    if units[object as usize] + released > detail {
        Verdict::Yes
    } else {
        Verdict::No
    }
}

/// Returns the later event of a race as executed first; `None` if this is impossible.
pub(crate) fn come_first(
    walk: &mut Walk<'_>,
    verdict: Verdict,
    first: usize,
    second: usize,
) -> Result<Option<Event>, Halt> {
    let (e, f) = (walk.path.events()[first], walk.path.events()[second]);
    match verdict {
        Verdict::No => Ok(None),
        Verdict::Yes => Ok(Some(reversed(&e, &f))),
        Verdict::Try => {
            let mut before = Vec::new();
            walk.path.add_not_after(first, second, &mut before);
            let events = walk.path.events();
            let before: Vec<Event> = before
                .iter()
                .map(|&position| events[position as usize])
                .collect();
            let mut enabled_steps = Vec::new();
            if !walk.offers_after(first, &before, f.actor, &mut enabled_steps)? {
                return Ok(None);
            }
            let found = enabled_steps
                .into_iter()
                .find(|enabled_step| enabled_step.choice == f.choice);
            Ok(found.map(|enabled_step| Event {
                effects: f.effects,
                ..enabled_step
            }))
        }
    }
}

/// Returns `second` as executed before `first`: a competing send or receive moves up one place.
fn reversed(first: &Event, second: &Event) -> Event {
    let competes = first.kind == second.kind
        && matches!(second.kind, StepKind::AsyncSend | StepKind::AsyncReceive)
        && first.object == second.object;
    Event {
        detail: second.detail - u32::from(competes),
        ..*second
    }
}
