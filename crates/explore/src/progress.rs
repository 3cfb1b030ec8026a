//! Progress of a search, for a reader in another thread.

use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use sim_core::Stepper;

use crate::Finding;
use crate::search::Counterexample;

/// Counts of a running search, updated with a short delay.
#[derive(Debug, Default)]
pub struct SearchProgress {
    executions: AtomicU64,
    transitions: AtomicU64,
    first_finding: OnceLock<Counterexample>,
}

impl SearchProgress {
    /// Runs so far.
    pub fn executions(&self) -> u64 {
        self.executions.load(Ordering::Relaxed)
    }

    /// Steps executed so far.
    pub fn transitions(&self) -> u64 {
        self.transitions.load(Ordering::Relaxed)
    }

    /// Follows the run of the first finding so far in another copy of the program; `None` if the
    /// search has no finding, or the program does not take the same steps again.
    pub fn follow_first_finding(&self, stepper: &mut Stepper) -> Option<Finding> {
        let (events, end) = self.first_finding.get()?;
        Finding::reproduce_end(stepper, events, *end)
    }

    /// Returns true if the search has a finding.
    pub fn has_finding(&self) -> bool {
        self.first_finding.get().is_some()
    }

    pub(crate) fn note_finding(&self, found: &Counterexample) {
        self.first_finding.get_or_init(|| found.clone());
    }

    pub(crate) fn update_counts(&self, executions: u64, transitions: u64) {
        self.executions.store(executions, Ordering::Relaxed);
        self.transitions.store(transitions, Ordering::Relaxed);
    }
}
