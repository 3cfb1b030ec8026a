//! The future behind every public operation: one transition after another until there is a result.
//!
//! Nothing happens before the first poll. An operation that is dropped before its end takes back what it asked for.
//! There is one named type, so that reports know the source line that made it (`#[track_caller]` has no effect on
//! an `async fn`), and no allocation.

use std::fmt;
use std::future::Future;
use std::panic::Location;
use std::pin::Pin;
use std::task::{Context, Poll};

use crate::kernel::{Issued, Kernel, Shared};
use crate::{Answer, Span, Transition};

/// What follows a transition of an operation.
pub(crate) enum Step<T> {
    /// The operation is over.
    Return(T),
    /// The operation goes on with another transition.
    Then(Transition),
}

/// Decides what follows, given the transition that was executed and its answer. The number is the operation's own.
pub(crate) type Follow<T> = fn(&mut Kernel, Transition, Answer, &mut u32) -> Step<T>;

/// An operation of an actor: a future that is polled by the actor that makes it.
#[must_use = "an operation does nothing until it is awaited"]
pub struct Operation<'a, T> {
    kernel: &'a Shared,
    follow: Follow<T>,
    transition: Transition,
    timeout: Span,
    location: &'static Location<'static>,
    actor: u32,
    /// The ticket of the parked transition, 0 if there is none.
    ticket: u32,
    memo: u32,
    state: State,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Fresh,
    Running,
    Over,
}

impl<'a, T> Operation<'a, T> {
    #[track_caller]
    pub(crate) fn new(kernel: &'a Shared, transition: Transition, follow: Follow<T>) -> Self {
        Self {
            kernel,
            follow,
            transition,
            timeout: Span::INFINITE,
            location: Location::caller(),
            actor: 0,
            ticket: 0,
            memo: 0,
            state: State::Fresh,
        }
    }

    /// Applies a time limit to the waits of the operation.
    pub(crate) fn within(mut self, timeout: Span) -> Self {
        self.timeout = timeout;
        self
    }
}

impl<T> Future for Operation<'_, T> {
    type Output = T;

    #[inline]
    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        let this = self.get_mut();
        assert!(
            this.state != State::Over,
            "an operation was polled after its end"
        );
        this.state = State::Running;
        let mut kernel = this.kernel.borrow_mut();
        loop {
            let answer = if this.ticket == 0 {
                this.actor = kernel.current;
                match kernel.issue(
                    this.transition,
                    this.timeout,
                    this.location,
                    context.waker(),
                ) {
                    Issued::Now(answer) => answer,
                    Issued::Parked(ticket) => {
                        this.ticket = ticket;
                        return Poll::Pending;
                    }
                }
            } else {
                let Some(answer) = kernel.collect(this.actor, this.ticket) else {
                    return Poll::Pending;
                };
                this.ticket = 0;
                answer
            };
            match (this.follow)(&mut kernel, this.transition, answer, &mut this.memo) {
                Step::Return(value) => {
                    this.state = State::Over;
                    return Poll::Ready(value);
                }
                Step::Then(next) => this.transition = next,
            }
        }
    }
}

impl<T> Drop for Operation<'_, T> {
    #[inline]
    fn drop(&mut self) {
        match self.state {
            State::Over => {}
            State::Running if self.ticket != 0 => {
                self.kernel.borrow_mut().withdraw(self.actor, self.ticket);
            }
            State::Running => {}
            State::Fresh => {
                let mut kernel = self.kernel.borrow_mut();
                kernel.forget(self.transition);
            }
        }
    }
}

impl Kernel {
    /// Frees what was prepared for an operation that was never polled.
    fn forget(&mut self, transition: Transition) {
        match transition {
            Transition::AsyncSend { comm, .. } | Transition::AsyncReceive { comm, .. } => {
                self.discard_prepared(comm);
            }
            Transition::Create { child } => self.kill(child.0),
            Transition::WaitAny { list } | Transition::TestAny { list } => self.free_list(list),
            Transition::Wait {
                activity,
                owned: true,
            } => self.drop_handle(activity),
            _ => {}
        }
    }
}

impl<T> fmt::Debug for Operation<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Operation({:?} at {})", self.transition, self.location)
    }
}
