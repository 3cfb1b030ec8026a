//! Handles of the synchronisation objects: mutex, semaphore, barrier, condition variable.
//!
//! Locking is two transitions, a request that never blocks and a wait; `lock` and `acquire` do
//! both. Unlocking is a transition too and therefore an operation to await. There is no guard that
//! unlocks when dropped, because a drop cannot be a point of choice. An actor that ends releases
//! its objects and withdraws its requests. Wake-ups are in the order of the requests.

use std::fmt;
use std::rc::Rc;

use crate::actor::{TimedOut, is_yes, nothing, within_limit};
use crate::code::Code;
use crate::kernel::{Objects, Shared};
use crate::operation::{NextAction, Operation};
use crate::{Executed, Kernel, OperationResult, Span, Transition};

/// Adds an object to the kernel; returns the kernel and the number of the object.
pub(crate) fn add_object(kernel: &Shared, add: impl FnOnce(&mut Objects) -> u32) -> (Shared, u32) {
    let mut borrowed = kernel.borrow_mut();
    let number = add(&mut borrowed.objects);
    borrowed.actors.note_effect(Executed::ALLOCATES);
    (Rc::clone(kernel), number)
}

/// Makes the types of handles: a kernel and the number of an object.
macro_rules! handles {
    ($($(#[$doc:meta])* $type:ident,)*) => {
        $(
            $(#[$doc])*
            #[derive(Clone)]
            pub struct $type {
                kernel: Shared,
                number: u32,
            }

            impl fmt::Debug for $type {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    write!(f, concat!(stringify!($type), "({})"), self.number)
                }
            }
        )*
    };
}

handles! {
    /// A mutex with a queue, first in, first out. Not recursive.
    Mutex,
    /// A semaphore with a queue, first in, first out.
    Semaphore,
    /// A barrier for a fixed number of actors, which can be used again and again.
    Barrier,
    /// A condition variable, used with a [`Mutex`].
    Condvar,
}

impl Mutex {
    pub(crate) fn new(kernel: &Shared) -> Self {
        let (kernel, number) = add_object(kernel, Objects::add_mutex);
        Self { kernel, number }
    }

    /// Joins the queue and waits to be the owner. Asking twice without unlocking fails the actor.
    #[inline]
    #[track_caller]
    pub fn lock(&self) -> Operation<'_, ()> {
        Operation::new(
            &self.kernel,
            Transition::MutexAsyncLock { mutex: self.number },
            |_, code, _| match code.transition() {
                Transition::MutexAsyncLock { mutex } => {
                    NextAction::Then(Code::from(Transition::MutexWait { mutex, owned: true }))
                }
                _ => NextAction::Return(()),
            },
        )
    }

    /// Joins the queue without waiting: [`Mutex::test`] or [`Mutex::wait`] follow, or
    /// [`Mutex::cancel`].
    #[inline]
    #[track_caller]
    pub fn lock_async(&self) -> Operation<'_, ()> {
        let transition = Transition::MutexAsyncLock { mutex: self.number };
        Operation::new(&self.kernel, transition, nothing)
    }

    /// Returns true if the actor is the owner.
    #[inline]
    #[track_caller]
    pub fn test(&self) -> Operation<'_, bool> {
        let transition = Transition::MutexTest { mutex: self.number };
        Operation::new(&self.kernel, transition, is_yes)
    }

    /// Waits to be the owner, after [`Mutex::lock_async`].
    #[inline]
    #[track_caller]
    pub fn wait(&self) -> Operation<'_, ()> {
        let transition = Transition::MutexWait {
            mutex: self.number,
            owned: false,
        };
        Operation::new(&self.kernel, transition, nothing)
    }

    /// Becomes the owner if the queue is empty.
    #[inline]
    #[track_caller]
    pub fn try_lock(&self) -> Operation<'_, bool> {
        let transition = Transition::MutexTryLock { mutex: self.number };
        Operation::new(&self.kernel, transition, is_yes)
    }

    /// Gives the mutex to the next in the queue. Unlocking a mutex that the actor has not asked for
    /// fails the actor.
    #[inline]
    #[track_caller]
    pub fn unlock(&self) -> Operation<'_, ()> {
        let transition = Transition::MutexUnlock { mutex: self.number };
        Operation::new(&self.kernel, transition, nothing)
    }

    /// Leaves the queue from any position: a waiter withdraws.
    #[inline]
    #[track_caller]
    pub fn cancel(&self) -> Operation<'_, ()> {
        let transition = Transition::MutexCancel { mutex: self.number };
        Operation::new(&self.kernel, transition, nothing)
    }
}

fn follow_acquire<T>(
    code: Code,
    answer: OperationResult,
    result: fn(OperationResult) -> T,
) -> NextAction<T> {
    match (code.transition(), answer) {
        (Transition::SemaphoreAsyncLock { semaphore }, OperationResult::Number(request)) => {
            NextAction::Then(Code::from(Transition::SemaphoreWait {
                semaphore,
                request,
                owned: true,
            }))
        }
        (_, answer) => NextAction::Return(result(answer)),
    }
}

impl Semaphore {
    pub(crate) fn new(kernel: &Shared, value: u32) -> Self {
        let (kernel, number) = add_object(kernel, |objects| objects.add_semaphore(value));
        Self { kernel, number }
    }

    #[inline]
    fn prepare_acquire(&self) -> Transition {
        Transition::SemaphoreAsyncLock {
            semaphore: self.number,
        }
    }

    /// Takes a unit, waiting for one if there is none.
    #[inline]
    #[track_caller]
    pub fn acquire(&self) -> Operation<'_, ()> {
        Operation::new(&self.kernel, self.prepare_acquire(), |_, code, answer| {
            follow_acquire(code, answer, |_| ())
        })
    }

    /// [`Semaphore::acquire`], at most for `timeout`, after which the request is withdrawn.
    ///
    /// # Errors
    /// [`TimedOut`] if there was no unit in time.
    #[inline]
    #[track_caller]
    pub fn acquire_timeout(&self, timeout: Span) -> Operation<'_, Result<(), TimedOut>> {
        Operation::new(&self.kernel, self.prepare_acquire(), |_, code, answer| {
            follow_acquire(code, answer, within_limit)
        })
        .within(timeout)
    }

    /// Gives a unit back: to the oldest request if there is one.
    #[inline]
    #[track_caller]
    pub fn release(&self) -> Operation<'_, ()> {
        let transition = Transition::SemaphoreUnlock {
            semaphore: self.number,
        };
        Operation::new(&self.kernel, transition, nothing)
    }

    /// Returns the number of free units.
    #[must_use]
    pub fn value(&self) -> u32 {
        let kernel = self.kernel.borrow();
        kernel.actors.note_effect(Executed::HIDDEN);
        kernel.objects.semaphores[self.number as usize].value
    }
}

impl Barrier {
    pub(crate) fn new(kernel: &Shared, size: u32) -> Self {
        let (kernel, number) = add_object(kernel, |objects| objects.add_barrier(size));
        Self { kernel, number }
    }

    /// Arrives and waits for the others.
    #[inline]
    #[track_caller]
    pub fn wait(&self) -> Operation<'_, ()> {
        let arrive = Transition::BarrierAsyncLock {
            barrier: self.number,
            tells_last: false,
        };
        Operation::new(&self.kernel, arrive, |_, code, answer| {
            match (code.transition(), answer) {
                (Transition::BarrierAsyncLock { barrier, .. }, OperationResult::Number(round)) => {
                    NextAction::Then(Code::from(Transition::BarrierWait {
                        barrier,
                        round,
                        owned: true,
                    }))
                }
                _ => NextAction::Return(()),
            }
        })
    }

    /// [`Barrier::wait`]; true for the actor that arrived last. This call makes the order of
    /// arrival observable; a model checker then explores this order.
    #[inline]
    #[track_caller]
    pub fn wait_leader(&self) -> Operation<'_, bool> {
        let arrive = Transition::BarrierAsyncLock {
            barrier: self.number,
            tells_last: true,
        };
        Operation::new(&self.kernel, arrive, |kernel, code, answer| {
            match (code.transition(), answer) {
                (Transition::BarrierAsyncLock { barrier, .. }, OperationResult::Number(round)) => {
                    let last = kernel.objects.is_complete(barrier, round);
                    let wait = Code::from(Transition::BarrierWait {
                        barrier,
                        round,
                        owned: true,
                    });
                    NextAction::Then(wait.marked(last))
                }
                _ => NextAction::Return(code.is_marked()),
            }
        })
    }
}

/// Release the mutex and queue; wait for the signal or the end of the time; wait for the mutex,
/// with a mark if the time was up.
fn follow_wait(
    _: &mut Kernel,
    code: Code,
    answer: OperationResult,
) -> NextAction<Result<(), TimedOut>> {
    match (code.transition(), answer) {
        (Transition::CondvarAsyncLock { condvar, mutex }, OperationResult::Number(request)) => {
            NextAction::Then(Code::from(Transition::CondvarWait {
                condvar,
                mutex,
                request,
            }))
        }
        (Transition::CondvarWait { mutex, .. }, answer) => {
            let wait = Code::from(Transition::MutexWait { mutex, owned: true });
            NextAction::Then(wait.marked(answer == OperationResult::Timeout))
        }
        _ => NextAction::Return(if code.is_marked() {
            Err(TimedOut)
        } else {
            Ok(())
        }),
    }
}

impl Condvar {
    pub(crate) fn new(kernel: &Shared) -> Self {
        let (kernel, number) = add_object(kernel, Objects::add_condvar);
        Self { kernel, number }
    }

    /// Releases the mutex, waits for a signal, and owns the mutex again at the end. Without owning
    /// the mutex the actor fails.
    #[inline]
    #[track_caller]
    pub fn wait(&self, mutex: &Mutex) -> Operation<'_, Result<(), TimedOut>> {
        let enter = Transition::CondvarAsyncLock {
            condvar: self.number,
            mutex: mutex.number,
        };
        Operation::new(&self.kernel, enter, follow_wait)
    }

    /// [`Condvar::wait`], for a signal within `timeout`. The mutex is owned again in any case.
    ///
    /// # Errors
    /// [`TimedOut`] if no signal came in time.
    #[inline]
    #[track_caller]
    pub fn wait_timeout(
        &self,
        mutex: &Mutex,
        timeout: Span,
    ) -> Operation<'_, Result<(), TimedOut>> {
        self.wait(mutex).within(timeout)
    }

    /// Wakes the actor that has waited longest, if any.
    #[inline]
    #[track_caller]
    pub fn signal(&self) -> Operation<'_, ()> {
        let transition = Transition::CondvarSignal {
            condvar: self.number,
        };
        Operation::new(&self.kernel, transition, nothing)
    }

    /// Wakes all that wait, in the order in which they came.
    #[inline]
    #[track_caller]
    pub fn broadcast(&self) -> Operation<'_, ()> {
        let transition = Transition::CondvarBroadcast {
            condvar: self.number,
        };
        Operation::new(&self.kernel, transition, nothing)
    }
}
