//! Matching: which receive gets which message.
//!
//! Two queues hold the posted receives and the unexpected messages, each in the order of arrival. A
//! message matches the oldest receive that accepts it, a receive the oldest message that it
//! accepts. With a channel that keeps the order of each pair, this gives the non-overtaking rule
//! (MPI 4.1, section 3.5).
//!
//! Cost: a queue of few entries is searched from its beginning; a queue of many entries has an
//! index by context, source and tag, with and without wildcards, in which every operation takes
//! constant time. An empty queue takes no memory of its own.

pub(crate) mod envelope;
#[cfg(test)]
mod linear;
mod posted;
mod table;
mod unexpected;

use posted::Posted;
use unexpected::UnexpectedQueue;
pub(crate) use unexpected::{Arrival, UnexpectedContent, UnexpectedMessage};

use crate::channel::Token;
use crate::{Envelope, Pattern};

/// A queue of more entries than this gets an index; a search of so few entries takes no longer than
/// a lookup in the index.
const FEW_MAX: usize = 8;

/// No entry.
const NONE: u32 = u32::MAX;

/// The two queues.
#[derive(Clone, Debug, Default)]
pub(crate) struct Matching {
    posted: Posted,
    unexpected: UnexpectedQueue,
    /// When the latest message has arrived, if that is recorded.
    pub(crate) arrival: Arrival,
}

impl Matching {
    /// Handles an arriving message: returns the receive that matches, or keeps the message.
    pub(crate) fn arrive(
        &mut self,
        envelope: Envelope,
        content: UnexpectedContent,
    ) -> Option<(Token, UnexpectedContent)> {
        let Some(receive) = self.take_posted(&envelope) else {
            self.keep_unexpected(envelope, content);
            return None;
        };
        Some((receive, content))
    }

    /// Takes the receive that gets a message.
    #[inline]
    pub(crate) fn take_posted(&mut self, envelope: &Envelope) -> Option<Token> {
        self.posted.take_receive(envelope)
    }

    /// Keeps a message that has met no receive.
    pub(crate) fn keep_unexpected(&mut self, envelope: Envelope, content: UnexpectedContent) {
        self.unexpected.push(UnexpectedMessage {
            envelope,
            content,
            arrival: self.arrival,
        });
    }

    /// The same for a message of a ready send, for which there must be a receive.
    pub(crate) fn arrive_ready(
        &mut self,
        envelope: Envelope,
        content: UnexpectedContent,
    ) -> Option<(Token, UnexpectedContent)> {
        let found = self.posted.take_receive(&envelope);
        let Some(receive) = found else {
            let content = UnexpectedContent::Unready(Box::new(content));
            self.keep_unexpected(envelope, content);
            return None;
        };
        Some((receive, content))
    }

    /// Removes a message that waits at its sender under this token; `None` if it has been matched.
    pub(crate) fn withdraw_message(
        &mut self,
        envelope: &Envelope,
        send: Token,
    ) -> Option<UnexpectedMessage> {
        self.unexpected.withdraw_message(envelope, send)
    }

    /// Posts a receive: returns the message that matches, or keeps the receive.
    #[inline]
    pub(crate) fn post(&mut self, pattern: Pattern, receive: Token) -> Option<UnexpectedMessage> {
        if self.unexpected.is_empty() {
            self.posted.push(pattern, receive);
            return None;
        }
        self.post_or_take(pattern, receive)
    }

    #[inline(never)]
    fn post_or_take(&mut self, pattern: Pattern, receive: Token) -> Option<UnexpectedMessage> {
        let found = self.unexpected.take_message(&pattern);
        if found.is_none() {
            self.posted.push(pattern, receive);
        }
        found
    }

    /// The message that a receive with this pattern would get.
    pub(crate) fn find_unexpected(&mut self, pattern: &Pattern) -> Option<&UnexpectedMessage> {
        self.unexpected.find_message(pattern)
    }

    /// Takes the message that a receive with this pattern would get.
    pub(crate) fn extract(&mut self, pattern: &Pattern) -> Option<UnexpectedMessage> {
        self.unexpected.take_message(pattern)
    }

    /// Withdraws a receive with this pattern; false if the receive has been matched.
    pub(crate) fn withdraw_receive(&mut self, pattern: &Pattern, receive: Token) -> bool {
        self.posted.remove_receive(pattern, receive)
    }

    /// Returns the messages that no receive has matched.
    pub(crate) fn unexpected(&self) -> impl Iterator<Item = &UnexpectedMessage> {
        self.unexpected.iter()
    }
}

#[cfg(test)]
mod tests;
