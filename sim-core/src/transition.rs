//! The catalogue of transitions: everything that an actor does and another actor can observe.
//!
//! In a plain run a transition is executed at once; under a [`Chooser`](crate::Chooser) the actor stops before it and
//! the chooser decides which of the pending transitions happens next. Both run the same code. Purely local steps
//! (starting a computation, going to sleep) are not transitions; waking up is.
//!
//! A *wait* is a transition that is enabled only when what it waits for is there. The names follow the usual ones of
//! model checkers of message-passing programs.

use std::fmt;

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
/// `owned` marks a wait that belongs to a compound operation such as `lock`: dropping the operation, or its timeout,
/// withdraws the request too.
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
    /// Arrives at a barrier; never blocks.
    BarrierAsyncLock { barrier: u32 },
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
    /// Continues after a device had something for the actor.
    Device,
}

impl Transition {
    /// A small number per kind and the two objects, for the digest: part of the format of digests, never renumbered.
    pub(crate) const fn code(self) -> (u8, u32, u32) {
        match self {
            Self::Yield => (1, 0, 0),
            Self::Sleep => (2, 0, 0),
            Self::Random { limit } => (3, limit, 0),
            Self::Create { child } => (4, child.0, 0),
            Self::Join { target } => (5, target.0, 0),
            Self::Kill { target } => (6, target.0, 0),
            Self::Suspend { target } => (7, target.0, 0),
            Self::Resume { target } => (8, target.0, 0),
            Self::AsyncSend { mailbox, comm } => (9, mailbox, comm),
            Self::AsyncReceive { mailbox, comm } => (10, mailbox, comm),
            Self::Probe { mailbox } => (11, mailbox, 0),
            Self::Test { activity } => (12, activity, 0),
            Self::TestAny { list } => (13, list, 0),
            Self::Wait { activity, .. } => (14, activity, 0),
            Self::WaitAny { list } => (15, list, 0),
            Self::Cancel { activity } => (16, activity, 0),
            Self::MutexAsyncLock { mutex } => (17, mutex, 0),
            Self::MutexTest { mutex } => (18, mutex, 0),
            Self::MutexTryLock { mutex } => (19, mutex, 0),
            Self::MutexWait { mutex, .. } => (20, mutex, 0),
            Self::MutexUnlock { mutex } => (21, mutex, 0),
            Self::MutexCancel { mutex } => (22, mutex, 0),
            Self::SemaphoreAsyncLock { semaphore } => (23, semaphore, 0),
            Self::SemaphoreWait {
                semaphore, request, ..
            } => (24, semaphore, request),
            Self::SemaphoreUnlock { semaphore } => (25, semaphore, 0),
            Self::BarrierAsyncLock { barrier } => (26, barrier, 0),
            Self::BarrierWait { barrier, round, .. } => (27, barrier, round),
            Self::CondvarAsyncLock { condvar, mutex } => (28, condvar, mutex),
            Self::CondvarWait { condvar, mutex, .. } => (29, condvar, mutex),
            Self::CondvarSignal { condvar } => (30, condvar, 0),
            Self::CondvarBroadcast { condvar } => (31, condvar, 0),
            Self::Device => (32, 0, 0),
        }
    }
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
    pub(crate) const fn code(self) -> u64 {
        match self {
            Self::Done => 0,
            Self::Bool(no_or_yes) => 1 + no_or_yes as u64,
            Self::Timeout => 3,
            Self::Number(number) => 4 + number as u64,
        }
    }
}
