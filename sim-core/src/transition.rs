//! The catalogue of transitions: everything that an actor does and another actor can observe.
//!
//! In a plain run a transition is executed at once; under a [`Chooser`](crate::Chooser) the actor
//! stops before it and the chooser decides which of the pending transitions happens next. Both run
//! the same code. Purely local steps (starting a computation, going to sleep) are not transitions;
//! waking up is.
//!
//! A *wait* is a transition that is enabled only when what it waits for is there. The names follow
//! the usual ones of model checkers of message-passing programs.

use std::fmt;

use crate::Knob;

/// An actor: its serial number, counted from 1 in the order of creation.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ActorId(pub(crate) u32);

impl ActorId {
    /// The serial number, from 1.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0 + 1
    }

    /// The actor with this serial number.
    ///
    /// # Panics
    /// If `number` is 0.
    #[must_use]
    pub const fn from_number(number: u32) -> Self {
        assert!(number > 0, "actors are counted from 1");
        Self(number - 1)
    }

    pub(crate) const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for ActorId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.number())
    }
}

/// One visible step of an actor. Objects are named by their serial numbers.
///
/// `owned` marks a wait that belongs to a compound operation such as `lock`: dropping the
/// operation, or its timeout, withdraws the request too.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[expect(
    missing_docs,
    reason = "the fields are the serial numbers of the objects that they name"
)]
pub enum Transition {
    /// Lets every other runnable actor go first.
    Yield,
    /// Wakes from a sleep.
    Sleep,
    /// Draws a number below `limit`; one branch per value.
    Random { limit: u32 },
    /// Starts an actor.
    Create { child: ActorId },
    /// Waits for the end of an actor.
    Join { target: ActorId },
    /// Ends an actor from outside.
    Kill { target: ActorId },
    /// Stops an actor until it is resumed.
    Suspend { target: ActorId },
    /// Lets a suspended actor go on.
    Resume { target: ActorId },
    /// Posts a send on a mailbox.
    AsyncSend { mailbox: u32, comm: u32 },
    /// Posts a receive on a mailbox.
    AsyncReceive { mailbox: u32, comm: u32 },
    /// Asks whether a send waits in a mailbox.
    Probe { mailbox: u32 },
    /// Asks whether an activity has ended.
    Test { activity: u32 },
    /// Asks whether any activity of a list has ended.
    TestAny { list: u32 },
    /// Waits for the end of an activity.
    Wait { activity: u32, owned: bool },
    /// Waits for the end of any activity of a list; one branch per activity that has ended.
    WaitAny { list: u32 },
    /// Ends an activity from outside.
    Cancel { activity: u32 },
    /// Joins the queue of a mutex; never blocks.
    MutexAsyncLock { mutex: u32 },
    /// Asks whether the actor is at the head of the queue.
    MutexTest { mutex: u32 },
    /// Joins the queue of a mutex only if it is empty.
    MutexTryLock { mutex: u32 },
    /// Waits to be at the head of the queue.
    MutexWait { mutex: u32, owned: bool },
    /// Leaves the head of the queue.
    MutexUnlock { mutex: u32 },
    /// Leaves the queue from behind its head.
    MutexCancel { mutex: u32 },
    /// Asks for a unit of a semaphore; never blocks.
    SemaphoreAsyncLock { semaphore: u32 },
    /// Waits for the unit that was asked for.
    SemaphoreWait {
        semaphore: u32,
        request: u32,
        owned: bool,
    },
    /// Gives a unit back.
    SemaphoreUnlock { semaphore: u32 },
    /// Arrives at a barrier; never blocks. `tells_last`: the actor will be told whether it was the
    /// last to arrive.
    BarrierAsyncLock { barrier: u32, tells_last: bool },
    /// Waits until all have arrived.
    BarrierWait {
        barrier: u32,
        round: u32,
        owned: bool,
    },
    /// Releases the mutex and joins the queue of a condition variable.
    CondvarAsyncLock { condvar: u32, mutex: u32 },
    /// Waits for a signal, then asks for the mutex again.
    CondvarWait {
        condvar: u32,
        mutex: u32,
        request: u32,
    },
    /// Wakes the longest waiting actor.
    CondvarSignal { condvar: u32 },
    /// Wakes all waiting actors.
    CondvarBroadcast { condvar: u32 },
    /// Switches a host on or off.
    SwitchHost { host: u32, on: bool },
    /// Changes something in the resource: see [`Control`](crate::Control).
    Control { knob: Knob, object: u32, value: u64 },
    /// Continues after a device had something for the actor.
    Device,
}

/// What a transition answered, for the digest, the trace and the operation that issued it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Answer {
    /// Nothing but that it happened.
    Done,
    /// Yes or no.
    Bool(bool),
    /// A serial number, a position in a list or a drawn value.
    Number(u32),
    /// The wait ended because its time was up.
    Timeout,
}

impl Answer {
    /// The answer as a number: part of the format of digests.
    #[inline]
    pub(crate) const fn code(self) -> u64 {
        match self {
            Self::Done => 0,
            Self::Bool(no_or_yes) => 1 + no_or_yes as u64,
            Self::Timeout => 3,
            Self::Number(number) => 4 + number as u64,
        }
    }

    /// The answer that is `code` in the digest and in [`Executed::answer`](crate::Executed).
    #[inline]
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "numbers have 32 bits")]
    pub const fn from_code(code: u64) -> Self {
        match code {
            0 => Self::Done,
            1 => Self::Bool(false),
            2 => Self::Bool(true),
            3 => Self::Timeout,
            number => Self::Number((number - 4) as u32),
        }
    }
}
