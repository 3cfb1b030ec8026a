//! The state of a simulation and the one way in which it changes: issue, enable, execute.
//!
//! An operation of an actor is *issued*. In a plain run an enabled transition is executed at once; otherwise it is
//! *parked* in a slot of the actor, and the actor's future is not polled again until the loop of
//! [`Simulation`](crate::Simulation) has *resumed* it, which executes the transition. Waking (`schedule`) is only a
//! hint: whether a transition can happen is decided by `is_enabled` when the actor's turn comes.
//!
//! Each kind of object has a file of its own below `kernel/`. All methods here are called with the kernel borrowed
//! and never call into user code.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::fmt;
use std::panic::Location;
use std::rc::{Rc, Weak};
use std::task::Waker;

use crate::device::Device;
use crate::simulation::Body;
use crate::timers::Timers;
use crate::trace::TraceSink;
use crate::{
    ActorId, Answer, Choice, Clock, Digest, End, Failure, HostId, Resource, Span, Stream, Time,
    Transition,
};

mod activities;
mod actors;
mod barriers;
mod condvars;
mod events;
mod execute;
mod mailboxes;
mod mutexes;
mod polling;
mod report;
mod semaphores;

pub(crate) use activities::{Activities, Status};
pub(crate) use actors::{ActorRecord, Slot, SlotState};
pub(crate) use events::DEVICE_TARGET;

/// No actor, no object.
pub(crate) const NONE: u32 = u32::MAX;

/// The kernel as its handles share it.
pub(crate) type Shared = Rc<RefCell<Kernel>>;

/// The names of hosts, for reports.
pub trait Hosts {
    /// The number of hosts.
    fn count(&self) -> u32;
    /// The name of a host.
    fn name(&self, host: HostId) -> String;
}

impl Hosts for Vec<String> {
    fn count(&self) -> u32 {
        u32::try_from(self.len()).expect("hosts are counted in 32 bits")
    }

    fn name(&self, host: HostId) -> String {
        self[host.0 as usize].clone()
    }
}

/// What ends a run from within.
#[derive(Debug)]
pub(crate) enum Stop {
    Failed(Failure),
    BadInput(String),
}

/// The answer to issuing an operation.
pub(crate) enum Issued {
    Now(Answer),
    Parked(u32),
}

/// The whole state of a simulation but for the actors' futures.
pub struct Kernel {
    pub(crate) now: Time,
    pub(crate) clock: Clock,
    pub(crate) digest: Digest,
    pub(crate) myself: Weak<RefCell<Self>>,
    /// The actor whose future is being polled.
    pub(crate) current: u32,
    /// The actor whose transition is being executed.
    pub(crate) acting: u32,
    pub(crate) actors: Vec<ActorRecord>,
    /// Actors that may be able to go on, in the order in which they became so.
    pub(crate) ready: VecDeque<u32>,
    /// Actors that have been created, or resumed after they suspended themselves: they go first, up to their next
    /// operation.
    pub(crate) births: VecDeque<u32>,
    /// Whether operations stop before their first transition: always under a chooser, and while there are births.
    pub(crate) stepping: bool,
    /// Whether the actor being polled is one of the births.
    opening: bool,
    /// Actors whose test or probe failed and that wait until anything has changed.
    pub(crate) pollers: Vec<u32>,
    /// Grows whenever anything happens that a test could observe.
    pub(crate) progress: u64,
    /// The last serial number given to a timer or an activity.
    pub(crate) numbers: u64,
    pub(crate) timers: Timers,
    /// Timers in the queue that nobody waits for any more.
    pub(crate) stale_timers: usize,
    pub(crate) resource: Box<dyn Resource>,
    pub(crate) hosts: Rc<dyn Hosts>,
    pub(crate) activities: Activities,
    pub(crate) lists: Vec<Vec<u32>>,
    pub(crate) free_lists: Vec<u32>,
    pub(crate) mailboxes: mailboxes::Mailboxes,
    pub(crate) mutexes: Vec<mutexes::MutexRecord>,
    pub(crate) semaphores: Vec<semaphores::SemaphoreRecord>,
    pub(crate) barriers: Vec<barriers::BarrierRecord>,
    pub(crate) condvars: Vec<condvars::CondvarRecord>,
    /// Actors created and not yet handed to the loop, with their futures.
    pub(crate) newborn: Vec<(u32, Body)>,
    /// Actors whose futures the loop must drop.
    pub(crate) dying: Vec<u32>,
    /// Actors that are neither daemons nor dead.
    pub(crate) live: u32,
    /// Whether a chooser decides.
    pub(crate) chosen: bool,
    pub(crate) schedule: Option<Vec<Choice>>,
    /// The branch that the chooser picked for the transition being executed.
    pub(crate) branch: u32,
    pub(crate) trace: Option<TraceSink>,
    pub(crate) device: Option<Rc<dyn Device>>,
    pub(crate) console: Option<Rc<dyn crate::Console>>,
    /// Names the actors that were not given a name.
    pub(crate) namer: fn(ActorId) -> String,
    pub(crate) seed: u64,
    /// What `Actor::count` says, 0 for the number of hosts.
    pub(crate) count: u32,
    pub(crate) draws: Option<Stream>,
    pub(crate) stop: Option<Stop>,
    pub(crate) events: u64,
    pub(crate) transitions: u64,
    pub(crate) messages: u64,
    pub(crate) bytes: f64,
    pub(crate) ended: Vec<(crate::ActivityId, End)>,
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
            clock,
            digest: Digest::default(),
            myself: Weak::new(),
            current: NONE,
            acting: NONE,
            actors: Vec::new(),
            ready: VecDeque::new(),
            births: VecDeque::new(),
            stepping: false,
            opening: false,
            pollers: Vec::new(),
            progress: 1,
            numbers: 0,
            timers: Timers::new(),
            stale_timers: 0,
            resource,
            hosts,
            activities: Activities::default(),
            lists: Vec::new(),
            free_lists: Vec::new(),
            mailboxes: mailboxes::Mailboxes::default(),
            mutexes: Vec::new(),
            semaphores: Vec::new(),
            barriers: Vec::new(),
            condvars: Vec::new(),
            newborn: Vec::new(),
            dying: Vec::new(),
            live: 0,
            chosen: false,
            schedule: None,
            branch: 0,
            trace: None,
            device: None,
            console: None,
            namer: |actor| format!("actor-{actor}"),
            seed,
            count: 0,
            draws: None,
            stop: None,
            events: 0,
            transitions: 0,
            messages: 0,
            bytes: 0.0,
            ended: Vec::new(),
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
        transition: Transition,
        timeout: Span,
        location: &'static Location<'static>,
        waker: &Waker,
    ) -> Issued {
        let actor = self.current;
        assert!(
            actor != NONE,
            "an operation was polled outside of an actor, at {location}"
        );
        if let Transition::Wait {
            activity,
            owned: true,
        } = transition
        {
            self.begin_exec(activity);
        }
        if !self.stepping
            && !Self::must_queue(transition)
            && self.is_enabled(actor, transition, false)
        {
            let answer = self.execute(actor, transition);
            if !Self::must_pause(transition) {
                return Issued::Now(answer);
            }
            // The actor stops here: another one ends or stops before it goes on.
            let ticket = self.park(actor, transition, Span::INFINITE, location, waker);
            self.answer(actor, ticket, answer);
            self.schedule_first(actor);
            return Issued::Parked(ticket);
        }
        Issued::Parked(self.park(actor, transition, timeout, location, waker))
    }

    /// Whether the issuing actor takes its turn behind those that became runnable before it: at a barrier all go on
    /// in the order of their arrival, the last one too.
    const fn must_queue(transition: Transition) -> bool {
        matches!(transition, Transition::BarrierWait { .. })
    }

    /// Whether the issuing actor must not run on in the same poll, because it may have stopped itself.
    pub(crate) const fn must_pause(transition: Transition) -> bool {
        matches!(
            transition,
            Transition::Kill { .. } | Transition::Suspend { .. }
        )
    }

    /// Whether the time limit of an operation applies to this one of its transitions.
    const fn has_timeout(transition: Transition) -> bool {
        matches!(
            transition,
            Transition::Sleep
                | Transition::Join { .. }
                | Transition::Wait { .. }
                | Transition::WaitAny { .. }
                | Transition::SemaphoreWait { .. }
                | Transition::CondvarWait { .. }
        )
    }

    /// The kernel as its handles share it.
    pub(crate) fn myself(&self) -> Shared {
        self.myself
            .upgrade()
            .expect("the kernel is alive while it is used")
    }

    /// Puts an operation that cannot happen yet into a slot of the actor; returns its ticket.
    fn park(
        &mut self,
        actor: u32,
        transition: Transition,
        timeout: Span,
        location: &'static Location<'static>,
        waker: &Waker,
    ) -> u32 {
        let timed = timeout != Span::INFINITE
            && self.clock == Clock::Timed
            && Self::has_timeout(transition);
        let timer = if timed {
            self.set_timer(self.now + timeout, u64::from(actor))
        } else {
            0
        };
        let record = &mut self.actors[actor as usize];
        record.tickets = record.tickets.wrapping_add(1).max(1);
        let ticket = record.tickets;
        let mut slot = Slot {
            transition,
            location,
            timer,
            ticket,
            state: SlotState::Waiting,
            answer: Answer::Done,
        };
        match transition {
            // The turn that a new actor takes with its first operation is not yet the one that it gives away.
            Transition::Yield if self.chosen || !self.opening => slot.state = SlotState::Fired,
            Transition::Sleep if self.clock == Clock::Untimed => slot.state = SlotState::Fired,
            _ => {}
        }
        let fired = slot.state == SlotState::Fired;
        let looks =
            Self::is_poll(transition) && self.stepping && self.is_enabled(actor, transition, false);
        if looks {
            slot.state = SlotState::Fired;
        }
        self.actors[actor as usize].insert(slot, waker);
        self.subscribe(actor, transition);
        let queues = Self::must_queue(transition);
        let yields = transition == Transition::Yield;
        if fired
            || yields
            || ((self.stepping || queues) && self.is_enabled(actor, transition, false))
        {
            if fired || yields || queues || self.chosen || self.opening {
                self.schedule(actor);
            } else {
                // It only lets those begin that it has created; it is still its turn.
                self.schedule_first(actor);
            }
        } else if Self::is_poll(transition) {
            self.pollers.push(actor);
        }
        ticket
    }

    /// Makes sure that what a parked transition waits for wakes the actor.
    #[inline]
    fn subscribe(&mut self, actor: u32, transition: Transition) {
        match transition {
            Transition::Wait { activity, .. } => self.await_activity(activity, actor),
            Transition::WaitAny { list } => {
                for position in 0..self.lists[list as usize].len() {
                    let activity = self.lists[list as usize][position];
                    self.await_activity(activity, actor);
                }
            }
            Transition::Join { target } => self.actors[target.index()].extra().joiners.push(actor),
            _ => {}
        }
    }

    /// Gives the answer of a parked operation, once there is one.
    #[inline]
    pub(crate) fn collect(&mut self, actor: u32, ticket: u32) -> Option<Answer> {
        let record = &mut self.actors[actor as usize];
        let slot = record.slot_mut(ticket)?;
        if slot.state != SlotState::Answered {
            return None;
        }
        let answer = slot.answer;
        record.remove(ticket);
        Some(answer)
    }

    /// Puts an answer into a slot, so that the next poll of the operation finds it.
    #[inline]
    pub(crate) fn answer(&mut self, actor: u32, ticket: u32, answer: Answer) {
        let record = &mut self.actors[actor as usize];
        let timer = {
            let slot = record.slot_mut(ticket).expect("the answered slot exists");
            slot.answer = answer;
            slot.state = SlotState::Answered;
            std::mem::take(&mut slot.timer)
        };
        record.wake(ticket);
        self.drop_timer(timer);
    }

    /// Takes a parked operation back: its future was dropped.
    pub(crate) fn withdraw(&mut self, actor: u32, ticket: u32) {
        let Some(slot) = self.actors[actor as usize].remove(ticket) else {
            return;
        };
        self.drop_timer(slot.timer);
        if slot.state == SlotState::Answered {
            self.undo(actor, slot.transition, slot.answer);
        } else {
            self.abandon(actor, slot.transition);
        }
        self.free_list_of(slot.transition);
    }

    /// Makes an actor take its turn, unless it will anyway.
    #[inline]
    pub(crate) fn schedule(&mut self, actor: u32) {
        let record = &mut self.actors[actor as usize];
        if !record.queued && !record.dead {
            record.queued = true;
            self.ready.push_back(actor);
        }
    }

    /// Makes an actor the next to take its turn.
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

    /// Takes the next actor that begins; it is then the current one. After the last the actors take their turns.
    pub(crate) fn next_birth(&mut self) -> Option<u32> {
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

    /// Gives an actor its turn: executes one enabled transition of it. True if its future is to be polled.
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
        let first = record.first;
        match first.state {
            SlotState::Answered => return true,
            SlotState::Waiting | SlotState::Fired if !record.has_more() => {
                if !self.can_happen(actor, &first) {
                    if first.transition == Transition::Yield {
                        self.give_turn_away(actor);
                    }
                    return false;
                }
                let answer = self.execute_slot(actor, &first);
                self.answer(actor, first.ticket, answer);
                return !self.pauses(actor, first.transition);
            }
            _ => {}
        }
        self.resume_any(actor)
    }

    /// [`Kernel::resume`] for an actor with several pending operations: the first that is enabled happens.
    fn resume_any(&mut self, actor: u32) -> bool {
        let slots = self.actors[actor as usize].slots();
        if let Some(slot) = slots.iter().find(|slot| slot.state == SlotState::Answered) {
            self.actors[actor as usize].bring_forward(slot.ticket);
            return true;
        }
        let Some(&slot) = slots.iter().find(|slot| self.can_happen(actor, slot)) else {
            self.give_turn_away(actor);
            return false;
        };
        let answer = self.execute_slot(actor, &slot);
        self.actors[actor as usize].bring_forward(slot.ticket);
        self.answer(actor, slot.ticket, answer);
        !self.pauses(actor, slot.transition)
    }

    /// Whether a pending operation can happen. A test that waits for the next event looks again only when it is told to.
    #[inline]
    pub(crate) fn can_happen(&self, actor: u32, slot: &Slot) -> bool {
        let fired = slot.state == SlotState::Fired;
        (fired || !Self::is_poll(slot.transition)) && self.is_enabled(actor, slot.transition, fired)
    }

    /// Begins the yields that a new actor has come with: it goes behind all that are runnable.
    #[cold]
    fn give_turn_away(&mut self, actor: u32) {
        for slot in self.actors[actor as usize].slots() {
            if slot.transition == Transition::Yield && slot.state == SlotState::Waiting {
                let record = &mut self.actors[actor as usize];
                let pending = record.slot_mut(slot.ticket).expect("just listed");
                pending.state = SlotState::Fired;
                self.schedule(actor);
            }
        }
    }

    /// Whether another actor, or this one, must end or stop before this one goes on; it is then the next.
    #[inline]
    pub(crate) fn pauses(&mut self, actor: u32, transition: Transition) -> bool {
        let pauses = Self::must_pause(transition);
        if pauses {
            self.schedule_first(actor);
        }
        pauses
    }

    /// Executes the transition of a slot that is enabled, or ends it because its time is up.
    pub(crate) fn execute_slot(&mut self, actor: u32, slot: &Slot) -> Answer {
        let expired = slot.state == SlotState::Fired
            && !matches!(
                slot.transition,
                Transition::Yield | Transition::Sleep | Transition::Device
            )
            && !Self::is_poll(slot.transition)
            && !self.is_enabled(actor, slot.transition, false);
        if expired {
            return self.expire(actor, slot.transition);
        }
        self.execute(actor, slot.transition)
    }

    /// Folds a transition into the digest, the schedule and the trace.
    #[inline]
    pub(crate) fn record(&mut self, actor: u32, transition: Transition, answer: Answer) {
        let (kind, first, second) = transition.code();
        self.transitions += 1;
        self.digest.mix(
            u64::from(actor) << 32 | u64::from(first),
            u64::from(second) << 32 ^ answer.code() << 8 ^ u64::from(kind),
        );
        if self.schedule.is_some() || self.trace.is_some() {
            self.write_down(actor, transition, answer);
        }
    }
}
