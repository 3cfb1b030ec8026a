//! Matching: which receive gets which message.
//!
//! Two queues, receives that wait for a message and messages that wait for a receive, each in the order of arrival.
//! A message meets the oldest receive that accepts it, a receive the oldest message that it accepts. Together with
//! a channel that keeps the order of each pair this is the non-overtaking rule (MPI 4.1, section 3.5).
//!
//! Cost: linear in the length of the queue that is searched; both are short in programs that receive what they are
//! sent.

use std::collections::VecDeque;

use crate::channel::Token;
use crate::{Buffer, Envelope, Pattern};

/// A message that no receive has met.
#[derive(Debug)]
pub(crate) struct Unexpected {
    pub(crate) envelope: Envelope,
    pub(crate) content: Content,
}

/// What there is of a message.
#[derive(Debug)]
pub(crate) enum Content {
    /// All of it.
    Eager(Buffer),
    /// Its announcement; it waits at the sender under this token.
    Rts { length: u64, send: Token },
}

impl Content {
    pub(crate) const fn length(&self) -> u64 {
        match self {
            Self::Eager(buffer) => buffer.len(),
            Self::Rts { length, .. } => *length,
        }
    }
}

/// The two queues.
#[derive(Debug, Default)]
pub(crate) struct Matching {
    posted: VecDeque<(Pattern, Token)>,
    unexpected: VecDeque<Unexpected>,
}

impl Matching {
    /// A message has arrived: the receive that gets it, or the message is kept.
    pub(crate) fn arrive(
        &mut self,
        envelope: Envelope,
        content: Content,
    ) -> Option<(Token, Content)> {
        let position = self
            .posted
            .iter()
            .position(|(pattern, _)| pattern.accepts(&envelope));
        match position.and_then(|position| self.posted.remove(position)) {
            Some((_, receive)) => Some((receive, content)),
            None => {
                self.unexpected.push_back(Unexpected { envelope, content });
                None
            }
        }
    }

    /// A receive is posted: the message that it gets, or the receive is kept.
    pub(crate) fn post(&mut self, pattern: Pattern, receive: Token) -> Option<Unexpected> {
        let found = self
            .position(&pattern)
            .and_then(|position| self.unexpected.remove(position));
        if found.is_none() {
            self.posted.push_back((pattern, receive));
        }
        found
    }

    /// The message that a receive with this pattern would get.
    pub(crate) fn find(&self, pattern: &Pattern) -> Option<&Unexpected> {
        self.position(pattern)
            .map(|position| &self.unexpected[position])
    }

    fn position(&self, pattern: &Pattern) -> Option<usize> {
        self.unexpected
            .iter()
            .position(|message| pattern.accepts(&message.envelope))
    }

    /// Withdraws a receive; false if it has been matched.
    pub(crate) fn withdraw(&mut self, receive: Token) -> bool {
        let position = self.posted.iter().position(|&(_, token)| token == receive);
        position.is_some_and(|position| self.posted.remove(position).is_some())
    }

    /// The messages that nobody has received.
    pub(crate) fn unexpected(&self) -> impl Iterator<Item = &Unexpected> {
        self.unexpected.iter()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn envelope(source: u32, tag: u32) -> Envelope {
        Envelope {
            context: 0,
            source,
            tag,
        }
    }

    fn eager(length: u64) -> Content {
        Content::Eager(Buffer::phantom(length))
    }

    const ANY: Pattern = Pattern {
        context: 0,
        source: None,
        tag: None,
    };

    #[test]
    fn the_oldest_message_that_fits() {
        let mut matching = Matching::default();
        for (source, tag, length) in [(1, 5, 10), (2, 6, 20), (1, 6, 30)] {
            assert!(
                matching
                    .arrive(envelope(source, tag), eager(length))
                    .is_none()
            );
        }
        let mut take = |pattern| {
            matching
                .post(pattern, 0)
                .map(|message| message.content.length())
        };
        assert_eq!(
            take(Pattern {
                tag: Some(6),
                ..ANY
            }),
            Some(20)
        );
        assert_eq!(
            take(Pattern {
                source: Some(1),
                ..ANY
            }),
            Some(10)
        );
        assert_eq!(take(Pattern { context: 1, ..ANY }), None);
        assert_eq!(take(ANY), Some(30));
    }

    #[test]
    fn the_oldest_receive_that_fits() {
        let mut matching = Matching::default();
        assert!(
            matching
                .post(
                    Pattern {
                        source: Some(2),
                        ..ANY
                    },
                    1
                )
                .is_none()
        );
        assert!(matching.post(ANY, 2).is_none());
        assert!(
            matching
                .post(
                    Pattern {
                        source: Some(1),
                        ..ANY
                    },
                    3
                )
                .is_none()
        );
        let receive = |found: Option<(Token, Content)>| found.map(|(receive, _)| receive);
        assert_eq!(receive(matching.arrive(envelope(1, 0), eager(0))), Some(2));
        assert!(matching.withdraw(1));
        assert!(!matching.withdraw(1));
        assert_eq!(receive(matching.arrive(envelope(2, 0), eager(0))), None);
        assert_eq!(receive(matching.arrive(envelope(1, 0), eager(0))), Some(3));
    }
}
