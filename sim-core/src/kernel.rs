//! The state of a simulation and its only way to change: issue, enable, execute.
//!
//! An operation of an actor is *issued*. In a plain run an enabled transition is executed at once.
//! Otherwise the operation is *parked* in a slot of the actor. The actor's future is not polled
//! again until the loop of [`Simulation`](crate::Simulation) has *resumed* the actor, which
//! executes the transition. Waking (`schedule_actor`) is only a hint: `is_enabled` decides whether
//! a transition can happen when the actor's turn comes.
//!
//! The state stands in parts with methods of their own: `Actors`, `Objects`, `Calendar`, `Choices`,
//! `Exploration`, `Counters`, `HostTable`. Each kind of object has a file of its own below
//! `kernel/`. All methods here are called with the kernel borrowed and never call into user code.

use source_location::SourceLocation;
use std::cell::RefCell;
use std::fmt;
use std::rc::{Rc, Weak};
use std::task::Waker;

use crate::code::{Code, TransitionKindSet};
use crate::operation::OPERATION_ID_MAX;
use crate::trace::TraceSink;
use crate::{
    ActorId, Clock, Device, Digest, DiskId, Failure, HostId, OperationResult, Outcome, Resource,
    Span, Time,
};

mod activities;
mod actors;
mod barriers;
mod choices;
mod condvars;
mod events;
mod execute;
mod hosts;
mod idle;
mod limits;
mod mailboxes;
mod mutexes;
mod polling;
mod report;
mod semaphores;
mod stepping;
mod store;
mod transfers;

pub(crate) use activities::{Activities, ActivityKind, ActivityStatus};
pub(crate) use actors::{ActorRecord, Actors, OperationSlot, PendingState};
pub(crate) use choices::{Choices, TurnMode};
pub(crate) use events::{Calendar, DEVICE_TARGET, DEVICE_WORK};
pub(crate) use hosts::{Again, HostTable};
pub(crate) use mailboxes::Mailboxes;
pub(crate) use report::wait_graph;
pub(crate) use stepping::{BRANCH_MASK, Exploration};
pub(crate) use store::{ObjectStore, Objects, Recycle};

/// No actor, no object.
pub(crate) const NONE: u32 = u32::MAX;

/// The kernel, shared by its handles.
pub(crate) type Shared = Rc<RefCell<Kernel>>;

/// The names of hosts, for reports.
pub trait Hosts {
    /// The number of hosts.
    fn count(&self) -> u32;
    /// The name of a host.
    fn name(&self, host: HostId) -> String;

    /// The disk of a host that is called so.
    fn disk(&self, host: HostId, name: &str) -> Option<DiskId> {
        let _ = (host, name);
        None
    }
}

impl Hosts for Vec<String> {
    fn count(&self) -> u32 {
        u32::try_from(self.len()).expect("hosts are counted in 32 bits")
    }

    fn name(&self, host: HostId) -> String {
        self[host.0 as usize].clone()
    }
}

/// The answer to issuing an operation.
pub(crate) enum IssueResult {
    Now(OperationResult),
    Parked(u32),
}

/// A call that has sent a message, for an explorer that compares runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SendCall {
    /// The sender.
    pub actor: ActorId,
    /// The place of the call.
    pub location: SourceLocation,
    /// A fingerprint of the contents.
    pub contents: u64,
}

/// Counts of a run, and the digest of its order of events.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) digest: Digest,
    pub(crate) events: u64,
    pub(crate) transitions: u64,
    pub(crate) messages: u64,
    pub(crate) bytes: f64,
}

/// The whole state of a simulation.
pub struct Kernel {
    pub(crate) actors: Actors,
    pub(crate) objects: Objects,
    pub(crate) calendar: Calendar,
    pub(crate) choices: Choices,
    pub(crate) exploration: Exploration,
    pub(crate) counters: Counters,
    /// The outcome, once a step has ended the run.
    pub(crate) stop: Option<Outcome>,
    /// The first failure of an actor that has not ended the run.
    pub(crate) late_failure: Option<Failure>,
    pub(crate) host_states: HostTable,
    pub(crate) weak_self: Weak<RefCell<Self>>,
    /// The waker for polling futures, identified by its address. (A comparison with a fresh
    /// `Waker::noop()` fails: the table of this waker may exist once per unit of compilation.)
    pub(crate) waker: &'static Waker,
    pub(crate) trace: Option<TraceSink>,
    pub(crate) device: Option<Rc<dyn Device>>,
    /// True if the device wants [`Device::progress`] to be called.
    pub(crate) device_waits: bool,
    pub(crate) console: Option<Rc<dyn crate::Console>>,
    /// True if the log has the warning that time does not pass.
    pub(crate) warned_of_untimed: bool,
    /// Result of `Actor::count`; 0 for the number of hosts.
    pub(crate) requested_count: u32,
    /// The invariants, if there are any.
    pub(crate) watch: Option<Box<crate::invariant::Watch>>,
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("now", &self.now())
            .field("actors", &self.actors.count_actors())
            .finish_non_exhaustive()
    }
}

impl Kernel {
    /// A kernel without actors at date 0.
    pub(crate) fn new(
        resource: Box<dyn Resource>,
        hosts: Rc<dyn Hosts>,
        seed: u64,
        clock: Clock,
    ) -> Self {
        Self {
            actors: Actors::new(hosts),
            objects: Objects::default(),
            calendar: Calendar::new(resource, clock),
            choices: Choices {
                seed,
                ..Choices::default()
            },
            exploration: Exploration::default(),
            counters: Counters::default(),
            stop: None,
            late_failure: None,
            host_states: HostTable::default(),
            weak_self: Weak::new(),
            waker: Waker::noop(),
            trace: None,
            device: None,
            device_waits: false,
            console: None,
            warned_of_untimed: false,
            requested_count: 0,
            watch: None,
        }
    }

    /// The present date.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.calendar.now
    }

    /// Begins an operation of the actor that is being polled.
    #[inline]
    pub(crate) fn issue_operation(
        &mut self,
        code: Code,
        timeout: Span,
        location: SourceLocation,
        waker: &Waker,
    ) -> IssueResult {
        let actor = self.actors.current;
        assert!(
            actor != NONE,
            "an operation was polled outside of an actor, at {location}"
        );
        if code.is_among(TransitionKindSet::PARKED) {
            return IssueResult::Parked(self.park_operation(actor, code, timeout, location, waker));
        }
        self.issue_now(actor, code, timeout, location, waker)
    }

    /// Parks the polled actor until the device wakes the actor; returns the actor and the ticket.
    #[inline]
    pub(crate) fn park_for_device(&mut self, location: SourceLocation) -> (u32, u32) {
        let actor = self.actors.current;
        assert!(
            actor != NONE,
            "a device was waited for outside of an actor, at {location}"
        );
        let operation_id =
            self.park_operation(actor, Code::DEVICE, Span::INFINITE, location, self.waker);
        (actor, operation_id)
    }

    /// [`Kernel::issue_operation`] for operations that may happen at once.
    #[inline(never)]
    fn issue_now(
        &mut self,
        actor: u32,
        code: Code,
        mut timeout: Span,
        location: SourceLocation,
        waker: &Waker,
    ) -> IssueResult {
        let mut paused = None;
        if let Some(activity) = code.owned_activity() {
            self.begin_work(activity);
        }
        if self.actors.mode == TurnMode::Direct
            && self.objects.is_enabled(actor, code, false, &self.actors)
        {
            let answer = OperationResult::from_code(self.execute_transition(actor, code));
            if !code.is_among(TransitionKindSet::PAUSED) {
                return IssueResult::Now(answer);
            }
            paused = Some(answer);
            timeout = Span::INFINITE;
        }
        let operation_id = self.park_operation(actor, code, timeout, location, waker);
        if let Some(answer) = paused {
            // Before the actor continues, another actor ends or stops.
            (self.actors).give_answer(actor, operation_id, answer.code(), &mut self.calendar);
            self.actors.schedule_first(actor);
        }
        IssueResult::Parked(operation_id)
    }

    /// Returns the kernel, shared by its handles.
    pub(crate) fn share_self(&self) -> Shared {
        self.weak_self
            .upgrade()
            .expect("the kernel is alive while it is used")
    }

    /// Puts an operation that is not yet enabled into a slot of the actor; returns the ticket.
    #[inline(always)]
    fn park_operation(
        &mut self,
        actor: u32,
        mut code: Code,
        timeout: Span,
        location: SourceLocation,
        waker: &Waker,
    ) -> u32 {
        let record = &mut self.actors[actor];
        let operation_id = if record.operation_ids < OPERATION_ID_MAX {
            record.operation_ids + 1
        } else {
            1
        };
        record.operation_ids = operation_id;
        let timer = if timeout.as_secs() == f64::INFINITY {
            0
        } else {
            if self.actors.mode.is_stepped() && code.is_among(TransitionKindSet::LIMITED) {
                if self.exploration.timeouts {
                    code = code.limited();
                } else {
                    (self.exploration.limits).add(timeout, actor, operation_id);
                }
            }
            self.calendar.set_timeout(code, timeout, actor)
        };
        // The turn that a new actor takes with its first operation is not yet the one that it gives
        // away.
        let fired = match code {
            Code::YIELD => self.actors.mode != TurnMode::Opening,
            Code::SLEEP => !self.calendar.is_timed(),
            _ => false,
        };
        let state = if fired {
            PendingState::Fired
        } else {
            PendingState::Waiting
        };
        let record = &mut self.actors[actor];
        record.insert(OperationSlot {
            code,
            location,
            word: timer,
            operation_id,
            state,
        });
        if !std::ptr::eq(waker, self.waker) {
            record.keep_waker(operation_id, waker);
        }
        if code == Code::DEVICE {
            // The device wakes it.
        } else if !fired {
            self.settle_parked(actor, code, operation_id);
        } else if !record.queued {
            record.queued = true;
            self.actors.ready.push_back(actor);
        }
        operation_id
    }

    /// Ensures that the object of a parked transition wakes the actor; schedules the actor at once
    /// if a decision about the transition is due.
    #[inline(never)]
    fn settle_parked(&mut self, actor: u32, code: Code, operation_id: u32) {
        if code.is_among(TransitionKindSet::SUBSCRIBED) {
            (self.objects.activities).await_object(actor, code.transition(), &mut self.actors);
        }
        let queues = code.is_among(TransitionKindSet::QUEUED);
        let yields = code == Code::YIELD;
        let polls = code.is_among(TransitionKindSet::POLLS);
        // An explorer asks itself what can happen.
        let looks = if self.actors.mode.is_stepped() {
            polls
        } else {
            self.actors.mode != TurnMode::Direct || queues
        };
        let enabled = looks && self.objects.is_enabled(actor, code, false, &self.actors);
        if polls && enabled {
            let slot = self.actors[actor].slot_mut(operation_id);
            slot.expect("it was just parked").state = PendingState::Fired;
        }
        if yields || enabled {
            if yields || queues || self.actors.mode > TurnMode::Starting {
                self.actors.schedule_actor(actor);
            } else {
                // It only lets those begin that it has created; it is still its turn.
                self.actors.schedule_first(actor);
            }
        } else if polls {
            self.actors.pollers.push(actor);
        }
    }

    /// Withdraws a parked operation: its future was dropped.
    pub(crate) fn withdraw_operation(&mut self, actor: u32, operation_id: u32) {
        let Some(slot) = self.actors[actor].remove(operation_id) else {
            return;
        };
        self.calendar.drop_timer(slot.timer(), &self.actors);
        if slot.state == PendingState::Answered {
            self.revert_answer(actor, slot.code.transition(), slot.answer());
        } else {
            self.abandon_wait(actor, slot.code.transition());
        }
        self.objects.activities.free_list_of(slot.code.transition());
    }

    /// Gives an actor its turn: executes one enabled transition of the actor. True if the future of
    /// the actor is to be polled.
    #[inline]
    pub(crate) fn resume_actor(&mut self, actor: u32) -> bool {
        let record = &mut self.actors[actor];
        record.queued = false;
        if !record.takes_turn() {
            return false;
        }
        if record.has_more() {
            return self.resume_any(actor);
        }
        let (code, state) = (record.first.code, record.first.state);
        if state == PendingState::Fired
            && code.is_among(TransitionKindSet::LATER)
            && !record.has_wakers()
        {
            const DONE: u64 = OperationResult::Done.code();
            if code.is_marked() {
                // A device has ended the park without an answer.
                record.first.state = PendingState::Free;
            } else {
                record.first.set_answer(DONE);
            }
            self.record_transition(actor, code, DONE);
            return true;
        }
        self.resume_waiting(actor, code, state)
    }

    /// [`Kernel::resume_actor`] for an actor with one operation that may have to wait on.
    #[inline(never)]
    fn resume_waiting(&mut self, actor: u32, code: Code, state: PendingState) -> bool {
        if state == PendingState::Answered {
            return true;
        }
        let fired = state == PendingState::Fired;
        let looks = fired || !code.is_among(TransitionKindSet::POLLS);
        if state == PendingState::Free
            || !looks
            || !self.objects.is_enabled(actor, code, fired, &self.actors)
        {
            if code == Code::YIELD {
                self.actors.give_turn_away(actor);
            }
            return false;
        }
        let answer = self.execute_slot(actor, code, fired);
        let record = &mut self.actors[actor];
        let timer = record.first.set_answer(answer);
        if record.extra.is_some() {
            record.wake(record.first.operation_id);
        }
        self.calendar.drop_timer(timer, &self.actors);
        !self.actors.pauses_after(actor, code)
    }

    /// [`Kernel::resume_actor`] for an actor with several pending operations: the first that is
    /// enabled happens.
    #[cold]
    fn resume_any(&mut self, actor: u32) -> bool {
        let slots = self.actors[actor].slots();
        if let Some(slot) = slots
            .iter()
            .find(|slot| slot.state == PendingState::Answered)
        {
            self.actors[actor].move_to_front(slot.operation_id);
            return true;
        }
        let Some(&slot) = slots
            .iter()
            .find(|slot| self.objects.can_happen(actor, slot, &self.actors))
        else {
            self.actors.give_turn_away(actor);
            return false;
        };
        let answer = self.execute_slot(actor, slot.code, slot.state == PendingState::Fired);
        self.actors[actor].move_to_front(slot.operation_id);
        (self.actors).give_answer(actor, slot.operation_id, answer, &mut self.calendar);
        !self.actors.pauses_after(actor, slot.code)
    }

    /// Executes the enabled transition of a slot, or ends it because its time limit expired.
    #[inline]
    pub(crate) fn execute_slot(&mut self, actor: u32, code: Code, fired: bool) -> u64 {
        if fired
            && !code.is_among(TransitionKindSet::LATER)
            && !code.is_among(TransitionKindSet::POLLS)
            && !self.objects.is_enabled(actor, code, false, &self.actors)
        {
            return self.expire_wait(actor, code).code();
        }
        self.execute_transition(actor, code)
    }

    /// Folds a transition into the digest, the schedule and the trace.
    #[inline]
    pub(crate) fn record_transition(&mut self, actor: u32, code: Code, answer: u64) {
        self.counters.transitions += 1;
        self.counters.digest.mix(
            u64::from(actor) << 32 | u64::from(code.object()),
            u64::from(code.detail()) << 32 ^ answer << 8 ^ u64::from(code.kind()),
        );
        if self.choices.schedule.is_some() || self.trace.is_some() {
            self.write_down(actor, code, OperationResult::from_code(answer));
        }
    }
}
