//! Queries: warnings about unfinished operations, reports of deadlocks.

use super::{OperationState, ProtocolEngine};
use crate::Envelope;

impl ProtocolEngine {
    /// Returns the arrived messages that no receive has got, and their lengths.
    pub(crate) fn unreceived(&self) -> impl Iterator<Item = (Envelope, u64)> {
        self.matching
            .unexpected()
            .map(|message| (message.envelope, message.content.length()))
    }

    /// Returns true if no send is in progress.
    pub(crate) fn sends_complete(&self) -> bool {
        self.requests.sends == 0 && self.flow.as_ref().is_none_or(|flow| flow.is_idle())
    }

    /// Returns true if the only operations in progress are given-up sends without a matching
    /// receive and given-up receives that are not over. A freed send that waits for a receive keeps
    /// a run with dates going.
    pub(crate) fn has_only_given_up(&self) -> bool {
        let idle = self.flow.as_ref().is_none_or(|flow| flow.is_idle());
        let (mut sends, mut receives) = (0, 0);
        let all = self.requests.operations.iter_places();
        for (_, operation) in all.filter(|(_, operation)| operation.released) {
            match operation.state {
                OperationState::AwaitCts(_) | OperationState::AwaitAck(_)
                    if operation.detached || self.requests.rare.is_explored() =>
                {
                    sends += 1;
                }
                OperationState::Posted { .. } | OperationState::AwaitData { .. } => receives += 1,
                _ => {}
            }
        }
        idle && self.requests.sends == sends && sends + receives > 0
    }
}
