//! Trace events: what the digest is made of, for those who want to see it.

use std::fmt;

use crate::{ActorId, Footprint, OperationResult, Time, Transition};

/// One transition that was executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceEvent {
    /// Date of the transition.
    pub time: Time,
    /// The actor that executed it.
    pub actor: ActorId,
    /// The transition.
    pub transition: Transition,
    /// Its result.
    pub answer: OperationResult,
    /// The objects that it touched, named as an explorer names them.
    pub footprint: Footprint,
    /// True if it was a cancellation that came before the end of its activity.
    pub cancelled: bool,
}

/// A step of a run, told so that an explorer finds its own step of the same meaning.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Observed {
    /// A packet arrived from the [queue](crate::ExplorableDevice::queue_name) of this name.
    Arrival(String),
    /// An actor looked into its device, to see whether something had arrived.
    Poll(ActorId),
    /// An actor was told the answer to a question about its device, which an explorer would pick.
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

/// Where trace events go. It must not touch the simulation.
pub(crate) struct TraceSink(pub(crate) Box<dyn FnMut(&TraceEvent)>);

impl fmt::Debug for TraceSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TraceSink(..)")
    }
}
