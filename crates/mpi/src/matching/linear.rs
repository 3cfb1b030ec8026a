//! The reference: two lists searched from their beginnings. Tests compare the indexes with it.

use std::collections::VecDeque;

use super::{Arrival, UnexpectedContent, UnexpectedMessage};
use crate::channel::Token;
use crate::{Envelope, Pattern};

/// The two queues.
#[derive(Clone, Debug, Default)]
pub(super) struct LinearMatching {
    posted: VecDeque<(Pattern, Token)>,
    unexpected: VecDeque<UnexpectedMessage>,
}

impl LinearMatching {
    /// Handles an arriving message: returns the receive that matches, or keeps the message.
    pub(super) fn match_arrival(
        &mut self,
        envelope: Envelope,
        content: UnexpectedContent,
    ) -> Option<(Token, UnexpectedContent)> {
        let position = self
            .posted
            .iter()
            .position(|(pattern, _)| pattern.accepts(&envelope));
        match position.and_then(|position| self.posted.remove(position)) {
            Some((_, receive)) => Some((receive, content)),
            None => {
                self.unexpected.push_back(UnexpectedMessage {
                    envelope,
                    content,
                    arrival: Arrival::default(),
                });
                None
            }
        }
    }

    /// Posts a receive: returns the message that matches, or keeps the receive.
    pub(super) fn post_receive(
        &mut self,
        pattern: Pattern,
        receive: Token,
    ) -> Option<UnexpectedMessage> {
        let found = self
            .find_position(&pattern)
            .and_then(|position| self.unexpected.remove(position));
        if found.is_none() {
            self.posted.push_back((pattern, receive));
        }
        found
    }

    /// The message that a receive with this pattern would get.
    pub(super) fn find_unexpected(&self, pattern: &Pattern) -> Option<&UnexpectedMessage> {
        self.find_position(pattern)
            .map(|position| &self.unexpected[position])
    }

    fn find_position(&self, pattern: &Pattern) -> Option<usize> {
        self.unexpected
            .iter()
            .position(|message| pattern.accepts(&message.envelope))
    }

    /// Withdraws a receive; false if the receive has been matched.
    pub(super) fn withdraw_receive(&mut self, receive: Token) -> bool {
        let position = self.posted.iter().position(|&(_, token)| token == receive);
        position.is_some_and(|position| self.posted.remove(position).is_some())
    }

    /// Returns the messages that no receive has matched.
    pub(super) fn unexpected(&self) -> impl Iterator<Item = &UnexpectedMessage> {
        self.unexpected.iter()
    }
}
