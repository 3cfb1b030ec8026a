//! Calls of the hooks of a model checker ([`ExplorationHooks`], [`CausalityHooks`], [`RunNotes`]).
//!
//! The protocols call no other hooks; without a model checker these calls have no effect.
//!
//! *Not decided here*: when a rank chooses, and why packets leave; see the package `channel`.

pub use channel::{
    CausalityHooks, ExplorationFact, ExplorationHooks, NotedOperation, PacketOrigin, RunNotes,
    SendCause, SendEnd, is_of_collectives,
};

use crate::Comm;
use crate::channel::{Channel, CollectivePlace};
use observe::SourceLocation;

/// Returns true if a model checker takes notes.
#[inline]
pub(crate) fn is_explored(channel: &dyn Channel) -> bool {
    channel.causality().is_some()
}

/// Returns true if a model checker explores the rank of a communicator.
#[must_use]
pub fn is_rank_explored(comm: &Comm) -> bool {
    is_explored(comm.process().channel())
}

/// Returns the hooks for the causes of packets and for notes, under a model checker.
#[inline]
pub(crate) fn causality(channel: &dyn Channel) -> Option<&dyn CausalityHooks> {
    channel.causality()
}

/// Returns true if the rank may look for arrivals now; false if the rank has to park before.
#[inline]
pub(crate) fn may_look(channel: &dyn Channel) -> bool {
    channel.may_look()
}

/// Notes that a question of the rank was answered, where no model checker picks the answers.
pub(crate) fn note_answer(channel: &dyn Channel, question: u64, begun: u64, answer: u32) {
    channel.note_answer(question, begun, answer);
}

/// Notes that a receive or a probe from any source has got or seen a message of `source`.
pub(crate) fn note_source(channel: &dyn Channel, source: u32, location: SourceLocation) {
    channel.note_source(source, location);
}

/// Notes a fact of the run.
pub(crate) fn note_fact(channel: &dyn Channel, fact: ExplorationFact<'_>) {
    if let Some(notes) = channel.causality() {
        notes.note_fact(fact);
    }
}

/// Notes that the run has met a bound of the exploration.
pub(crate) fn note_bound(channel: &dyn Channel, text: &str) {
    note_fact(channel, ExplorationFact::Bound(text));
}

/// Notes a question with an answer that may depend on the order of arrivals.
pub(crate) fn choose(channel: &dyn Channel) {
    note_fact(channel, ExplorationFact::ArrivalQuestion);
}

/// Notes a call that may wait for all ranks of a group and does not: the name, the place and the
/// number of ranks.
pub(crate) fn note_collective(
    channel: &dyn Channel,
    (name, place, ranks): (&'static str, CollectivePlace, u32),
    location: SourceLocation,
) {
    if let Some(notes) = channel.causality() {
        let operation = NotedOperation::Collective { name, place, ranks };
        let call = notes.begin_operation(operation, location);
        notes.note_fact(ExplorationFact::OperationAwaited(call));
    }
}

/// Notes that the program has read memory that others access, in the present step.
pub(crate) fn note_read(channel: &dyn Channel) {
    if let Some(causes) = channel.causality() {
        causes.record_arrival(causes.current_step());
    }
}
