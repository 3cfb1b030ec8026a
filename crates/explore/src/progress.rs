//! Progress of a search, for a reader in another thread.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts of a running search, updated with a short delay.
#[derive(Debug, Default)]
pub struct Progress {
    executions: AtomicU64,
    transitions: AtomicU64,
}

impl Progress {
    /// Runs so far.
    pub fn executions(&self) -> u64 {
        self.executions.load(Ordering::Relaxed)
    }

    /// Steps executed so far.
    pub fn transitions(&self) -> u64 {
        self.transitions.load(Ordering::Relaxed)
    }

    pub(crate) fn note(&self, executions: u64, transitions: u64) {
        self.executions.store(executions, Ordering::Relaxed);
        self.transitions.store(transitions, Ordering::Relaxed);
    }
}
