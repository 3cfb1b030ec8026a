//! Facts that a process needs to become a rank: one line of JSON on its standard input.

use std::io::{self, BufRead, ErrorKind};
use std::net::SocketAddr;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::auth::RunSecret;

/// The variable that makes a program a rank and gives the source of its ticket.
pub const VARIABLE: &str = "SIMRUN_RANK";

/// The only place so far.
pub(super) const ON_INPUT: &str = "stdin";

/// No ticket is longer.
const LENGTH_MAX: u64 = 4096;

/// Facts that a process needs.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize, Debug)]
pub struct LaunchInfo {
    /// Number of the rank.
    pub rank: u32,
    /// Their number.
    pub size: u32,
    /// Number among the ranks of its host, from 0.
    pub local_rank: u32,
    /// Number of ranks on this host.
    pub local_size: u32,
    /// Where the coordinator listens.
    pub coordinator: SocketAddr,
    /// Parent process on the same machine, if the rank is to end with it.
    pub parent: Option<u32>,
    /// Path of the event log of the rank, without its rank number; `None` without an event log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<PathBuf>,
    /// The secret of the run, as digits.
    secret: String,
}

impl LaunchInfo {
    /// The ticket of a rank.
    pub fn new(
        (rank, size): (u32, u32),
        (local_rank, local_size): (u32, u32),
        coordinator: SocketAddr,
        parent: Option<u32>,
        secret: &RunSecret,
    ) -> Self {
        Self {
            rank,
            size,
            local_rank,
            local_size,
            coordinator,
            parent,
            events: None,
            secret: secret.to_hex(),
        }
    }

    /// Returns this ticket with the path of the event log of the rank, if there is an event log.
    pub(super) fn observed(self, events: Option<PathBuf>) -> Self {
        Self { events, ..self }
    }

    /// The secret of the run.
    pub fn secret(&self) -> Option<RunSecret> {
        RunSecret::from_hex(&self.secret)
    }

    /// The line.
    pub(super) fn to_line(&self) -> String {
        let json = serde_json::to_string(self).expect("a ticket has only keys that JSON knows");
        json + "\n"
    }

    /// Reads the line.
    pub fn read(input: impl BufRead) -> io::Result<Self> {
        let mut line = String::new();
        input.take(LENGTH_MAX).read_line(&mut line)?;
        let launch_info: Self = serde_json::from_str(&line)?;
        if launch_info.rank >= launch_info.size || launch_info.secret().is_none() {
            return Err(ErrorKind::InvalidData.into());
        }
        Ok(launch_info)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_read_as_it_was_written_and_nothing_else_is() {
        let secret = RunSecret::random().unwrap();
        let address = "127.0.0.1:4000".parse().unwrap();
        let launch_info = LaunchInfo::new((1, 2), (1, 2), address, Some(7), &secret);
        let line = launch_info.to_line();
        assert_eq!(LaunchInfo::read(line.as_bytes()).unwrap(), launch_info);
        assert_eq!(launch_info.secret(), Some(secret));
        let wrong = [
            String::new(),
            "{}\n".to_owned(),
            line.replace("\"rank\":1", "\"rank\":2"),
            line.replace("\"secret\":\"", "\"secret\":\"00"),
            "x".repeat(100_000),
        ];
        for text in wrong {
            assert!(LaunchInfo::read(text.as_bytes()).is_err(), "{text}");
        }
    }
}
