//! Ends of connections.

use super::Elemental;
use super::messages::Sent;
use super::transfers::transfer;
use crate::command::Command;
use crate::swarm::Kind;

impl Elemental<'_> {
    /// Waits for the last messages, or abandons them, and disconnects.
    pub(super) fn end(&mut self, has_buffers: bool, mut waits: Vec<Sent>) {
        if !self.happens(Kind::Abandoned) {
            self.flush(&mut waits);
        }
        let connection = self.connection;
        let deregisters = has_buffers && waits.is_empty() && self.happens(Kind::Deregister);
        if deregisters {
            self.deregister();
        } else if has_buffers {
            self.both(&Command::RmaFreeHandles { connection });
        }
        // A broken connection is not supervised.
        if waits.is_empty() && !deregisters && self.happens(Kind::Keepalive) {
            self.keepalive();
        } else if self.flip() {
            self.both(&Command::Disconnect { connection });
        } else {
            let (first, second) = self.direction();
            self.step(vec![(first, Command::Disconnect { connection })]);
            self.step(vec![(second, Command::Disconnect { connection })]);
        }
    }

    /// Deregisters a buffer before a transfer that uses it, which has to fail, or during it.
    fn deregister(&mut self) {
        let connection = self.connection;
        let message = 2 * self.sends + 1;
        let (worker, peer) = self.direction();
        let span = self.span(0);
        let is_read = self.flip();
        let transfer = vec![(worker, transfer((connection, message), span, is_read))];
        let deregister = vec![(peer, Command::RmaDeregister { connection })];
        if self.flip() {
            self.step(transfer);
            self.step(deregister);
        } else {
            self.step(deregister);
            self.step(transfer);
        }
        let wait = Command::RmaWait {
            connection,
            message,
        };
        self.step(vec![(worker, wait)]);
    }

    /// Supervises the peer, which is reported once after it has disconnected and not before.
    fn keepalive(&mut self) {
        let connection = self.connection;
        let (worker, peer) = self.direction();
        let keepalive = Command::SetKeepalive {
            connection,
            timeout: self.settings.keepalive,
        };
        let pause = Command::Pause {
            connection,
            time: 2 * self.settings.keepalive,
        };
        self.step(vec![(worker, keepalive)]);
        if !self.settings.polling {
            self.step(vec![(worker, pause.clone())]);
        }
        self.step(vec![(peer, Command::Disconnect { connection })]);
        self.step(vec![(worker, Command::WaitKeepalive { connection })]);
        self.step(vec![(worker, pause)]);
        self.step(vec![(worker, Command::Disconnect { connection })]);
    }
}
