//! An event: a step as the search keeps it, 16 bytes that are copied.
//!
//! What identifies an event in any order of events is its actor and its choice; the rest says what
//! it touches, so that it can be compared with others without executing it.

use sim_core::{Executed, StepKind};

/// One step of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Event {
    /// The actor, from 0.
    pub actor: u16,
    /// What it does.
    pub kind: StepKind,
    /// What else it does: flags of [`Executed`], and what is known of deliveries.
    pub effects: u8,
    /// The object; see [`Footprint`](sim_core::Footprint). For a test of a list the number of the
    /// list.
    pub object: u32,
    /// The detail; see [`Footprint`](sim_core::Footprint).
    pub detail: u32,
    /// Which of the actor's possible steps.
    pub choice: u32,
}

impl Event {
    /// In the effects of a delivery: whoever gets it cannot tell in which order it comes with those
    /// of other senders.
    pub(crate) const ORDERLESS: u8 = 32;
    /// In the effects of a test: it tells work on its way from work that is over.
    pub(crate) const TELLS_ENDS: u8 = 64;

    /// Returns true if this is the same step of the same actor.
    #[inline]
    #[must_use]
    pub const fn is_same_step(&self, other: &Self) -> bool {
        self.actor == other.actor && self.choice == other.choice
    }

    /// Returns true if what follows the event locally, or its branches, may differ when an earlier
    /// event is moved behind it.
    #[must_use]
    pub const fn has_open_end(&self) -> bool {
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
