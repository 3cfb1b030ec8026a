//! Turns of a rank: an operation begins at once, or when the costs of earlier calls do not keep the
//! rank busy any more.

use super::{OperationState, ProtocolEngine};
use crate::channel::{Channel, Token};
use observe::SourceLocation;

/// The time of the processor that executes the calls of a rank.
#[derive(Clone, Debug, Default)]
pub(crate) struct Processor {
    /// The date until which the costs of its calls keep the rank busy.
    busy_until: f64,
    /// Operations that wait for their turn: the rank does no other work before they have begun.
    waiting: u32,
    /// The date until which the message layer copies.
    packing_until: f64,
}

impl Processor {
    /// Returns the date of the rank in seconds: later than the channel's while the rank is busy.
    #[inline]
    pub(crate) fn now(&self, channel: &dyn Channel) -> f64 {
        self.busy_until.max(channel.now())
    }

    /// Makes the rank busy for a time in seconds.
    #[inline]
    pub(super) fn keep_busy(&mut self, channel: &dyn Channel, cost: f64) {
        self.busy_until = self.now(channel) + cost;
    }

    /// Makes the rank busy for a time in seconds, if there is a cost.
    #[inline]
    pub(super) fn charge_time(&mut self, channel: &dyn Channel, cost: f64) {
        if cost > 0.0 {
            self.keep_busy(channel, cost);
        }
    }

    /// Returns the time until the rank is not busy any more.
    pub(super) fn time_left(&self, channel: &dyn Channel) -> f64 {
        self.busy_until - channel.now()
    }

    /// Returns true if an operation begins at once.
    #[inline]
    pub(super) fn may_begin(&self, channel: &dyn Channel) -> bool {
        let is_busy = self.busy_until > 0.0 && self.busy_until > channel.now();
        !is_busy && self.waiting == 0
    }

    /// Makes the rank busy with copying this many bytes.
    pub(crate) fn charge_copy(&mut self, channel: &dyn Channel, length: u64) {
        self.charge_time(channel, copy_time(channel, length));
    }

    /// Notes that an operation has waited for the processor.
    pub(super) const fn end_wait(&mut self) {
        self.waiting -= 1;
    }

    /// Packs after earlier packing. Returns the time until the end.
    pub(super) fn pack_next(&mut self, now: f64, seconds: f64) -> f64 {
        self.packing_until = self.packing_until.max(now) + seconds;
        self.packing_until - now
    }
}

/// Returns the time in seconds for a copy of this many bytes.
#[expect(
    clippy::cast_precision_loss,
    reason = "messages of 2^53 bytes and more may be off by one"
)]
pub(super) fn copy_time(channel: &dyn Channel, length: u64) -> f64 {
    length as f64 / channel.settings().copy_bandwidth
}

impl ProtocolEngine {
    /// Returns true if the rank is busy; then an event will come at the end of the busy time.
    #[inline]
    pub(crate) fn is_busy(&mut self, channel: &dyn Channel, location: SourceLocation) -> bool {
        if self.processor.busy_until == 0.0 {
            return self.processor.waiting > 0;
        }
        self.is_still_busy(channel, location)
    }

    #[inline(never)]
    fn is_still_busy(&mut self, channel: &dyn Channel, location: SourceLocation) -> bool {
        let busy_until = self.processor.busy_until;
        if busy_until <= channel.now() {
            return self.processor.waiting > 0;
        }
        let requests = &mut self.requests;
        let catching_up = requests.rare.0.as_ref().and_then(|parts| parts.catching_up);
        if catching_up.is_none_or(|(date, _)| date != busy_until) {
            let token = requests.insert(OperationState::Elapsing, location);
            requests[token].released = true;
            requests.rare.insert_parts().catching_up = Some((busy_until, token));
            channel.timer(self.processor.time_left(channel), token);
        }
        true
    }

    /// Pays for the completion of an operation that is done; true if that has made the rank busy.
    #[inline]
    pub(crate) fn pay_charge(&mut self, channel: &dyn Channel, token: Token) -> bool {
        let cost = self.requests.operations.take_charge(token);
        if cost == 0.0 {
            return false;
        }
        self.processor.keep_busy(channel, cost);
        true
    }

    /// Continues with an operation at once, or when the rank is not busy any more. Timers of one
    /// date end in their order, so the order of the calls is kept.
    pub(super) fn in_turn(&mut self, channel: &dyn Channel, token: Token) {
        if self.processor.may_begin(channel) {
            self.begin(channel, token);
        } else {
            self.processor.waiting += 1;
            let left = self.processor.time_left(channel);
            channel.timer(left.max(0.0), token);
        }
    }

    /// Begins an operation at its turn.
    pub(super) fn begin(&mut self, channel: &dyn Channel, token: Token) {
        let operation = &mut self.requests[token];
        let cancelled = operation.cancelled;
        let place = &mut operation.state;
        match std::mem::replace(place, OperationState::Elapsing) {
            OperationState::AwaitTurn { message, .. } if cancelled => {
                self.requests.sends -= 1;
                self.requests.end_cancelled(token, message.buffer);
            }
            OperationState::AwaitTurn { message, departure } => {
                let (peer, envelope) = (message.peer, message.envelope);
                self.launch(channel, token, peer, envelope, (message.buffer, departure));
            }
            OperationState::AwaitPost { buffer, .. } if cancelled => {
                self.requests.end_cancelled(token, buffer);
            }
            OperationState::AwaitPost {
                pattern,
                buffer,
                message,
            } => {
                *place = OperationState::Posted { pattern, buffer };
                let location = operation.location;
                self.requests.note_cause(|record| {
                    record.note_posted(channel, token, (&pattern, location));
                });
                let matched = match message {
                    Some(message) => Some(*message),
                    None => self.matching.post(pattern, token),
                };
                if let Some(message) = matched {
                    self.match_unexpected(channel, token, message);
                }
                if !self.lost.is_empty() {
                    self.check_source(token);
                }
            }
            other => unreachable!("only what waits for its turn begins, not {other:?}"),
        }
    }
}
