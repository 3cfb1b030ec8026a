//! Trace events: the input of the digest, for observers.

use crate::{ActorId, Footprint, OperationResult, Time, Transition};

/// One transition that was executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceEvent {
    /// Date of the transition.
    pub time: Time,
    /// The actor that executed the transition.
    pub actor: ActorId,
    /// The transition.
    pub transition: Transition,
    /// The result of the transition.
    pub answer: OperationResult,
    /// The objects that the transition accessed, with the names that an explorer uses.
    pub footprint: Footprint,
    /// True if the transition was a cancellation before the end of its activity.
    pub cancelled: bool,
}

/// A step of a run, in a form in which an explorer finds its own step of the same meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Observed {
    /// A packet arrived from the [queue](crate::QueueDescription) of this name.
    Arrival(String),
    /// An actor polled its device for an arrival.
    Poll(ActorId),
    /// An actor got the answer to a question about its device; an explorer would pick the answer.
    Answer {
        /// The actor that asked.
        actor: ActorId,
        /// Tells the questions of the actor apart.
        question: u64,
        /// The number of operations that the actor had begun or waited for.
        begun: u64,
        /// The answer, 0 for *no*.
        answer: u32,
    },
    /// An actor executed a transition.
    Transition(TraceEvent),
}

/// The receiver of trace events. A sink must not touch the simulation.
pub(crate) struct TraceSink(pub(crate) Box<dyn FnMut(&TraceEvent)>);
