//! The hooks of a model checker: its choices, and the causes of packets.
//!
//! The protocols call no other hooks; without a model checker these hooks do nothing.
//!
//! A rank that receives messages by name alone, and never asks which messages have arrived *by
//! now*, behaves the same for every arrival order of messages of different senders. So the last
//! arrival is not the cause of a packet. The cause is exactly the set of messages that the program
//! has waited for before it posted the packet. The cause of an answer of the protocol is the
//! answered message and the messages awaited before the program posted the receive.
//!
//! Tests, probes without waiting, and waits for some of several operations do not look: the model
//! checker picks their answers ([`CausalityHooks::pick`]), and a *yes* waits for the named
//! operations.
//!
//! A rank *chooses* from its first call on with a result that depends on the order of arrivals: a
//! probe from any source, a wait in several places at once, a cancellation, a request that is given
//! up, a buffered send that does not leave at once, a message that is forwarded.
//!
//! With no such call but receives from any source, a rank observes only the order of messages and
//! announcements (receives and messages that both prefer the earlier have one matching), not when
//! answers and data of announced messages arrive. A rank with memory in a window observes the order
//! of accesses, by its reads there and by its answers.

use std::ops::Range;

use observe::SourceLocation;

use crate::{Envelope, NotedOperation};

/// The context bit of collective operations; this bit lies after the bits of the communicator.
pub const COLLECTIVE: u32 = 1;

/// Returns true if the messages of a context belong to collective operations; all receives of
/// collective operations name their source.
#[must_use]
#[inline]
pub const fn is_of_collectives(context: u32) -> bool {
    context & COLLECTIVE != 0
}

/// The conditions under which a packet can leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendCause {
    /// Number of arrivals that the program has waited for before.
    pub known: u32,
    /// The step of one more arrival; [`SendCause::NONE`] if there is none.
    pub arrival: u32,
    /// The step in which the message of that arrival was delivered for the first time, perhaps the
    /// same one; [`SendCause::NONE`] if there is none.
    pub delivery: u32,
    /// Number of receives that the rank had posted before the packet, as far as the packet reveals
    /// this number.
    pub receives: u32,
}

impl SendCause {
    /// No arrival.
    pub const NONE: u32 = u32::MAX;
}

/// Hooks of a channel under a model checker; the hooks of all other channels do nothing.
pub trait ExplorationHooks {
    /// Returns true if the rank may look for arrivals now; false if the rank has to park before.
    ///
    /// Only channels under a model checker let the rank wait: the order of a look and an arrival is
    /// then a choice.
    fn may_look(&self) -> bool {
        true
    }

    /// Notes that a question of the rank was answered without a model checker: `question` as in
    /// [`CausalityHooks::pick`]. `begun`: the number of operations that the rank had begun.
    fn note_answer(&self, question: u64, begun: u64, answer: u32) {
        let _ = (question, begun, answer);
    }

    /// Notes that a receive or a probe from any source, at `location`, has got or seen a message
    /// of `source`: another order may be possible.
    fn note_source(&self, source: u32, location: SourceLocation) {
        let _ = (source, location);
    }

    /// Notes that a probe of the rank has seen the message that was delivered in the step
    /// `arrival`: the message will be delivered a second time, as
    /// [`PacketHeader::Redelivery`](crate::PacketHeader). `length`: of the message, in bytes.
    fn return_to_network(&self, envelope: Envelope, length: u64, arrival: u32) {
        let _ = (envelope, length, arrival);
    }

    /// Returns the notes on the reasons for which packets leave, if they are taken.
    fn causality(&self) -> Option<&dyn CausalityHooks> {
        None
    }
}

/// Notes on why the packets of one rank leave, for a model checker.
pub trait CausalityHooks {
    /// Returns the present step.
    fn current_step(&self) -> u32;

    /// Notes that the rank handles the next packet that has been delivered. Returns the step of
    /// the delivery.
    fn note_arrival(&self) -> u32;

    /// Notes that the program has waited for an arrival of this step.
    fn record_arrival(&self, step: u32);

    /// Returns the number of arrivals that the program has waited for.
    fn known(&self) -> u32;

    /// Returns the arrivals because of which the packet was sent that arrived in this step.
    fn arrivals_behind(&self, arrival: u32) -> Vec<u32>;

    /// The next packet leaves because of these arrivals, too.
    fn because_also(&self, arrivals: Vec<u32>);

    /// Counts a receive that is posted now. Returns the number of this receive at the rank, from 1.
    fn post_receive(&self) -> u32;

    /// Returns true if the posting of a receive of the rank happens before the send of the message
    /// that arrived in this step.
    fn is_posted_before(&self, receive: u32, arrival: u32) -> bool;

    /// Returns the call that sent the message that arrived in this step.
    fn call_of(&self, arrival: u32) -> Option<SourceLocation>;

    /// Sets why the next packets leave; `None` if the program posts them.
    fn because(&self, reason: Option<SendCause>);

    /// Returns why the rank would post a packet now.
    fn reason(&self) -> SendCause;

    /// Notes a question with an answer that may depend on the order of arrivals.
    fn note_choice(&self);

    /// Notes a probe from any source, or a receive if `is_receive`: only the order of messages and
    /// of announcements may matter.
    fn note_source_choice(&self, is_receive: bool);

    /// Notes that other ranks may access memory of this one: the order of accesses may matter.
    fn note_accesses(&self);

    /// Returns true if the rank has asked a question in this run with an answer that may depend on
    /// more than the order of messages.
    fn has_chosen(&self) -> bool;

    /// Returns the answer to a question that the model checker has picked among `answers`; `None`
    /// if the rank has to park until one is picked. `question` tells apart the questions that one
    /// rank asks at the same time. `sees_arrivals`: true if arrivals decide which
    /// answers are possible.
    fn pick(&self, question: u64, answers: Range<u32>, sees_arrivals: bool) -> Option<u32>;

    /// Notes that the rank parks although its awaited event is there, and wants to continue at
    /// once: so the model checker sees in how many places the rank waits.
    fn defer(&self);

    /// Notes that the program reads the time, which stands still.
    fn note_clock(&self, location: SourceLocation) {
        let _ = location;
    }

    /// Notes a text for the user that is no error.
    fn note_text(&self, text: &str) {
        let _ = text;
    }

    /// Notes that the run has met a bound of the exploration: behaviours beyond the bound are not
    /// explored. `text` names the bound and the place.
    fn note_bound(&self, text: &str) {
        let _ = text;
    }

    /// Notes an operation that the rank begins. The next packet of a send is the message. Returns
    /// the number of the note among the notes of the rank.
    fn begin(&self, operation: NotedOperation, location: SourceLocation) -> u32;

    /// The next packet is the message of this send.
    fn resume_send(&self, send: u32);

    /// Notes that a send is buffered whatever the library does.
    fn note_buffered(&self, send: u32);

    /// Notes that a receive is a part of a collective call.
    fn note_part(&self, receive: u32, collective: u32);

    /// Notes that a receive has met the message that arrived in this step.
    fn note_met(&self, receive: u32, arrival: u32);

    /// Notes that the rank has waited for the end of an operation.
    fn note_wait(&self, operation: u32);

    /// Notes that the rank has waited for the arrival of this step, without a receive. `takes`: no
    /// other receive can get the message.
    fn note_seen(&self, arrival: u32, takes: bool);

    /// The waits from here on, until [`CausalityHooks::end_look`], are for a picked answer: the
    /// rank could as well have continued when one of these operations was over, or at once without
    /// any operation.
    fn begin_look(&self, one_of: &mut dyn Iterator<Item = u32>);

    /// The wait for an answer is over.
    fn end_look(&self);

    /// Notes that a call has sent a message.
    fn note_send(&self, location: SourceLocation) {
        let _ = location;
    }
}
