//! Actors: the handle through which a program reaches the simulation.
//!
//! An actor is a future; `me` is the handle that its program gets. The same type names other
//! actors. A new actor runs up to its first operation before any other actor continues. The first
//! operation is queued behind the actors that were runnable before.

use source_location::SourceLocation;
use std::fmt;
use std::future::Future;
use std::rc::Rc;

use crate::activity::{Activity, ActivityError};
use crate::code::Code;
use crate::control::control_operation;
use crate::kernel::Shared;
use crate::operation::{NextAction, Operation};
use crate::simulation::{ActorResult, into_body};
use crate::yielding::Yield;
use crate::{
    ActorId, Control, Executed, HostId, Kernel, OperationResult, Span, Stream, Time, Transition,
};

/// An actor, as its own program and other programs name the actor.
#[derive(Clone)]
pub struct Actor {
    pub(crate) kernel: Shared,
    pub(crate) id: ActorId,
}

/// The time of a wait was up.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TimedOut;

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("timeout")
    }
}

impl std::error::Error for TimedOut {}

pub(crate) const fn nothing(_: &mut Kernel, _: Code, _: OperationResult) -> NextAction<()> {
    NextAction::Return(())
}

pub(crate) fn is_yes(_: &mut Kernel, _: Code, answer: OperationResult) -> NextAction<bool> {
    NextAction::Return(answer == OperationResult::Bool(true))
}

/// Returns the result of a wait with a time limit.
pub(crate) fn within_limit(answer: OperationResult) -> Result<(), TimedOut> {
    match answer {
        OperationResult::Timeout => Err(TimedOut),
        _ => Ok(()),
    }
}

/// Frees the list of an operation; returns the position of an activity that has ended, if the
/// answer has one.
fn take_position(kernel: &mut Kernel, code: Code, answer: OperationResult) -> Option<usize> {
    kernel.objects.activities.free_list(code.object());
    match answer {
        OperationResult::Number(position) => Some(position as usize),
        _ => None,
    }
}

impl Actor {
    /// The actor's serial number.
    #[must_use]
    pub const fn id(&self) -> ActorId {
        self.id
    }

    /// Returns the name of the actor; `actor-N` if the program gave no name.
    #[must_use]
    pub fn name(&self) -> String {
        self.kernel.borrow().actors.actor_name(self.id.0)
    }

    /// The host on which the actor runs.
    #[must_use]
    pub fn host(&self) -> HostId {
        self.kernel.borrow().host_of(self.id)
    }

    /// The name of the host on which the actor runs.
    #[must_use]
    pub fn host_name(&self) -> String {
        let kernel = self.kernel.borrow();
        kernel.actors.hosts.name(kernel.host_of(self.id))
    }

    /// The number of hosts of the platform; hosts are numbered from 0.
    #[must_use]
    pub fn host_count(&self) -> u32 {
        self.kernel.borrow().actors.hosts.count()
    }

    /// Returns the number of actors, ranks or other objects that the program should create: option
    /// `-n` of the command line, by default the number of hosts.
    #[must_use]
    pub fn count(&self) -> u32 {
        let kernel = self.kernel.borrow();
        if kernel.requested_count > 0 {
            kernel.requested_count
        } else {
            kernel.actors.hosts.count()
        }
    }

    /// Returns the present date. In an untimed run the date is always 0, and the log has a warning.
    #[must_use]
    #[track_caller]
    pub fn now(&self) -> Time {
        let mut kernel = self.kernel.borrow_mut();
        kernel.note_clock_read(SourceLocation::caller());
        let (now, timed) = (kernel.now(), kernel.is_timed());
        drop(kernel);
        if !timed {
            self.warn_untimed_clock();
        }
        now
    }

    /// The random stream of that name; see [`Stream`]. Asking twice gives the same numbers twice.
    #[must_use]
    pub fn stream(&self, name: &str) -> Stream {
        Stream::new(self.kernel.borrow().choices.seed, name)
    }

    /// Draws a number below `limit`. Unlike a [`Stream`], the draw is a decision: a model checker
    /// takes each value.
    ///
    /// # Panics
    /// If `limit` is 0.
    #[inline]
    #[track_caller]
    pub fn random(&self, limit: u32) -> Operation<'_, u32> {
        assert!(limit > 0, "a random choice needs at least one value");
        Operation::new(
            &self.kernel,
            Transition::Random { limit },
            |_, _, answer| match answer {
                OperationResult::Number(value) => NextAction::Return(value),
                other => unreachable!("a draw answers with a number, not {other:?}"),
            },
        )
    }

    /// Lets every other runnable actor go first.
    #[inline]
    #[track_caller]
    pub fn yield_now(&self) -> Yield<'_> {
        Yield::new(&self.kernel)
    }

    /// Sleeps for a duration of virtual time. A sleep of [`Span::INFINITE`] never ends; the kernel
    /// reports a deadlock when no other event is left.
    #[inline]
    #[track_caller]
    pub fn sleep(&self, span: Span) -> Operation<'_, ()> {
        // Even a sleep of no time goes through the queue: it ends after what was due before.
        Operation::new(&self.kernel, Transition::Sleep, nothing).within(span)
    }

    /// Sleeps until a date; returns at once if the date is past.
    #[inline]
    #[track_caller]
    pub fn sleep_until(&self, date: Time) -> Operation<'_, ()> {
        self.sleep(date.since(self.now()))
    }

    /// Starts an actor on a host. The new actor runs up to its first operation when this actor
    /// reaches its next operation.
    ///
    /// # Panics
    /// If there is no such host.
    #[inline]
    #[track_caller]
    pub fn spawn<F, Fut>(&self, name: &str, host: HostId, program: F) -> Operation<'_, Self>
    where
        F: FnOnce(Self) -> Fut,
        Fut: Future + 'static,
        Fut::Output: ActorResult,
    {
        let id = self.kernel.borrow_mut().actors.add_actor(Some(name), host);
        let body = into_body(program(Self {
            kernel: Rc::clone(&self.kernel),
            id: ActorId(id),
        }));
        self.kernel.borrow_mut().actors[id].body = Some(body);
        let create = Transition::Create { child: ActorId(id) };
        Operation::new(&self.kernel, create, |kernel, code, _| {
            NextAction::Return(Self {
                kernel: kernel.share_self(),
                id: ActorId(code.object()),
            })
        })
    }

    /// Waits until the actor has ended.
    #[inline]
    #[track_caller]
    pub fn join(&self) -> Operation<'_, ()> {
        Operation::new(&self.kernel, Transition::Join { target: self.id }, nothing)
    }

    /// Waits until the actor has ended, at most for `timeout`.
    ///
    /// # Errors
    /// [`TimedOut`] if the actor has not ended by then.
    #[inline]
    #[track_caller]
    pub fn join_timeout(&self, timeout: Span) -> Operation<'_, Result<(), TimedOut>> {
        let transition = Transition::Join { target: self.id };
        Operation::new(&self.kernel, transition, |_, _, answer| {
            NextAction::Return(within_limit(answer))
        })
        .within(timeout)
    }

    /// Ends the actor: its destructors run and its pending operations are withdrawn before any
    /// other actor continues. An actor may end itself; in this case the call does not return.
    #[inline]
    #[track_caller]
    pub fn kill(&self) -> Operation<'_, ()> {
        Operation::new(&self.kernel, Transition::Kill { target: self.id }, nothing)
    }

    /// Switches a host on or off. At this instant the actors on the host end, and its computations
    /// and transfers fail. Actors of
    /// [`Simulation::spawn_restarting`](crate::Simulation::spawn_restarting) start again with the
    /// host. An actor may switch off its own host; in this case the call does not return.
    #[track_caller]
    pub fn switch_host(&self, host: HostId, on: bool) -> Operation<'_, ()> {
        control_operation(&self.kernel, Control::Host { host, on })
    }

    /// Returns true if a host is on.
    #[must_use]
    pub fn host_is_on(&self, host: HostId) -> bool {
        let kernel = self.kernel.borrow();
        kernel.actors.note_effect(Executed::HIDDEN);
        kernel.host_states.host_is_on(host)
    }

    /// Stops the actor, and the computation that the actor waits for, until the actor is resumed. A
    /// sleep continues: an actor with an expired sleep wakes when the actor is resumed. All other
    /// activities that the actor waits for continue too, with their timeouts.
    #[inline]
    #[track_caller]
    pub fn suspend(&self) -> Operation<'_, ()> {
        let transition = Transition::Suspend { target: self.id };
        Operation::new(&self.kernel, transition, nothing)
    }

    /// Lets a suspended actor continue.
    #[inline]
    #[track_caller]
    pub fn resume(&self) -> Operation<'_, ()> {
        let transition = Transition::Resume { target: self.id };
        Operation::new(&self.kernel, transition, nothing)
    }

    /// Returns true if the actor has ended.
    #[must_use]
    pub fn has_ended(&self) -> bool {
        let kernel = self.kernel.borrow();
        kernel.actors.note_effect(Executed::HIDDEN);
        kernel.actors[self.id.0].dead
    }

    /// Makes the actor a daemon: the run does not wait for it.
    pub fn daemonize(&self) {
        self.kernel.borrow_mut().actors.set_daemon(self.id.0, true);
    }

    /// Registers a function that is called after the end of the actor. The argument is true if the
    /// actor was killed or failed. The function registered last is called first.
    pub fn on_exit(&self, hook: impl FnOnce(bool) + 'static) {
        let mut kernel = self.kernel.borrow_mut();
        kernel.actors[self.id.0].extra().hooks.push(Box::new(hook));
    }

    /// Waits until any of the activities has ended; returns the position of this activity in the
    /// list, the lowest position if several activities have ended.
    ///
    /// # Panics
    /// If the list is empty.
    #[inline]
    #[track_caller]
    pub fn wait_any<'a>(&'a self, activities: &[&'a Activity]) -> Operation<'a, usize> {
        let transition = self.prepare_wait_any(activities);
        Operation::new(&self.kernel, transition, |kernel, code, answer| {
            let position = take_position(kernel, code, answer);
            NextAction::Return(position.expect("a wait without a timeout ends with an activity"))
        })
    }

    /// [`Actor::wait_any`], at most for `timeout`.
    ///
    /// # Errors
    /// [`TimedOut`] if none has ended by then.
    ///
    /// # Panics
    /// If the list is empty.
    #[inline]
    #[track_caller]
    pub fn wait_any_timeout<'a>(
        &'a self,
        activities: &[&'a Activity],
        timeout: Span,
    ) -> Operation<'a, Result<usize, TimedOut>> {
        let transition = self.prepare_wait_any(activities);
        Operation::new(&self.kernel, transition, |kernel, code, answer| {
            NextAction::Return(take_position(kernel, code, answer).ok_or(TimedOut))
        })
        .within(timeout)
    }

    /// Returns the position of an activity of the list that has ended, if there is one.
    #[inline]
    #[track_caller]
    pub fn test_any<'a>(&'a self, activities: &[&'a Activity]) -> Operation<'a, Option<usize>> {
        let list = self.add_list(activities);
        Operation::new(
            &self.kernel,
            Transition::TestAny { list },
            |kernel, code, answer| NextAction::Return(take_position(kernel, code, answer)),
        )
    }

    /// Waits until all the activities have ended.
    ///
    /// # Errors
    /// The error of the first in the list that ended without success; the others have ended too.
    pub async fn wait_all(&self, activities: &[&Activity]) -> Result<(), ActivityError> {
        let mut result = Ok(());
        for activity in activities {
            let end = activity.wait().await.map(drop);
            result = result.and(end);
        }
        result
    }

    fn prepare_wait_any(&self, activities: &[&Activity]) -> Transition {
        assert!(
            !activities.is_empty(),
            "waiting for any of no activities would never end"
        );
        let list = self.add_list(activities);
        Transition::WaitAny { list }
    }

    fn add_list(&self, activities: &[&Activity]) -> u32 {
        let members = activities.iter().map(|activity| activity.slot()).collect();
        (self.kernel.borrow_mut().objects.activities).add_list(members)
    }
}

impl PartialEq for Actor {
    fn eq(&self, other: &Self) -> bool {
        self.id == other.id && Rc::ptr_eq(&self.kernel, &other.kernel)
    }
}

impl fmt::Debug for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Actor({})", self.id)
    }
}
