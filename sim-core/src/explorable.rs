//! The questions of a model checker to a device: the queues from which something can arrive, and
//! the choices of parked actors.
//!
//! *Not decided here*: the order of arrivals. Under an explorer no time passes, and each delivery
//! is a step that the explorer picks; outside of explorers a device decides itself when things
//! arrive.

use source_location::SourceLocation;

use crate::{AccessClass, ActorId, Blocked, Device, Kernel, WaitGraph};

/// A device whose arrivals, or the choices of whose actors, are steps of an explorer.
///
/// A device without queues and branches takes no steps of its own.
pub trait ExplorableDevice: Device {
    /// Returns the number of queues from which something can arrive.
    fn queues(&self) -> u32 {
        0
    }

    /// Returns what would arrive next from a queue.
    fn head(&self, queue: u32) -> Option<QueueHead> {
        let _ = queue;
        None
    }

    /// Returns the queue from which something arrives first if nobody prefers another. It depends
    /// on the run alone, not on the numbers that earlier runs have given to queues.
    fn first_queue(&self) -> Option<u32> {
        (0..self.queues()).find(|&queue| self.head(queue).is_some())
    }

    /// Returns true if an actor was stopped because it did nothing but let time pass, more often
    /// than the device allows.
    fn is_spinning(&self, actor: ActorId) -> bool {
        let _ = actor;
        false
    }

    /// Lets the head of a queue arrive.
    fn deliver(&self, kernel: &mut Kernel, queue: u32) {
        let _ = (kernel, queue);
    }

    /// Appends the steps that have to come before the head of a queue can arrive, besides the
    /// arrival of what was before it there: as far as its sender has not
    /// [chosen](ExplorableDevice::order_sensitivity), because then it is [`QueueHead::cause`]
    /// alone.
    fn causes(&self, queue: u32, into: &mut Vec<u32>) {
        into.extend(self.head(queue).map(|head| head.cause));
    }

    /// Returns how much an actor could tell, by the questions that it has asked in this run, of the
    /// order in which things arrive from different queues.
    fn order_sensitivity(&self, actor: ActorId) -> OrderSensitivity {
        let _ = actor;
        OrderSensitivity::Always
    }

    /// Returns the least sensitivity with which an actor can tell the order of what a queue holds.
    fn visible_from(&self, queue: u32) -> OrderSensitivity {
        let _ = queue;
        OrderSensitivity::Sources
    }

    /// Returns true if a parked actor that was woken stands before a choice of the explorer, and
    /// does not simply continue.
    fn stops(&self, actor: ActorId) -> bool {
        let _ = actor;
        false
    }

    /// Shows what came in this run where an actor takes what comes from anybody, in order. Nothing
    /// for a device that does not remember it.
    fn received(&self, show: &mut dyn FnMut(&WildcardReceive)) {
        let _ = show;
    }

    /// Returns true if actors that are parked for the device stand before choices of the explorer:
    /// [`ExplorableDevice::branches`].
    fn has_branches(&self) -> bool {
        false
    }

    /// Appends what a parked actor could do next. One of these is the actor's next step.
    fn branches(&self, actor: ActorId, into: &mut Vec<Branch>) {
        let _ = (actor, into);
    }

    /// Appends the steps that have to come before a branch of an actor, or before it continues,
    /// besides those of the actor itself: of a branch that [draws](Branch::draws), and of an actor
    /// that has not [chosen](ExplorableDevice::order_sensitivity).
    fn branch_causes(&self, actor: ActorId, into: &mut Vec<u32>) {
        let _ = (actor, into);
    }

    /// Takes a branch of a parked actor, which continues after that.
    ///
    /// # Errors
    /// A text that says what is wrong; the actor fails with it.
    fn take_branch(&self, kernel: &mut Kernel, actor: ActorId, number: u32) -> Result<(), String> {
        let _ = (kernel, actor, number);
        Ok(())
    }

    /// Returns true if an actor has asked a question in this step with answers that depend on
    /// arrivals.
    fn asks_for_arrivals(&self, actor: ActorId) -> bool {
        let _ = actor;
        false
    }

    /// Returns true if the end of the run says nothing, because other runs continue where this one
    /// has stopped an actor.
    fn is_covered(&self) -> bool {
        false
    }

    /// Returns a fingerprint of all that decides what can happen from here on, if that is in the
    /// device alone and its actors have no state of their own.
    fn state(&self) -> Option<(u64, u64)> {
        None
    }

    /// Returns the next arrival from a queue, in words, and the place of the call that has sent it.
    /// The names are filled in by others.
    fn describe_head(&self, queue: u32) -> Option<Blocked> {
        let _ = queue;
        None
    }

    /// Returns the name of a queue.
    fn queue_name(&self, queue: u32) -> String {
        format!("queue {queue}")
    }

    /// Describes what was left unfinished at the end of a run.
    fn leftovers(&self) -> Vec<String> {
        Vec::new()
    }

    /// Decides whether a run that has finished has a deadlock if actors wait where they may wait
    /// and did not. The caller fills in the names of the actors.
    fn optional_waits(&self) -> OptionalWaits {
        OptionalWaits::Free
    }

    /// Lists, in words, the optional waits that actors left out, as far as `actor` would not have
    /// come to the present step with these waits.
    fn absent_waits(&self, actor: ActorId) -> Vec<String> {
        let _ = actor;
        Vec::new()
    }
}

/// The effect of waits that actors may leave out, on a run that has finished without them.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub enum OptionalWaits {
    /// No set of waits leads to a deadlock.
    #[default]
    Free,
    /// Some waits lead to this deadlock.
    Deadlock(ConditionalDeadlock),
    /// The limit of the analysis was reached.
    Undecided,
}

impl OptionalWaits {
    /// Returns the deadlock, if the analysis has found one.
    #[must_use]
    pub fn deadlock(self) -> Option<ConditionalDeadlock> {
        match self {
            Self::Deadlock(deadlock) => Some(deadlock),
            Self::Free | Self::Undecided => None,
        }
    }
}

/// A sentence about a run for the user of an explorer, with the place in the program.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Note {
    /// A fact that is no error.
    Remark(String),
    /// The run has met a bound of the exploration: behaviours beyond the bound are not explored.
    Bound(String),
}

/// A deadlock of a run in which actors wait where they may wait or continue.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ConditionalDeadlock {
    /// The conditions in words, all of which are met.
    pub only_if: Vec<String>,
    /// The actors that can never continue.
    pub graph: WaitGraph,
}

/// An arrival that the actor would have taken from others, too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct WildcardReceive {
    /// The actor that took it.
    pub by: ActorId,
    /// The actor from which it came.
    pub from: ActorId,
    /// The call that asked for it.
    pub location: SourceLocation,
}

/// A step that an actor which is parked for a device could take next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Branch {
    /// Its name among all that the actor may ever do, below 2^24.
    pub number: u32,
    /// Another actor whose part of the device it reads or changes; the actor itself if the step
    /// depends on all arrivals there, however little of the order the actor can tell. Arrivals
    /// that come while the actor stands before such a step are explored after the step alone.
    pub also: Option<ActorId>,
    /// The step that made it possible, if that was one of another actor; otherwise
    /// [`QueueHead::BEFORE`].
    pub cause: u32,
    /// True if it only decides how the actor continues:
    /// [`StepKind::Choose`](crate::StepKind::Choose), which depends only on what arrives at an
    /// actor that [chooses](ExplorableDevice::order_sensitivity).
    pub draws: bool,
}

impl Branch {
    /// The [number](Branch::number) of the first answer to an actor's question, *no*; the others
    /// follow.
    pub const ANSWERS: u32 = 1 << 8;
}

/// The part of the order of arrivals that an actor can tell.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum OrderSensitivity {
    /// Nothing: it asks by name and waits.
    #[default]
    Never,
    /// Others access its memory: the order of these accesses, and of nothing else.
    Accesses,
    /// It probes from any source: the order of accesses, and of messages, and of nothing else.
    Sources,
    /// It receives from any source: the same, and the order in which messages that a probe has seen
    /// arrive.
    Receives,
    /// Everything: it tests, or waits for any of several things.
    Always,
}

/// The next arrival from a queue of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueHead {
    /// The actor for which it is.
    pub to: ActorId,
    /// The actor that put it there.
    pub from: ActorId,
    /// Its position among all that its queue has ever held, from 1.
    pub place: u32,
    /// The access to memory of the actor; `None` if the arrival is none, or may be any.
    pub access: Option<AccessClass>,
    /// The step in which it was put there, [`QueueHead::BEFORE`] if that was before the first; see
    /// [`Kernel::current_step`].
    pub cause: u32,
}

impl QueueHead {
    /// Before the first step.
    pub const BEFORE: u32 = u32::MAX;
}
