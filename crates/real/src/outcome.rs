//! The end of a real run as a value.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use super::control::{FailureKind, RankReport};
use super::event_log::RankLogs;

/// End of a run.
#[derive(Clone, PartialEq, Debug)]
pub enum RealOutcome {
    /// All ranks have finished.
    Finished,
    /// A rank failed or died.
    Failed(RealFailure),
    /// Ranks did not connect in time.
    Missing {
        /// The missing ranks.
        ranks: Vec<u32>,
        /// Time for which the launcher waited for these ranks.
        waited: Duration,
        /// Mistake of a process that connected instead.
        startup_error: Option<String>,
    },
    /// The time limit of the run is over.
    Limit,
    /// Stopped from outside.
    Interrupted,
    /// The listener wants no further output of the ranks.
    Unheard,
}

/// A rank that failed or died.
#[derive(Clone, PartialEq, Debug)]
pub struct RealFailure {
    /// Number of the rank.
    pub rank: u32,
    /// The name of the host, if the rank has reported it.
    pub host: String,
    /// Time of the failure in seconds since the start; `None` if the rank never started.
    pub time_s: Option<f64>,
    /// Description of the failure.
    pub message: String,
    /// Kind of the failure.
    pub kind: FailureKind,
    /// The last lines of the rank; empty if the message is complete without them.
    pub last_lines: Vec<String>,
}

impl fmt::Display for RealFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            rank,
            host,
            message,
            ..
        } = self;
        write!(f, "rank {rank}")?;
        if !host.is_empty() {
            write!(f, " on host {host}")?;
        }
        f.write_str(match self.kind {
            FailureKind::Error => " failed",
            FailureKind::Panic => " panicked",
            FailureKind::Refusal => " failed to start",
        })?;
        if let Some(time_s) = self.time_s {
            write!(f, " at {time_s:.6} s")?;
        }
        write!(f, ": {message}")?;
        if !self.last_lines.is_empty() {
            f.write_str("\nlast output:")?;
        }
        for line in &self.last_lines {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}

/// Result of a run.
#[derive(Clone, Debug)]
pub struct RealRun {
    /// The end of the run.
    pub outcome: RealOutcome,
    /// Report of each rank, if the rank has sent one.
    pub reports: Vec<Option<RankReport>>,
    /// The host of each rank, if the rank has reported it.
    pub hosts: Vec<String>,
    /// Ranks that died while the others continued.
    pub lost: Vec<RealFailure>,
    /// Collective calls that not all ranks have made: the rank that called first, and the missing
    /// ranks, in words. Empty if the run has failed.
    pub open_calls: Vec<(u32, String)>,
    /// From the start of all ranks to the end of the run, in seconds: of the last rank, or the time
    /// at which a failure, a limit or a signal ended them.
    pub measured_s: f64,
    /// Real time of the whole run, in seconds.
    pub wall_s: f64,
    /// Number of clocks: one per machine.
    pub clocks: usize,
    /// The event logs of the ranks, if they are observed.
    pub(super) logs: Option<RankLogs>,
}

impl RealRun {
    /// Returns the congestion control of the sockets that carried packets, as reported by the
    /// systems of the ranks: one name, or several names separated by a space if hosts differ.
    /// `None` if there were no such sockets, or no system reports the name.
    pub fn congestion_control(&self) -> Option<String> {
        let reports = self.reports.iter().flatten();
        let names: BTreeSet<&str> = reports
            .flat_map(|report| &report.congestion_controls)
            .map(String::as_str)
            .collect();
        let names: Vec<&str> = names.into_iter().collect();
        (!names.is_empty()).then(|| names.join(" "))
    }
}
