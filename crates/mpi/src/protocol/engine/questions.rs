//! Queries: warnings about unfinished operations, reports of deadlocks.

use super::{ProtocolEngine, State};
use crate::{Envelope, Pattern};
use observe::SourceLocation;

impl ProtocolEngine {
    /// Returns the arrived messages that no receive has got, and their lengths.
    pub(crate) fn unreceived(&self) -> impl Iterator<Item = (Envelope, u64)> {
        self.matching
            .unexpected()
            .map(|message| (message.envelope, message.content.length()))
    }

    /// Returns the receives that wait for a message, and the locations of their calls: receives
    /// that were given up, or all others.
    pub(crate) fn posted(
        &self,
        is_given_up: bool,
    ) -> impl Iterator<Item = (&Pattern, SourceLocation)> {
        let all = self.operations.iter();
        all.filter(move |operation| operation.released == is_given_up)
            .filter_map(|operation| match &operation.state {
                State::Posted { pattern, .. } => Some((pattern, operation.location)),
                _ => None,
            })
    }

    /// Receives that were given up and have got their messages: the first message, where the
    /// receive was posted, and their number. Known only under a model checker.
    pub(crate) fn lost_messages(&self) -> Option<(Envelope, SourceLocation, u64)> {
        self.cold.as_ref()?.lost.as_deref().copied()
    }

    /// Requests that were dropped and never waited for: where the first one was started, and their
    /// number. Known only under a model checker.
    pub(crate) fn forgotten(&self) -> Option<(SourceLocation, u64)> {
        self.cold.as_ref()?.forgotten
    }

    /// Returns true if no send is in progress.
    pub(crate) fn sends_complete(&self) -> bool {
        self.sends == 0 && self.flow.as_ref().is_none_or(|flow| flow.is_idle())
    }

    /// Returns true if the only operations in progress are given-up sends without a matching
    /// receive and given-up receives that are not over. A freed send that waits for a receive keeps
    /// a run with dates going.
    pub(crate) fn has_only_given_up(&self) -> bool {
        let idle = self.flow.as_ref().is_none_or(|flow| flow.is_idle());
        let (mut sends, mut receives) = (0, 0);
        for operation in self
            .operations
            .iter()
            .filter(|operation| operation.released)
        {
            match operation.state {
                State::AwaitCts { .. } | State::AwaitAck { .. }
                    if operation.detached || self.is_explored() =>
                {
                    sends += 1;
                }
                State::Posted { .. } | State::AwaitData { .. } => receives += 1,
                _ => {}
            }
        }
        idle && self.sends == sends && sends + receives > 0
    }

    /// Returns the states of all operations that the program may query.
    pub(crate) fn states(&self) -> impl Iterator<Item = &State> {
        self.operations.iter().map(|operation| &operation.state)
    }

    /// The number of operations that are remembered.
    pub(crate) fn in_use(&self) -> usize {
        let free = |state: &&State| matches!(state, State::Free { .. });
        self.operations.len() - self.states().filter(free).count()
    }

    /// Where the first of the operations of a kind was started.
    pub(crate) fn first(&self, wanted: fn(&State) -> bool) -> Option<SourceLocation> {
        let mut all = self.operations.iter();
        all.find(|operation| wanted(&operation.state))
            .map(|operation| operation.location)
    }
}
