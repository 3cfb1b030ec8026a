//! Trace events: what the digest is made of, for those who want to see it.

use std::fmt;

use crate::{ActorId, Answer, Time, Transition};

/// One transition that was executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceEvent {
    /// When.
    pub time: Time,
    /// By whom.
    pub actor: ActorId,
    /// What.
    pub transition: Transition,
    /// With which result.
    pub answer: Answer,
}

/// Where trace events go. It must not touch the simulation.
pub(crate) struct TraceSink(pub(crate) Box<dyn FnMut(&TraceEvent)>);

impl fmt::Debug for TraceSink {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TraceSink(..)")
    }
}
