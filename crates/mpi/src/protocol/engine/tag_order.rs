//! The order of messages with different tags, under a model checker: a bound that is stated.
//!
//! Only matching orders the messages of one sender (MPI 5.0, section 3.5): a message of another tag
//! may arrive before an earlier one. Under a model checker, the messages of one sender and context
//! arrive in the order of their sends. That loses an outcome only if the earlier message is for a
//! receive or probe from any source, which could then get a message of a third rank. Such a run
//! states the bound.
//!
//! *Not decided here*: matching, and the order of deliveries.

use observe::SourceLocation;

use super::ProtocolEngine;
use super::causality::CausalityRecord;
use crate::channel::{Channel, Token};
use crate::exploration::{is_of_collectives, note_bound};
use crate::matching::Arrival;
use crate::{Envelope, Pattern};

/// The operation that matches a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum MatchKind {
    Receive,
    /// A probe has seen the message, which other ones may still get.
    Probe,
    /// A probe has taken the message.
    MatchedProbe,
}

/// A receive or a probe that has matched a message, and the message.
#[derive(Clone, Copy, Debug)]
struct MatchRecord {
    kind: MatchKind,
    pattern: Pattern,
    envelope: Envelope,
    /// The step in which the message was delivered for the first time.
    delivery: u32,
    /// The number of the receive, or of the next receive for a probe.
    receive: u32,
    location: SourceLocation,
}

/// Matched messages of one sender, context and tag: of receives and probes from any source, or of
/// others.
#[derive(Clone, Copy, Debug)]
struct MatchedMessages {
    source: u32,
    context: u32,
    tag: u32,
    /// The place of the latest receive or probe from any source that has matched one of them.
    any_source: Option<SourceLocation>,
    first_delivery: u32,
    /// The delivery of the last message that was received or taken.
    last_delivery: u32,
    /// Number of messages that the program has not been told about.
    untold: u32,
    /// The number of the next receive when the program was told about the latest message.
    told_before: u32,
}

/// The messages that a rank has matched.
#[derive(Clone, Debug, Default)]
pub(super) struct MatchTable(Vec<MatchedMessages>);

impl MatchedMessages {
    const fn is_in_lane(&self, envelope: &Envelope) -> bool {
        self.source == envelope.source && self.context == envelope.context
    }

    /// Returns the place of the receive or probe from any source that could have matched the
    /// message of a third rank if messages of different tags arrived in another order.
    fn find_reordering(&self, record: &MatchRecord) -> Option<SourceLocation> {
        let MatchRecord {
            pattern,
            delivery,
            receive,
            location,
            ..
        } = *record;
        if pattern.source.is_none() && self.last_delivery > delivery {
            return Some(location);
        }
        let is_passed_over = pattern.tag.is_some_and(|tag| tag != self.tag);
        let could_be_late = is_passed_over
            && self.first_delivery < delivery
            && (self.untold > 0 || receive < self.told_before);
        self.any_source.filter(|_| could_be_late)
    }
}

impl MatchTable {
    /// Adds a match. Returns the place of a receive or probe that could have matched another
    /// message.
    fn add_match(&mut self, record: &MatchRecord, next_receive: u32) -> Option<SourceLocation> {
        let Envelope {
            source,
            context,
            tag,
            ..
        } = record.envelope;
        let is_any = record.pattern.source.is_none();
        let (mut place, mut known) = (None, None);
        for (position, matched) in self.0.iter().enumerate() {
            if matched.is_in_lane(&record.envelope) {
                place = place.or_else(|| matched.find_reordering(record));
                if matched.tag == tag && matched.any_source.is_some() == is_any {
                    known = Some(position);
                }
            }
        }
        let position = known.unwrap_or_else(|| {
            if self.0.is_empty() {
                self.0.reserve_exact(ENTRIES);
            }
            self.0.push(MatchedMessages {
                source,
                context,
                tag,
                any_source: None,
                first_delivery: record.delivery,
                last_delivery: 0,
                untold: 0,
                told_before: 0,
            });
            self.0.len() - 1
        });
        let matched = &mut self.0[position];
        matched.first_delivery = matched.first_delivery.min(record.delivery);
        // The network delivers the messages before one that a probe has seen again.
        if record.kind != MatchKind::Probe {
            matched.last_delivery = matched.last_delivery.max(record.delivery);
        }
        if is_any {
            matched.any_source = Some(record.location);
            match record.kind {
                MatchKind::Receive => matched.untold += 1,
                MatchKind::Probe | MatchKind::MatchedProbe => matched.told_before = next_receive,
            }
        }
        place
    }

    /// The program is told about a message that a receive from any source has matched.
    pub(super) fn note_told(&mut self, envelope: &Envelope, next_receive: u32) {
        let is_untold = |matched: &&mut MatchedMessages| {
            matched.is_in_lane(envelope) && matched.tag == envelope.tag && matched.untold > 0
        };
        if let Some(matched) = self.0.iter_mut().find(is_untold) {
            matched.untold -= 1;
            matched.told_before = next_receive;
        }
    }
}

/// Entries for which a new table has room: engines under a model checker live for a short time.
/// \[choice\]
const ENTRIES: usize = 8;

/// Ranks that are necessary for an outcome that depends on the order of tags: a receiver and two
/// senders.
const RANKS_MIN: u32 = 3;

/// Returns true if the order of tags may matter for a match: a receive of one source with any tag
/// takes the first message.
fn may_matter(channel: &dyn Channel, pattern: &Pattern) -> bool {
    (pattern.source.is_none() || pattern.tag.is_some())
        && !is_of_collectives(pattern.context)
        && channel.size() >= RANKS_MIN
}

/// A posted receive has matched a message, under a model checker.
pub(super) fn note_match(
    record: &mut CausalityRecord,
    channel: &dyn Channel,
    receive: Token,
    (pattern, envelope): (Pattern, Envelope),
    location: SourceLocation,
) {
    let added = MatchRecord {
        kind: MatchKind::Receive,
        pattern,
        envelope,
        delivery: record.arrival.delivery,
        receive: record.number_of_receive(receive),
        location,
    };
    add_match(record, channel, &added);
}

/// A probe sees or takes a message, which was delivered first in this step.
pub(super) fn note_probe(
    engine: &mut ProtocolEngine,
    channel: &dyn Channel,
    kind: MatchKind,
    (pattern, envelope, arrival): (Pattern, Envelope, Arrival),
    location: SourceLocation,
) {
    if let Some(record) = engine.requests.rare.causality_mut() {
        record.note_seen(arrival, kind == MatchKind::MatchedProbe);
        let added = MatchRecord {
            kind,
            pattern,
            envelope,
            delivery: arrival.delivery,
            receive: record.next_receive(),
            location,
        };
        add_match(record, channel, &added);
    }
}

fn add_match(record: &mut CausalityRecord, channel: &dyn Channel, added: &MatchRecord) {
    let next = record.next_receive();
    if may_matter(channel, &added.pattern)
        && let Some(place) = record.matched.add_match(added, next)
    {
        let bound = "messages of one rank on one communicator arrive in the order of their sends";
        note_bound(channel, &format!("{bound} ({place})"));
    }
}
