//! Progress of a search, for a reader in another thread.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of a running search, updated with a short delay.
#[derive(Debug, Default)]
pub struct Progress {
    traces: AtomicU64,
    transitions: AtomicU64,
}

impl Progress {
    /// Runs so far.
    #[must_use]
    pub fn traces(&self) -> u64 {
        self.traces.load(Ordering::Relaxed)
    }

    /// Steps executed so far.
    #[must_use]
    pub fn transitions(&self) -> u64 {
        self.transitions.load(Ordering::Relaxed)
    }

    pub(crate) fn note(&self, traces: u64, transitions: u64) {
        self.traces.store(traces, Ordering::Relaxed);
        self.transitions.store(transitions, Ordering::Relaxed);
    }
}
