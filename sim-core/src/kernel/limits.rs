//! Time limits under an explorer that does not let limits expire at any moment.
//!
//! A limit expires only if no other step is possible: first the limit with the earliest date, as if
//! all other work took no time. So a wait with a limit always ends, and the order in which several
//! limits expire does not depend on the order of earlier steps.
//!
//! *Not modelled*: limits that expire while other actors still have steps. An explorer finds these
//! cases only if it may choose the expiry.

use super::{Actors, PendingState};
use crate::{Span, Time};

/// The time limits of the waits of a run.
#[derive(Debug, Default)]
pub(crate) struct Limits {
    /// The date of the latest limit that was up.
    now: Time,
    /// Dates, with the actors and the tickets of the waits; waits that are over among them.
    pending: Vec<(Time, u32, u32)>,
    /// True if a limit has expired: its wait is the next step.
    pub(crate) is_up: bool,
}

impl Limits {
    pub(super) fn add(&mut self, limit: Span, actor: u32, operation_id: u32) {
        self.pending.push((self.now + limit, actor, operation_id));
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.pending.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.pending.clear();
        (self.now, self.is_up) = (Time::ZERO, false);
    }

    /// Lets the limit with the earliest date expire, because no other step is possible.
    pub(crate) fn expire_first(&mut self, actors: &mut Actors) {
        let mut pending = std::mem::take(&mut self.pending);
        pending.retain(|&(_, actor, operation_id)| {
            let record = &actors[actor];
            let mut slots = record.slots().into_iter();
            !record.dead
                && slots.any(|slot| {
                    slot.operation_id == operation_id && slot.state == PendingState::Waiting
                })
        });
        let is_active = |&&(_, actor, _): &&(Time, u32, u32)| !actors[actor].suspended;
        let first = pending.iter().filter(is_active).min().copied();
        self.pending = pending;
        let Some((date, actor, operation_id)) = first else {
            return;
        };
        (self.now, self.is_up) = (date, true);
        let slot = actors[actor].slot_mut(operation_id);
        let slot = slot.expect("the wait was just seen");
        slot.code = slot.code.limited();
    }
}
