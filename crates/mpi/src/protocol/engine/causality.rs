//! Records of the arrivals that ended operations, for a model checker: see [`crate::exploration`].

use super::seen::ReturnedMessage;
use super::tag_order::{MatchTable, note_match};
use super::{OperationRecord, OperationState, PreparedCall, RareState};
use crate::channel::{Channel, Token};
use crate::exploration::{
    CausalityHooks, ExplorationFact, NotedOperation, SendCause, SendEnd, causality,
};
use crate::matching::Arrival;
use crate::{Envelope, Pattern};
use observe::SourceLocation;

/// Of one operation.
#[derive(Clone, Copy, Debug)]
struct Origin {
    /// The arrival of the packet that ended the operation.
    arrival: Arrival,
    /// Number of arrivals that the program knew when it posted the receive.
    known: u32,
    /// The number of a posted receive among the receives of the rank, from 1.
    receive: u32,
    /// The call of a ready send that the receive matched too early.
    unready: Option<SourceLocation>,
    /// The message that the receive has matched.
    met: Option<Envelope>,
    /// The number of the note about the operation.
    note: Option<u32>,
    /// True if the program knows that the operation is over.
    is_told: bool,
    /// True if the data of a receive are of use, although the request is freed.
    keeps_data: bool,
}

/// Operations at one time for which an engine has room from the start, under a model checker.
pub(super) const OPERATIONS: usize = 4;

const UNKNOWN: Origin = Origin {
    arrival: Arrival::NONE,
    known: 0,
    receive: 0,
    unready: None,
    met: None,
    note: None,
    is_told: false,
    keeps_data: false,
};

/// Causes of the operations of a rank, for a model checker.
#[derive(Clone, Default, Debug)]
pub(crate) struct CausalityRecord {
    /// By operation.
    origins: Vec<Origin>,
    /// The arrival that is being handled.
    pub(super) arrival: Arrival,
    /// Steps of arrivals that the program has learned by waiting, not reported to the checker yet.
    learnt: Vec<u32>,
    /// Messages that the network has again; messages of one sender and context are in order.
    pub(super) returned: Vec<ReturnedMessage>,
    /// Seen messages that have arrived before the network delivers the messages a second time.
    pub(super) arrived_early: Vec<Envelope>,
    /// Messages that receives and probes have matched.
    pub(super) matched: MatchTable,
    /// The number of the latest receive.
    last_receive: u32,
    /// Answers that operations have got before their last one: the operation and the arrival.
    parts: Vec<(Token, u32)>,
    /// The notes of the operations that the program has waited for, and the arrivals that probes
    /// have seen, which have not been told.
    waits: Vec<ExplorationFact<'static>>,
}

/// Returns the record of an engine under a model checker, and the hooks of the checker.
#[inline]
pub(super) fn find_causes<'a>(
    rare: &'a mut RareState,
    channel: &'a dyn Channel,
) -> Option<(&'a mut CausalityRecord, &'a dyn CausalityHooks)> {
    Some((rare.causality_mut()?, causality(channel)?))
}

impl CausalityRecord {
    /// Returns a record with room for the first operations.
    pub(super) fn new() -> Self {
        Self {
            origins: Vec::with_capacity(OPERATIONS),
            ..Self::default()
        }
    }

    /// An operation begins.
    pub(super) fn note_begun(&mut self, token: Token) {
        let index = token as usize;
        if index >= self.origins.len() {
            self.origins.resize(index + 1, UNKNOWN);
        }
        self.origins[index] = UNKNOWN;
        self.parts.retain(|(operation, _)| *operation != token);
    }

    /// An operation of the program, or of a schedule, begins in this way.
    pub(super) fn note_operation(
        &mut self,
        channel: &dyn Channel,
        token: Token,
        (operation, location): (NotedOperation, SourceLocation),
    ) {
        if let Some(causes) = causality(channel) {
            self.origins[token as usize].note = Some(causes.begin_operation(operation, location));
        }
    }

    /// Notes a send that is about to post its message.
    pub(super) fn note_call(
        &mut self,
        channel: &dyn Channel,
        send: Token,
        (destination, envelope): (u32, Envelope),
        (is_synchronous, location): (bool, SourceLocation),
    ) {
        let end = match (envelope.ready, is_synchronous) {
            // A receive is posted, or the send is a mistake.
            (true, _) => SendEnd::Buffered,
            (false, true) => SendEnd::Synchronous,
            (false, false) => SendEnd::Standard,
        };
        let operation = NotedOperation::Send {
            destination,
            envelope,
            end,
        };
        self.note_operation(channel, send, (operation, location));
    }

    /// Notes that a collective begins.
    pub(super) fn note_collective(
        &mut self,
        channel: &dyn Channel,
        token: Token,
        call: &PreparedCall,
    ) {
        let operation = NotedOperation::Collective {
            name: call.name,
            place: (call.context, call.members.world(0), call.number.position),
            ranks: call.members.count(),
        };
        self.note_operation(channel, token, (operation, call.location));
    }

    /// The send is buffered whatever the library does.
    pub(crate) fn note_buffered(&self, channel: &dyn Channel, send: Token) {
        if let Some(causes) = causality(channel)
            && let Some(note) = self.origins[send as usize].note
        {
            causes.note_fact(ExplorationFact::SendBuffered(note));
        }
    }

    /// The message of a send that is over is in an attached buffer. Returns the note of the send.
    pub(crate) fn note_attached(&mut self, channel: &dyn Channel, send: Token) -> Option<u32> {
        let note = self.origins[send as usize].note.take()?;
        causality(channel)?.note_fact(ExplorationFact::SendAttached(note));
        Some(note)
    }

    /// An attached buffer is empty: the rank has waited for sends with these notes.
    pub(crate) fn note_emptied(&mut self, sends: &[u32]) {
        let sends = sends.iter().copied();
        self.waits
            .extend(sends.map(ExplorationFact::OperationAwaited));
    }

    /// A receive is a part of a collective.
    pub(super) fn note_part_of(&self, channel: &dyn Channel, receive: Token, whole: Token) {
        if let Some(causes) = causality(channel) {
            let note = |token: Token| self.origins[token as usize].note;
            if let Some((receive, collective)) = note(receive).zip(note(whole)) {
                causes.note_fact(ExplorationFact::ReceivePart {
                    receive,
                    collective,
                });
            }
        }
    }

    /// A receive with this pattern is posted.
    pub(super) fn note_posted(
        &mut self,
        channel: &dyn Channel,
        receive: Token,
        (pattern, location): (&Pattern, SourceLocation),
    ) {
        if let Some(causes) = causality(channel) {
            let origin = &mut self.origins[receive as usize];
            let next = causes.post_receive();
            (origin.known, origin.receive) = (next.known, next.receives);
            self.last_receive = origin.receive;
        }
        let operation = NotedOperation::Receive {
            context: pattern.context,
            source: pattern.source,
            tag: pattern.tag,
        };
        self.note_operation(channel, receive, (operation, location));
    }

    /// The rank waits for a picked answer: the rank could as well have continued when one of these
    /// operations was over, or at once if there is none.
    pub(crate) fn note_look(&self, channel: &dyn Channel, one_of: &[Token]) {
        if let Some(causes) = causality(channel) {
            causes.note_fact(ExplorationFact::LookBegun);
            let note = |token: &Token| self.origins[*token as usize].note;
            for operation in one_of.iter().filter_map(note) {
                causes.note_fact(ExplorationFact::LookAlternative(operation));
            }
        }
    }

    /// A packet that has arrived is about to be handled; returns its arrival.
    pub(super) fn note_arrival(&mut self, causes: &dyn CausalityHooks) -> Arrival {
        self.arrival = Arrival::in_step(causes.take_delivery());
        causes.set_send_cause(self.handling_cause());
        self.arrival
    }

    /// Notes that the packets that follow answer the message matched by a receive.
    pub(super) fn note_answer(
        &mut self,
        channel: &dyn Channel,
        receive: Token,
        (met, operation): (Envelope, &OperationRecord),
    ) {
        let Some(causes) = causality(channel) else {
            return;
        };
        let origin = &mut self.origins[receive as usize];
        origin.met = Some(met);
        if let Some(note) = origin.note {
            causes.note_fact(ExplorationFact::ReceiveMet {
                receive: note,
                arrival: self.arrival.delivery,
            });
        }
        let (known, receives) = (origin.known, origin.receive);
        causes.set_send_cause(Some(self.arrival.send_cause(known, receives)));
        if let OperationState::Posted { pattern, .. } = operation.state {
            self.note_claim_over(&pattern);
            note_match(self, channel, receive, (pattern, met), operation.location);
        }
    }

    /// Returns true if the message of a ready send that arrives now may meet a posted receive: the
    /// receive is posted before the send in every run of the same order, as far as this can be
    /// known.
    pub(super) fn may_meet_ready(&self, channel: &dyn Channel, receive: Token) -> bool {
        let number = self.origins[receive as usize].receive;
        causality(channel)
            .is_none_or(|causes| causes.is_posted_before(number, self.arrival.delivery))
    }

    /// Notes a receive that matches a ready message if the send could start before the receive.
    pub(super) fn note_unready(&mut self, channel: &dyn Channel, receive: Token) {
        if let Some(causes) = causality(channel) {
            let send = causes.packet_origin(self.arrival.delivery).call;
            self.origins[receive as usize].unready = send;
        }
    }

    /// Returns the call of the ready send whose message a receive should not have matched, if the
    /// call is recorded.
    pub(super) fn unready_send(&self, receive: Token) -> Option<SourceLocation> {
        self.origins[receive as usize].unready
    }

    /// An operation ends.
    pub(super) fn note_end(&mut self, token: Token) {
        self.origins[token as usize].arrival = self.arrival;
    }

    /// The program has the result of an operation.
    pub(super) fn note_taken(&mut self, token: Token) {
        self.learn_result(token);
        let note = self.origins[token as usize].note;
        self.waits
            .extend(note.map(ExplorationFact::OperationAwaited));
    }

    /// The data of a receive are of use, although the request is freed.
    pub(crate) fn keep_data(&mut self, token: Token) {
        self.origins[token as usize].keeps_data = true;
    }

    /// Returns the arrival that has ended an operation, and forgets the arrival and the note.
    pub(super) fn take_arrival(&mut self, token: Token) -> Arrival {
        let origin = &mut self.origins[token as usize];
        origin.note = None;
        std::mem::replace(&mut origin.arrival, Arrival::NONE)
    }

    /// Notes that the program learns the end of an operation from the result of another operation.
    pub(super) fn note_passed(&mut self, token: Token, learner: Token) {
        let arrival = self.take_arrival(token);
        self.add_parts(learner, &arrival.both_steps());
    }

    /// Notes one of the answers for which an operation waits.
    pub(super) fn note_part(&mut self, token: Token) {
        self.parts.push((token, self.arrival.step));
    }

    /// The program has seen a message of this arrival. `is_taken`: no other receive can get
    /// the message.
    pub(super) fn note_seen(&mut self, arrival: Arrival, is_taken: bool) {
        self.learn_arrival(arrival);
        self.waits.push(ExplorationFact::MessageAwaited {
            arrival: arrival.delivery,
            is_taken,
        });
    }

    /// The program knows that an operation is over.
    pub(crate) fn note_told(&mut self, token: Token) {
        self.origins[token as usize].is_told = true;
        self.learn_result(token);
    }

    /// Returns true if the program knows that an operation is over.
    pub(crate) fn is_told(&self, token: Token) -> bool {
        self.origins[token as usize].is_told
    }

    /// Returns true if the program has learned of arrivals that are not reported.
    pub(super) const fn has_observed(&self) -> bool {
        !self.learnt.is_empty() || !self.waits.is_empty()
    }

    pub(super) fn report_observed(&mut self, causes: &dyn CausalityHooks) {
        for step in self.learnt.drain(..) {
            causes.record_arrival(step);
        }
        for waited in self.waits.drain(..) {
            causes.note_fact(waited);
        }
    }

    /// The message that a receive has met.
    pub(super) fn met(&self, receive: Token) -> Option<Envelope> {
        self.origins[receive as usize].met
    }

    /// The message that a receive has met which is of no use any more.
    pub(super) fn lost_message(&self, receive: Token) -> Option<Envelope> {
        let origin = &self.origins[receive as usize];
        origin.met.filter(|_| !origin.keeps_data)
    }

    /// Returns the step of the arrival that has ended an operation.
    pub(super) fn arrival_of(&self, token: Token) -> u32 {
        self.origins[token as usize].arrival.step
    }

    /// Returns the number of the next receive of the rank.
    pub(super) const fn next_receive(&self) -> u32 {
        self.last_receive + 1
    }

    /// Returns the number of a receive of the rank, from 1; 0 for another operation.
    pub(crate) fn number_of_receive(&self, token: Token) -> u32 {
        self.origins[token as usize].receive
    }

    /// Why packets leave: because of the arrival that is being handled, or of the program.
    pub(super) fn handling_cause(&self) -> Option<SendCause> {
        let is_handled = self.arrival.step != SendCause::NONE;
        is_handled.then(|| self.arrival.send_cause(0, 0))
    }

    /// The note of an operation is this one.
    pub(super) fn set_note(&mut self, token: Token, note: u32) {
        self.origins[token as usize].note = Some(note);
    }

    /// Answers to an operation have come before the operation began.
    pub(super) fn add_parts(&mut self, token: Token, arrivals: &[u32]) {
        let parts = arrivals.iter().map(|&arrival| (token, arrival));
        self.parts.extend(parts);
    }

    /// The program learns of an arrival.
    pub(super) fn learn(&mut self, arrival: u32) {
        if arrival != SendCause::NONE {
            self.learnt.push(arrival);
        }
    }

    fn learn_arrival(&mut self, arrival: Arrival) {
        self.learn(arrival.step);
        if arrival.delivery != arrival.step {
            self.learn(arrival.delivery);
        }
    }

    /// Learns of the arrivals that an operation has waited for.
    fn learn_result(&mut self, token: Token) {
        let Origin { arrival, met, .. } = self.origins[token as usize];
        if let Some(met) = met {
            self.matched.note_told(&met, self.next_receive());
        }
        self.learn_arrival(arrival);
        let mut parts = std::mem::take(&mut self.parts);
        parts.retain(|&(operation, arrival)| {
            if operation == token {
                self.learn(arrival);
            }
            operation != token
        });
        self.parts = parts;
    }
}
