//! A transition in two machine words: what the kernel keeps, copies and asks questions about.
//!
//! [`Transition`] is for people and choosers. An enum with fields of different sizes is copied
//! piece by piece, and each question about it is a jump; here a copy is two words and a question is
//! one test of a bit. The kinds and the two objects are folded into the digest as they are: part of
//! the format of digests, never renumbered.
//!
//! Invariant: `Code::from(transition).transition() == transition`, for every transition.

use std::fmt;

use crate::{ActorId, Knob, Transition};

macro_rules! kinds {
    ($($name:ident = $number:literal),* $(,)?) => {
        $(const $name: u8 = $number;)*
    };
}

kinds! {
    YIELD = 1, SLEEP = 2, RANDOM = 3, CREATE = 4, JOIN = 5, KILL = 6, SUSPEND = 7, RESUME = 8,
    ASYNC_SEND = 9, ASYNC_RECEIVE = 10, PROBE = 11, TEST = 12, TEST_ANY = 13, WAIT = 14, WAIT_ANY = 15,
    CANCEL = 16, MUTEX_ASYNC_LOCK = 17, MUTEX_TEST = 18, MUTEX_TRY_LOCK = 19, MUTEX_WAIT = 20,
    MUTEX_UNLOCK = 21, MUTEX_CANCEL = 22, SEMAPHORE_ASYNC_LOCK = 23, SEMAPHORE_WAIT = 24,
    SEMAPHORE_UNLOCK = 25, BARRIER_ASYNC_LOCK = 26, BARRIER_WAIT = 27, CONDVAR_ASYNC_LOCK = 28,
    CONDVAR_WAIT = 29, CONDVAR_SIGNAL = 30, CONDVAR_BROADCAST = 31, DEVICE = 32, SWITCH_HOST = 33,
    CONTROL = 34,
}

/// A set of kinds of transitions.
#[derive(Clone, Copy)]
pub(crate) struct Kinds(u64);

impl Kinds {
    /// Only the loop lets them happen: they are never enabled when they are issued.
    pub(crate) const LATER: Self = Self::of(&[YIELD, SLEEP, DEVICE]);
    /// The issuing actor takes its turn behind those that became runnable before it: at a barrier
    /// all go on in the order of their arrival, the last one too.
    pub(crate) const QUEUED: Self = Self::of(&[BARRIER_WAIT]);
    /// [`Kinds::LATER`] and [`Kinds::QUEUED`].
    pub(crate) const PARKED: Self = Self(Self::LATER.0 | Self::QUEUED.0);
    /// The issuing actor must not run on in the same poll, because it may have stopped itself.
    pub(crate) const PAUSED: Self = Self::of(&[KILL, SUSPEND, SWITCH_HOST, CONTROL]);
    /// The time limit of an operation applies to this one of its transitions.
    pub(crate) const TIMED: Self =
        Self::of(&[SLEEP, JOIN, WAIT, WAIT_ANY, SEMAPHORE_WAIT, CONDVAR_WAIT]);
    /// What they wait for must be told to wake the actor.
    pub(crate) const SUBSCRIBED: Self = Self::of(&[WAIT, WAIT_ANY, JOIN]);
    /// Tests and probes.
    pub(crate) const POLLS: Self = Self::of(&[TEST, TEST_ANY, PROBE, MUTEX_TEST, MUTEX_TRY_LOCK]);
    /// Those of [`Kinds::TIMED`] whose time limit is a choice of an explorer.
    pub(crate) const LIMITED: Self =
        Self::of(&[JOIN, WAIT, WAIT_ANY, SEMAPHORE_WAIT, CONDVAR_WAIT]);
    /// Waits for work that takes time: it may be up also when the work could have ended.
    pub(crate) const TAKES_TIME: Self = Self::of(&[WAIT, WAIT_ANY]);
    /// Each activity of a list is a branch.
    pub(crate) const WAITS_FOR_ANY: Self = Self::of(&[WAIT_ANY]);
    /// Under an explorer they may meet work on its way.
    pub(crate) const MEETS_TRANSFERS: Self =
        Self::of(&[TEST, TEST_ANY, CANCEL, SWITCH_HOST, CONTROL]);
    /// They may tell the actor that an activity has ended.
    pub(crate) const TELLS_END: Self = Self::of(&[WAIT, WAIT_ANY, TEST, TEST_ANY]);
    /// They change nothing when they happen and answer nothing.
    pub(crate) const SILENT: Self = Self::of(&[
        YIELD,
        SLEEP,
        DEVICE,
        JOIN,
        MUTEX_WAIT,
        SEMAPHORE_WAIT,
        BARRIER_WAIT,
    ]);
    /// Always possible.
    pub(crate) const FREE: Self = Self::of(&[
        RANDOM,
        CREATE,
        KILL,
        SUSPEND,
        RESUME,
        SWITCH_HOST,
        CONTROL,
        ASYNC_SEND,
        ASYNC_RECEIVE,
        CANCEL,
        MUTEX_ASYNC_LOCK,
        MUTEX_UNLOCK,
        MUTEX_CANCEL,
        SEMAPHORE_ASYNC_LOCK,
        SEMAPHORE_UNLOCK,
        BARRIER_ASYNC_LOCK,
        CONDVAR_ASYNC_LOCK,
        CONDVAR_SIGNAL,
        CONDVAR_BROADCAST,
    ]);

    const fn of(kinds: &[u8]) -> Self {
        let (mut bits, mut next) = (0, 0);
        while next < kinds.len() {
            bits |= 1 << kinds[next];
            next += 1;
        }
        Self(bits)
    }
}

/// One transition: kind, mark of ownership and up to three numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code {
    /// The kind in the lowest 8 bits, `owned` in bit 8, a mark in bit 9, what a control changes in
    /// bits 10 and 11, a time limit for an explorer in bit 12, the first number in the upper half.
    head: u64,
    /// The second number, and the third in the upper half.
    tail: u64,
}

impl Code {
    pub(crate) const YIELD: Self = Self::new(YIELD, 0, 0);
    pub(crate) const SLEEP: Self = Self::new(SLEEP, 0, 0);
    pub(crate) const DEVICE: Self = Self::new(DEVICE, 0, 0);

    #[inline]
    const fn new(kind: u8, first: u32, second: u32) -> Self {
        Self {
            head: kind as u64 | (first as u64) << 32,
            tail: second as u64,
        }
    }

    #[inline]
    const fn owned(mut self, owned: bool) -> Self {
        self.head |= (owned as u64) << 8;
        self
    }

    #[inline]
    pub(crate) const fn is_owned(self) -> bool {
        self.head >> 8 & 1 == 1
    }

    /// A note of the operation to itself, which is no part of the transition.
    #[inline]
    pub(crate) const fn marked(mut self, marked: bool) -> Self {
        self.head |= (marked as u64) << 9;
        self
    }

    #[inline]
    pub(crate) const fn is_marked(self) -> bool {
        self.head >> 9 & 1 == 1
    }

    /// A wait whose time may be up at any moment, for an explorer.
    #[inline]
    pub(crate) const fn limited(mut self) -> Self {
        self.head |= 1 << 12;
        self
    }

    #[inline]
    pub(crate) const fn is_limited(self) -> bool {
        self.head >> 12 & 1 == 1
    }

    #[inline]
    const fn knob(mut self, knob: Knob) -> Self {
        self.head |= (knob as u64) << 10;
        self
    }

    #[inline]
    const fn third(mut self, third: u32) -> Self {
        self.tail |= (third as u64) << 32;
        self
    }

    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "takes the lowest bits")]
    pub(crate) const fn kind(self) -> u8 {
        self.head as u8
    }

    /// The object that the transition is about.
    #[inline]
    pub(crate) const fn object(self) -> u32 {
        (self.head >> 32) as u32
    }

    /// The second number.
    #[inline]
    #[expect(clippy::cast_possible_truncation, reason = "takes the lower half")]
    pub(crate) const fn detail(self) -> u32 {
        self.tail as u32
    }

    #[inline]
    pub(crate) const fn is_among(self, kinds: Kinds) -> bool {
        // A kind is below 64, so the shift never wraps; saying so costs less than the check of a
        // plain shift.
        kinds.0.wrapping_shr(self.kind() as u32) & 1 == 1
    }

    /// The activity of a wait that belongs to a compound operation.
    #[inline]
    pub(crate) const fn owned_activity(self) -> Option<u32> {
        const MASK: u64 = 0x1FF;
        const OWNED_WAIT: u64 = 1 << 8 | WAIT as u64;
        if self.head & MASK == OWNED_WAIT {
            Some(self.object())
        } else {
            None
        }
    }

    /// The transition.
    #[inline]
    #[expect(
        clippy::too_many_lines,
        reason = "one flat table, the inverse of the one below"
    )]
    pub(crate) const fn transition(self) -> Transition {
        let (first, second, owned) = (self.object(), self.detail(), self.head >> 8 & 1 == 1);
        let third = (self.tail >> 32) as u32;
        match self.kind() {
            YIELD => Transition::Yield,
            SLEEP => Transition::Sleep,
            RANDOM => Transition::Random { limit: first },
            CREATE => Transition::Create {
                child: ActorId(first),
            },
            JOIN => Transition::Join {
                target: ActorId(first),
            },
            KILL => Transition::Kill {
                target: ActorId(first),
            },
            SUSPEND => Transition::Suspend {
                target: ActorId(first),
            },
            RESUME => Transition::Resume {
                target: ActorId(first),
            },
            ASYNC_SEND => Transition::AsyncSend {
                mailbox: first,
                comm: second,
            },
            ASYNC_RECEIVE => Transition::AsyncReceive {
                mailbox: first,
                comm: second,
            },
            PROBE => Transition::Probe { mailbox: first },
            TEST => Transition::Test { activity: first },
            TEST_ANY => Transition::TestAny { list: first },
            WAIT => Transition::Wait {
                activity: first,
                owned,
            },
            WAIT_ANY => Transition::WaitAny { list: first },
            CANCEL => Transition::Cancel { activity: first },
            MUTEX_ASYNC_LOCK => Transition::MutexAsyncLock { mutex: first },
            MUTEX_TEST => Transition::MutexTest { mutex: first },
            MUTEX_TRY_LOCK => Transition::MutexTryLock { mutex: first },
            MUTEX_WAIT => Transition::MutexWait {
                mutex: first,
                owned,
            },
            MUTEX_UNLOCK => Transition::MutexUnlock { mutex: first },
            MUTEX_CANCEL => Transition::MutexCancel { mutex: first },
            SEMAPHORE_ASYNC_LOCK => Transition::SemaphoreAsyncLock { semaphore: first },
            SEMAPHORE_WAIT => Transition::SemaphoreWait {
                semaphore: first,
                request: second,
                owned,
            },
            SEMAPHORE_UNLOCK => Transition::SemaphoreUnlock { semaphore: first },
            BARRIER_ASYNC_LOCK => Transition::BarrierAsyncLock {
                barrier: first,
                tells_last: owned,
            },
            BARRIER_WAIT => Transition::BarrierWait {
                barrier: first,
                round: second,
                owned,
            },
            CONDVAR_ASYNC_LOCK => Transition::CondvarAsyncLock {
                condvar: first,
                mutex: second,
            },
            CONDVAR_WAIT => Transition::CondvarWait {
                condvar: first,
                mutex: second,
                request: third,
            },
            CONDVAR_SIGNAL => Transition::CondvarSignal { condvar: first },
            CONDVAR_BROADCAST => Transition::CondvarBroadcast { condvar: first },
            SWITCH_HOST => Transition::SwitchHost {
                host: first,
                on: owned,
            },
            CONTROL => Transition::Control {
                knob: Knob::from_code(self.head >> 10 & 3),
                object: first,
                value: (second as u64) << 32 | third as u64,
            },
            _ => Transition::Device,
        }
    }
}

impl From<Transition> for Code {
    #[inline(always)]
    fn from(transition: Transition) -> Self {
        match transition {
            Transition::Yield => Self::YIELD,
            Transition::Sleep => Self::SLEEP,
            Transition::Random { limit } => Self::new(RANDOM, limit, 0),
            Transition::Create { child } => Self::new(CREATE, child.0, 0),
            Transition::Join { target } => Self::new(JOIN, target.0, 0),
            Transition::Kill { target } => Self::new(KILL, target.0, 0),
            Transition::Suspend { target } => Self::new(SUSPEND, target.0, 0),
            Transition::Resume { target } => Self::new(RESUME, target.0, 0),
            Transition::AsyncSend { mailbox, comm } => Self::new(ASYNC_SEND, mailbox, comm),
            Transition::AsyncReceive { mailbox, comm } => Self::new(ASYNC_RECEIVE, mailbox, comm),
            Transition::Probe { mailbox } => Self::new(PROBE, mailbox, 0),
            Transition::Test { activity } => Self::new(TEST, activity, 0),
            Transition::TestAny { list } => Self::new(TEST_ANY, list, 0),
            Transition::Wait { activity, owned } => Self::new(WAIT, activity, 0).owned(owned),
            Transition::WaitAny { list } => Self::new(WAIT_ANY, list, 0),
            Transition::Cancel { activity } => Self::new(CANCEL, activity, 0),
            Transition::MutexAsyncLock { mutex } => Self::new(MUTEX_ASYNC_LOCK, mutex, 0),
            Transition::MutexTest { mutex } => Self::new(MUTEX_TEST, mutex, 0),
            Transition::MutexTryLock { mutex } => Self::new(MUTEX_TRY_LOCK, mutex, 0),
            Transition::MutexWait { mutex, owned } => Self::new(MUTEX_WAIT, mutex, 0).owned(owned),
            Transition::MutexUnlock { mutex } => Self::new(MUTEX_UNLOCK, mutex, 0),
            Transition::MutexCancel { mutex } => Self::new(MUTEX_CANCEL, mutex, 0),
            Transition::SemaphoreAsyncLock { semaphore } => {
                Self::new(SEMAPHORE_ASYNC_LOCK, semaphore, 0)
            }
            Transition::SemaphoreWait {
                semaphore,
                request,
                owned,
            } => Self::new(SEMAPHORE_WAIT, semaphore, request).owned(owned),
            Transition::SemaphoreUnlock { semaphore } => Self::new(SEMAPHORE_UNLOCK, semaphore, 0),
            Transition::BarrierAsyncLock {
                barrier,
                tells_last,
            } => Self::new(BARRIER_ASYNC_LOCK, barrier, 0).owned(tells_last),
            Transition::BarrierWait {
                barrier,
                round,
                owned,
            } => Self::new(BARRIER_WAIT, barrier, round).owned(owned),
            Transition::CondvarAsyncLock { condvar, mutex } => {
                Self::new(CONDVAR_ASYNC_LOCK, condvar, mutex)
            }
            Transition::CondvarWait {
                condvar,
                mutex,
                request,
            } => Self::new(CONDVAR_WAIT, condvar, mutex).third(request),
            Transition::CondvarSignal { condvar } => Self::new(CONDVAR_SIGNAL, condvar, 0),
            Transition::CondvarBroadcast { condvar } => Self::new(CONDVAR_BROADCAST, condvar, 0),
            Transition::SwitchHost { host, on } => Self::new(SWITCH_HOST, host, 0).owned(on),
            Transition::Control {
                knob,
                object,
                value,
            } => Self::new(CONTROL, object, (value >> 32) as u32)
                .third(value as u32)
                .knob(knob),
            Transition::Device => Self::DEVICE,
        }
    }
}

impl fmt::Debug for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.transition().fmt(f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_transition_comes_back() {
        for kind in YIELD..=CONTROL {
            for owned in [false, true] {
                let code = Code::new(kind, 0x1234_5678, 0x9ABC_DEF0)
                    .owned(owned)
                    .third(77);
                let transition = code.transition();
                let again = Code::from(transition);
                assert_eq!(again.kind(), kind);
                assert_eq!(again.transition(), transition);
            }
        }
    }

    #[test]
    fn numbers_keep_their_places() {
        let wait = Transition::CondvarWait {
            condvar: 1,
            mutex: 2,
            request: 3,
        };
        let code = Code::from(wait);
        assert_eq!((code.kind(), code.object(), code.detail()), (29, 1, 2));
        assert_eq!(code.transition(), wait);
        for knob in [Knob::PowerState, Knob::Link, Knob::Bandwidth, Knob::Latency] {
            let control = Transition::Control {
                knob,
                object: 7,
                value: 0x0123_4567_89AB_CDEF,
            };
            assert_eq!(Code::from(control).transition(), control);
        }
        let wait = Transition::Wait {
            activity: 9,
            owned: true,
        };
        assert_eq!(Code::from(wait).owned_activity(), Some(9));
        let wait = Transition::Wait {
            activity: 9,
            owned: false,
        };
        assert_eq!(Code::from(wait).owned_activity(), None);
    }
}
