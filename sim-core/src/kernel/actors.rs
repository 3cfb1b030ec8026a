//! The record of an actor and the slots of its pending operations.
//!
//! An actor has at most one pending operation unless its future waits for several at once (`join!`,
//! `select!`). The first operation is in the record, the others are in a box that most actors never
//! have. The record stays after the end of the actor, so that its number is never used again.

use source_location::SourceLocation;
use std::task::Waker;

use super::{Kernel, NONE, Stop};
use crate::code::Code;
use crate::simulation::{Body, ExitHook};
use crate::{ActorId, Failure, HostId, OperationResult, Outcome, Transition};

/// The state of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum PendingState {
    /// The slot is empty.
    Free,
    /// The transition has not happened.
    Waiting,
    /// The timer of the operation has expired, or a polling operation may test again.
    Fired,
    /// The slot has the answer; the future has not taken the answer.
    Answered,
}

/// One pending operation.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Slot {
    pub(crate) code: Code,
    pub(crate) location: SourceLocation,
    /// Before the answer the number of the timer, 0 without a timer; after that
    /// [`OperationResult::code`].
    word: u64,
    pub(crate) operation_id: u32,
    pub(crate) state: PendingState,
}

impl Slot {
    #[inline]
    pub(crate) const fn new(
        code: Code,
        location: SourceLocation,
        timer: u64,
        operation_id: u32,
        state: PendingState,
    ) -> Self {
        Self {
            code,
            location,
            word: timer,
            operation_id,
            state,
        }
    }

    /// Returns the number of the timer, 0 without a timer.
    #[inline]
    pub(crate) fn timer(&self) -> u64 {
        if self.state == PendingState::Answered {
            0
        } else {
            self.word
        }
    }

    /// Changes or forgets the timer of a slot without an answer.
    #[inline]
    pub(crate) fn set_timer(&mut self, timer: u64) {
        debug_assert!(
            self.state != PendingState::Answered,
            "an answered slot has no timer"
        );
        self.word = timer;
    }

    /// The answer of a slot that has one.
    #[inline]
    pub(crate) fn answer(&self) -> OperationResult {
        debug_assert!(
            self.state == PendingState::Answered,
            "an answer is read once it is there"
        );
        OperationResult::from_code(self.word)
    }

    /// Sets the answer of the slot; returns the timer that is no longer needed, 0 without a timer.
    #[inline]
    pub(crate) fn set_answer(&mut self, code: u64) -> u64 {
        let timer = self.timer();
        self.word = code;
        self.state = PendingState::Answered;
        timer
    }
}

/// State that few actors have.
#[derive(Default)]
pub(crate) struct ActorColdState {
    pub(crate) name: Option<Box<str>>,
    pub(crate) slots: Vec<Slot>,
    pub(crate) wakers: Vec<(u32, Waker)>,
    pub(crate) joiners: Vec<u32>,
    pub(crate) hooks: Vec<ExitHook>,
    /// The mutexes that the actor has requested and not released: the request set.
    pub(crate) mutexes: Vec<u32>,
    /// The value of [`Kernel::progress`] at the last test that failed.
    pub(crate) failed_at: u64,
    /// The question of the first test that failed since then.
    pub(crate) failed_on: u32,
    pub(crate) failures: u32,
    /// Under an explorer: the questions that the actor has asked since its last other action, in
    /// order.
    pub(crate) asked: Vec<super::polling::Asked>,
}

impl ActorColdState {
    /// Resets the state and keeps the memory.
    pub(crate) fn recycle(&mut self) {
        self.name = None;
        self.slots.clear();
        self.wakers.clear();
        self.joiners.clear();
        self.hooks.clear();
        self.mutexes.clear();
        (self.failed_at, self.failed_on, self.failures) = (0, 0, 0);
        self.asked.clear();
    }
}

/// One actor.
pub(crate) struct ActorRecord {
    pub(crate) first: Slot,
    pub(crate) extra: Option<Box<ActorColdState>>,
    /// The future; `None` during a poll and after the end.
    pub(crate) body: Option<Body>,
    pub(crate) host: HostId,
    pub(crate) operation_ids: u32,
    pub(crate) queued: bool,
    pub(crate) dead: bool,
    pub(crate) daemon: bool,
    pub(crate) suspended: bool,
    /// True if the turn of the actor came while the actor was suspended.
    pub(crate) deferred: bool,
    pub(crate) started: bool,
    /// True if the creation of the actor has happened: the actor counts as alive.
    pub(crate) created: bool,
    /// True if the actor failed or was killed, for actors that join this actor.
    pub(crate) killed: bool,
}

impl ActorRecord {
    pub(crate) fn new(host: HostId) -> Self {
        Self {
            first: Slot::new(
                Code::YIELD,
                SourceLocation::caller(),
                0,
                0,
                PendingState::Free,
            ),
            extra: None,
            body: None,
            host,
            operation_ids: 0,
            queued: false,
            dead: false,
            daemon: false,
            suspended: false,
            deferred: false,
            started: false,
            created: false,
            killed: false,
        }
    }

    pub(crate) fn is_new(&self) -> bool {
        !self.started
    }

    pub(crate) fn start(&mut self) {
        self.started = true;
    }

    pub(crate) fn extra(&mut self) -> &mut ActorColdState {
        self.extra.get_or_insert_default()
    }

    /// Returns true if there are pending operations besides the first.
    #[inline]
    pub(crate) fn has_more(&self) -> bool {
        self.extra
            .as_ref()
            .is_some_and(|extra| !extra.slots.is_empty())
    }

    /// Returns true if any pending operation has an answer.
    pub(crate) fn is_answered(&self) -> bool {
        let mut more = self.extra.iter().flat_map(|extra| &extra.slots);
        self.first.state == PendingState::Answered
            || more.any(|slot| slot.state == PendingState::Answered)
    }

    /// Returns the ticket of the earliest operation with an answer.
    #[inline]
    pub(crate) fn answered(&self) -> Option<u32> {
        if self.extra.is_none() {
            return (self.first.state == PendingState::Answered).then_some(self.first.operation_id);
        }
        if !self.is_answered() {
            return None;
        }
        let earliest = self.earliest(|slot| slot.state == PendingState::Answered);
        earliest.map(|slot| slot.operation_id)
    }

    /// Returns true if combinators keep wakers of their own.
    #[inline]
    pub(crate) fn has_wakers(&self) -> bool {
        self.extra
            .as_ref()
            .is_some_and(|extra| !extra.wakers.is_empty())
    }

    #[inline]
    pub(crate) fn insert(&mut self, slot: Slot) {
        let first = &mut self.first;
        if first.state == PendingState::Free {
            // Field by field: a slot that is put together elsewhere and copied costs more than all
            // the rest.
            first.code = slot.code;
            first.location = slot.location;
            first.word = slot.word;
            first.operation_id = slot.operation_id;
            first.state = slot.state;
        } else {
            self.insert_more(slot);
        }
    }

    /// Keeps the waker of a combinator; a combinator polls only its woken futures.
    #[cold]
    pub(crate) fn keep_waker(&mut self, operation_id: u32, waker: &Waker) {
        self.extra().wakers.push((operation_id, waker.clone()));
    }

    #[cold]
    fn insert_more(&mut self, slot: Slot) {
        self.extra().slots.push(slot);
    }

    #[inline]
    pub(crate) fn slot_mut(&mut self, operation_id: u32) -> Option<&mut Slot> {
        if self.first.operation_id == operation_id && self.first.state != PendingState::Free {
            return Some(&mut self.first);
        }
        self.extra
            .as_mut()?
            .slots
            .iter_mut()
            .find(|slot| slot.operation_id == operation_id)
    }

    #[inline]
    pub(crate) fn remove(&mut self, operation_id: u32) -> Option<Slot> {
        if self.first.operation_id == operation_id && self.first.state != PendingState::Free {
            let slot = self.first;
            self.first.state = PendingState::Free;
            if let Some(extra) = &mut self.extra {
                extra.wakers.retain(|(other, _)| *other != operation_id);
            }
            return Some(slot);
        }
        let extra = self.extra.as_mut()?;
        extra.wakers.retain(|(other, _)| *other != operation_id);
        let position = extra
            .slots
            .iter()
            .position(|slot| slot.operation_id == operation_id)?;
        Some(extra.slots.remove(position))
    }

    /// Moves an operation into the first slot. The operation that gets an answer next must be
    /// there, so that the remaining operations count as *more* after the answer is taken.
    pub(crate) fn move_to_front(&mut self, operation_id: u32) {
        let Some(extra) = &mut self.extra else {
            return;
        };
        let Some(position) = extra
            .slots
            .iter()
            .position(|slot| slot.operation_id == operation_id)
        else {
            return;
        };
        if self.first.state == PendingState::Free {
            self.first = extra.slots.remove(position);
        } else {
            std::mem::swap(&mut self.first, &mut extra.slots[position]);
        }
    }

    /// All pending operations, in the order in which they were issued.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        let mut slots = Vec::new();
        if self.first.state != PendingState::Free {
            slots.push(self.first);
        }
        if let Some(extra) = &self.extra {
            slots.extend_from_slice(&extra.slots);
        }
        slots.sort_by_key(|slot| slot.operation_id);
        slots
    }

    /// Of the pending operations that `counts` says yes to, the one that was issued first.
    pub(crate) fn earliest(&self, counts: impl Fn(&Slot) -> bool) -> Option<Slot> {
        let more = self.extra.iter().flat_map(|extra| &extra.slots);
        let all = std::iter::once(&self.first).chain(more);
        let pending = all.filter(|slot| slot.state != PendingState::Free && counts(slot));
        pending.min_by_key(|slot| slot.operation_id).copied()
    }

    /// Wakes a combinator with its own wakers: an operation has an answer.
    #[inline]
    pub(crate) fn wake(&self, operation_id: u32) {
        if let Some(extra) = &self.extra {
            for (_, waker) in extra
                .wakers
                .iter()
                .filter(|(other, _)| *other == operation_id)
            {
                waker.wake_by_ref();
            }
        }
    }
}

impl Kernel {
    /// Takes the future out of the record of an actor: the record must not be borrowed while user
    /// code runs.
    #[inline(always)]
    pub(crate) fn swap_body(
        &mut self,
        actor: u32,
        running: &mut Option<Body>,
        progress: Option<&crate::Progress>,
    ) {
        let record = &mut self.actors[actor as usize];
        if let Some(progress) = progress {
            progress.enter(actor, record.host);
        }
        debug_assert!(running.is_none(), "one future is polled at a time");
        self.sends_in_step = 0;
        std::mem::swap(running, &mut record.body);
    }

    /// A new actor that has not been started.
    pub(crate) fn add_actor(&mut self, name: Option<&str>, host: HostId) -> u32 {
        assert!(
            host.0 < self.hosts.count(),
            "there is no host number {}",
            host.0
        );
        let id = u32::try_from(self.actors.len()).expect("at most 2^32 - 1 actors");
        assert!(id != NONE, "at most 2^32 - 1 actors");
        self.note(super::StepEffects::ALLOCATES);
        let mut record = ActorRecord::new(host);
        record.extra = self.spare_extras.pop();
        if let Some(name) = name {
            record.extra().name = Some(name.into());
        }
        self.actors.push(record);
        id
    }

    /// Starts an actor that was added.
    pub(crate) fn start_actor(&mut self, actor: u32) {
        let record = &mut self.actors[actor as usize];
        if record.dead {
            return;
        }
        record.created = true;
        if !record.daemon {
            self.live += 1;
        }
        if !self.host_is_on(self.actors[actor as usize].host) {
            self.lose(actor);
            return;
        }
        self.births.push_back(actor);
        self.stepping = true;
    }

    pub(crate) fn actor_name(&self, actor: u32) -> String {
        let record = &self.actors[actor as usize];
        let name = record
            .extra
            .as_ref()
            .and_then(|extra| extra.name.as_deref());
        name.map_or_else(|| (self.namer)(ActorId(actor)), str::to_owned)
    }

    /// Marks an actor as a daemon, or not.
    pub(crate) fn set_daemon(&mut self, actor: u32, daemon: bool) {
        let record = &mut self.actors[actor as usize];
        if record.dead || record.daemon == daemon {
            return;
        }
        record.daemon = daemon;
        if !record.created {
            return;
        }
        if daemon {
            self.live -= 1;
        } else {
            self.live += 1;
        }
    }

    /// Ends an actor after its future was dropped: wakes its joiners and withdraws its requests.
    /// Returns the exit hooks, to be called while the kernel is not borrowed.
    pub(crate) fn remove_actor(&mut self, actor: u32) -> Vec<ExitHook> {
        let record = &mut self.actors[actor as usize];
        if record.dead {
            return Vec::new();
        }
        record.dead = true;
        record.first.state = PendingState::Free;
        let counted = record.created && !record.daemon;
        let extra = record.extra.take();
        if counted {
            self.live -= 1;
        }
        self.progress += 1;
        self.digest.mix(u64::from(actor) << 32, u64::from(u32::MAX));
        let Some(mut extra) = extra else {
            return Vec::new();
        };
        if !extra.hooks.is_empty() {
            self.record_hidden_effect();
        }
        for mutex in extra.mutexes.drain(..) {
            self.leave_mutex(mutex, actor);
        }
        for joiner in extra.joiners.drain(..) {
            self.schedule(joiner);
        }
        let hooks = std::mem::take(&mut extra.hooks);
        extra.slots.clear();
        extra.wakers.clear();
        if extra.name.is_some() {
            self.actors[actor as usize].extra = Some(extra);
        } else if self.stepped {
            extra.recycle();
            self.spare_extras.push(extra);
        }
        hooks
    }

    /// Ends the run because an actor failed.
    pub(crate) fn fail(&mut self, actor: u32, message: String, panicked: bool) {
        self.actors[actor as usize].killed = true;
        if self.stop.is_none() {
            self.stop = Some(Stop::Failed(self.failure(actor, message, panicked)));
        }
    }

    /// Notes that an actor has failed at its end. The other actors continue. Under an explorer
    /// there is no difference, because a failure ends only its actor.
    pub(crate) fn fail_late(&mut self, actor: u32, message: String) {
        if self.stepped {
            return self.fail(actor, message, false);
        }
        if self.late_failure.is_none() {
            self.late_failure = Some(self.failure(actor, message, false));
        }
    }

    /// Returns the outcome of a run in which all actors have ended.
    pub(crate) fn outcome_of_ends(&self) -> Outcome {
        let failure = self.late_failure.clone();
        failure.map_or(Outcome::Finished, Outcome::Failed)
    }

    pub(crate) fn failure(&self, actor: u32, message: String, panicked: bool) -> Failure {
        Failure {
            actor: ActorId(actor),
            name: self.actor_name(actor),
            host: self.hosts.name(self.actors[actor as usize].host),
            time: self.now,
            message,
            panicked,
            invariant: None,
        }
    }

    /// Stops an actor, and its own work that the actor waits for, until [`Kernel::wake_up`]. The
    /// timers of the actor continue; the actor sees an expired timer when it is resumed.
    pub(crate) fn suspend(&mut self, actor: u32) {
        let record = &mut self.actors[actor as usize];
        if record.suspended || record.dead {
            return;
        }
        record.suspended = true;
        self.suspend_activities(actor, true);
    }

    /// Lets a suspended actor continue.
    pub(crate) fn wake_up(&mut self, actor: u32) {
        let record = &mut self.actors[actor as usize];
        if !record.suspended || record.dead {
            return;
        }
        record.suspended = false;
        let deferred = std::mem::take(&mut record.deferred);
        let slots = record.slots();
        let answered = slots
            .iter()
            .find(|slot| slot.state == PendingState::Answered);
        if let Some(slot) = answered {
            record.move_to_front(slot.operation_id);
        }
        let is_polled = record.is_new() || answered.is_some();
        self.suspend_activities(actor, false);
        if deferred && is_polled {
            // It has no transition to choose before it comes to its next operation.
            self.births.push_back(actor);
            self.stepping = true;
        } else if deferred {
            self.schedule(actor);
        }
    }

    /// Suspends or resumes the work that the actor waits for.
    fn suspend_activities(&mut self, actor: u32, freeze: bool) {
        for slot in self.actors[actor as usize].slots() {
            if let Transition::Wait { activity, .. } = slot.code.transition() {
                self.suspend_work(activity, freeze);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Operation;

    /// Checks the memory of a sleeping actor, without the state of its program and the 24 bytes in
    /// the queue.
    #[test]
    fn records_and_operations_stay_small() {
        assert_eq!(size_of::<ActorRecord>(), 80);
        assert_eq!(size_of::<Operation<'static, ()>>(), 56);
    }
}
