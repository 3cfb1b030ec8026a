//! Records of the arrivals that ended operations, for a model checker: see [`crate::exploration`].

use super::seen::ReturnedMessage;
use super::tag_order::{MatchTable, note_match};
use super::{ProtocolEngine, State};
use crate::Envelope;
use crate::channel::{Channel, Token};
use crate::exploration::{CausalityHooks, NotedOperation, SendCause, SendEnd, causality};
use crate::matching::Arrival;
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

/// Operations at one time for which an engine has room from the start.
const OPERATIONS: usize = 4;

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

/// Causes of the operations of a rank.
#[derive(Clone, Default, Debug)]
pub(super) struct Provenance {
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
    waits: Vec<Waited>,
}

/// A wait of the rank.
#[derive(Clone, Copy, Debug)]
enum Waited {
    Operation(u32),
    /// The step of an arrival, and whether the message was taken.
    Arrival(u32, bool),
}

/// Returns the records of an engine under a model checker.
#[inline]
pub(super) fn find_provenance(engine: &ProtocolEngine) -> Option<&Provenance> {
    engine.cold.as_ref()?.provenance.as_deref()
}

/// Returns the records of an engine under a model checker, and the hooks of the checker.
#[inline]
pub(super) fn find_causes<'a>(
    engine: &'a mut ProtocolEngine,
    channel: &'a dyn Channel,
) -> Option<(&'a mut Provenance, &'a dyn CausalityHooks)> {
    Some((engine.provenance()?, causality(channel)?))
}

impl ProtocolEngine {
    /// Remembers from now on.
    pub(crate) fn enable_causality(&mut self) {
        // Engines of explored programs live shortly: no table of theirs grows step by step.
        self.operations.reserve_exact(OPERATIONS);
        self.cold.get_or_insert_default().provenance = Some(Box::new(Provenance {
            origins: Vec::with_capacity(OPERATIONS),
            ..Provenance::default()
        }));
    }

    /// Returns true under a model checker.
    pub(crate) fn is_explored(&self) -> bool {
        find_provenance(self).is_some()
    }

    pub(super) fn provenance(&mut self) -> Option<&mut Provenance> {
        self.cold.as_mut()?.provenance.as_deref_mut()
    }

    /// An operation begins.
    pub(super) fn note_begun(&mut self, token: Token) {
        if let Some(provenance) = self.provenance() {
            let index = token as usize;
            if index >= provenance.origins.len() {
                provenance.origins.resize(index + 1, UNKNOWN);
            }
            provenance.origins[index] = UNKNOWN;
            provenance
                .parts
                .retain(|(operation, _)| *operation != token);
        }
    }

    /// An operation of the program, or of a schedule, begins in this way.
    pub(super) fn note_operation(
        &mut self,
        channel: &dyn Channel,
        token: Token,
        operation: NotedOperation,
    ) {
        let location = self.operations[token as usize].location;
        if let Some((provenance, causes)) = find_causes(self, channel) {
            provenance.origins[token as usize].note = Some(causes.begin(operation, location));
        }
    }

    /// Notes a send that is about to post its message.
    #[inline]
    pub(super) fn note_call(
        &mut self,
        channel: &dyn Channel,
        send: Token,
        (destination, envelope): (u32, Envelope),
        is_synchronous: bool,
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
        self.note_operation(channel, send, operation);
    }

    /// Notes a send that has posted its message.
    pub(super) fn note_message(&mut self, channel: &dyn Channel, send: Token) {
        let location = self.operations[send as usize].location;
        if let Some((_, causes)) = find_causes(self, channel) {
            causes.note_send(location);
        }
    }

    /// The send is buffered whatever the library does.
    pub(crate) fn note_buffered(&mut self, channel: &dyn Channel, send: Token) {
        if let Some((provenance, causes)) = find_causes(self, channel)
            && let Some(note) = provenance.origins[send as usize].note
        {
            causes.note_buffered(note);
        }
    }

    /// A receive is a part of a collective.
    pub(super) fn note_part_of(&mut self, channel: &dyn Channel, receive: Token, whole: Token) {
        if let Some((provenance, causes)) = find_causes(self, channel) {
            let note = |token: Token| provenance.origins[token as usize].note;
            if let Some((receive, whole)) = note(receive).zip(note(whole)) {
                causes.note_part(receive, whole);
            }
        }
    }

    /// A receive is posted.
    pub(super) fn note_posted(&mut self, channel: &dyn Channel, receive: Token) {
        if let Some((provenance, causes)) = find_causes(self, channel) {
            let origin = &mut provenance.origins[receive as usize];
            (origin.known, origin.receive) = (causes.known(), causes.post_receive());
            provenance.last_receive = origin.receive;
        }
        if let State::Posted { pattern, .. } = self.state(receive) {
            let operation = NotedOperation::Receive {
                context: pattern.context,
                source: pattern.source,
                tag: pattern.tag,
            };
            self.note_operation(channel, receive, operation);
        }
    }

    /// The rank waits for a picked answer: the rank could as well have continued when one of these
    /// operations was over, or at once if there is none.
    pub(crate) fn note_look(&mut self, channel: &dyn Channel, one_of: &[Token]) {
        if let Some((provenance, causes)) = find_causes(self, channel) {
            let note = |token: &Token| provenance.origins[*token as usize].note;
            causes.begin_look(&mut one_of.iter().filter_map(note));
        }
    }

    /// A packet that has arrived is about to be handled.
    pub(super) fn note_arrival(&mut self, channel: &dyn Channel) {
        if let Some((provenance, causes)) = find_causes(self, channel) {
            let arrival = Arrival::in_step(causes.note_arrival());
            provenance.arrival = arrival;
            causes.because(provenance.handling_reason());
            self.matching.arrival = arrival;
        }
    }

    /// Notes a receive that is about to match an earlier message.
    pub(super) fn note_met(&mut self, arrival: Arrival) {
        if let Some(provenance) = self.provenance() {
            provenance.arrival = arrival;
        }
    }

    /// Notes that the packets that follow answer the message matched by a receive.
    pub(super) fn note_answer(&mut self, channel: &dyn Channel, receive: Token, met: Envelope) {
        if let Some((provenance, causes)) = find_causes(self, channel) {
            let origin = &mut provenance.origins[receive as usize];
            origin.met = Some(met);
            if let Some(note) = origin.note {
                causes.note_met(note, provenance.arrival.delivery);
            }
            let (known, receives) = (origin.known, origin.receive);
            causes.because(Some(provenance.arrival.send_cause(known, receives)));
            if let State::Posted { pattern, .. } = self.operations[receive as usize].state {
                if let Some(provenance) = self.provenance() {
                    provenance.note_claim_over(&pattern);
                }
                note_match(self, channel, receive, (pattern, met));
            }
            if self.operations[receive as usize].released {
                self.note_lost(receive);
            }
        }
    }

    /// Returns true if the message of a ready send that arrives now may meet a posted receive: the
    /// receive is posted before the send in every run of the same order, as far as this can be
    /// known.
    pub(super) fn may_meet_ready(&mut self, channel: &dyn Channel, receive: Token) -> bool {
        let Some((provenance, causes)) = find_causes(self, channel) else {
            return true;
        };
        let number = provenance.origins[receive as usize].receive;
        causes.is_posted_before(number, provenance.arrival.delivery)
    }

    /// Notes a receive that matches a ready message if the send could start before the receive.
    pub(super) fn note_unready(&mut self, channel: &dyn Channel, receive: Token) {
        if let Some((provenance, causes)) = find_causes(self, channel) {
            provenance.origins[receive as usize].unready =
                causes.call_of(provenance.arrival.delivery);
        }
    }

    /// Returns the calls of a receive and of the ready send whose message the receive should not
    /// have matched, if the calls are recorded.
    pub(super) fn unready_calls(&self, receive: Token) -> Option<[SourceLocation; 2]> {
        let provenance = find_provenance(self)?;
        let send = provenance.origins[receive as usize].unready?;
        Some([self.operations[receive as usize].location, send])
    }

    /// No arrival is being handled any more.
    pub(crate) fn note_handled(&mut self, channel: &dyn Channel) {
        if let Some((provenance, causes)) = find_causes(self, channel) {
            provenance.arrival = Arrival::NONE;
            causes.because(None);
        }
    }

    /// An operation ends.
    pub(super) fn note_end(&mut self, token: Token) {
        if let Some(provenance) = self.provenance() {
            provenance.origins[token as usize].arrival = provenance.arrival;
        }
    }

    /// The program has the result of an operation.
    #[inline]
    pub(super) fn note_taken(&mut self, token: Token) {
        if let Some(provenance) = self.provenance() {
            provenance.learn_result(token);
            let note = provenance.origins[token as usize].note;
            provenance.waits.extend(note.map(Waited::Operation));
        }
    }

    /// The data of a receive are of use, although the request is freed.
    pub(crate) fn keep_data(&mut self, token: Token) {
        if let Some(provenance) = self.provenance() {
            provenance.origins[token as usize].keeps_data = true;
        }
    }

    /// The end of an operation costs the program no time and tells the program no arrival.
    pub(crate) fn disclaim(&mut self, token: Token) {
        self.drop_charge(token);
        if let Some(provenance) = self.provenance() {
            let origin = &mut provenance.origins[token as usize];
            origin.arrival = Arrival::NONE;
            origin.note = None;
        }
    }

    /// Notes that the program learns the end of an operation from the result of another operation.
    pub(super) fn note_passed(&mut self, token: Token, learner: Token) {
        if let Some(provenance) = self.provenance() {
            let origin = &mut provenance.origins[token as usize];
            let arrival = std::mem::replace(&mut origin.arrival, Arrival::NONE);
            origin.note = None;
            provenance.add_parts(learner, &arrival.both_steps());
        }
    }

    /// Notes one of the answers for which an operation waits.
    pub(super) fn note_part(&mut self, token: Token) {
        if let Some(provenance) = self.provenance() {
            provenance.parts.push((token, provenance.arrival.step));
        }
    }

    /// The program has seen a message of this arrival. `takes`: no other receive can get the
    /// message.
    pub(super) fn note_seen(&mut self, arrival: Arrival, takes: bool) {
        if let Some(provenance) = self.provenance() {
            provenance.learn_arrival(arrival);
            (provenance.waits).push(Waited::Arrival(arrival.delivery, takes));
        }
    }

    /// The program knows that an operation is over.
    pub(crate) fn tell(&mut self, token: Token) {
        if let Some(provenance) = self.provenance() {
            provenance.origins[token as usize].is_told = true;
            provenance.learn_result(token);
        }
    }

    /// Returns true if the program knows that an operation is over.
    pub(crate) fn is_told(&self, token: Token) -> bool {
        find_provenance(self).is_some_and(|provenance| provenance.origins[token as usize].is_told)
    }

    /// Returns true if an operation is a receive. Known only under a model checker.
    pub(crate) fn is_receive(&self, token: Token) -> bool {
        find_provenance(self)
            .is_some_and(|provenance| provenance.origins[token as usize].receive > 0)
    }

    /// Reports the arrivals that the program has learned.
    pub(crate) fn report_observed(&mut self, channel: &dyn Channel) {
        if let Some((provenance, causes)) = find_causes(self, channel) {
            for step in provenance.learnt.drain(..) {
                causes.learn(step);
            }
            for waited in provenance.waits.drain(..) {
                match waited {
                    Waited::Operation(note) => causes.note_wait(note),
                    Waited::Arrival(step, takes) => causes.note_seen(step, takes),
                }
            }
        }
    }

    /// The message that a receive has met, where that is remembered.
    pub(super) fn met(&self, receive: Token) -> Option<Envelope> {
        let provenance = find_provenance(self)?;
        provenance.origins[receive as usize].met
    }

    /// The message that a receive has met which is of no use any more.
    pub(super) fn lost_message(&self, receive: Token) -> Option<Envelope> {
        let provenance = find_provenance(self)?;
        let origin = &provenance.origins[receive as usize];
        let is_of_use = origin.keeps_data || self.operations[receive as usize].cancelled;
        origin.met.filter(|_| !is_of_use)
    }

    /// Returns true if an operation is over because of an arrival.
    pub(crate) fn depends_on_arrival(&self, token: Token) -> bool {
        let provenance = find_provenance(self);
        if let State::Collective { .. } = self.state(token) {
            // Its steps may be over when the rank looks.
            return provenance.is_some();
        }
        provenance.is_some_and(|provenance| {
            self.is_done(token)
                && provenance.origins[token as usize].arrival.step != SendCause::NONE
        })
    }
}

impl Provenance {
    /// Returns the step of the arrival that has ended an operation.
    pub(super) fn arrival_of(&self, token: Token) -> u32 {
        self.origins[token as usize].arrival.step
    }

    /// Returns the number of the next receive of the rank.
    pub(super) const fn next_receive(&self) -> u32 {
        self.last_receive + 1
    }

    /// Returns the number of a receive among the receives of the rank, from 1.
    pub(super) fn number_of_receive(&self, token: Token) -> u32 {
        self.origins[token as usize].receive
    }

    /// Why packets leave: because of the arrival that is being handled, or of the program.
    pub(super) fn handling_reason(&self) -> Option<SendCause> {
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
