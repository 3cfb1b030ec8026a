//! What receives: the call, the message that a receive has met, its data, the end.

use super::{Engine, Place, State, status};
use crate::channel::{Channel, Header, Packet, Token};
use crate::matching::Content;
use crate::{Buffer, Envelope, Error, Pattern};

impl Engine {
    /// Posts a receive.
    pub(crate) fn receive(
        &mut self,
        channel: &dyn Channel,
        pattern: Pattern,
        buffer: Buffer,
        location: Place,
    ) -> Token {
        if self.may_begin(channel) {
            let receive = self.insert(State::Posted { pattern, buffer }, location);
            if let Some(message) = self.matching.post(pattern, receive) {
                self.matched(channel, receive, message.envelope, message.content);
            }
            return receive;
        }
        let waits = State::AwaitPost {
            pattern,
            buffer,
            message: None,
        };
        let receive = self.insert(waits, location);
        self.in_turn(channel, receive);
        receive
    }

    /// A receive has got its message, or the announcement of it.
    pub(super) fn matched(
        &mut self,
        channel: &dyn Channel,
        receive: Token,
        envelope: Envelope,
        content: Content,
    ) {
        let place = &mut self.operations[receive as usize].state;
        let State::Posted { buffer, .. } = std::mem::replace(place, State::Elapsing) else {
            unreachable!("only posted receives are matched");
        };
        match content {
            Content::Eager(message) => {
                self.owe(channel, receive, message.len());
                self.deliver(receive, envelope, buffer, &message);
            }
            Content::Detached(message) => {
                self.operations[receive as usize].state = State::AwaitData {
                    envelope,
                    length: message.len(),
                    buffer,
                    detached: true,
                    arrived: 0,
                };
                let packet = Packet {
                    header: Header::Data { receive },
                    payload: message,
                    notify: None,
                    returned: None,
                };
                channel.pull(envelope.source, packet);
            }
            Content::Held { length, assembly } => {
                self.operations[receive as usize].state = State::AwaitData {
                    envelope,
                    length,
                    buffer,
                    detached: true,
                    arrived: 0,
                };
                self.meet(channel, assembly, receive);
            }
            Content::Rts {
                length,
                send,
                detached,
            } => {
                self.operations[receive as usize].state = State::AwaitData {
                    envelope,
                    length,
                    buffer,
                    detached,
                    arrived: 0,
                };
                self.post_control(channel, envelope.source, Header::Cts { send, receive });
            }
        }
    }

    /// Notes what the completion of a receive costs.
    pub(super) fn owe(&mut self, channel: &dyn Channel, receive: Token, length: u64) {
        let cost = channel.settings().or.of(length);
        let operation = &mut self.operations[receive as usize];
        if cost > 0.0 && !operation.released {
            operation.owed = cost;
            self.debts += 1;
        }
    }

    pub(super) fn deliver(
        &mut self,
        receive: Token,
        envelope: Envelope,
        mut buffer: Buffer,
        message: &Buffer,
    ) {
        let length = message.len();
        let result = if length > buffer.len() {
            let source = envelope.source as usize;
            Err(Error::Truncated {
                source,
                tag: envelope.tag,
                length,
                buffer: buffer.len(),
            })
        } else {
            buffer.receive(message);
            Ok(status(envelope, length))
        };
        self.finish(receive, result, buffer);
    }

    pub(super) fn handle_data(&mut self, channel: &dyn Channel, receive: Token, message: &Buffer) {
        let place = &mut self.operations[receive as usize].state;
        let State::AwaitData {
            envelope,
            length,
            buffer,
            detached,
            ..
        } = std::mem::replace(place, State::Elapsing)
        else {
            unreachable!("data come for a receive that sent a CTS");
        };
        debug_assert_eq!(length, message.len(), "the RTS announced the length");
        if detached {
            self.owe(channel, receive, length);
        }
        self.deliver(receive, envelope, buffer, message);
    }
}
