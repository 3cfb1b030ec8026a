//! The future of [`Actor::yield_now`](crate::Actor::yield_now), which programs that spin poll more
//! often than all others: one transition without a time limit, and without an answer to look at.

use source_location::SourceLocation;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::code::Code;
use crate::kernel::{IssueResult, Shared};
use crate::{Parked, Span};

/// Lets every other runnable actor go first; polled by the actor that creates this future.
#[must_use = "an operation does nothing until it is awaited"]
pub struct Yield<'a> {
    kernel: &'a Shared,
    location: SourceLocation,
    parked: Option<Parked>,
}

impl<'a> Yield<'a> {
    #[inline(always)]
    #[track_caller]
    pub(crate) fn new(kernel: &'a Shared) -> Self {
        Self {
            kernel,
            location: SourceLocation::caller(),
            parked: None,
        }
    }
}

impl Future for Yield<'_> {
    type Output = ();

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let this = self.get_mut();
        let mut kernel = this.kernel.borrow_mut();
        if let Some(parked) = this.parked {
            if (kernel.actors)
                .take_answer(parked.actor, parked.operation_id)
                .is_none()
            {
                return Poll::Pending;
            }
            this.parked = None;
            return Poll::Ready(());
        }
        let actor = kernel.actors.current;
        let waker = context.waker();
        match kernel.issue_operation(Code::YIELD, Span::INFINITE, this.location, waker) {
            IssueResult::Now(_) => Poll::Ready(()),
            IssueResult::Parked(operation_id) => {
                this.parked = Some(Parked {
                    actor,
                    operation_id,
                });
                Poll::Pending
            }
        }
    }
}

impl Drop for Yield<'_> {
    #[inline]
    fn drop(&mut self) {
        if let Some(parked) = self.parked {
            (self.kernel.borrow_mut()).withdraw_operation(parked.actor, parked.operation_id);
        }
    }
}

impl fmt::Debug for Yield<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Yield(at {})", self.location)
    }
}
