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
//! checker picks their answers ([`RunNotes::pick_answer`]), and a *yes* waits for the named
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

use crate::{Envelope, NotedOperation, Token};

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
    /// [`RunNotes::pick_answer`]. `begun`: the number of operations that the rank had begun.
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

    /// Returns the hooks for the causes of packets and for the notes of the rank, under a model
    /// checker.
    fn causality(&self) -> Option<&dyn CausalityHooks> {
        None
    }
}

/// The causes of the packets of one rank, for a model checker.
pub trait CausalityHooks: RunNotes {
    /// Returns the present step.
    fn current_step(&self) -> u32;

    /// Returns the step in which the next packet was delivered that the rank handles now.
    fn take_delivery(&self) -> u32;

    /// Records that the program has waited for an arrival of this step.
    fn record_arrival(&self, step: u32);

    /// Counts a receive that is posted now. Returns the cause of a packet that the program would
    /// post next; [`SendCause::receives`] is the number of this receive at the rank, from 1.
    fn post_receive(&self) -> SendCause;

    /// Returns the cause of a packet that the rank would post now.
    fn send_cause(&self) -> SendCause;

    /// Sets the cause of the next packets; `None` if the program posts them.
    fn set_send_cause(&self, cause: Option<SendCause>);

    /// Returns the origin of the packet that arrived in this step.
    fn packet_origin(&self, arrival: u32) -> PacketOrigin;

    /// Returns true if the posting of a receive of the rank happens before the send of the message
    /// that arrived in this step.
    fn is_posted_before(&self, receive: u32, arrival: u32) -> bool;
}

/// The origin of a packet that has arrived.
#[derive(Clone, Default, Debug)]
pub struct PacketOrigin {
    /// The call that sent the packet, if the packet is a message.
    pub call: Option<SourceLocation>,
    /// The arrivals because of which the packet was sent, besides the arrivals that the program of
    /// the sender has waited for.
    pub arrivals: Vec<u32>,
}

/// The notes and the choices of one rank in a run, for a model checker.
pub trait RunNotes {
    /// Notes a fact of the run.
    fn note_fact(&self, fact: ExplorationFact<'_>);

    /// Notes an operation that the rank begins. The next packet of a send is the message. Returns
    /// the number of the note among the notes of the rank.
    fn begin_operation(&self, operation: NotedOperation, location: SourceLocation) -> u32;

    /// Returns true if the rank has asked a question in this run with an answer that may depend on
    /// more than the order of messages.
    fn has_chosen(&self) -> bool;

    /// Returns the answer to a question that the model checker has picked among `answers`; `None`
    /// if the rank has to park until one is picked. `question` tells apart the questions that one
    /// rank asks at the same time. `sees_arrivals`: true if arrivals decide which
    /// answers are possible.
    fn pick_answer(&self, question: u64, answers: Range<u32>, sees_arrivals: bool) -> Option<u32>;
}

/// A fact of a run that a rank notes for a model checker. Operations are named by their notes
/// ([`RunNotes::begin_operation`]), arrivals by their steps.
#[derive(Clone, Copy, Debug)]
pub enum ExplorationFact<'a> {
    /// A question has an answer that may depend on the order of arrivals.
    ArrivalQuestion,
    /// A probe from any source: only the order of messages and of announcements may matter.
    SourceProbe,
    /// A receive from any source: only the order of messages and of announcements may matter.
    SourceReceive,
    /// Other ranks may access memory of this one: the order of accesses may matter.
    MemoryExposed,
    /// The rank parks although its awaited event is there, and wants to continue at once: so the
    /// model checker sees in how many places the rank waits.
    WaitDeferred,
    /// The next packet leaves because of these arrivals, too.
    FurtherCauses(&'a [u32]),
    /// This operation repeats the latest read of the rank of a window. The packet of the operation
    /// arrives after a change of the memory.
    ReadRepeated(Token),
    /// The program reads the time, which stands still.
    ClockRead(SourceLocation),
    /// A text for the user that is no error.
    Remark(&'a str),
    /// The run has met a bound of the exploration: behaviours beyond the bound are not explored.
    /// The text names the bound and the place.
    Bound(&'a str),
    /// A call has sent a message.
    MessageSent(SourceLocation),
    /// The next packet is the message of this send.
    SendResumed(u32),
    /// A send is buffered whatever the library does.
    SendBuffered(u32),
    /// The message of a send is in an attached buffer.
    SendAttached(u32),
    /// A receive is a part of a collective call.
    ReceivePart {
        /// The receive.
        receive: u32,
        /// The collective call.
        collective: u32,
    },
    /// A receive has met the message of an arrival.
    ReceiveMet {
        /// The receive.
        receive: u32,
        /// The step of the arrival.
        arrival: u32,
    },
    /// The rank has waited for the end of an operation.
    OperationAwaited(u32),
    /// The rank has waited for a message without a receive.
    MessageAwaited {
        /// The step of the arrival.
        arrival: u32,
        /// True if no other receive can get the message.
        is_taken: bool,
    },
    /// The waits from here on are for a picked answer: the rank could as well have continued at
    /// once, or if there are alternatives, when one of them was over.
    LookBegun,
    /// An alternative to the waits for the picked answer: the end of this operation.
    LookAlternative(u32),
    /// The wait for a picked answer is over.
    LookEnded,
}
