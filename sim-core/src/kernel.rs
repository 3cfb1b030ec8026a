//! The state of a simulation and its only way to change: issue, enable, execute.
//!
//! An operation of an actor is *issued*. In a plain run an enabled transition is executed at once.
//! Otherwise the operation is *parked* in a slot of the actor. The actor's future is not polled
//! again until the loop of [`Simulation`](crate::Simulation) has *resumed* the actor, which
//! executes the transition. Waking (`schedule`) is only a hint: `is_enabled` decides whether a
//! transition can happen when the actor's turn comes.
//!
//! Each kind of object has a file of its own below `kernel/`. All methods here are called with the
//! kernel borrowed and never call into user code.

use source_location::SourceLocation;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::rc::{Rc, Weak};
use std::task::Waker;

use crate::code::{Code, TransitionKindSet};
use crate::operation::OPERATION_ID_MAX;
use crate::timers::TimerQueue;
use crate::trace::TraceSink;
use crate::{
    ActorId, Choice, Clock, Digest, DiskId, End, Failure, HostId, Limit, OperationResult, Outcome,
    Resource, Span, Stream, Time, Transition,
};
use crate::{Device, ExplorableDevice};

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

pub(crate) use activities::{Activities, Kind, Status};
pub(crate) use actors::{ActorRecord, PendingState, Slot};
pub(crate) use events::DEVICE_TARGET;
pub(crate) use hosts::Again;
pub(crate) use stepping::{BRANCH_MASK, StepEffects};
pub(crate) use store::{ObjectStore, Recycle};

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

/// Reason why a step ends the run.
#[derive(Debug)]
pub(crate) enum Stop {
    Failed(Failure),
    BadInput(String),
    Limit(Limit),
}

impl Stop {
    /// Returns the outcome of the run.
    pub(crate) fn outcome(self) -> Outcome {
        match self {
            Self::Failed(failure) => Outcome::Failed(failure),
            Self::BadInput(message) => Outcome::BadInput(message),
            Self::Limit(limit) => Outcome::Limit(limit),
        }
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

/// The whole state of a simulation but for the actors' futures.
pub struct Kernel {
    pub(crate) now: Time,
    /// The last date at which an actor had an enabled step.
    pub(crate) active: Time,
    pub(crate) clock: Clock,
    pub(crate) digest: Digest,
    pub(crate) myself: Weak<RefCell<Self>>,
    /// The waker for polling futures, identified by its address. (A comparison with a fresh
    /// `Waker::noop()` fails: the table of this waker may exist once per unit of compilation.)
    pub(crate) waker: &'static Waker,
    /// The actor whose future is being polled.
    pub(crate) current: u32,
    /// The actor whose transition is being executed.
    pub(crate) acting: u32,
    pub(crate) actors: Vec<ActorRecord>,
    /// Actors that may be able to continue, in the order in which they became so.
    pub(crate) ready: VecDeque<u32>,
    /// Actors that have been created, or resumed after they suspended themselves: they go first, up
    /// to their next operation.
    pub(crate) births: VecDeque<u32>,
    /// True if operations stop before their first transition: always under a chooser, and while
    /// there are births.
    pub(crate) stepping: bool,
    /// True if the actor being polled is one of the births.
    opening: bool,
    /// Actors with a failed test or probe that wait for any change.
    pub(crate) pollers: Vec<u32>,
    /// Under an explorer: actors that the device has woken, and that may not have gone on.
    pub(crate) woken: Vec<u32>,
    /// Grows whenever anything happens that a test could observe.
    pub(crate) progress: u64,
    /// The last serial number given to a timer or an activity.
    pub(crate) numbers: u64,
    pub(crate) timers: TimerQueue,
    /// Timers in the queue that no actor waits for any more.
    pub(crate) stale_timers: usize,
    pub(crate) resource: idle::KernelResource,
    pub(crate) hosts: Rc<dyn Hosts>,
    pub(crate) activities: Activities,
    pub(crate) lists: Vec<Vec<u32>>,
    pub(crate) free_lists: Vec<u32>,
    pub(crate) mailboxes: mailboxes::Mailboxes,
    pub(crate) mutexes: ObjectStore<mutexes::MutexRecord>,
    pub(crate) semaphores: ObjectStore<semaphores::SemaphoreRecord>,
    pub(crate) barriers: ObjectStore<barriers::BarrierRecord>,
    pub(crate) condvars: ObjectStore<condvars::CondvarRecord>,
    /// Actors with futures that the loop must drop.
    pub(crate) dying: Vec<u32>,
    /// Actors that are neither daemons nor dead.
    pub(crate) live: u32,
    /// True if a chooser decides.
    pub(crate) chosen: bool,
    pub(crate) schedule: Option<Vec<Choice>>,
    /// The branch that the chooser picked for the transition being executed.
    pub(crate) branch: u32,
    pub(crate) trace: Option<TraceSink>,
    pub(crate) host_states: hosts::HostTable,
    pub(crate) device: Option<Rc<dyn Device>>,
    /// The same device if an explorer decides its arrivals.
    pub(crate) explorable: Option<Rc<dyn ExplorableDevice>>,
    /// True if the device wants [`Device::progress`] to be called.
    pub(crate) device_waits: bool,
    pub(crate) console: Option<Rc<dyn crate::Console>>,
    /// Names the actors that were not given a name.
    pub(crate) namer: fn(ActorId) -> String,
    pub(crate) seed: u64,
    /// True if the log has the warning that time does not pass.
    pub(crate) warned_of_untimed: bool,
    /// Result of `Actor::count`; 0 for the number of hosts.
    pub(crate) count: u32,
    pub(crate) draws: Option<Stream>,
    pub(crate) stop: Option<Stop>,
    /// Number of messages that the running actor has sent since it continued.
    pub(crate) sends_in_step: u64,
    /// The number of messages in a step beyond which an actor is ended.
    pub(crate) sends_in_step_max: u64,
    /// The first failure of an actor that has not ended the run.
    pub(crate) late_failure: Option<Failure>,
    pub(crate) events: u64,
    pub(crate) transitions: u64,
    pub(crate) messages: u64,
    pub(crate) bytes: f64,
    pub(crate) ended: Vec<(crate::ActivityId, End)>,
    /// Effects of the current step besides its transition.
    pub(crate) effects: std::cell::Cell<StepEffects>,
    /// The number of the step that an explorer takes, from 0; `NONE` before the first.
    pub(crate) step: u32,
    /// True if an explorer takes the steps.
    pub(crate) stepped: bool,
    /// True if actors that are parked for the device stand before choices.
    pub(crate) branches: bool,
    /// The sends of this run, for an explorer that compares runs.
    pub(crate) sends: Option<Vec<SendCall>>,
    /// The source locations at which programs have read the clock of an untimed run, in any run.
    pub(crate) clock_reads: Vec<SourceLocation>,
    /// Notes of devices for the user of an explorer, of this run.
    pub(crate) notes: Vec<crate::Note>,
    /// True if the explorer may let the time limit of a wait expire.
    pub(crate) timeouts: bool,
    /// The time limits that expire only when no other step is possible, under an explorer.
    pub(crate) limits: limits::Limits,
    /// True if, under an explorer, work is in progress until an actor observes its end.
    pub(crate) transfers_last: bool,
    /// The invariants, if there are any.
    pub(crate) watch: Option<Box<crate::invariant::Watch>>,
    /// Records of the rarer things of actors, to be used again.
    #[expect(clippy::vec_box, reason = "the boxes are what is used again")]
    pub(crate) spare_extras: Vec<Box<actors::ActorColdState>>,
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Kernel")
            .field("now", &self.now)
            .field("actors", &self.actors.len())
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
            now: Time::ZERO,
            active: Time::ZERO,
            clock,
            digest: Digest::default(),
            myself: Weak::new(),
            waker: Waker::noop(),
            current: NONE,
            acting: NONE,
            actors: Vec::new(),
            ready: VecDeque::new(),
            births: VecDeque::new(),
            stepping: false,
            opening: false,
            pollers: Vec::new(),
            woken: Vec::new(),
            progress: 1,
            numbers: 0,
            timers: TimerQueue::new(),
            stale_timers: 0,
            resource: idle::KernelResource::new(resource),
            hosts,
            activities: Activities::default(),
            lists: Vec::new(),
            free_lists: Vec::new(),
            mailboxes: mailboxes::Mailboxes::default(),
            mutexes: ObjectStore::default(),
            semaphores: ObjectStore::default(),
            barriers: ObjectStore::default(),
            condvars: ObjectStore::default(),
            dying: Vec::new(),
            live: 0,
            chosen: false,
            schedule: None,
            branch: 0,
            trace: None,
            host_states: hosts::HostTable::default(),
            device: None,
            explorable: None,
            device_waits: false,
            console: None,
            namer: |actor| format!("actor-{actor}"),
            seed,
            warned_of_untimed: false,
            count: 0,
            draws: None,
            stop: None,
            sends_in_step: 0,
            sends_in_step_max: u64::MAX,
            late_failure: None,
            events: 0,
            transitions: 0,
            messages: 0,
            bytes: 0.0,
            ended: Vec::new(),
            effects: std::cell::Cell::default(),
            step: NONE,
            stepped: false,
            transfers_last: false,
            timeouts: false,
            limits: limits::Limits::default(),
            watch: None,
            branches: false,
            sends: None,
            clock_reads: Vec::new(),
            notes: Vec::new(),
            spare_extras: Vec::new(),
        }
    }

    /// The present date.
    #[must_use]
    pub const fn now(&self) -> Time {
        self.now
    }

    /// The next serial number.
    pub(crate) fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }

    /// Begins an operation of the actor that is being polled.
    #[inline]
    pub(crate) fn issue(
        &mut self,
        code: Code,
        timeout: Span,
        location: SourceLocation,
        waker: &Waker,
    ) -> IssueResult {
        let actor = self.current;
        assert!(
            actor != NONE,
            "an operation was polled outside of an actor, at {location}"
        );
        if code.is_among(TransitionKindSet::PARKED) {
            return IssueResult::Parked(self.park(actor, code, timeout, location, waker));
        }
        self.issue_now(actor, code, timeout, location, waker)
    }

    /// Parks the polled actor until the device wakes the actor; returns the actor and the ticket.
    #[inline]
    pub(crate) fn park_for_device(&mut self, location: SourceLocation) -> (u32, u32) {
        let actor = self.current;
        assert!(
            actor != NONE,
            "a device was waited for outside of an actor, at {location}"
        );
        let operation_id = self.park(actor, Code::DEVICE, Span::INFINITE, location, self.waker);
        (actor, operation_id)
    }

    /// [`Kernel::issue`] for operations that may happen at once.
    #[inline(never)]
    fn issue_now(
        &mut self,
        actor: u32,
        code: Code,
        timeout: Span,
        location: SourceLocation,
        waker: &Waker,
    ) -> IssueResult {
        if let Some(activity) = code.owned_activity() {
            self.begin_work(activity);
        }
        if !self.stepping && self.is_enabled(actor, code, false) {
            let answer = OperationResult::from_code(self.execute(actor, code));
            if code.is_among(TransitionKindSet::PAUSED) {
                return IssueResult::Parked(self.pause(actor, code, answer, location, waker));
            }
            return IssueResult::Now(answer);
        }
        IssueResult::Parked(self.park(actor, code, timeout, location, waker))
    }

    /// Returns the kernel, shared by its handles.
    pub(crate) fn myself(&self) -> Shared {
        self.myself
            .upgrade()
            .expect("the kernel is alive while it is used")
    }

    /// Stops an actor that has an answer: before the actor continues, another actor ends or stops.
    /// Returns the ticket.
    #[cold]
    #[inline(never)]
    fn pause(
        &mut self,
        actor: u32,
        code: Code,
        answer: OperationResult,
        location: SourceLocation,
        waker: &Waker,
    ) -> u32 {
        let operation_id = self.park(actor, code, Span::INFINITE, location, waker);
        self.answer(actor, operation_id, answer);
        self.schedule_first(actor);
        operation_id
    }

    /// Puts an operation that is not yet enabled into a slot of the actor; returns the ticket.
    #[inline(always)]
    fn park(
        &mut self,
        actor: u32,
        mut code: Code,
        timeout: Span,
        location: SourceLocation,
        waker: &Waker,
    ) -> u32 {
        let record = &mut self.actors[actor as usize];
        let operation_id = if record.operation_ids < OPERATION_ID_MAX {
            record.operation_ids + 1
        } else {
            1
        };
        record.operation_ids = operation_id;
        let timer = if timeout.as_secs() == f64::INFINITY {
            0
        } else {
            self.set_timeout(actor, operation_id, &mut code, timeout)
        };
        // The turn that a new actor takes with its first operation is not yet the one that it gives
        // away.
        let fired = match code {
            Code::YIELD => self.chosen || !self.opening,
            Code::SLEEP => self.clock == Clock::Untimed,
            _ => false,
        };
        let state = if fired {
            PendingState::Fired
        } else {
            PendingState::Waiting
        };
        let record = &mut self.actors[actor as usize];
        record.insert(Slot::new(code, location, timer, operation_id, state));
        if !std::ptr::eq(waker, self.waker) {
            record.keep_waker(operation_id, waker);
        }
        if code == Code::DEVICE {
            // The device wakes it.
        } else if !fired {
            self.settle(actor, code, operation_id);
        } else if !record.queued {
            record.queued = true;
            self.ready.push_back(actor);
        }
        operation_id
    }

    /// Sets the timer of an operation with a time limit, if the limit applies; returns the number
    /// of the timer, 0 without a timer.
    #[inline]
    fn set_timeout(
        &mut self,
        actor: u32,
        operation_id: u32,
        code: &mut Code,
        timeout: Span,
    ) -> u64 {
        if self.stepped && code.is_among(TransitionKindSet::LIMITED) {
            if self.timeouts {
                *code = code.limited();
            } else {
                self.limits.add(timeout, actor, operation_id);
            }
        }
        if self.clock == Clock::Timed && code.is_among(TransitionKindSet::TIMED) {
            self.set_timer(self.now + timeout, u64::from(actor))
        } else {
            0
        }
    }

    /// Ensures that the object of a parked transition wakes the actor; schedules the actor at once
    /// if a decision about the transition is due.
    #[inline(never)]
    fn settle(&mut self, actor: u32, code: Code, operation_id: u32) {
        if code.is_among(TransitionKindSet::SUBSCRIBED) {
            self.subscribe(actor, code.transition());
        }
        let (queues, yields) = (
            code.is_among(TransitionKindSet::QUEUED),
            code == Code::YIELD,
        );
        let polls = code.is_among(TransitionKindSet::POLLS);
        // An explorer asks itself what can happen.
        let looks = if self.stepped {
            polls
        } else {
            self.stepping || queues
        };
        let enabled = looks && self.is_enabled(actor, code, false);
        if polls && enabled {
            let slot = self.actors[actor as usize].slot_mut(operation_id);
            slot.expect("it was just parked").state = PendingState::Fired;
        }
        if yields || enabled {
            if yields || queues || self.chosen || self.opening {
                self.schedule(actor);
            } else {
                // It only lets those begin that it has created; it is still its turn.
                self.schedule_first(actor);
            }
        } else if polls {
            self.pollers.push(actor);
        }
    }

    fn subscribe(&mut self, actor: u32, transition: Transition) {
        match transition {
            Transition::Wait { activity, .. } => self.await_activity(activity, actor),
            Transition::Join { target } => {
                self.actors[target.index()].extra().joiners.push(actor);
            }
            Transition::WaitAny { list } => self.await_any(list, actor),
            _ => {}
        }
    }

    /// Gives the answer of a parked operation, once there is one.
    #[inline]
    pub(crate) fn collect(&mut self, actor: u32, operation_id: u32) -> Option<OperationResult> {
        let record = &mut self.actors[actor as usize];
        let slot = &mut record.first;
        let is_first = slot.operation_id == operation_id && slot.state == PendingState::Answered;
        if is_first && !record.has_wakers() {
            let slot = &mut record.first;
            let answer = slot.answer();
            slot.state = PendingState::Free;
            return Some(answer);
        }
        self.collect_any(actor, operation_id)
    }

    #[cold]
    fn collect_any(&mut self, actor: u32, operation_id: u32) -> Option<OperationResult> {
        let record = &mut self.actors[actor as usize];
        let slot = record.slot_mut(operation_id)?;
        if slot.state != PendingState::Answered {
            return None;
        }
        let answer = slot.answer();
        record.remove(operation_id);
        Some(answer)
    }

    /// Puts an answer into a slot, so that the next poll of the operation finds it.
    pub(crate) fn answer(&mut self, actor: u32, operation_id: u32, answer: OperationResult) {
        let record = &mut self.actors[actor as usize];
        let slot = record
            .slot_mut(operation_id)
            .expect("the answered slot exists");
        let timer = slot.set_answer(answer.code());
        record.wake(operation_id);
        self.drop_timer(timer);
    }

    /// Withdraws a parked operation: its future was dropped.
    pub(crate) fn withdraw(&mut self, actor: u32, operation_id: u32) {
        let Some(slot) = self.actors[actor as usize].remove(operation_id) else {
            return;
        };
        self.drop_timer(slot.timer());
        if slot.state == PendingState::Answered {
            self.revert(actor, slot.code.transition(), slot.answer());
        } else {
            self.abandon(actor, slot.code.transition());
        }
        self.free_list_of(slot.code.transition());
    }

    /// Adds an actor to the queue of runnable actors, unless the actor is already there.
    #[inline]
    pub(crate) fn schedule(&mut self, actor: u32) {
        let record = &mut self.actors[actor as usize];
        if !record.queued && !record.dead {
            record.queued = true;
            self.ready.push_back(actor);
        }
    }

    /// Puts an actor at the front of the queue of runnable actors.
    pub(crate) fn schedule_first(&mut self, actor: u32) {
        let record = &mut self.actors[actor as usize];
        if record.dead {
            return;
        }
        if std::mem::replace(&mut record.queued, true) {
            // What it waited for before has woken it too: rare, and not long ago.
            if let Some(position) = self.ready.iter().rposition(|&other| other == actor) {
                self.ready.remove(position);
            }
        }
        self.ready.push_front(actor);
    }

    /// Takes the next new actor and makes it the current actor. After the last new actor the other
    /// actors take their turns.
    pub(crate) fn next_new_actor(&mut self) -> Option<u32> {
        while let Some(actor) = self.births.pop_front() {
            let record = &mut self.actors[actor as usize];
            if record.dead {
                continue;
            }
            if record.suspended {
                record.deferred = true;
                continue;
            }
            record.start();
            self.current = actor;
            self.opening = true;
            return Some(actor);
        }
        self.opening = false;
        self.stepping = self.chosen;
        None
    }

    /// Gives an actor its turn: executes one enabled transition of the actor. True if the future of
    /// the actor is to be polled.
    #[inline]
    pub(crate) fn resume(&mut self, actor: u32) -> bool {
        let record = &mut self.actors[actor as usize];
        record.queued = false;
        if record.dead {
            return false;
        }
        if record.suspended {
            record.deferred = true;
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
            record.first.set_answer(DONE);
            self.record(actor, code, DONE);
            return true;
        }
        self.resume_waiting(actor, code, state)
    }

    /// [`Kernel::resume`] for an actor with one operation that may have to wait on.
    #[inline(never)]
    fn resume_waiting(&mut self, actor: u32, code: Code, state: PendingState) -> bool {
        if state == PendingState::Answered {
            return true;
        }
        let fired = state == PendingState::Fired;
        let looks = fired || !code.is_among(TransitionKindSet::POLLS);
        if state == PendingState::Free || !looks || !self.is_enabled(actor, code, fired) {
            if code == Code::YIELD {
                self.give_turn_away(actor);
            }
            return false;
        }
        let answer = self.execute_slot(actor, code, fired);
        let record = &mut self.actors[actor as usize];
        let timer = record.first.set_answer(answer);
        if record.extra.is_some() {
            record.wake(record.first.operation_id);
        }
        self.drop_timer(timer);
        !self.pauses(actor, code)
    }

    /// [`Kernel::resume`] for an actor with several pending operations: the first that is enabled
    /// happens.
    #[cold]
    fn resume_any(&mut self, actor: u32) -> bool {
        let slots = self.actors[actor as usize].slots();
        if let Some(slot) = slots
            .iter()
            .find(|slot| slot.state == PendingState::Answered)
        {
            self.actors[actor as usize].move_to_front(slot.operation_id);
            return true;
        }
        let Some(&slot) = slots.iter().find(|slot| self.can_happen(actor, slot)) else {
            self.give_turn_away(actor);
            return false;
        };
        let answer = self.execute_slot(actor, slot.code, slot.state == PendingState::Fired);
        self.actors[actor as usize].move_to_front(slot.operation_id);
        self.answer(actor, slot.operation_id, OperationResult::from_code(answer));
        !self.pauses(actor, slot.code)
    }

    /// Returns true if a pending operation can happen. A test that waits for the next event is
    /// evaluated again only after a wake-up.
    #[inline]
    pub(crate) fn can_happen(&self, actor: u32, slot: &Slot) -> bool {
        let fired = slot.state == PendingState::Fired;
        (fired || !slot.code.is_among(TransitionKindSet::POLLS))
            && self.is_enabled(actor, slot.code, fired)
    }

    /// Begins the yields of a new actor: the actor is queued behind all runnable actors.
    #[cold]
    fn give_turn_away(&mut self, actor: u32) {
        for slot in self.actors[actor as usize].slots() {
            if slot.code == Code::YIELD && slot.state == PendingState::Waiting {
                let record = &mut self.actors[actor as usize];
                let pending = record.slot_mut(slot.operation_id).expect("just listed");
                pending.state = PendingState::Fired;
                self.schedule(actor);
            }
        }
    }

    /// True if another actor, or this actor, must end or stop before this actor continues; this
    /// actor is then the next.
    #[inline]
    pub(crate) fn pauses(&mut self, actor: u32, code: Code) -> bool {
        let pauses = code.is_among(TransitionKindSet::PAUSED);
        if pauses {
            self.schedule_first(actor);
        }
        pauses
    }

    /// Executes the enabled transition of a slot, or ends it because its time limit expired.
    #[inline]
    pub(crate) fn execute_slot(&mut self, actor: u32, code: Code, fired: bool) -> u64 {
        if fired && !code.is_among(TransitionKindSet::LATER) && self.is_expired(actor, code) {
            return self.expire(actor, code).code();
        }
        self.execute(actor, code)
    }

    fn is_expired(&self, actor: u32, code: Code) -> bool {
        !code.is_among(TransitionKindSet::POLLS) && !self.is_enabled(actor, code, false)
    }

    /// Folds a transition into the digest, the schedule and the trace.
    #[inline]
    pub(crate) fn record(&mut self, actor: u32, code: Code, answer: u64) {
        self.transitions += 1;
        self.digest.mix(
            u64::from(actor) << 32 | u64::from(code.object()),
            u64::from(code.detail()) << 32 ^ answer << 8 ^ u64::from(code.kind()),
        );
        if self.schedule.is_some() || self.trace.is_some() {
            self.write_down(actor, code, OperationResult::from_code(answer));
        }
    }
}
