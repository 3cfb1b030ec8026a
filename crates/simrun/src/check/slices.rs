//! A search with regular checkpoints: the search runs in slices of time, and is written to the file
//! after each slice. A killed process loses the current slice.
//!
//! Slices do not change the findings and counts of a search: each slice begins where the slice
//! before was interrupted, as with `--checkpoint`. Users may only observe that a search takes a
//! little longer.

use explore::{Bound, Checkpoint, Options, Report};

/// Length of a slice in seconds, at least, after one in which the search came no further.
const SHORTEST: f64 = 1e-3;

/// Explores from `from` on, and calls `keep` with the state of the search each time that `every`
/// seconds have passed.
///
/// # Errors
/// The first error of `explore`.
pub(super) fn explore_in_slices<E>(
    options: &Options,
    every: f64,
    mut from: Option<Checkpoint>,
    explore: impl Fn(&Options, Option<&Checkpoint>) -> Result<Report, E>,
    keep: impl Fn(&Checkpoint),
) -> Result<Report, E> {
    let statistics = |from: &Option<Checkpoint>| {
        let known = from.as_ref().map(Checkpoint::statistics);
        known.unwrap_or_default()
    };
    let start = statistics(&from);
    let mut slice = every;
    loop {
        let now = statistics(&from);
        let left = |max: u64, then: u64, now: u64| max.saturating_sub(now.saturating_sub(then));
        let seconds_left = options.seconds_max - (now.seconds - start.seconds);
        let part = Options {
            executions_max: left(options.executions_max, start.count_runs(), now.count_runs()),
            transitions_max: left(options.transitions_max, start.transitions, now.transitions),
            seconds_max: seconds_left.min(slice),
            ..options.clone()
        };
        let report = explore(&part, from.as_ref())?;
        let is_slice = slice < seconds_left
            && report
                .statistics
                .bounds
                .iter()
                .any(|bound| bound == Bound::Time);
        match &report.checkpoint {
            Some(checkpoint) if is_slice => keep(checkpoint),
            _ => return Ok(report),
        }
        if report.statistics.transitions == now.transitions {
            // All of it was needed to come back to where the one before ended, or to start threads.
            slice = (2.0 * slice).max(SHORTEST);
        }
        from = report.checkpoint;
    }
}
