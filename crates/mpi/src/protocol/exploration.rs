//! Calls of the hooks of a model checker ([`ExplorationHooks`], [`CausalityHooks`]).
//!
//! The protocols call no other hooks; without a model checker these calls have no effect.
//!
//! *Not decided here*: when a rank chooses, and why packets leave; see the package `channel`.

pub use channel::{
    CausalityHooks, ExplorationHooks, NotedOperation, SendCause, SendEnd, is_of_collectives,
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

/// Returns the notes on why packets leave, if they are taken.
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

/// Notes that the program reads the time.
pub(crate) fn note_clock(channel: &dyn Channel, location: SourceLocation) {
    if let Some(causes) = channel.causality() {
        causes.note_clock(location);
    }
}

/// Notes a text for the user that is not an error.
pub(crate) fn note_text(channel: &dyn Channel, text: &str) {
    if let Some(causes) = channel.causality() {
        causes.note_text(text);
    }
}

/// Notes that the run has met a bound of the exploration.
pub(crate) fn note_bound(channel: &dyn Channel, text: &str) {
    if let Some(causes) = channel.causality() {
        causes.note_bound(text);
    }
}

/// Notes a question with an answer that may depend on the order of arrivals.
pub(crate) fn choose(channel: &dyn Channel) {
    if let Some(causes) = channel.causality() {
        causes.note_choice();
    }
}

/// Notes that other ranks may access memory of this one.
pub(crate) fn note_accesses(channel: &dyn Channel) {
    if let Some(causes) = channel.causality() {
        causes.note_accesses();
    }
}

/// Notes a call that may wait for all ranks of a group and does not: the name, the place and the
/// number of ranks.
pub(crate) fn note_collective(
    channel: &dyn Channel,
    (name, place, ranks): (&'static str, CollectivePlace, u32),
    location: SourceLocation,
) {
    if let Some(causes) = channel.causality() {
        let operation = NotedOperation::Collective { name, place, ranks };
        causes.note_wait(causes.begin(operation, location));
    }
}

/// Notes that the program has read memory that others access, in the present step.
pub(crate) fn note_read(channel: &dyn Channel) {
    if let Some(causes) = channel.causality() {
        causes.record_arrival(causes.current_step());
    }
}

/// Notes a receive from any source.
pub(crate) fn note_source_choice(channel: &dyn Channel) {
    if let Some(causes) = channel.causality() {
        causes.note_source_choice(true);
    }
}
