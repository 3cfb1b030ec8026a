//! Counts of the connections of a rank, for reports.
//!
//! *Not counted*: packets and bytes.

use std::collections::BTreeMap;

/// Counts of events on the connections of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConnectionCounts {
    /// Connections that came into use, opened by either side.
    pub opened: u64,
    /// Own attempts that failed or that the peer refused, also because of an attempt of the peer.
    pub refused: u64,
    /// Own attempts given up for the peer's.
    pub discarded: u64,
    /// Connections that the close protocol has ended.
    pub closed: u64,
    /// Closes begun here because no descriptor was left.
    pub evicted: u64,
    /// Closes begun here because no packet had been sent for a long time.
    pub idle: u64,
    /// Connections that broke.
    pub broken: u64,
}

/// Counts of the connections of a rank.
#[derive(Clone, PartialEq, Debug)]
pub struct ConnectionStatistics {
    /// Number of events by kind.
    pub counts: ConnectionCounts,
    /// Number of connections that came into use to a rank with an earlier connection.
    pub reopened: u64,
    /// Time that messages waited for the connection to a rank, in seconds: by rank, for the ranks
    /// with such a wait.
    pub waited: Vec<(u32, f64)>,
    /// Number of ranks with a connection in this run; the memory is proportional to this number.
    pub peers: usize,
}

/// History of the connections to one rank.
#[derive(Clone, Copy, Debug, Default)]
pub struct PeerHistory {
    /// Time that messages waited for a connection, in seconds.
    pub waited: f64,
    /// Number of connections that came into use.
    pub opened: u64,
}

impl ConnectionStatistics {
    /// Sums the histories of the peers, by rank.
    #[must_use]
    pub fn sum_histories(counts: ConnectionCounts, histories: &BTreeMap<u32, PeerHistory>) -> Self {
        let of_waits = histories.iter().filter(|(_, peer)| peer.waited > 0.0);
        let opened = histories.values().map(|peer| peer.opened);
        Self {
            counts,
            reopened: opened.clone().map(|opened| opened.saturating_sub(1)).sum(),
            waited: of_waits.map(|(&rank, peer)| (rank, peer.waited)).collect(),
            peers: opened.filter(|opened| *opened > 0).count(),
        }
    }
}
