//! Counts of the connections of a rank, for reports.

use channel::ConnectionStatistics;

use super::ConnectionDriver;

/// Record of a peer to which there was a connection.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Known {
    /// Time that messages waited for a connection to the peer, in seconds.
    pub(super) waited: f64,
    /// Number of times that a connection to the peer came into use.
    pub(super) opened: u64,
}

impl ConnectionDriver {
    pub(super) fn statistics(&self, now: f64) -> ConnectionStatistics {
        let mut waited: Vec<(u32, f64)> = Vec::new();
        for (&peer, known) in &self.known {
            let pending = self.waiting.get(&peer).map_or(0.0, |since| now - since);
            if known.waited + pending > 0.0 {
                waited.push((peer, known.waited + pending));
            }
        }
        for (&peer, since) in &self.waiting {
            if !self.known.contains_key(&peer) && now > *since {
                waited.push((peer, now - since));
            }
        }
        waited.sort_unstable_by_key(|&(peer, _)| peer);
        ConnectionStatistics {
            counts: self.connector.counts(),
            reopened: self
                .known
                .values()
                .map(|known| known.opened.saturating_sub(1))
                .sum(),
            waited,
            peers: self.known.values().filter(|known| known.opened > 0).count(),
        }
    }
}
