//! Real time, for bounds and rates; a result depends on real time only through such a bound.
#![expect(
    clippy::disallowed_types,
    reason = "a bound on real time influences no simulated result"
)]

use std::time::Instant;

/// The time since some moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Stopwatch(Instant);

impl Stopwatch {
    /// From now on.
    pub(crate) fn start() -> Self {
        Self(Instant::now())
    }

    /// Seconds since then.
    pub(crate) fn elapsed_seconds(self) -> f64 {
        self.0.elapsed().as_secs_f64()
    }
}
