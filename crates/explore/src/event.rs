//! An event: a step in the form that the search stores, 16 bytes that are copied.
//!
//! An event has the same actor and choice in every order of events. The other fields describe the
//! accessed object, so that events can be compared without executing them.

use sim_core::{Executed, StepKind};

/// One step of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The actor, from 0.
    pub actor: u16,
    /// Kind of the step.
    pub kind: StepKind,
    /// Further effects: flags of [`Executed`], and properties of deliveries.
    pub effects: u8,
    /// The object; see [`Footprint`](sim_core::Footprint). For a test of a list the number of the
    /// list.
    pub object: u32,
    /// The detail; see [`Footprint`](sim_core::Footprint).
    pub detail: u32,
    /// Number of the step among the steps of the actor.
    pub choice: u32,
}

impl Event {
    /// Flag of a delivery or a choice: the actor cannot observe the order of this event relative to
    /// deliveries from other senders.
    pub(crate) const ORDERLESS: u8 = 32;
    /// Flag of a test: the test distinguishes work in progress from finished work. For a choice and
    /// a delivery this bit is [`Executed::ASKS`].
    pub(crate) const TELLS_ENDS: u8 = 64;

    /// Returns true if this is the same step of the same actor.
    #[inline]
    pub const fn is_same_step(&self, other: &Self) -> bool {
        self.actor == other.actor && self.choice == other.choice
    }

    /// Returns the effects that the event may have in one order of events and not in another one.
    pub const fn uncertain_effects(&self) -> u8 {
        let effects = match self.has_open_end() {
            true => Executed::HIDDEN | Executed::ALLOCATES,
            false => 0,
        };
        match self.kind {
            StepKind::Choose | StepKind::Deliver => effects | Executed::ASKS,
            _ => effects,
        }
    }

    /// Returns true if the later steps of the actor, or the branches of the event, may differ when
    /// an earlier event is moved behind this event.
    const fn has_open_end(&self) -> bool {
        self.effects & Executed::SEVERAL != 0
            || matches!(
                self.kind,
                StepKind::Random
                    | StepKind::Wait
                    | StepKind::WaitAny
                    | StepKind::Test
                    | StepKind::TestAny
                    | StepKind::Probe
                    | StepKind::Cancel
                    | StepKind::Withdraw
                    | StepKind::TimedJoin
                    | StepKind::TimedSemaphoreWait
                    | StepKind::TimedCondvarWait
                    | StepKind::MutexTest
                    | StepKind::MutexTryLock
            )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_stay_small() {
        assert_eq!(size_of::<Event>(), 16);
    }
}
