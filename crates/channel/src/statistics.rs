//! Counts of the connections of a rank, for reports.
//!
//! *Not counted*: packets and bytes.

/// Counts of events on the connections of a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ConnectionCounts {
    /// Connections that came into use, opened by either side.
    pub opened: u64,
    /// Own attempts that failed or that the peer refused, also because of its own one.
    pub refused: u64,
    /// Own attempts given up for the peer's.
    pub discarded: u64,
    /// Connections that the close protocol has ended.
    pub closed: u64,
    /// Closes begun here because no descriptor was left.
    pub evicted: u64,
    /// Closes begun here because nothing had been sent for long.
    pub idle: u64,
    /// Connections that broke.
    pub broken: u64,
}

/// Counts of the connections of a rank.
#[derive(Clone, PartialEq, Debug)]
pub struct ConnectionStatistics {
    /// Number of events by kind.
    pub counts: ConnectionCounts,
    /// Of the connections that came into use, those to a rank to which there had been one before.
    pub reopened: u64,
    /// Time that messages waited for the connection to a rank, in seconds: by rank, those for which
    /// they did.
    pub waited: Vec<(u32, f64)>,
    /// Ranks to which there was a connection: what the memory is proportional to.
    pub peers: usize,
}
