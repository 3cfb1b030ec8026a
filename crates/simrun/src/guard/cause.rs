//! Why a run was given up, and how that is said.

use std::time::Duration;

use sim_core::Failure;

use crate::{Size, status};

/// Time that a program has to give control back.
pub(super) const GRACE: Duration = Duration::from_secs(2);

/// Time that a run has to stop by itself while no program prevents the stop.
pub(super) const HANDSHAKE_TIMEOUT: Duration = Duration::from_secs(10);

/// The reason why a process ends before the end of the run.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum Cause {
    /// The program ended the process.
    Exit,
    /// The run was interrupted.
    Interrupt,
    /// The real time was up, in seconds.
    MaxTime(f64),
    /// An actor kept the processor for this time, in seconds.
    Busy(f64),
    /// An allocation of this number of bytes failed.
    Memory(u64),
}

impl Cause {
    pub(crate) const fn exit_status(self) -> u8 {
        match self {
            Self::Exit => status::FAILED,
            Self::Interrupt => status::INTERRUPTED,
            Self::MaxTime(_) | Self::Busy(_) | Self::Memory(_) => status::LIMIT,
        }
    }
}

/// A run that has been given up.
#[derive(Debug)]
pub(crate) struct Stopped {
    pub(crate) cause: Cause,
    /// The actor that was running, if known, and the failure of that actor.
    pub(crate) failure: Option<Failure>,
    /// Real time that the run has taken, in seconds.
    pub(crate) wall_s: f64,
}

impl Stopped {
    /// Returns the actor that was running, or else "the run".
    fn who(&self) -> String {
        match &self.failure {
            Some(Failure { name, host, .. }) => format!("{name} on host {host}"),
            None => "the run".to_owned(),
        }
    }

    /// Returns a line that describes the end of the run.
    pub(crate) fn sentence(&self) -> String {
        let what = match self.cause {
            Cause::Busy(allowed) => {
                let who = self.who();
                return format!("{who} has not awaited for {allowed} s: the process was ended");
            }
            Cause::Exit => {
                return match &self.failure {
                    Some(failure) => format!("error: {failure}"),
                    None => format!("error: the program {ENDED}"),
                };
            }
            Cause::Memory(bytes) => {
                let who = self.who();
                return format!("out of memory: {who} needed {} more", Size(bytes));
            }
            Cause::Interrupt => "after it was interrupted",
            Cause::MaxTime(_) => "after the end of its real time",
        };
        let (grace, limit) = (GRACE.as_secs(), HANDSHAKE_TIMEOUT.as_secs());
        match &self.failure {
            Some(Failure { name, host, .. }) => format!(
                "{name} on host {host} was still busy {grace} s {what}: the process was ended"
            ),
            None => {
                format!("the run did not stop within {limit} s {what}: the process was ended")
            }
        }
    }
}

/// Action of a rank that ends the process.
pub(super) const ENDED: &str =
    "ended the process, as std::process::exit does: expected it to return";
