//! The questions of a model checker to a device: the queues with possible arrivals, and the choices
//! of parked actors.
//!
//! *Not decided here*: the order of arrivals. Under an explorer no time passes, and each delivery
//! is a step that the explorer picks. Without an explorer the device decides the dates of arrivals.

use source_location::SourceLocation;

use crate::{AccessClass, ActorId, Blocked, Device, Kernel, SendCall, WaitGraph};

/// A device with arrivals, or with choices of its actors, that are steps of an explorer.
///
/// A device without queues and branches takes no steps of its own.
pub trait ExplorableDevice: Device + ArrivalQueues + ActorBranches + RunFindings {}

impl<D: Device + ArrivalQueues + ActorBranches + RunFindings> ExplorableDevice for D {}

/// The queues of a device with possible arrivals.
pub trait ArrivalQueues {
    /// Returns the number of queues with possible arrivals.
    fn queue_count(&self) -> u32 {
        0
    }

    /// Returns the next arrival of a queue.
    fn head(&self, queue: u32) -> Option<QueueHead> {
        let _ = queue;
        None
    }

    /// Returns the queue of the next arrival if the explorer has no preference. The queue depends
    /// on the run alone, not on the numbers that earlier runs have given to queues.
    fn first_queue(&self) -> Option<u32> {
        (0..self.queue_count()).find(|&queue| self.head(queue).is_some())
    }

    /// Lets the head of a queue arrive.
    ///
    /// Appends to `causes` the steps that must precede the arrival, besides the arrival of its
    /// predecessor in the queue. These steps count as long as the sender has not
    /// [chosen](ActorBranches::order_sensitivity); after a choice of the sender,
    /// [`QueueHead::cause`] is the only cause.
    fn deliver_head(&self, kernel: &mut Kernel, queue: u32, causes: Option<&mut Vec<u32>>) {
        let _ = (kernel, queue, causes);
    }

    /// Returns the least sensitivity with which an actor observes the arrival order of a queue.
    fn visible_from(&self, queue: u32) -> OrderSensitivity {
        let _ = queue;
        OrderSensitivity::Sources
    }

    /// Describes a queue and its next arrival.
    fn describe_queue(&self, queue: u32) -> QueueDescription {
        QueueDescription {
            name: format!("queue {queue}"),
            head: None,
        }
    }
}

/// The choices of actors that are parked for a device, and the arrival order that actors observe.
pub trait ActorBranches {
    /// Appends the possible next steps of a parked actor. The actor takes one of these steps.
    fn branches(&self, actor: ActorId, into: &mut Vec<Branch>) {
        let _ = (actor, into);
    }

    /// Returns true if a parked actor stands before [branches](ActorBranches::branches); after a
    /// wake-up, another actor simply continues.
    fn has_branches(&self, actor: ActorId) -> bool {
        let mut branches = Vec::new();
        self.branches(actor, &mut branches);
        !branches.is_empty()
    }

    /// Appends the steps of other actors that must precede a branch of an actor. These steps apply
    /// to a branch that [draws](Branch::draws) and to an actor that has not
    /// [chosen](ActorBranches::order_sensitivity).
    fn branch_causes(&self, actor: ActorId, into: &mut Vec<u32>) {
        let _ = (actor, into);
    }

    /// Takes a branch of a parked actor; the actor continues after the branch.
    ///
    /// # Errors
    /// A text that describes the error; the actor fails with this text.
    fn take_branch(&self, kernel: &mut Kernel, actor: ActorId, number: u32) -> Result<(), String> {
        let _ = (kernel, actor, number);
        Ok(())
    }

    /// Returns how much of the order of arrivals from different queues an actor can observe, by the
    /// calls that the actor has made in this run.
    fn order_sensitivity(&self, actor: ActorId) -> OrderSensitivity {
        let _ = actor;
        OrderSensitivity::Always
    }

    /// Returns true if an actor has asked a question in this step with answers that depend on
    /// arrivals.
    fn asks_for_arrivals(&self, actor: ActorId) -> bool {
        let _ = actor;
        false
    }
}

/// The findings of a device about a run.
pub trait RunFindings {
    /// Returns true if the device stopped an actor because the actor only let time pass, more often
    /// than the device allows.
    fn is_spinning(&self, actor: ActorId) -> bool {
        let _ = actor;
        false
    }

    /// Returns true if the end of the run is not a result, because other runs continue at the point
    /// where this run stopped an actor.
    fn is_covered(&self) -> bool {
        false
    }

    /// Returns a fingerprint of all state that decides the further run; `None` if a part of this
    /// state is outside of the device, for example in the actors.
    fn state_fingerprint(&self) -> Option<(u64, u64)> {
        None
    }

    /// Describes the unfinished operations at the end of a run.
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

/// A queue of a device in words.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct QueueDescription {
    /// The name of the queue.
    pub name: String,
    /// The next arrival, and the source location of the call that sent the arrival. The caller
    /// fills in the names.
    pub head: Option<Blocked>,
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

/// A fact of a run that a device notes for an explorer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum DeviceFact {
    /// A call has sent a message.
    MessageSent(SendCall),
    /// A wildcard receive or a probe has taken an arrival.
    WildcardReceive(WildcardReceive),
    /// A note for the user.
    UserNote(Note),
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
    /// The actor that took the arrival.
    pub by: ActorId,
    /// The actor that sent the arrival.
    pub from: ActorId,
    /// The source location of the receiving call.
    pub location: SourceLocation,
}

/// A step that an actor which is parked for a device could take next.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Branch {
    /// The number of the branch among all branches that the actor may ever take, below 2^24.
    pub number: u32,
    /// Another actor with state in the device that the branch reads or changes; the actor itself if
    /// the branch depends on all arrivals at the actor, whatever its order sensitivity. Arrivals
    /// while the actor stands before such a branch are explored after the branch alone.
    pub also: Option<ActorId>,
    /// The step of another actor that made this branch possible; [`QueueHead::BEFORE`] if there is
    /// no such step.
    pub cause: u32,
    /// True if the branch only decides how the actor continues:
    /// [`StepKind::Choose`](crate::StepKind::Choose). This step depends only on arrivals at an
    /// actor that [chooses](ActorBranches::order_sensitivity).
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
    /// No part: the actor receives from named sources and waits.
    #[default]
    Never,
    /// The order of the accesses of other actors to the memory of this actor, and no other order.
    Accesses,
    /// The order of accesses and of messages, and no other order: the actor probes from any source.
    Sources,
    /// As [`Self::Sources`], and the order in which messages seen by a probe arrive: the actor
    /// receives from any source.
    Receives,
    /// The whole order: the actor tests, or waits for any of several operations.
    Always,
}

/// The next arrival from a queue of a device.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueHead {
    /// The actor that receives the arrival.
    pub to: ActorId,
    /// The actor that put the arrival into the queue.
    pub from: ActorId,
    /// The position among all arrivals that the queue has ever held, from 1.
    pub place: u32,
    /// The access to memory of the actor; `None` if the arrival is none, or may be any.
    pub access: Option<AccessClass>,
    /// The step in which the arrival entered the queue; [`QueueHead::BEFORE`] if it entered before
    /// the first step. See [`Kernel::current_step`].
    pub cause: u32,
    /// True if the arrival was not possible before a change of memory of the actor.
    pub is_awaited: bool,
}

impl QueueHead {
    /// Before the first step.
    pub const BEFORE: u32 = u32::MAX;
}
