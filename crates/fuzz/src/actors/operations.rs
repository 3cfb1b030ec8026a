//! The operations of random actor programs, and the families that select among them.
//!
//! *Not modelled*: computation and disks, on which no other actor's step depends.

use serde::{Deserialize, Serialize};

/// An operation of an actor. Numbers name objects: mailboxes, mutexes or actors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Op {
    /// Starts to send over a mailbox.
    Send(usize),
    /// Starts to receive from a mailbox.
    Receive(usize),
    /// Sends over a mailbox and waits.
    Put(usize),
    /// Sends over a mailbox; no operation waits for the end.
    PutDetached(usize),
    /// Receives from a mailbox and waits.
    Get(usize),
    /// Asks if a mailbox has a message.
    Probe(usize),
    /// Waits for the oldest activity.
    Wait,
    /// Tests the oldest activity.
    Test,
    /// Waits for any of the activities.
    WaitAny,
    /// Tests all activities.
    TestAny,
    /// Cancels the oldest activity.
    Cancel,
    /// Drops the handle of the oldest activity.
    Drop,
    /// Locks a mutex.
    Lock(usize),
    /// Asks for a mutex without waiting.
    LockAsync(usize),
    /// Waits for a mutex that was asked for.
    MutexWait(usize),
    /// Tests a mutex that was asked for.
    MutexTest(usize),
    /// Locks a mutex if it is free.
    TryLock(usize),
    /// Unlocks a mutex.
    Unlock(usize),
    /// Withdraws the request for a mutex.
    MutexCancel(usize),
    /// Acquires the semaphore.
    Acquire,
    /// Releases the semaphore.
    Release,
    /// Reads the value of the semaphore.
    ReadSemaphore,
    /// Waits at the barrier, of two actors.
    Barrier,
    /// Waits at the barrier; one actor is told to be the leader.
    BarrierLeader,
    /// Waits for the condition variable, with a mutex.
    CondvarWait(usize),
    /// Wakes one actor that waits for the condition variable.
    Signal,
    /// Wakes all actors that wait for the condition variable.
    Broadcast,
    /// Draws 0 or 1.
    Random,
    /// Sleeps for a second.
    Sleep,
    /// Yields.
    Yield,
    /// Does the next step only if the latest answer was odd.
    IfOdd,
    /// Fails if the latest answer was odd.
    FailIfOdd,
    /// Repeats a test of a mutex until it succeeds.
    Spin(usize),
    /// Creates an actor that sends over mailbox 0 and releases the semaphore.
    Spawn,
    /// Waits for the end of the oldest created actor.
    Join,
    /// Ends an actor.
    Kill(usize),
    /// Suspends an actor.
    Suspend(usize),
    /// Resumes an actor.
    Resume(usize),
    /// Creates a mailbox and sends over it.
    NewMailbox,
    /// [`Op::Put`] with a time limit.
    PutInTime(usize),
    /// [`Op::Get`] with a time limit.
    GetInTime(usize),
    /// [`Op::Wait`] with a time limit.
    WaitInTime,
    /// [`Op::WaitAny`] with a time limit.
    WaitAnyInTime,
    /// [`Op::Acquire`] with a time limit.
    AcquireInTime,
    /// [`Op::CondvarWait`] with a time limit.
    CondvarWaitInTime(usize),
    /// [`Op::Join`] with a time limit.
    JoinInTime,
    /// Turns the second host off or on.
    SwitchHost(bool),
    /// Turns the link between the hosts off or on.
    SwitchWire(bool),
    /// No operation: a host or the wire of such a program may fail at any moment.
    MayFail,
    /// No operation: the first actor of such a program is the permanent receiver of the first
    /// mailbox.
    Receiver,
}

/// Set of steps that a program may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Family {
    /// Steps of nearly all programs.
    Common,
    /// Mutexes, a condition variable, mailboxes.
    Condvars,
    /// Rarer steps: tests, cancellations, probes.
    Uncommon,
    /// Creation and join of actors.
    Actors,
    /// Actors that end, suspend and resume others.
    Global,
    /// Waits for messages with time limits.
    Timeouts,
    /// Waits for signals with time limits.
    TimedLocks,
    /// All that can be done with one mailbox.
    OneMailbox,
    /// All that can be done with one mutex and a condition variable.
    OneMutex,
    /// Hosts and a link go off and on.
    Failures,
    /// One mailbox with a permanent receiver.
    Receivers,
    /// Waits for any, cancellations, time limits and hosts that go off together.
    Mixed,
}

impl Family {
    /// All families.
    pub const ALL: [Self; 12] = [
        Self::Common,
        Self::Condvars,
        Self::Uncommon,
        Self::Actors,
        Self::Global,
        Self::Timeouts,
        Self::TimedLocks,
        Self::OneMailbox,
        Self::OneMutex,
        Self::Failures,
        Self::Receivers,
        Self::Mixed,
    ];

    /// Returns the operations of the family; a repeated operation is drawn more often.
    pub(super) fn ops(self) -> Vec<Op> {
        let (some, more): (&[Op], &[Op]) = match self {
            Self::Common => (COMMON, &[Op::FailIfOdd, Op::Sleep]),
            Self::Condvars => (LOCKS, CONDVARS),
            Self::Uncommon => (COMMON, UNCOMMON),
            Self::Actors => (COMMON, ACTORS),
            Self::Global => (COMMON, GLOBAL),
            Self::Timeouts => (COMMON, TIMEOUTS),
            Self::TimedLocks => (LOCKS, TIMED_LOCKS),
            Self::OneMailbox => (ONE_MAILBOX, &[]),
            Self::OneMutex => (ONE_MUTEX, &[]),
            Self::Failures => (COMMON, FAILURES),
            Self::Receivers => (RECEIVERS, &[]),
            Self::Mixed => (ONE_MAILBOX, MIXED),
        };
        some.iter().chain(more).copied().collect()
    }
}

const COMMON: &[Op] = &[
    Op::Send(0),
    Op::Receive(0),
    Op::Wait,
    Op::Test,
    Op::WaitAny,
    Op::Put(0),
    Op::Get(0),
    Op::Send(1),
    Op::Receive(1),
    Op::Lock(0),
    Op::Lock(1),
    Op::TryLock(0),
    Op::TryLock(1),
    Op::Unlock(0),
    Op::Unlock(1),
    Op::Acquire,
    Op::Release,
    Op::Barrier,
    Op::Random,
    Op::IfOdd,
];
const LOCKS: &[Op] = &[
    Op::Lock(0),
    Op::Lock(1),
    Op::Unlock(0),
    Op::Unlock(1),
    Op::Send(0),
    Op::Receive(0),
    Op::Wait,
    Op::Acquire,
];
const CONDVARS: &[Op] = &[
    Op::Lock(0),
    Op::CondvarWait(0),
    Op::Signal,
    Op::Broadcast,
    Op::Unlock(0),
    Op::Lock(0),
    Op::CondvarWait(0),
    Op::CondvarWait(1),
    Op::Signal,
];
const UNCOMMON: &[Op] = &[
    Op::Probe(0),
    Op::Probe(1),
    Op::TestAny,
    Op::Cancel,
    Op::Drop,
    Op::LockAsync(0),
    Op::MutexWait(0),
    Op::MutexTest(0),
    Op::MutexCancel(0),
    Op::LockAsync(0),
    Op::PutDetached(0),
    Op::ReadSemaphore,
    Op::BarrierLeader,
    Op::Yield,
    Op::Spin(0),
    Op::TestAny,
    Op::Cancel,
];
const ACTORS: &[Op] = &[
    Op::Spawn,
    Op::Spawn,
    Op::Join,
    Op::NewMailbox,
    Op::Join,
    Op::FailIfOdd,
];
const GLOBAL: &[Op] = &[
    Op::Kill(0),
    Op::Kill(1),
    Op::Suspend(0),
    Op::Suspend(1),
    Op::Resume(0),
    Op::Resume(1),
    Op::Spawn,
];
const TIMEOUTS: &[Op] = &[
    Op::PutInTime(0),
    Op::GetInTime(0),
    Op::GetInTime(1),
    Op::WaitInTime,
    Op::WaitAnyInTime,
    Op::AcquireInTime,
    Op::PutDetached(0),
    Op::Cancel,
    Op::TestAny,
    Op::Probe(0),
    Op::GetInTime(0),
    Op::AcquireInTime,
    Op::FailIfOdd,
];
const TIMED_LOCKS: &[Op] = &[
    Op::Lock(0),
    Op::CondvarWaitInTime(0),
    Op::Lock(1),
    Op::Lock(1),
    Op::CondvarWaitInTime(1),
    Op::CondvarWait(1),
    Op::CondvarWait(0),
    Op::Signal,
    Op::Broadcast,
    Op::MutexCancel(0),
    Op::TryLock(0),
    Op::Lock(0),
    Op::CondvarWaitInTime(0),
    Op::Signal,
    Op::AcquireInTime,
    Op::Spawn,
    Op::JoinInTime,
    Op::Join,
];
const ONE_MAILBOX: &[Op] = &[
    Op::Send(0),
    Op::Receive(0),
    Op::Send(0),
    Op::Receive(0),
    Op::Test,
    Op::TestAny,
    Op::Cancel,
    Op::Cancel,
    Op::WaitAny,
    Op::Wait,
    Op::Probe(0),
    Op::GetInTime(0),
    Op::WaitInTime,
];
const ONE_MUTEX: &[Op] = &[
    Op::Lock(0),
    Op::LockAsync(0),
    Op::LockAsync(0),
    Op::MutexTest(0),
    Op::MutexTest(0),
    Op::MutexCancel(0),
    Op::MutexWait(0),
    Op::TryLock(0),
    Op::Unlock(0),
    Op::Lock(0),
    Op::CondvarWait(0),
    Op::CondvarWait(0),
    Op::CondvarWaitInTime(0),
    Op::CondvarWaitInTime(0),
    Op::Signal,
    Op::Broadcast,
    Op::Broadcast,
];
const FAILURES: &[Op] = &[
    Op::SwitchHost(false),
    Op::SwitchHost(true),
    Op::SwitchWire(false),
    Op::SwitchWire(true),
    Op::SwitchWire(false),
    Op::MayFail,
    Op::MayFail,
    Op::FailIfOdd,
    Op::PutDetached(1),
    Op::Get(1),
];
const RECEIVERS: &[Op] = &[
    Op::Receiver,
    Op::Receiver,
    Op::Send(0),
    Op::Send(0),
    Op::Receive(0),
    Op::Receive(0),
    Op::Wait,
    Op::WaitAny,
    Op::WaitAny,
    Op::Test,
    Op::TestAny,
    Op::TestAny,
    Op::TestAny,
    Op::WaitAny,
    Op::Get(0),
    Op::Put(0),
    Op::PutInTime(0),
    Op::Probe(0),
    Op::Cancel,
    Op::Barrier,
    Op::FailIfOdd,
];
const MIXED: &[Op] = &[
    Op::Receiver,
    Op::WaitAny,
    Op::WaitAnyInTime,
    Op::WaitAnyInTime,
    Op::Cancel,
    Op::SwitchHost(false),
    Op::SwitchHost(true),
    Op::PutInTime(0),
    Op::GetInTime(1),
    Op::Put(1),
    Op::Get(1),
    Op::AcquireInTime,
    Op::FailIfOdd,
];

impl Op {
    /// Returns the actor that the operation names.
    pub(super) const fn target(self) -> Option<usize> {
        match self {
            Self::Kill(number) | Self::Suspend(number) | Self::Resume(number) => Some(number),
            _ => None,
        }
    }

    /// Returns the mailbox or the mutex that the operation names.
    pub(super) const fn object(self) -> Option<usize> {
        match self {
            Self::Send(number)
            | Self::Receive(number)
            | Self::Put(number)
            | Self::PutDetached(number)
            | Self::Get(number)
            | Self::Probe(number)
            | Self::Lock(number)
            | Self::LockAsync(number)
            | Self::MutexWait(number)
            | Self::MutexTest(number)
            | Self::TryLock(number)
            | Self::Unlock(number)
            | Self::MutexCancel(number)
            | Self::CondvarWait(number)
            | Self::CondvarWaitInTime(number)
            | Self::Spin(number)
            | Self::PutInTime(number)
            | Self::GetInTime(number) => Some(number),
            _ => None,
        }
    }
}
