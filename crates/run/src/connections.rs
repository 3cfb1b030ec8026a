//! Connections of ranks: from the platform to the message layer, and their statistics after the
//! run.

use std::iter::Sum;
use std::rc::Rc;

use mpi::{ConnectionMode, ConnectionSettings, ConnectionStatistics};
use observe::Resource;
use platform::Connection;
use platform::units::{Duration, Size};
use serde::{Deserialize, Serialize};
use sim_core::Time;

use crate::RunError;

/// Time that a rank had data to send to another rank and could not.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub struct Stall {
    /// The rank that waited.
    pub rank: u32,
    /// The rank at the other end.
    pub peer: u32,
    /// The awaited resource: `credits` of the peer, own packet `buffers`, or the `connection`.
    pub resource: &'static str,
    /// Duration in simulated seconds.
    pub seconds: f64,
}

/// Counts of the connections of a rank, or of all ranks. Each end counts for itself, so a
/// connection counts twice.
#[derive(Clone, Copy, PartialEq, Eq, Serialize, Deserialize, Debug, Default)]
pub struct ConnectionTotals {
    /// Came into use.
    pub opened: u64,
    /// Number of these connections to a rank that had been connected before.
    pub reopened: u64,
    /// Attempts that the other rank refused, or that failed.
    pub refused: u64,
    /// Attempts given up because the attempt of the other rank won.
    pub simultaneous_open_lost: u64,
    /// Ended by the close protocol.
    pub closed: u64,
    /// Closes begun because no descriptor was left.
    pub evicted: u64,
    /// Closes begun because the connection was idle for a long time.
    pub idle_closed: u64,
    /// Broken.
    pub broken: u64,
}

/// Returns the connection setup of the platform, if connections have a cost.
pub(crate) fn connections(connection: &Connection) -> Option<ConnectionSettings> {
    (connection.mode != ConnectionMode::Instant)
        .then(|| connection.map(Size::bytes, Duration::as_secs))
}

/// Checks that the ranks can be connected within the limits.
pub(crate) fn check_descriptors(connection: &Connection, ranks: u32) -> Result<(), RunError> {
    match connection.descriptors {
        Some(descriptors)
            if connection.mode == ConnectionMode::Static && descriptors < ranks - 1 =>
        {
            Err(RunError::Descriptors { descriptors, ranks })
        }
        _ => Ok(()),
    }
}

/// Returns the sums over all ranks; `None` if connections are for free.
pub(crate) fn totals(processes: &[Rc<mpi::Process>]) -> Option<ConnectionTotals> {
    let all = processes.iter();
    let mut all = all
        .filter_map(|process| process.connection_statistics())
        .peekable();
    all.peek()?;
    Some(all.map(|one| ConnectionTotals::from(&one)).sum())
}

impl From<&ConnectionStatistics> for ConnectionTotals {
    /// The counts of one rank.
    fn from(statistics: &ConnectionStatistics) -> Self {
        let counts = statistics.counts;
        Self {
            opened: counts.opened,
            reopened: statistics.reopened,
            refused: counts.refused,
            simultaneous_open_lost: counts.discarded,
            closed: counts.closed,
            evicted: counts.evicted,
            idle_closed: counts.idle,
            broken: counts.broken,
        }
    }
}

impl Sum for ConnectionTotals {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            opened: sum.opened + one.opened,
            reopened: sum.reopened + one.reopened,
            refused: sum.refused + one.refused,
            simultaneous_open_lost: sum.simultaneous_open_lost + one.simultaneous_open_lost,
            closed: sum.closed + one.closed,
            evicted: sum.evicted + one.evicted,
            idle_closed: sum.idle_closed + one.idle_closed,
            broken: sum.broken + one.broken,
        })
    }
}

/// The warnings about lost ranks.
pub(crate) fn losses(lost: &[(u32, Time)]) -> Vec<String> {
    let warning = |&(rank, date): &(u32, Time)| {
        let date = date.as_secs();
        format!("rank {rank} was lost at {date} s: host failure")
    };
    lost.iter().map(warning).collect()
}

/// The waits of all ranks.
pub(crate) fn stalls(processes: &[Rc<mpi::Process>]) -> Vec<Stall> {
    let mut all = Vec::new();
    for (rank, process) in (0..).zip(processes) {
        let mut add = |peer, resource: Resource, seconds: f64| {
            if seconds > 0.0 {
                all.push(Stall {
                    rank,
                    peer,
                    resource: resource.name(),
                    seconds,
                });
            }
        };
        let connections = process.flow_report().map(|report| report.connections);
        for connection in connections.into_iter().flatten() {
            add(
                connection.peer,
                Resource::Credits,
                connection.awaited_credits,
            );
            add(
                connection.peer,
                Resource::Buffers,
                connection.awaited_buffers,
            );
        }
        let statistics = process.connection_statistics();
        for (peer, seconds) in statistics.into_iter().flat_map(|all| all.waited) {
            add(peer, Resource::Connection, seconds);
        }
    }
    // Stable: equal waits stay in the order of the ranks.
    all.sort_by(|a, b| b.seconds.total_cmp(&a.seconds));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn static_connections_need_descriptors_for_all_other_ranks() {
        let connection = Connection {
            mode: ConnectionMode::Static,
            descriptors: Some(7),
            ..Connection::default()
        };
        assert_eq!(check_descriptors(&connection, 8), Ok(()));
        let error = check_descriptors(&connection, 9).expect_err("one too few");
        let text = "connection.descriptors = 7 is too few for connection.mode = \"static\" with 9 ranks: expected at least 8";
        assert_eq!(error.to_string(), text);
        let mode = ConnectionMode::OnDemand;
        assert_eq!(
            check_descriptors(&Connection { mode, ..connection }, 9),
            Ok(())
        );
    }

    #[test]
    fn a_loss_is_a_warning() {
        let text = "rank 3 was lost at 1.5 s: host failure";
        assert_eq!(losses(&[(3, Time::from_secs(1.5))]), [text]);
    }
}
