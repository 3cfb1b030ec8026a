//! A peer that is lost: what it held is free again.

use super::{FlowControl, Hold};
use crate::channel::Token;

impl FlowControl {
    /// Forgets a peer and what waits for it, also that `operations` wait for anything. Packets on
    /// the way are left to the caller.
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
