//! Ends of connections.

use super::Elemental;
use super::messages::Sent;
use super::transfers::transfer_command;
use crate::command::Command;
use crate::swarm::Feature;

impl Elemental<'_, '_> {
    /// Waits for the last messages, or abandons them, and disconnects.
    pub(super) fn end_connection(&mut self, has_buffers: bool, mut waits: Vec<Sent>) {
        if !self.happens(Feature::Abandoned) {
            self.wait_for_messages(&mut waits);
        }
        let connection = self.connection;
        let deregisters = if has_buffers && waits.is_empty() {
            self.enter_if(Feature::Deregister)
        } else {
            None
        };
        if let Some(element) = deregisters {
            self.deregister();
            self.choices.leave_element(element);
        } else if has_buffers {
            self.append_element(|this| this.both(&Command::RmaFreeHandles { connection }));
        }
        // A broken connection is not supervised.
        if waits.is_empty() && deregisters.is_none() && self.happens(Feature::Keepalive) {
            self.keepalive();
        } else if self.flip() {
            self.append_element(|this| this.both(&Command::Disconnect { connection }));
        } else {
            let (first, second) = self.direction();
            for worker in [first, second] {
                self.append_element(|this| {
                    this.step(vec![(worker, Command::Disconnect { connection })]);
                });
            }
        }
    }

    /// Deregisters a buffer during its transfer, or before the transfer, which then must fail.
    fn deregister(&mut self) {
        let connection = self.connection;
        let message = 2 * self.sends + 1;
        let (worker, peer) = self.direction();
        let span = self.span(0);
        let is_read = self.flip();
        let transfer = vec![(
            worker,
            transfer_command((connection, message), span, is_read),
        )];
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

    /// Supervises the peer: one report after the peer has disconnected, and none before.
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
            self.append_element(|this| this.step(vec![(worker, pause.clone())]));
        }
        self.step(vec![(peer, Command::Disconnect { connection })]);
        self.step(vec![(worker, Command::WaitKeepalive { connection })]);
        self.append_element(|this| this.step(vec![(worker, pause)]));
        self.append_element(|this| {
            this.step(vec![(worker, Command::Disconnect { connection })]);
        });
    }
}
