//! Counts of the connections of a rank, for reports.
//!
//! *Not counted*: packets and bytes.

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
