//! Messages in both directions; waits for them are kept and flushed at random.

use super::Elemental;
use crate::command::{Attribute, Command, SendFlags};
use crate::swarm::Feature;

/// A message for which no command has waited.
pub(super) struct Sent {
    sender: u32,
    receiver: u32,
    message: u32,
    flags: SendFlags,
}

impl Elemental<'_, '_> {
    /// Waits for the connection; with [`Feature::Early`] the initiator sends the first message
    /// before the other side knows that the connection is in use. Returns that message, and the
    /// number of the next one.
    pub(super) fn establish(&mut self) -> (Vec<Sent>, u32) {
        let connection = self.connection;
        let wait = Command::WaitConnection { connection };
        // Twice as often as other kinds: what it needs of the network is rare.
        let is_early = self.happens(Feature::Early) || self.happens(Feature::Early);
        let is_early = is_early && self.sends > 0;
        let Some(element) = is_early.then(|| self.choices.enter()).flatten() else {
            self.both(&wait);
            return (Vec::new(), 1 + u32::from(is_early));
        };
        let request = Command::WaitRequest { connection };
        self.step(vec![(self.from, wait.clone()), (self.to, request)]);
        let sent = self.send_message(1, (self.from, self.to), false);
        self.step(vec![(self.to, wait)]);
        self.choices.leave_element(element);
        (vec![sent], 2)
    }

    /// Sends the messages from `first` on. The last ones are left in `waits`.
    pub(super) fn messages(&mut self, waits: &mut Vec<Sent>, first: u32) {
        for message in first..=self.sends {
            self.append_element(|this| {
                let direction = this.direction();
                if this.flip() || waits.len() >= this.settings.outstanding as usize {
                    this.wait_for_messages(waits);
                }
                let may_block = waits.is_empty();
                waits.push(this.send_message(message, direction, may_block));
            });
        }
    }

    /// Sends a message.
    fn send_message(
        &mut self,
        message: u32,
        (sender, receiver): (u32, u32),
        may_block: bool,
    ) -> Sent {
        let silent = self.happens(Feature::Silent);
        let flags = SendFlags {
            silent,
            // A blocking send may need the receiver to free buffers, which it does not.
            blocking: self.happens_if(!silent && may_block, Feature::Blocking),
            lent: self.happens_if(!silent || self.attribute == Attribute::Ro, Feature::Lent),
        };
        let length = self.draw_length();
        let connection = self.connection;
        let send = Command::Send {
            connection,
            message,
            length,
            flags,
        };
        self.step(vec![(sender, send)]);
        Sent {
            sender,
            receiver,
            message,
            flags,
        }
    }

    /// Draws the length of a message.
    fn draw_length(&mut self) -> u32 {
        if self.happens(Feature::Extreme) {
            return if self.flip() {
                0
            } else {
                self.settings.longest
            };
        }
        let (least, most) = self.settings.lengths;
        self.between(least, most)
    }

    /// Lets senders and receivers wait for sent messages: one step for each message, in which both
    /// poll.
    pub(super) fn wait_for_messages(&mut self, waits: &mut Vec<Sent>) {
        let connection = self.connection;
        for sent in waits.drain(..) {
            let message = sent.message;
            let completion = Command::WaitSendCompletion {
                connection,
                message,
            };
            let arrival = Command::WaitReceive {
                connection,
                message,
            };
            let mut commands = Vec::with_capacity(2);
            if !sent.flags.silent && !sent.flags.blocking {
                commands.push((sent.sender, completion));
            }
            // A message of an unreliable connection may never arrive.
            if self.attribute != Attribute::Uu {
                commands.push((sent.receiver, arrival));
            }
            self.step(commands);
        }
    }
}
