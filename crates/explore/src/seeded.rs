//! Seeded defects: mistakes that tests put into a search, to show that tests notice them.
//!
//! Without the feature `seeded-defects`, which only tests enable, no search can have one, and none
//! of them is compiled.

use crate::Options;

/// A mistake in a search.
#[cfg_attr(
    not(feature = "seeded-defects"),
    expect(unreachable_pub, reason = "only tests can name it")
)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SeededDefect {
    /// Sequences end at the second event of a race.
    ShortSequences,
    /// Sequences have only the events that happen before the second event of a race.
    CausalPast,
    /// Other branches of a wait-any are inserted without the events before them.
    NoWaitAnyRule,
    /// Other choices are inserted without the events before them.
    ShortChoices,
    /// Races are looked at once per beginning although there are choices.
    ChoicesOnce,
    /// No wait for a semaphore can come before a racing event.
    SemaphoresNeverReverse,
    /// Source sets count ancestors that sleep.
    AncestorsWithSleepSets,
    /// Source sets look at races at the end of a run only.
    RacesOnlyAtTheEnd,
    /// No actor is taken to tell the order of deliveries.
    NobodyChooses,
    /// A delivery has one cause, the latest.
    LatestCause,
}

/// The seeded defect of a search, if there is one.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seeded {
    #[cfg(feature = "seeded-defects")]
    defect: Option<SeededDefect>,
}

impl Seeded {
    pub(crate) const fn from_options(options: &Options) -> Self {
        #[cfg(not(feature = "seeded-defects"))]
        let _ = options;
        Self {
            #[cfg(feature = "seeded-defects")]
            defect: options.defect,
        }
    }

    /// Returns true if this is the defect of the search.
    #[inline]
    pub(crate) fn has_defect(self, defect: SeededDefect) -> bool {
        #[cfg(feature = "seeded-defects")]
        return self.defect == Some(defect);
        #[cfg(not(feature = "seeded-defects"))]
        {
            let _ = (self, defect);
            false
        }
    }

    /// Returns true if the search has no defect.
    #[inline]
    pub(crate) const fn is_none(self) -> bool {
        #[cfg(feature = "seeded-defects")]
        return self.defect.is_none();
        #[cfg(not(feature = "seeded-defects"))]
        {
            let _ = self;
            true
        }
    }
}
