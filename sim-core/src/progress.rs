//! How far a run is, for another thread to look at. The run writes it now and then and never reads it.

use std::sync::atomic::{AtomicU64, Ordering};

use crate::Time;

/// The date that a run has reached and the events so far, both a little behind.
#[derive(Debug, Default)]
pub struct Progress {
    date: AtomicU64,
    events: AtomicU64,
}

impl Progress {
    /// The date that the run has reached.
    #[must_use]
    pub fn time(&self) -> Time {
        Time::from_bits(self.date.load(Ordering::Relaxed))
    }

    /// The events so far.
    #[must_use]
    pub fn events(&self) -> u64 {
        self.events.load(Ordering::Relaxed)
    }

    pub(crate) fn note(&self, time: Time, events: u64) {
        self.date.store(time.to_bits(), Ordering::Relaxed);
        self.events.store(events, Ordering::Relaxed);
    }
}
