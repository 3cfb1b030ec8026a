//! What the engine does for the rarer calls: receives that are cancelled, messages that a matched probe has taken, and
//! operations that are over before they begin.

use super::{Engine, NOTHING, Place, State, Status};
use crate::channel::{Channel, Token};
use crate::matching::Unexpected;
use crate::{Buffer, Envelope, Pattern};

impl Engine {
    /// Makes the rank busy with copying so many bytes.
    #[expect(
        clippy::cast_precision_loss,
        reason = "messages of 2^53 bytes and more may be off by one"
    )]
    pub(crate) fn copy(&mut self, channel: &dyn Channel, length: u64) {
        let cost = length as f64 / channel.settings().copy_bandwidth;
        if cost > 0.0 {
            self.busy_until = self.now(channel) + cost;
        }
    }

    /// Ends a receive that no message has met: `MPI_Cancel`. Everything else goes on as if nothing had been said.
    pub(crate) fn cancel(&mut self, token: Token) {
        self.actions += 1;
        let operation = &mut self.operations[token as usize];
        let place = &mut operation.state;
        match place {
            State::AwaitPost { message: None, .. } => operation.cancelled = true,
            State::Posted { pattern, buffer } => {
                let pattern = *pattern;
                let buffer = std::mem::replace(buffer, Buffer::phantom(0));
                let found = self.matching.withdraw(&pattern, token);
                debug_assert!(found, "a posted receive is in the queue");
                self.finish_cancelled(token, buffer);
            }
            _ => {}
        }
    }

    pub(super) fn finish_cancelled(&mut self, token: Token, buffer: Buffer) {
        let cancelled = Status {
            cancelled: true,
            ..NOTHING
        };
        self.finish(token, Ok(cancelled), buffer);
    }

    /// An operation that is over before it begins.
    pub(crate) fn finished(&mut self, status: Status, buffer: Buffer, location: Place) -> Token {
        let token = self.insert(State::Elapsing, location);
        self.finish(token, Ok(status), buffer);
        token
    }

    /// Takes the message that a receive with this pattern would get, so that no other receive gets it.
    pub(crate) fn extract(&mut self, pattern: &Pattern) -> Option<Unexpected> {
        let message = self.matching.extract(pattern)?;
        self.actions += 1;
        Some(message)
    }

    /// Receives a message that was extracted.
    pub(crate) fn receive_extracted(
        &mut self,
        channel: &dyn Channel,
        message: Unexpected,
        buffer: Buffer,
        location: Place,
    ) -> Token {
        let Envelope {
            context,
            source,
            tag,
        } = message.envelope;
        let waits = State::AwaitPost {
            pattern: Pattern {
                context,
                source: Some(source),
                tag: Some(tag),
            },
            buffer,
            message: Some(Box::new(message)),
        };
        let receive = self.insert(waits, location);
        self.in_turn(channel, receive);
        receive
    }

    /// A message that was extracted and not received: it waits again, behind those that have arrived.
    pub(crate) fn give_back(&mut self, message: Unexpected) {
        self.returned.push(message);
    }

    /// Lets messages that were given back meet receives.
    pub(crate) fn take_back(&mut self, channel: &dyn Channel) {
        if self.returned.is_empty() {
            return;
        }
        for Unexpected { envelope, content } in std::mem::take(&mut self.returned) {
            self.events += 1;
            if let Some((receive, content)) = self.matching.arrive(envelope, content) {
                self.matched(channel, receive, envelope, content);
            }
        }
    }
}
