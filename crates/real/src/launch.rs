//! Start of a real run: the processes of the ranks, the address for their connections, the limits.

use std::ffi::OsString;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// Reaction to the death of a rank.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum FailurePolicy {
    /// Abort the run.
    #[default]
    Abort,
    /// Notify the other ranks, which continue.
    Notify,
}

/// Start of the processes of ranks.
#[derive(Clone, Debug)]
pub enum LaunchMode {
    /// The launcher starts them.
    Processes(Vec<Start>),
    /// Another launcher has started this many.
    Elsewhere(u32),
}

/// A process to start.
#[derive(Clone, Debug)]
pub struct Start {
    /// Program and arguments.
    pub command: Vec<OsString>,
    /// Number among the ranks of its host.
    pub local_rank: u32,
    /// Number of ranks on this host.
    pub local_size: u32,
    /// True if the process is a child of the launcher, and ends with the launcher.
    pub is_child: bool,
}

impl LaunchMode {
    /// Number of processes of one command on this machine.
    pub fn here(command: &[OsString], ranks: u32) -> Self {
        let start = |local_rank| Start {
            command: command.to_vec(),
            local_rank,
            local_size: ranks,
            is_child: true,
        };
        Self::Processes((0..ranks).map(start).collect())
    }

    pub(super) fn processes(&self) -> &[Start] {
        match self {
            Self::Processes(processes) => processes,
            Self::Elsewhere(_) => &[],
        }
    }

    /// Returns the number of ranks.
    pub fn rank_count(&self) -> io::Result<u32> {
        match self {
            Self::Processes(processes) => u32::try_from(processes.len()).map_err(io::Error::other),
            Self::Elsewhere(size) => Ok(*size),
        }
    }
}

/// Command to start.
#[derive(Clone, Debug)]
pub struct LaunchOptions {
    /// The ranks.
    pub starts: LaunchMode,
    /// Where they come to.
    pub listen: SocketAddr,
    /// Revision that they must have.
    pub revision: String,
    /// Time that they may take to come.
    pub arrival: Duration,
    /// The time after which a rank that does not answer over the network is lost; `None` for never.
    pub keepalive_timeout: Option<Duration>,
    /// Time limit of the run, from its start.
    pub until: Option<Duration>,
    /// True if each rank writes an event log, see [`RealRun::write_events`].
    ///
    /// [`RealRun::write_events`]: crate::RealRun::write_events
    pub observe: bool,
    /// Time between reports of progress; `None` for no reports.
    pub progress: Option<Duration>,
    /// Reaction to the death of a rank.
    pub on_loss: FailurePolicy,
    /// The run is stopped soon after this has become true.
    pub stop: Arc<AtomicBool>,
}

/// Receiver of the output of ranks.
pub trait OutputListener {
    /// Takes a line of a rank, without its end. Returns false if no further lines are wanted.
    fn line(&mut self, rank: u32, is_error: bool, line: &[u8]) -> bool;

    /// The progress of the run after `time_s` seconds: the number of ranks that have finished, and
    /// of all.
    fn report_progress(&mut self, time_s: f64, (finished, ranks): (usize, usize)) {
        let _ = (time_s, finished, ranks);
    }
}
