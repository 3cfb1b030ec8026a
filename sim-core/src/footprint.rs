//! The objects that a step of an exploration accesses, with names that do not depend on the order
//! of steps.
//!
//! A [`Transition`](crate::Transition) names a communication by its record, which depends on all
//! earlier steps. A footprint names a communication by its mailbox and its position there. The k-th
//! send meets the k-th receive; both have the same name, whichever was posted first. The dependency
//! relation and happens-before need such names.

use crate::StepKind;

impl StepKind {
    /// The kind of a test that ends work in progress.
    #[inline]
    pub(crate) const fn let_end(self) -> Self {
        match self {
            Self::Test => Self::TestEnded,
            Self::TestAny => Self::TestAnyEnded,
            other => other,
        }
    }

    /// The kind of this wait with a time limit that may expire at any moment; `up` if the limit has
    /// expired.
    #[inline]
    pub(crate) const fn limited(self, up: bool, owned: bool) -> Self {
        match self {
            Self::Join => Self::TimedJoin,
            Self::SemaphoreWait => Self::TimedSemaphoreWait,
            Self::CondvarWait => Self::TimedCondvarWait,
            Self::Wait if up && owned => Self::Withdraw,
            Self::Wait | Self::WaitAny if up => Self::TimeUp,
            other => other,
        }
    }

    /// The kind with this number.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    #[inline]
    pub const fn from_number(number: u8) -> Self {
        Self::ALL[number as usize - 1]
    }
}

/// The object that a step accesses.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Footprint {
    /// The kind of the step.
    pub kind: StepKind,
    /// The number of the mailbox, mutex, semaphore, barrier or condition variable, or of an actor:
    /// the target of a step, the receiver of a delivery, or the actor itself after a device stopped
    /// it. [`Footprint::NOTHING`] if other actors cannot touch any object of the step.
    pub object: u32,
    /// For communications the position among the sends, and among the receives, of the mailbox,
    /// from 1, and possibly [`Footprint::BEGUN`]. For condition variables the mutex. For a wait for
    /// a semaphore the number of its request. For a barrier the round; for the arrival twice the
    /// round, plus 1 if the actor asks whether it is the last. For a delivery the position in the
    /// queue. For a branch of a device the number of the other actor that the branch also touches
    /// plus 1, or 0 if there is no other actor.
    pub detail: u32,
}

impl Footprint {
    /// No object.
    pub const NOTHING: u32 = u32::MAX;
    /// In the detail of a question of a sender about a communication: the mailbox had a permanent
    /// receiver; the communication began with its send and does not depend on its receive.
    pub const BEGUN: u32 = 1 << 31;
}

/// One step that an actor could take.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct EnabledStep {
    /// Number of the step among the steps of the actor, for
    /// [`Stepper::execute_step`](crate::Stepper::execute_step). For a draw, the value; for a
    /// wait-any, the position of the member; for an operation that meets work in progress, the
    /// number of the activity that ends or fails (0: none); [`EnabledStep::TIME_UP`] if the time
    /// limit expires. If the actor waits in several operations, the highest 8 bits are the
    /// operation's position.
    pub choice: u32,
    /// The object that the step accesses.
    pub footprint: Footprint,
}

impl EnabledStep {
    /// The choice that the time of a wait is up, for an actor that waits in one operation.
    pub const TIME_UP: u32 = (1 << 24) - 1;
}

/// A step that was executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Executed {
    /// The object that the step accessed.
    pub footprint: Footprint,
    /// The answer of the step as a number, the same as in the digest.
    pub answer: u32,
    /// Number of steps that were enabled for the actor, this one included.
    pub alternatives: u32,
    /// Flags of further effects up to the actor's next operation: [`Executed::HIDDEN`],
    /// [`Executed::ALLOCATES`], [`Executed::AWAITED`], [`Executed::FAILED`], [`Executed::SEVERAL`],
    /// [`Executed::ASKS`], [`Executed::IDLE`].
    pub effects: u8,
    /// The step that sent the delivered message; [`QueueHead::BEFORE`](crate::QueueHead::BEFORE) if
    /// there is no such step.
    pub cause: u32,
}

impl Executed {
    /// The actor touched or read shared state without an operation: the actor dropped a handle of
    /// an unfinished activity, ended with a mutex, or read a state such as the value of a
    /// semaphore.
    pub const HIDDEN: u8 = 1;
    /// Actors or objects were numbered.
    pub const ALLOCATES: u8 = 2;
    /// The actor had asked the same question before without success, and waited for a change.
    pub const AWAITED: u8 = 4;
    /// The actor failed.
    pub const FAILED: u8 = 8;
    /// The actor waited in several operations, or for any of several activities: other steps of the
    /// actor may be possible in other orders.
    pub const SEVERAL: u8 = 16;
    /// A choice or a delivery behind which the actor asks a question with answers that depend on
    /// arrivals: the order of this step and of deliveries to the actor matters.
    pub const ASKS: u8 = 64;
    /// A time limit expired because no other step was possible.
    pub const IDLE: u8 = 128;
}
