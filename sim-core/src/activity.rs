//! Handles of activities: test, wait, wait with a timeout, cancel.
//!
//! A handle owns its activity. Dropping the handle of an unfinished activity cancels the activity;
//! the other side of a communication sees this. Use a detached put if no actor waits for a message.

use std::fmt;
use std::rc::Rc;

use crate::actor::{is_yes, nothing};
use crate::kernel::{ActivityStatus, Shared};
use crate::operation::{NextAction, Operation};
use crate::{Change, End, Executed, Message, OperationResult, Span, Transition};

/// A computation, a disk operation, a parallel task or one side of a communication in progress.
pub struct Activity {
    kernel: Shared,
    slot: u32,
    /// True if this is the handle of a get, which gives the message.
    gets: bool,
}

/// Where an activity stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActivityState {
    /// A send that no receive has met.
    Send,
    /// A receive that no send has met.
    Receive,
    /// Both sides of the communication have met, or the work is running.
    Ready,
    /// The activity has ended, with or without success.
    Done,
}

/// Reason why an activity did not end with success.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ActivityError {
    /// The activity has not ended within the time limit; the activity continues.
    TimedOut,
    /// A host or a link that the activity uses failed.
    Failed,
    /// One side cancelled the activity or ended.
    Cancelled,
}

impl fmt::Display for ActivityError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::TimedOut => "timeout",
            Self::Failed => "a host or a link failed",
            Self::Cancelled => "the activity was cancelled",
        })
    }
}

impl std::error::Error for ActivityError {}

pub(crate) fn end_result(answer: OperationResult) -> Result<(), ActivityError> {
    match answer {
        OperationResult::Number(end) if end == End::Done as u32 => Ok(()),
        OperationResult::Number(end) if end == End::Failed as u32 => Err(ActivityError::Failed),
        OperationResult::Timeout => Err(ActivityError::TimedOut),
        _ => Err(ActivityError::Cancelled),
    }
}

impl Activity {
    pub(crate) const fn new(kernel: Shared, slot: u32, gets: bool) -> Self {
        Self { kernel, slot, gets }
    }

    pub(crate) const fn slot(&self) -> u32 {
        self.slot
    }

    /// Waits for the end. The handle of a get gives the message, once; every other handle an empty
    /// one.
    ///
    /// # Errors
    /// If the activity failed or was cancelled.
    #[inline]
    #[track_caller]
    pub fn wait(&self) -> Operation<'_, Result<Message, ActivityError>> {
        let wait = Transition::Wait {
            activity: self.slot,
            owned: false,
        };
        if !self.gets {
            return Operation::new(&self.kernel, wait, |_, _, answer| {
                NextAction::Return(end_result(answer).map(|()| Message::Empty))
            });
        }
        Operation::new(&self.kernel, wait, |kernel, code, answer| {
            NextAction::Return(
                end_result(answer).map(|()| kernel.objects.activities.take_message(code.object())),
            )
        })
    }

    /// [`Activity::wait`], at most for `timeout`.
    ///
    /// # Errors
    /// If the activity failed or was cancelled, or has not ended within `timeout`.
    #[inline]
    #[track_caller]
    pub fn wait_timeout(&self, timeout: Span) -> Operation<'_, Result<Message, ActivityError>> {
        self.wait().within(timeout)
    }

    /// Returns true if the activity has ended, with success or without.
    #[inline]
    #[track_caller]
    pub fn test(&self) -> Operation<'_, bool> {
        let transition = Transition::Test {
            activity: self.slot,
        };
        Operation::new(&self.kernel, transition, is_yes)
    }

    /// Ends the activity without success, if the activity has not ended.
    #[inline]
    #[track_caller]
    pub fn cancel(&self) -> Operation<'_, ()> {
        let transition = Transition::Cancel {
            activity: self.slot,
        };
        Operation::new(&self.kernel, transition, nothing)
    }

    /// Returns the state of the activity.
    #[must_use]
    pub fn status(&self) -> ActivityState {
        let kernel = self.kernel.borrow();
        kernel.actors.note_effect(Executed::HIDDEN);
        match kernel.objects.activities.get(self.slot).status {
            ActivityStatus::Send => ActivityState::Send,
            ActivityStatus::Receive => ActivityState::Receive,
            ActivityStatus::Prepared | ActivityStatus::Ready => ActivityState::Ready,
            ActivityStatus::Ended | ActivityStatus::Free => ActivityState::Done,
        }
    }

    /// Returns the remaining work in bytes or flop; for a parallel task a fraction from 1 to 0.
    /// Before the start, the remaining work is all of the work.
    #[must_use]
    pub fn remaining(&self) -> f64 {
        let kernel = &mut *self.kernel.borrow_mut();
        kernel.actors.note_effect(Executed::HIDDEN);
        (kernel.objects.activities).remaining_work(self.slot, &mut kernel.calendar)
    }

    /// Changes the priority or the bound of a running activity; has no effect before the start or
    /// after the end of the activity.
    pub fn update(&self, change: Change) {
        let kernel = &mut *self.kernel.borrow_mut();
        let activities = &mut kernel.objects.activities;
        activities.update_activity(self.slot, change, &mut kernel.calendar);
    }
}

impl Drop for Activity {
    fn drop(&mut self) {
        self.kernel.borrow_mut().drop_handle(self.slot);
    }
}

impl fmt::Debug for Activity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Activity({})", self.slot)
    }
}

impl Clone for Activity {
    /// Another handle of the same activity. Dropping any of them cancels an activity that has not
    /// ended.
    fn clone(&self) -> Self {
        (self.kernel.borrow_mut().objects.activities)
            .get_mut(self.slot)
            .references += 1;
        Self {
            kernel: Rc::clone(&self.kernel),
            slot: self.slot,
            gets: self.gets,
        }
    }
}
