//! Attempts of a rank with rare parts: a model checker explores or an observer observes the rank,
//! or the rank has been busy.

use observe::SourceLocation;

use super::Process;
use super::repetition::completes_read;
use crate::exploration::{self, ExplorationFact};
use crate::protocol::engine::{ProtocolEngine, ScheduleExecutor};
use crate::protocol::waiting::Waits;

/// Prepares an attempt. Returns true if the rank has to park before.
#[cold]
pub(super) fn parks_before(
    process: &Process,
    engine: &mut ProtocolEngine,
    waits: Waits,
    location: SourceLocation,
) -> bool {
    let channel = process.channel();
    let explored = !engine.requests.rare.is_empty();
    let causes = explored.then(|| exploration::causality(channel)).flatten();
    if let Some(causes) = causes
        && process.comes_too_soon(causes, engine, waits, location)
    {
        causes.note_fact(ExplorationFact::WaitDeferred);
    } else if !waits.needs_look() || exploration::may_look(channel) {
        if explored && engine.requests.has_ready() {
            ScheduleExecutor::new(engine, channel).advance_ready();
        }
        return false;
    }
    process.wait_in(engine, waits, location);
    true
}

/// Notes that an attempt has succeeded.
#[cold]
pub(super) fn note_end(
    process: &Process,
    engine: &mut ProtocolEngine,
    waits: Waits,
    location: SourceLocation,
) {
    if let Some(observation) = engine.requests.rare.observation_mut() {
        observation.end_wait();
    }
    if exploration::is_explored(process.channel()) {
        engine.requests.rare.report_observed(process.channel());
        process.blocked.borrow_mut().remove_pending(waits, location);
        if process.awaited.borrow().is_empty() && !completes_read(process, waits) {
            process.note_begun();
        }
    }
}
