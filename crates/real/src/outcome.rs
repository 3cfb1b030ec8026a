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
    /// Ranks did not come.
    Missing {
        /// The missing ranks.
        ranks: Vec<u32>,
        /// Time that they were waited for.
        waited: Duration,
        /// Mistake of a process that connected instead.
        startup_error: Option<String>,
    },
    /// The time that it was given is over.
    Limit,
    /// Stopped from outside.
    Interrupted,
    /// Nobody wanted to hear more of what the ranks print.
    Unheard,
}

/// A rank that failed or died.
#[derive(Clone, PartialEq, Debug)]
pub struct RealFailure {
    /// Its rank.
    pub rank: u32,
    /// The name of its host, if it has said so.
    pub host: String,
    /// When, in seconds since the start; `None` if it never started.
    pub time_s: Option<f64>,
    /// Its end.
    pub message: String,
    /// Kind of the failure.
    pub kind: FailureKind,
    /// Its last lines; none where the message says all that there is to say.
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
    /// Its end.
    pub outcome: RealOutcome,
    /// End of each rank, as far as it has said so.
    pub reports: Vec<Option<RankReport>>,
    /// The host of each rank, as far as it has said so.
    pub hosts: Vec<String>,
    /// Ranks that died while the others continued.
    pub lost: Vec<RealFailure>,
    /// Collective calls that not all ranks have made: the rank that was the first to call, and
    /// those that are missing, in words. Empty if the run has failed.
    pub open_calls: Vec<(u32, String)>,
    /// From the start of all ranks to the end of the run, in seconds: of the last rank, or the time
    /// at which a failure, a limit or a signal ended them.
    pub measured_s: f64,
    /// Time that all of it took, in seconds.
    pub wall_s: f64,
    /// Number of clocks: one per machine.
    pub clocks: usize,
    /// The event logs of the ranks, if they are observed.
    pub(super) logs: Option<RankLogs>,
}

impl RealRun {
    /// The congestion control of the sockets that carried packets, as the ranks' systems tell: one
    /// name, or several with a space between them if hosts differ. `None` if there were no such
    /// sockets, or nobody tells.
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
