//! Messages that probes have seen, under a model checker: the network delivers them again.
//!
//! A probe promises its message only to a receive that names the source. A receive from any source
//! may get a message of another rank first, even a message that is sent after the probe (MPI 5.0,
//! section 3.8.1). So a message that a probe has seen has not arrived yet: the message is delivered
//! a second time, behind the earlier messages of the same sender and context, and the model checker
//! explores each order of these deliveries and of others. Later messages that have been delivered
//! once come with the message. Probes see all of them at once.
//!
//! *Not decided here*: the order of deliveries, and the answers that a model checker may pick; see
//! [`crate::protocol::look`].

use super::causality::{CausalityRecord, find_causes};
use super::tag_order::{MatchKind, note_probe};
use super::{OperationState, ProtocolEngine, Status};
use crate::channel::{Channel, Token};
use crate::matching::{Arrival, UnexpectedContent, UnexpectedMessage};
use crate::{Envelope, Pattern};
use observe::SourceLocation;

/// A message that the network has again.
#[derive(Clone, Debug)]
pub(super) struct ReturnedMessage {
    message: UnexpectedMessage,
    /// True if a delivery is for this message; false if the message comes with another one.
    is_announced: bool,
    /// The arrivals of other messages, which posted receives that accept this message have got.
    others: Vec<u32>,
}

/// The messages that a probe may see.
#[derive(Clone, Debug)]
pub(crate) struct ProbeScope {
    pattern: Pattern,
    /// Messages of these sources are out of scope.
    except: Vec<u32>,
}

/// The first message of a source that a pattern accepts and no posted receive gets.
struct Candidate<'a> {
    message: &'a UnexpectedMessage,
    /// Position among the messages that the network has again.
    returned: Option<usize>,
    /// True if a probe has seen this message or a later one that the pattern accepts.
    is_certain: bool,
}

impl ProbeScope {
    /// The scope of a probe with a pattern, without a model checker.
    pub(crate) const fn from_pattern(pattern: Pattern) -> Self {
        Self {
            pattern,
            except: Vec::new(),
        }
    }

    /// Returns the scope of a probe that has got the answer *yes* with this number: the seen source
    /// with this number, or else all others.
    pub(crate) fn from_answer(engine: &ProtocolEngine, pattern: &Pattern, picked: u32) -> Self {
        let seen = list_seen_sources(engine, pattern);
        let source = seen.get(picked as usize).copied();
        Self {
            pattern: Pattern {
                source: source.or(pattern.source),
                ..*pattern
            },
            except: if source.is_some() { Vec::new() } else { seen },
        }
    }

    /// Returns the status of the message that a receive with this pattern would get.
    pub(crate) fn probe(
        &self,
        engine: &mut ProtocolEngine,
        channel: &dyn Channel,
        location: SourceLocation,
    ) -> Option<Status> {
        if !engine.requests.rare.is_explored() {
            let message = engine.matching.find_unexpected(&self.pattern)?;
            return Some(message.probe_status());
        }
        let first = find_candidate(engine, self)?;
        let (envelope, arrival) = (first.message.envelope, first.message.arrival);
        let (found, returned) = (first.message.probe_status(), first.returned);
        if let Some(position) = returned {
            learn_others(engine, position);
        }
        if !arrival.is_seen {
            let seen = (self.pattern, envelope, arrival);
            note_probe(engine, channel, MatchKind::Probe, seen, location);
        }
        engine.requests.rare.report_observed(channel);
        let mut position = match returned {
            None if arrival.is_seen => return Some(found),
            None => return_lane(engine, &envelope, arrival.delivery),
            Some(position) => position,
        };
        if !arrival.is_seen {
            announce_delivery(engine, channel, position);
        }
        // Posted receives have got the messages ahead that the probe would see otherwise.
        let pattern = Pattern {
            source: Some(envelope.source),
            ..self.pattern
        };
        while let Some(claimed) = find_claimed_seen(engine, &pattern, position) {
            receive_early(engine, channel, &claimed);
            position -= 1;
        }
        Some(found)
    }

    /// Takes the message of [`Self::probe`], once the message has arrived, so that no other receive
    /// gets the message.
    pub(crate) fn extract(
        &self,
        engine: &mut ProtocolEngine,
        channel: &dyn Channel,
        location: SourceLocation,
    ) -> Option<UnexpectedMessage> {
        let pattern = if engine.requests.rare.is_explored() {
            let first = find_candidate(engine, self)?;
            if first.returned.is_some() {
                return None;
            }
            Pattern {
                source: Some(first.message.envelope.source),
                ..self.pattern
            }
        } else {
            self.pattern
        };
        let message = engine.matching.extract(&pattern)?;
        engine.requests.actions += 1;
        let taken = (self.pattern, message.envelope, message.arrival);
        note_probe(engine, channel, MatchKind::MatchedProbe, taken, location);
        Some(message)
    }

    fn accepts(&self, envelope: &Envelope) -> bool {
        self.pattern.accepts(envelope) && !self.except.contains(&envelope.source)
    }
}

/// Returns true if the order of two messages to one rank is fixed.
const fn is_same_lane(one: &Envelope, other: &Envelope) -> bool {
    one.source == other.source && one.context == other.context
}

fn list_returned(engine: &ProtocolEngine) -> &[ReturnedMessage] {
    let record = engine.requests.rare.causality();
    record.map_or(&[], |record| &record.returned)
}

/// Returns the first messages of each source that a probe with this scope may see.
fn list_candidates<'a>(engine: &'a ProtocolEngine, scope: &ProbeScope) -> Vec<Candidate<'a>> {
    let arrived = engine.matching.unexpected().map(|message| Candidate {
        message,
        returned: None,
        is_certain: message.arrival.is_seen,
    });
    let returned = list_returned(engine).iter().enumerate();
    let returned = returned.map(|(position, one)| Candidate {
        message: &one.message,
        returned: Some(position),
        is_certain: one.message.arrival.is_seen,
    });
    let mut candidates: Vec<Candidate<'_>> = Vec::new();
    for candidate in arrived.chain(returned) {
        let envelope = &candidate.message.envelope;
        let is_claimed = |position: usize| find_claim(engine, position).is_some();
        if !scope.accepts(envelope) || candidate.returned.is_some_and(is_claimed) {
            continue;
        }
        let is_same_source =
            |one: &&mut Candidate<'_>| one.message.envelope.source == envelope.source;
        match candidates.iter_mut().find(is_same_source) {
            Some(first) => first.is_certain |= candidate.is_certain,
            None => candidates.push(candidate),
        }
    }
    candidates
}

/// Returns the message that a probe with this scope sees.
fn find_candidate<'a>(engine: &'a ProtocolEngine, scope: &ProbeScope) -> Option<Candidate<'a>> {
    let candidates = list_candidates(engine, scope).into_iter();
    candidates.min_by_key(|one| one.message.arrival.delivery)
}

/// Returns the posted receive that gets a message if the message arrives now and these receives
/// have got other ones.
fn find_receive(engine: &ProtocolEngine, envelope: &Envelope, without: &[Token]) -> Option<Token> {
    let record = engine.requests.rare.causality()?;
    let accepts = |state: &OperationState| match state {
        OperationState::Posted { pattern, .. } => pattern.accepts(envelope),
        _ => false,
    };
    let receives = (0..).zip(engine.requests.operations.states());
    let accepting = receives.filter(|(token, state)| accepts(state) && !without.contains(token));
    let first = accepting.min_by_key(|(token, _)| record.number_of_receive(*token));
    first.map(|(token, _)| token)
}

/// Returns the posted receive that gets the message at this position of the messages that the
/// network has again, unless a message of another sender arrives before: the messages ahead arrive
/// with that message.
fn find_claim(engine: &ProtocolEngine, position: usize) -> Option<Token> {
    let returned = list_returned(engine);
    let (last, ahead) = returned[..=position].split_last()?;
    let mut claimed = Vec::new();
    for one in ahead {
        if is_same_lane(&one.message.envelope, &last.message.envelope) {
            claimed.extend(find_receive(engine, &one.message.envelope, &claimed));
        }
    }
    find_receive(engine, &last.message.envelope, &claimed)
}

/// Returns true if a posted receive certainly gets a message: one that a probe has seen and
/// that no receive posted earlier may get.
pub(crate) fn will_meet_seen(engine: &ProtocolEngine, receive: Token) -> bool {
    let mut returned = list_returned(engine).iter().enumerate();
    returned.any(|(position, one)| {
        one.message.arrival.is_seen && find_claim(engine, position) == Some(receive)
    })
}

/// Returns the first message of the network before position `end` that this pattern accepts, and
/// that a posted receive gets unless another message arrives before. A probe has seen this message,
/// or a later one of the sender that the pattern accepts.
pub(crate) fn find_claimed_seen(
    engine: &ProtocolEngine,
    pattern: &Pattern,
    end: usize,
) -> Option<Envelope> {
    let returned = list_returned(engine);
    let is_claimed = |position: &usize| {
        let of = &returned[*position].message.envelope;
        let is_seen = |UnexpectedMessage {
                           envelope, arrival, ..
                       }: &UnexpectedMessage| {
            arrival.is_seen && is_same_lane(envelope, of) && pattern.accepts(envelope)
        };
        let mut later = returned[*position..].iter().map(|one| &one.message);
        pattern.accepts(of) && later.any(is_seen) && find_claim(engine, *position).is_some()
    };
    let position = (0..returned.len().min(end)).find(is_claimed)?;
    Some(returned[position].message.envelope)
}

/// The program learns that posted receives which accept a message of the network have got other
/// ones.
fn learn_others(engine: &mut ProtocolEngine, position: usize) {
    if let Some(record) = engine.requests.rare.causality_mut() {
        for arrival in std::mem::take(&mut record.returned[position].others) {
            record.learn(arrival);
        }
    }
}

/// A probe with this pattern asks, and the answers depend on the seen messages that no posted
/// receive gets.
pub(crate) fn learn_unclaimed(
    engine: &mut ProtocolEngine,
    channel: &dyn Channel,
    pattern: &Pattern,
) {
    for position in 0..list_returned(engine).len() {
        let message = &list_returned(engine)[position].message;
        let is_seen = message.arrival.is_seen && pattern.accepts(&message.envelope);
        if is_seen && find_claim(engine, position).is_none() {
            learn_others(engine, position);
        }
    }
    engine.requests.rare.report_observed(channel);
}

/// A probe with this pattern was answered *no*: posted receives have got the seen messages.
pub(crate) fn receive_claimed_seen(
    engine: &mut ProtocolEngine,
    channel: &dyn Channel,
    pattern: &Pattern,
) {
    while let Some(claimed) = find_claimed_seen(engine, pattern, usize::MAX) {
        receive_early(engine, channel, &claimed);
    }
}

/// Lets the first announced message of a lane arrive before the network delivers it.
fn receive_early(engine: &mut ProtocolEngine, channel: &dyn Channel, of: &Envelope) {
    if let Some((record, causes)) = find_causes(&mut engine.requests.rare, channel) {
        record.arrived_early.push(*of);
        let step = causes.current_step();
        engine.matching.arrival.step = step;
    }
    receive_seen(engine, channel, of);
    engine.requests.rare.note_handled(channel);
}

/// Gives the messages of one sender and context back to the network. Returns the position of
/// the one that was delivered in this step.
fn return_lane(engine: &mut ProtocolEngine, of: &Envelope, delivery: u32) -> usize {
    let lane = Pattern {
        context: of.context,
        source: Some(of.source),
        tag: None,
    };
    let mut position = list_returned(engine).len();
    while let Some(message) = engine.matching.extract(&lane) {
        if let Some(record) = engine.requests.rare.causality_mut() {
            if message.arrival.delivery == delivery {
                position = record.returned.len();
            }
            record.returned.push(ReturnedMessage {
                message,
                is_announced: false,
                others: Vec::new(),
            });
        }
    }
    position
}

/// A probe sees a message in the network for the first time: the message will be delivered, behind
/// the earlier messages of the sender.
fn announce_delivery(engine: &mut ProtocolEngine, channel: &dyn Channel, position: usize) {
    let Some(record) = engine.requests.rare.causality_mut() else {
        return;
    };
    let seen = &mut record.returned[position].message;
    seen.arrival.is_seen = true;
    let of = seen.envelope;
    for one in &mut record.returned[..=position] {
        let message = &one.message;
        if is_same_lane(&message.envelope, &of) && !one.is_announced {
            let (length, delivery) = (message.content.length(), message.arrival.delivery);
            channel.return_to_network(message.envelope, length, delivery);
            one.is_announced = true;
        }
    }
}

/// Receives the first announced message of a sender and context that the network has, with the
/// messages behind that are not announced.
fn receive_seen(engine: &mut ProtocolEngine, channel: &dyn Channel, of: &Envelope) {
    let Some(record) = engine.requests.rare.causality_mut() else {
        return;
    };
    let mut announced = 0;
    let arrives = |one: &mut ReturnedMessage| {
        let is_in_lane = is_same_lane(&one.message.envelope, of);
        announced += u32::from(is_in_lane && one.is_announced);
        is_in_lane && announced <= 1
    };
    let mut left = std::mem::take(&mut record.returned);
    let arrived: Vec<ReturnedMessage> = left.extract_if(.., arrives).collect();
    for ReturnedMessage { message, .. } in arrived {
        let step = engine.matching.arrival.step;
        let arrival = Arrival {
            step,
            ..message.arrival
        };
        engine.matching.arrival = arrival;
        engine
            .requests
            .note_cause(|record| record.arrival = arrival);
        let receive = find_receive(engine, &message.envelope, &[]);
        if let Some(OperationState::Posted { pattern, .. }) =
            receive.map(|token| engine.requests.operations.state(token))
        {
            end_claim(&mut left, pattern, &arrival.both_steps());
        }
        engine.match_arrival(channel, message.envelope, message.content);
    }
    engine.requests.note_cause(|record| record.returned = left);
}

/// A receive with this pattern gets a message of these arrivals, so that the receive claims none
/// of the messages that the network has again.
fn end_claim(returned: &mut [ReturnedMessage], pattern: &Pattern, arrivals: &[u32]) {
    for one in returned {
        if pattern.accepts(&one.message.envelope) {
            one.others.extend(arrivals);
        }
    }
}

impl CausalityRecord {
    /// A receive with this pattern gets the message that arrives.
    pub(super) fn note_claim_over(&mut self, pattern: &Pattern) {
        end_claim(&mut self.returned, pattern, &self.arrival.both_steps());
    }
}

/// Returns true if a probe with this pattern may see a message, under a model checker.
pub(crate) fn has_message(engine: &ProtocolEngine, pattern: &Pattern) -> bool {
    !list_candidates(engine, &ProbeScope::from_pattern(*pattern)).is_empty()
}

/// Returns the sources of seen messages that a probe with this pattern may see again.
pub(crate) fn list_seen_sources(engine: &ProtocolEngine, pattern: &Pattern) -> Vec<u32> {
    if !engine.requests.rare.is_explored() {
        return Vec::new();
    }
    let candidates = list_candidates(engine, &ProbeScope::from_pattern(*pattern));
    let seen = candidates.iter().filter(|one| one.is_certain);
    let mut sources: Vec<u32> = seen.map(|one| one.message.envelope.source).collect();
    sources.sort_unstable();
    sources
}

impl ProtocolEngine {
    /// Handles a message that arrives for the first time. Keeps the message back if the network has
    /// an earlier message of its sender again.
    #[inline]
    pub(super) fn keep_behind_returned(
        &mut self,
        envelope: Envelope,
        content: UnexpectedContent,
    ) -> Option<UnexpectedContent> {
        let is_ahead = |one: &ReturnedMessage| is_same_lane(&one.message.envelope, &envelope);
        if self.requests.rare.is_empty() || !list_returned(self).iter().any(is_ahead) {
            return Some(content);
        }
        let arrival = self.matching.arrival;
        if let Some(record) = self.requests.rare.causality_mut() {
            record.returned.push(ReturnedMessage {
                message: UnexpectedMessage {
                    envelope,
                    content,
                    arrival,
                },
                is_announced: false,
                others: Vec::new(),
            });
        }
        None
    }

    /// A message that a probe has seen arrives, unless the message has arrived before.
    #[cold]
    pub(super) fn handle_seen(&mut self, channel: &dyn Channel, of: &Envelope) {
        if let Some(record) = self.requests.rare.causality_mut() {
            let mut early = record.arrived_early.iter();
            if let Some(position) = early.position(|one| is_same_lane(one, of)) {
                record.arrived_early.swap_remove(position);
                return;
            }
        }
        receive_seen(self, channel, of);
    }
}
