//! The requests of a rank: their start, their end and their results.
//!
//! *Not decided here*: which messages start and end the requests.

use observe::{ProgramEvent, SourceLocation};

use super::{
    CausalityRecord, Collectives, NOTHING, OperationState, Operations, OutboundSend, RareState,
    Role, Status, status,
};
use crate::channel::{Channel, Token};
use crate::exploration::SendCause;
use crate::protocol::waiting::Waits;
use crate::{Buffer, Envelope, Error};

/// The requests of a rank, and the records about them.
#[derive(Clone, Debug, Default)]
pub(crate) struct RequestTable {
    pub(crate) operations: Operations,
    pub(crate) rare: RareState,
    pub(crate) collectives: Option<Box<Collectives>>,
    /// Events handled so far.
    pub(super) events: u64,
    /// Number of actions of the program: operations started, and results taken.
    pub(super) actions: u64,
    /// Operations that have ended.
    pub(super) ended: u64,
    /// Sends that are not over.
    pub(super) sends: u32,
}

impl RequestTable {
    /// The number of events handled so far.
    pub(crate) const fn count_events(&self) -> u64 {
        self.events
    }

    /// The number of ended operations: while unchanged, no caller has to look for an end.
    pub(crate) const fn count_ended(&self) -> u64 {
        self.ended
    }

    /// The number of events and of the program's own actions: the state is unchanged while this
    /// number is unchanged.
    pub(crate) const fn count_changes(&self) -> u64 {
        self.events + self.actions
    }

    /// Adds an operation.
    #[inline(always)]
    pub(crate) fn insert(&mut self, state: OperationState, location: SourceLocation) -> Token {
        self.actions += 1;
        let token = self.operations.insert(state, location);
        self.note_cause(|record| record.note_begun(token));
        token
    }

    /// An operation of the message layer's own.
    pub(super) fn insert_inner(&mut self, state: OperationState) -> Token {
        // No action of the program's: tests may continue to say no.
        let actions = self.actions;
        let token = self.insert(state, SourceLocation::caller());
        self.actions = actions;
        token
    }

    /// Returns an operation that is over before it begins.
    pub(crate) fn insert_ended(
        &mut self,
        status: Status,
        buffer: Buffer,
        location: SourceLocation,
    ) -> Token {
        let token = self.insert_ended_early(status, buffer, location);
        self.note_cause(|record| record.note_told(token));
        token
    }

    /// Returns an operation with no rank, which is over before it begins.
    pub(crate) fn insert_null(&mut self, buffer: Buffer, location: SourceLocation) -> Token {
        self.insert_ended(Status::PROC_NULL, buffer, location)
    }

    /// Returns an operation that is over before it begins here, but later in other libraries: a
    /// test may return *no*.
    pub(crate) fn insert_ended_early(
        &mut self,
        status: Status,
        buffer: Buffer,
        location: SourceLocation,
    ) -> Token {
        let token = self.insert(OperationState::Elapsing, location);
        self.end_operation(token, Ok(status), buffer);
        token
    }

    /// Returns true if an operation is over.
    #[inline]
    pub(crate) fn is_done(&self, token: Token) -> bool {
        matches!(self.operations.state(token), OperationState::Done { .. })
    }

    /// Takes the result of an operation that is done.
    #[inline(always)]
    pub(crate) fn take_result(&mut self, token: Token) -> (Result<Status, Error>, Buffer) {
        self.actions += 1;
        debug_assert!(!self.operations.has_charge(token), "what is taken is paid");
        self.note_cause(|record| record.note_taken(token));
        self.operations.take_done(token)
    }

    /// Gives up the result of an operation, which continues to the end: a posted receive
    /// stays in place and takes a message.
    pub(crate) fn release_operation(&mut self, token: Token) {
        self.operations.take_charge(token);
        self.note_lost(token);
        if self.is_done(token) {
            self.operations.remove(token);
        } else {
            self.operations[token].released = true;
        }
    }

    /// Notes a receive that is given up, if the receive has a message and was not to be cancelled.
    fn note_lost(&mut self, token: Token) {
        let record = self.rare.causality();
        let Some(envelope) = record.and_then(|record| record.lost_message(token)) else {
            return;
        };
        let operation = &self.operations[token];
        if operation.cancelled {
            return;
        }
        let place = operation.location;
        let lost = &mut self.rare.insert_parts().dropped.lost;
        lost.get_or_insert_with(|| Box::new((envelope, place, 0))).2 += 1;
    }

    /// Notes a request that is dropped and was never waited for, if that is not told anyway.
    pub(crate) fn note_forgotten(&mut self, token: Token) {
        let operation = &self.operations[token];
        let met = self.rare.causality().and_then(|record| record.met(token));
        if met.is_none() && !matches!(operation.state, OperationState::Posted { .. }) {
            let place = operation.location;
            let dropped = &mut self.rare.insert_parts().dropped;
            dropped.forgotten.get_or_insert((place, 0)).1 += 1;
        }
    }

    /// Returns true if a model checker picks whether an operation is cancelled or ends as ever: a
    /// receive that the program does not know to be over.
    pub(crate) fn may_lose_cancel(&self, token: Token) -> bool {
        let is_cancelled = self.operations[token].cancelled;
        let record = self.rare.causality().filter(|_| !is_cancelled);
        record.is_some_and(|record| record.number_of_receive(token) > 0 && !record.is_told(token))
    }

    /// A message will meet a receive that is cancelled.
    pub(crate) fn lose_cancel(&mut self, token: Token) {
        self.actions += 1;
        self.operations[token].cancelled = true;
    }

    /// Ends an operation.
    pub(super) fn end_operation(
        &mut self,
        token: Token,
        result: Result<Status, Error>,
        buffer: Buffer,
    ) {
        self.operations[token].state = OperationState::Elapsing;
        self.end_emptied(token, result, buffer);
    }

    /// Ends an operation with a state that owns no memory.
    #[inline(always)]
    pub(super) fn end_emptied(
        &mut self,
        token: Token,
        result: Result<Status, Error>,
        buffer: Buffer,
    ) {
        if self.operations[token].role == Role::Step {
            return self.end_step(token, result, buffer);
        }
        self.ended += 1;
        self.note_cause(|record| record.note_end(token));
        self.operations.set_done(token, result, buffer);
        if self.operations[token].released {
            self.operations.remove(token);
        }
    }

    /// Ends a send after its message has left, or a receive has met the message.
    #[inline]
    pub(super) fn end_send(&mut self, send: Token, message: OutboundSend) {
        self.sends -= 1;
        let status = status(message.envelope, message.buffer.len());
        self.end_operation(send, Ok(status), message.buffer);
    }

    /// A receive has met a synchronous message.
    pub(super) fn handle_ack(&mut self, send: Token) {
        let place = &mut self.operations[send].state;
        let OperationState::AwaitAck(message) = std::mem::replace(place, OperationState::Elapsing)
        else {
            unreachable!("an acknowledgement answers a synchronous message");
        };
        self.end_send(send, message);
    }

    /// Ends a cancelled operation.
    pub(super) fn end_cancelled(&mut self, token: Token, buffer: Buffer) {
        let cancelled = Status {
            cancelled: true,
            ..NOTHING
        };
        self.end_operation(token, Ok(cancelled), buffer);
    }

    /// Ends a cancelled send, which waits.
    pub(super) fn end_cancelled_send(&mut self, send: Token) {
        let operation = &mut self.operations[send];
        let (OperationState::Queued(message)
        | OperationState::AwaitCts(message)
        | OperationState::AwaitAck(message)) =
            std::mem::replace(&mut operation.state, OperationState::Elapsing)
        else {
            unreachable!("only a send that waits is cancelled");
        };
        self.sends -= 1;
        self.end_cancelled(send, message.buffer);
    }

    /// The receiver has given a message back.
    pub(super) fn handle_cancel_response(&mut self, send: Token) {
        let operation = &self.operations[send];
        let is_sent = matches!(
            operation.state,
            OperationState::AwaitCts(_) | OperationState::AwaitAck(_)
        );
        debug_assert!(
            operation.cancelled && is_sent,
            "a message that was asked back"
        );
        self.end_cancelled_send(send);
    }

    /// The end of an operation costs the program no time and tells the program no arrival.
    pub(crate) fn disclaim_end(&mut self, token: Token) {
        self.operations.take_charge(token);
        self.note_cause(|record| {
            record.take_arrival(token);
        });
    }

    /// Returns true if an operation is over because of an arrival.
    pub(crate) fn depends_on_arrival(&self, token: Token) -> bool {
        let record = self.rare.causality();
        if let OperationState::Collective { .. } = self.operations.state(token) {
            // Its steps may be over when the rank looks.
            return record.is_some();
        }
        record.is_some_and(|record| {
            self.is_done(token) && record.arrival_of(token) != SendCause::NONE
        })
    }

    /// Notes that the packets that follow answer the message matched by a receive.
    pub(super) fn note_answer(&mut self, channel: &dyn Channel, receive: Token, met: Envelope) {
        if let Some(record) = self.rare.causality_mut() {
            let operation = &self.operations[receive];
            record.note_answer(channel, receive, (met, operation));
            if operation.released {
                self.note_lost(receive);
            }
        }
    }

    /// Notes a cause or an effect, if there is a record.
    #[inline]
    pub(crate) fn note_cause(&mut self, note: impl FnOnce(&mut CausalityRecord)) {
        if let Some(record) = self.rare.causality_mut() {
            note(record);
        }
    }

    /// Tells an event, if the rank is observed.
    #[inline]
    pub(crate) fn observe(&self, event: impl FnOnce() -> ProgramEvent) {
        if let Some(observation) = self.rare.observation() {
            observation.tell(event);
        }
    }

    /// Reports that the rank begins to wait. `begins`: the call has just begun its only operation.
    pub(crate) fn observe_wait(&mut self, waits: Waits, begins: bool, place: SourceLocation) {
        if let Some(observation) = self.rare.observation_mut() {
            observation.begin_wait(&self.operations, (waits, begins), place);
        }
    }
}
