//! The future behind every public operation: one transition after another until there is a result.
//!
//! An operation has no effect before the first poll. An operation that is dropped before its end
//! withdraws its request. There is one named type, without allocation: so reports know the source
//! line of the call (`#[track_caller]` has no effect on an `async fn`).

use source_location::SourceLocation;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use crate::code::Code;
use crate::kernel::{IssueResult, Kernel, Shared};
use crate::{OperationResult, Span, Transition};

/// Continuation of an operation after one of its transitions.
pub(crate) enum NextAction<T> {
    /// The operation is over.
    Return(T),
    /// The operation continues with another transition.
    Then(Code),
}

/// Returns the next step, given the transition that was executed and its answer.
pub(crate) type Continuation<T> = fn(&mut Kernel, Code, OperationResult) -> NextAction<T>;

/// The part of an operation that the kernel needs, independent of the type of its result.
pub(crate) struct Request {
    pub(crate) code: Code,
    pub(crate) timeout: Span,
    pub(crate) location: SourceLocation,
    pub(crate) actor: u32,
    /// The ticket of the parked transition, or the stage of the operation.
    operation_id: u32,
}

/// The tickets of operations without a ticket: never polled; between two transitions; over. (The
/// value for a new operation should not end in an odd number of zeros: such values would be written
/// as words that overlap in the ticket, and the next read would cost a stall of 4 ns.)
const FRESH: u32 = u32::MAX;
const RUNNING: u32 = 0;
const OVER: u32 = u32::MAX - 1;
/// Tickets are at most this.
pub(crate) const OPERATION_ID_MAX: u32 = u32::MAX - 2;

/// An operation of an actor: a future, polled by the actor that creates the operation.
#[must_use = "an operation does nothing until it is awaited"]
pub struct Operation<'a, T> {
    kernel: &'a Shared,
    follow: Continuation<T>,
    request: Request,
}

impl<'a, T> Operation<'a, T> {
    #[inline(always)]
    #[track_caller]
    pub(crate) fn new(kernel: &'a Shared, transition: Transition, follow: Continuation<T>) -> Self {
        Self {
            kernel,
            follow,
            request: Request {
                code: Code::from(transition),
                timeout: Span::INFINITE,
                location: SourceLocation::caller(),
                actor: 0,
                operation_id: FRESH,
            },
        }
    }

    /// Applies a time limit to the waits of the operation.
    #[inline(always)]
    pub(crate) fn within(mut self, timeout: Span) -> Self {
        self.request.timeout = timeout;
        self
    }
}

impl<T> Future for Operation<'_, T> {
    type Output = T;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        assert!(
            this.request.operation_id != OVER,
            "an operation was polled after its end"
        );
        let mut kernel = this.kernel.borrow_mut();
        let request = &mut this.request;
        let mut next = if request.is_parked() {
            (kernel.actors).take_answer(request.actor, request.operation_id)
        } else {
            request.begin_transition(&mut kernel, context.waker())
        };
        while let Some(answer) = next {
            request.operation_id = RUNNING;
            match (this.follow)(&mut kernel, request.code, answer) {
                NextAction::Return(value) => {
                    request.operation_id = OVER;
                    return Poll::Ready(value);
                }
                NextAction::Then(code) => request.code = code,
            }
            next = request.begin_transition(&mut kernel, context.waker());
        }
        Poll::Pending
    }
}

impl Request {
    #[inline]
    const fn is_parked(&self) -> bool {
        self.operation_id != FRESH && self.operation_id != RUNNING
    }

    /// Begins the next transition of an operation; returns the answer, `None` if it must wait.
    fn begin_transition(&mut self, kernel: &mut Kernel, waker: &Waker) -> Option<OperationResult> {
        self.actor = kernel.actors.current;
        self.operation_id = RUNNING;
        match kernel.issue_operation(self.code, self.timeout, self.location, waker) {
            IssueResult::Now(answer) => Some(answer),
            IssueResult::Parked(operation_id) => {
                self.operation_id = operation_id;
                None
            }
        }
    }

    /// Handles the drop of an operation before its end. For an operation that was never polled, the
    /// prepared resources are freed.
    #[cold]
    fn withdraw_from(&self, kernel: &mut Kernel) {
        if self.operation_id != FRESH {
            return kernel.withdraw_operation(self.actor, self.operation_id);
        }
        let activities = &mut kernel.objects.activities;
        match self.code.transition() {
            Transition::AsyncSend { comm, .. } | Transition::AsyncReceive { comm, .. } => {
                activities.discard_prepared(comm);
            }
            Transition::Create { child } => kernel.actors.kill_actor(child.0),
            Transition::WaitAny { list } | Transition::TestAny { list } => {
                activities.free_list(list);
            }
            Transition::Wait {
                activity,
                owned: true,
            } => kernel.drop_handle(activity),
            _ => {}
        }
    }
}

impl<T> Drop for Operation<'_, T> {
    #[inline]
    fn drop(&mut self) {
        if self.request.operation_id != OVER && self.request.operation_id != RUNNING {
            self.request.withdraw_from(&mut self.kernel.borrow_mut());
        }
    }
}

impl<T> fmt::Debug for Operation<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "Operation({:?} at {})",
            self.request.code.transition(),
            self.request.location
        )
    }
}
