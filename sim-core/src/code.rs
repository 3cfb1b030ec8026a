//! A transition in two machine words: the form that the kernel stores, copies and tests.
//!
//! [`Transition`](crate::Transition) is for people and choosers. An enum with fields of different
//! sizes is copied piece by piece, and each test of such an enum is a jump. Here a copy is two
//! words and a test is one test of a bit. The kinds and the two objects go into the digest
//! unchanged: they are part of the format of digests and never renumbered.
//!
//! Invariant: `Code::from(transition).transition() == transition`, for every transition.

use std::fmt;

use crate::operations::TABLE;
use crate::{ActorId, ControlParameter, StepKind};

/// Classes of transitions, as bits.
pub(crate) struct Class;

impl Class {
    /// Only the loop lets them happen: they are never enabled when they are issued.
    pub(crate) const LATER: u16 = 1 << 0;
    /// The issuing actor is queued behind the actors that became runnable before: at a barrier all
    /// actors continue in the order of their arrival, the last one too.
    pub(crate) const QUEUED: u16 = 1 << 1;
    /// The issuing actor must not continue in the same poll: the actor may have stopped itself.
    pub(crate) const PAUSED: u16 = 1 << 2;
    /// The time limit of an operation applies to this transition of the operation.
    pub(crate) const TIMED: u16 = 1 << 3;
    /// Waits for an object that must be told to wake the actor.
    pub(crate) const SUBSCRIBED: u16 = 1 << 4;
    /// Tests and probes.
    pub(crate) const POLLS: u16 = 1 << 5;
    /// Transitions of [`Class::TIMED`] with a time limit that is a choice of an explorer.
    pub(crate) const LIMITED: u16 = 1 << 6;
    /// Waits for work that takes time: the time limit may expire even if the work could have ended.
    pub(crate) const TAKES_TIME: u16 = 1 << 7;
    /// Each activity of a list is a branch.
    pub(crate) const WAITS_FOR_ANY: u16 = 1 << 8;
    /// Under an explorer these transitions may meet work in progress.
    pub(crate) const MEETS_TRANSFERS: u16 = 1 << 9;
    /// They may tell the actor that an activity has ended.
    pub(crate) const TELLS_END: u16 = 1 << 10;
    /// Transitions without an effect and without an answer.
    pub(crate) const SILENT: u16 = 1 << 11;
    /// Always possible.
    pub(crate) const FREE: u16 = 1 << 12;
}

/// A set of kinds of transitions.
#[derive(Clone, Copy)]
pub(crate) struct TransitionKindSet(u64);

impl TransitionKindSet {
    pub(crate) const LATER: Self = Self::from_class(Class::LATER);
    pub(crate) const QUEUED: Self = Self::from_class(Class::QUEUED);
    pub(crate) const PAUSED: Self = Self::from_class(Class::PAUSED);
    pub(crate) const TIMED: Self = Self::from_class(Class::TIMED);
    pub(crate) const SUBSCRIBED: Self = Self::from_class(Class::SUBSCRIBED);
    pub(crate) const POLLS: Self = Self::from_class(Class::POLLS);
    pub(crate) const LIMITED: Self = Self::from_class(Class::LIMITED);
    pub(crate) const TAKES_TIME: Self = Self::from_class(Class::TAKES_TIME);
    pub(crate) const WAITS_FOR_ANY: Self = Self::from_class(Class::WAITS_FOR_ANY);
    pub(crate) const MEETS_TRANSFERS: Self = Self::from_class(Class::MEETS_TRANSFERS);
    pub(crate) const TELLS_END: Self = Self::from_class(Class::TELLS_END);
    pub(crate) const SILENT: Self = Self::from_class(Class::SILENT);
    pub(crate) const FREE: Self = Self::from_class(Class::FREE);
    /// [`Class::LATER`] and [`Class::QUEUED`].
    pub(crate) const PARKED: Self = Self(Self::LATER.0 | Self::QUEUED.0);
    /// [`Class::LATER`] and [`Class::POLLS`].
    pub(crate) const LATER_OR_POLLS: Self = Self(Self::LATER.0 | Self::POLLS.0);

    const fn from_class(class: u16) -> Self {
        let (mut bits, mut next) = (0, 0);
        while next < TABLE.len() {
            let (kind, classes) = TABLE[next];
            if classes & class != 0 {
                bits |= 1 << kind;
            }
            next += 1;
        }
        Self(bits)
    }
}

/// One transition: kind, mark of ownership and up to three numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Code {
    /// The kind in the lowest 8 bits, `owned` in bit 8, a mark in bit 9, the control parameter in
    /// bits 10 and 11, a time limit for an explorer in bit 12, the first number in the upper half.
    head: u64,
    /// The second number, and the third in the upper half.
    tail: u64,
}

impl Code {
    pub(crate) const YIELD: Self = Self::from_kind(StepKind::Yield);
    pub(crate) const SLEEP: Self = Self::from_kind(StepKind::Sleep);
    pub(crate) const DEVICE: Self = Self::from_kind(StepKind::Device);

    const fn from_kind(kind: StepKind) -> Self {
        Self {
            head: kind as u64,
            tail: 0,
        }
    }

    #[inline]
    pub(crate) const fn is_owned(self) -> bool {
        self.head >> 8 & 1 == 1
    }

    /// A note of the operation to itself, or of the kernel that a device has ended a park; no part
    /// of the transition.
    #[inline]
    pub(crate) const fn marked(mut self, marked: bool) -> Self {
        self.head |= (marked as u64) << 9;
        self
    }

    #[inline]
    pub(crate) const fn is_marked(self) -> bool {
        self.head >> 9 & 1 == 1
    }

    /// A wait with a time limit that may expire at any moment, for an explorer.
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
    pub(crate) const fn is_among(self, kinds: TransitionKindSet) -> bool {
        // A kind is below 64, so the shift never wraps; saying so costs less than the check of a
        // plain shift.
        kinds.0.wrapping_shr(self.kind() as u32) & 1 == 1
    }

    /// The activity of a wait that belongs to a compound operation.
    #[inline]
    pub(crate) const fn owned_activity(self) -> Option<u32> {
        const MASK: u64 = 0x1FF;
        const OWNED_WAIT: u64 = 1 << 8 | StepKind::Wait as u64;
        if self.head & MASK == OWNED_WAIT {
            Some(self.object())
        } else {
            None
        }
    }

    /// The parts of a transition, by the names that the table of operations gives them.
    #[inline(always)]
    pub(crate) const fn first(self) -> Word {
        Word(self.object())
    }

    #[inline(always)]
    pub(crate) const fn second(self) -> Word {
        Word(self.detail())
    }

    #[inline(always)]
    pub(crate) const fn third(self) -> Word {
        Word((self.tail >> 32) as u32)
    }

    #[inline(always)]
    pub(crate) const fn mark(self) -> bool {
        self.is_owned()
    }

    #[inline(always)]
    pub(crate) const fn wide(self) -> u64 {
        self.tail.rotate_left(32)
    }

    #[inline(always)]
    pub(crate) const fn parameter(self) -> ControlParameter {
        ControlParameter::from_code(self.head >> 10 & 3)
    }
}

/// A number of 32 bits in a code: an actor, or another object.
#[derive(Clone, Copy)]
pub(crate) struct Word(u32);

impl From<Word> for u32 {
    #[inline(always)]
    fn from(word: Word) -> Self {
        word.0
    }
}

impl From<Word> for ActorId {
    #[inline(always)]
    fn from(word: Word) -> Self {
        Self(word.0)
    }
}

impl From<u32> for Word {
    #[inline(always)]
    fn from(number: u32) -> Self {
        Self(number)
    }
}

impl From<ActorId> for Word {
    #[inline(always)]
    fn from(actor: ActorId) -> Self {
        Self(actor.0)
    }
}

/// A code of which not all parts are set.
pub(crate) struct Draft(Code);

impl Draft {
    #[inline(always)]
    pub(crate) const fn of(kind: u8) -> Self {
        Self(Code {
            head: kind as u64,
            tail: 0,
        })
    }

    #[inline(always)]
    pub(crate) const fn first(mut self, word: Word) -> Self {
        self.0.head |= (word.0 as u64) << 32;
        self
    }

    #[inline(always)]
    pub(crate) const fn second(mut self, word: Word) -> Self {
        self.0.tail |= word.0 as u64;
        self
    }

    #[inline(always)]
    pub(crate) const fn third(mut self, word: Word) -> Self {
        self.0.tail |= (word.0 as u64) << 32;
        self
    }

    #[inline(always)]
    pub(crate) const fn mark(mut self, mark: bool) -> Self {
        self.0.head |= (mark as u64) << 8;
        self
    }

    #[inline(always)]
    pub(crate) const fn wide(mut self, number: u64) -> Self {
        self.0.tail = number.rotate_left(32);
        self
    }

    #[inline(always)]
    pub(crate) const fn parameter(mut self, parameter: ControlParameter) -> Self {
        self.0.head |= (parameter as u64) << 10;
        self
    }

    #[inline(always)]
    pub(crate) const fn code(self) -> Code {
        self.0
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
    use crate::Transition;

    #[test]
    fn every_transition_comes_back() {
        for &(kind, _) in TABLE {
            for owned in [false, true] {
                let code = Draft::of(kind)
                    .first(Word(0x1234_5678))
                    .second(Word(0x9ABC_DEF0))
                    .third(Word(77))
                    .mark(owned)
                    .code();
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
        for parameter in [
            ControlParameter::PowerState,
            ControlParameter::Link,
            ControlParameter::Bandwidth,
            ControlParameter::Latency,
        ] {
            let control = Transition::Control {
                parameter,
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
