//! The limit in real time of the work after a search: comparison of runs, shorter counterexamples,
//! critical transitions. At the limit the work stops with the result so far.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::Options;
use crate::clock::Stopwatch;

/// The moment at which the work after a search stops.
#[derive(Clone, Debug)]
pub struct Deadline {
    watch: Stopwatch,
    seconds: f64,
    interrupt: Option<Arc<AtomicBool>>,
}

impl Deadline {
    /// Creates the deadline in `seconds` from now, or when `interrupt` becomes true.
    pub fn new(seconds: f64, interrupt: Option<Arc<AtomicBool>>) -> Self {
        Self {
            watch: Stopwatch::start(),
            seconds,
            interrupt,
        }
    }

    /// The earlier of this deadline and `seconds` from now.
    #[must_use]
    pub fn earlier_deadline(&self, seconds: f64) -> Self {
        Self::new(seconds.min(self.seconds_left()), self.interrupt.clone())
    }

    /// Returns true if the work has to stop.
    pub fn is_over(&self) -> bool {
        let interrupt = self.interrupt.as_ref();
        interrupt.is_some_and(|flag| flag.load(Ordering::Relaxed)) || self.seconds_left() <= 0.0
    }

    fn seconds_left(&self) -> f64 {
        self.seconds - self.watch.elapsed_seconds()
    }

    /// The options of a search that stops at the deadline, or after this many transitions.
    pub(crate) fn search_options(&self, transitions_max: u64) -> Options {
        Options {
            transitions_max,
            seconds_max: self.seconds_left(),
            interrupt: self.interrupt.clone(),
            ..Options::default()
        }
    }
}

impl Default for Deadline {
    /// No deadline.
    fn default() -> Self {
        Self::new(f64::INFINITY, None)
    }
}
