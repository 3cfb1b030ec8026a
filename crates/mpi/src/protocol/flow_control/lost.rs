//! Loss of a peer: frees the resources that were held for the peer.

use super::{FlowControl, Hold};
use crate::channel::Token;

impl FlowControl {
    /// Forgets a peer and the packets that wait for the peer, and the activities for which
    /// `operations` wait. The caller handles packets under way.
    pub(crate) fn lose(&mut self, peer: u32, operations: &[Token], now: f64) {
        for operation in operations {
            self.shared.activities.remove(operation);
        }
        self.line.retain(|waiting| *waiting != peer);
        let connection = self.connections.remove(&peer);
        if connection.is_some_and(|connection| connection.hold == Hold::Pool) {
            self.shared.give_back(1);
        }
        self.serve(now);
    }
}
