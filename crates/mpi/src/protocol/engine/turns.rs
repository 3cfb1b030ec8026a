//! Turns of a rank: an operation begins at once, or when the costs of earlier calls do not keep the
//! rank busy any more.

use super::{ProtocolEngine, State};
use crate::channel::{Channel, Token};
use observe::SourceLocation;

impl ProtocolEngine {
    /// Returns the date of the rank in seconds: later than the channel's while the rank is busy.
    pub(crate) fn now(&self, channel: &dyn Channel) -> f64 {
        self.busy_until.max(channel.now())
    }

    /// Returns true if the rank is busy; then an event will come at the end of the busy time.
    #[inline]
    pub(crate) fn is_busy(&mut self, channel: &dyn Channel, location: SourceLocation) -> bool {
        if self.busy_until == 0.0 {
            return self.waiting > 0;
        }
        self.is_still_busy(channel, location)
    }

    #[inline(never)]
    fn is_still_busy(&mut self, channel: &dyn Channel, location: SourceLocation) -> bool {
        if self.busy_until <= channel.now() {
            return self.waiting > 0;
        }
        let catching_up = self.cold.as_ref().and_then(|cold| cold.catching_up);
        if catching_up.is_none_or(|(date, _)| date != self.busy_until) {
            let token = self.insert(State::Elapsing, location);
            self.operations[token].released = true;
            self.cold.get_or_insert_default().catching_up = Some((self.busy_until, token));
            channel.timer(self.busy_until - channel.now(), token);
        }
        true
    }

    /// Pays for the completion of an operation that is done; true if that has made the rank busy.
    pub(crate) fn pay(&mut self, channel: &dyn Channel, token: Token) -> bool {
        let cost = self.operations.take_charge(token);
        if cost == 0.0 {
            return false;
        }
        self.busy_until = self.now(channel) + cost;
        true
    }

    /// Returns true if an operation begins at once.
    pub(super) fn may_begin(&self, channel: &dyn Channel) -> bool {
        let is_busy = self.busy_until > 0.0 && self.busy_until > channel.now();
        !is_busy && self.waiting == 0
    }

    /// Continues with an operation at once, or when the rank is not busy any more. Timers of one
    /// date end in their order, so the order of the calls is kept.
    pub(super) fn in_turn(&mut self, channel: &dyn Channel, token: Token) {
        if self.may_begin(channel) {
            self.begin(channel, token);
        } else {
            self.waiting += 1;
            let left = self.busy_until - channel.now();
            channel.timer(left.max(0.0), token);
        }
    }

    /// Begins an operation at its turn.
    pub(super) fn begin(&mut self, channel: &dyn Channel, token: Token) {
        let operation = &mut self.operations[token];
        let cancelled = operation.cancelled;
        let place = &mut operation.state;
        match std::mem::replace(place, State::Elapsing) {
            State::AwaitTurn { buffer, .. } if cancelled => {
                self.sends -= 1;
                self.finish_cancelled(token, buffer);
            }
            State::AwaitTurn {
                peer,
                envelope,
                buffer,
                departure,
            } => self.launch(channel, token, peer, envelope, (buffer, departure)),
            State::AwaitPost { buffer, .. } if cancelled => self.finish_cancelled(token, buffer),
            State::AwaitPost {
                pattern,
                buffer,
                message,
            } => {
                *place = State::Posted { pattern, buffer };
                let location = operation.location;
                if let Some(record) = self.causality_mut() {
                    record.note_posted(channel, token, (&pattern, location));
                }
                let matched = match message {
                    Some(message) => Some(*message),
                    None => self.matching.post(pattern, token),
                };
                if let Some(message) = matched {
                    self.match_unexpected(channel, token, message);
                }
                if self.lost.is_some() {
                    self.check_source(token);
                }
            }
            other => unreachable!("only what waits for its turn begins, not {other:?}"),
        }
    }
}
