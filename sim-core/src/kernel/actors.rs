//! All actors of a simulation: the queue of ready actors, suspended and ending actors; and the
//! record of an actor with the slots of its pending operations.
//!
//! An actor has at most one pending operation unless its future waits for several at once (`join!`,
//! `select!`). The first operation is in the record, the others are in a box that most actors never
//! have. The record stays after the end of the actor, so that its number is never used again.

use source_location::SourceLocation;
use std::cell::Cell;
use std::collections::VecDeque;
use std::ops::{Index, IndexMut};
use std::rc::Rc;
use std::task::Waker;

use super::{Activities, Calendar, Counters, Hosts, Kernel, NONE, Objects, TurnMode};
use crate::code::Code;
use crate::simulation::{Body, ExitHook};
use crate::{ActorId, Executed, Failure, HostId, OperationResult};

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
pub(crate) struct OperationSlot {
    pub(crate) code: Code,
    pub(crate) location: SourceLocation,
    /// Before the answer the number of the timer, 0 without a timer; after that
    /// [`OperationResult::code`].
    pub(super) word: u64,
    pub(crate) operation_id: u32,
    pub(crate) state: PendingState,
}

impl OperationSlot {
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
    pub(crate) slots: Vec<OperationSlot>,
    pub(crate) wakers: Vec<(u32, Waker)>,
    pub(crate) joiners: Vec<u32>,
    pub(crate) hooks: Vec<ExitHook>,
    /// The mutexes that the actor has requested and not released: the request set.
    pub(crate) mutexes: Vec<u32>,
    /// The value of [`Actors::progress`] at the last test that failed.
    pub(crate) failed_at: u64,
    /// The question of the first test that failed since then.
    pub(crate) failed_on: u32,
    pub(crate) failures: u32,
    /// Under an explorer: the questions that the actor has asked since its last other action, in
    /// order.
    pub(crate) asked: Vec<super::polling::Asked>,
}

impl ActorColdState {
    /// Returns true if the actor has just asked this question in vain.
    pub(super) fn has_asked(&self, question: u32) -> bool {
        let mut asked = self.asked.iter();
        asked.any(|asked| !asked.yes && asked.question == question)
    }

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
    pub(crate) first: OperationSlot,
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
            first: OperationSlot {
                code: Code::YIELD,
                location: SourceLocation::caller(),
                word: 0,
                operation_id: 0,
                state: PendingState::Free,
            },
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

    /// Returns true if the actor can take its turn; a suspended actor takes the turn later.
    #[inline]
    pub(crate) fn takes_turn(&mut self) -> bool {
        if self.suspended && !self.dead {
            self.deferred = true;
        }
        !self.dead && !self.suspended
    }

    /// Returns true if an explorer may ask for steps of the actor.
    #[inline]
    pub(crate) fn is_steppable(&self) -> bool {
        !self.dead && !self.suspended && self.started
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

    /// Returns the ticket of the earliest operation with an answer.
    #[inline]
    pub(crate) fn answered(&self) -> Option<u32> {
        if self.extra.is_none() {
            return (self.first.state == PendingState::Answered).then_some(self.first.operation_id);
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
    pub(crate) fn insert(&mut self, slot: OperationSlot) {
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
    fn insert_more(&mut self, slot: OperationSlot) {
        self.extra().slots.push(slot);
    }

    #[inline]
    pub(crate) fn slot_mut(&mut self, operation_id: u32) -> Option<&mut OperationSlot> {
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
    pub(crate) fn remove(&mut self, operation_id: u32) -> Option<OperationSlot> {
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

    /// Lets the waiting operations for which a condition holds look again; true if there are any.
    #[inline]
    pub(crate) fn fire_slots(&mut self, condition: impl Fn(&OperationSlot) -> bool) -> bool {
        let fire = |slot: &mut OperationSlot| {
            let fires = slot.state == PendingState::Waiting && condition(slot);
            if fires {
                slot.state = PendingState::Fired;
            }
            fires
        };
        let mut any = fire(&mut self.first);
        if let Some(extra) = &mut self.extra {
            for slot in &mut extra.slots {
                any |= fire(slot);
            }
        }
        any
    }

    /// All pending operations, in the order in which they were issued.
    pub(crate) fn slots(&self) -> Vec<OperationSlot> {
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
    pub(crate) fn earliest(
        &self,
        counts: impl Fn(&OperationSlot) -> bool,
    ) -> Option<OperationSlot> {
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

/// All actors, and the order of their turns.
pub(crate) struct Actors {
    pub(super) records: Vec<ActorRecord>,
    pub(crate) mode: TurnMode,
    /// The actor whose future is being polled, or dropped.
    pub(crate) current: u32,
    /// The actor whose transition is being executed.
    pub(crate) acting: u32,
    /// Actors that may be able to continue, in the order in which they became so.
    pub(crate) ready: VecDeque<u32>,
    /// Actors that have been created, or resumed after they suspended themselves: they go first, up
    /// to their next operation.
    pub(super) starting: VecDeque<u32>,
    /// Actors with a failed test or probe that wait for any change.
    pub(super) pollers: Vec<u32>,
    /// Under an explorer: actors that the device has woken, and that may not have gone on.
    pub(crate) woken: Vec<u32>,
    /// Actors with futures that the loop must drop.
    to_drop: Vec<u32>,
    /// Actors that are neither daemons nor dead.
    pub(crate) live: u32,
    /// Grows whenever anything happens that a test could observe.
    pub(crate) progress: u64,
    /// Number of messages that the running actor has sent since it continued.
    pub(crate) sends_in_step: u64,
    /// The number of messages in a step beyond which an actor is ended.
    pub(crate) sends_in_step_max: u64,
    /// Effects of the current step besides its transition.
    pub(crate) effects: Cell<u8>,
    pub(crate) hosts: Rc<dyn Hosts>,
    /// Names the actors that were not given a name.
    pub(crate) namer: fn(ActorId) -> String,
    /// Records of the rarer things of actors, to be used again.
    #[expect(clippy::vec_box, reason = "the boxes are what is used again")]
    spare_extras: Vec<Box<ActorColdState>>,
}

impl Index<u32> for Actors {
    type Output = ActorRecord;

    #[inline]
    fn index(&self, actor: u32) -> &ActorRecord {
        &self.records[actor as usize]
    }
}

impl IndexMut<u32> for Actors {
    #[inline]
    fn index_mut(&mut self, actor: u32) -> &mut ActorRecord {
        &mut self.records[actor as usize]
    }
}

impl Actors {
    pub(super) fn new(hosts: Rc<dyn Hosts>) -> Self {
        Self {
            records: Vec::new(),
            mode: TurnMode::Direct,
            current: NONE,
            acting: NONE,
            ready: VecDeque::new(),
            starting: VecDeque::new(),
            pollers: Vec::new(),
            woken: Vec::new(),
            to_drop: Vec::new(),
            live: 0,
            progress: 1,
            sends_in_step: 0,
            sends_in_step_max: u64::MAX,
            effects: Cell::default(),
            hosts,
            namer: |actor| format!("actor-{actor}"),
            spare_extras: Vec::new(),
        }
    }

    /// Forgets all actors and keeps their memory.
    pub(super) fn recycle(&mut self) {
        (self.current, self.acting) = (NONE, NONE);
        for mut record in self.records.drain(..) {
            if let Some(mut extra) = record.extra.take() {
                extra.recycle();
                self.spare_extras.push(extra);
            }
        }
        self.ready.clear();
        self.starting.clear();
        self.pollers.clear();
        self.woken.clear();
        self.to_drop.clear();
        (self.progress, self.live) = (1, 0);
        self.effects.take();
    }

    /// Returns true if actors are to be started or dropped before the next choice.
    #[inline]
    pub(crate) fn has_changes(&self) -> bool {
        !self.starting.is_empty() || !self.to_drop.is_empty()
    }

    #[inline]
    pub(crate) fn must_drop(&self) -> bool {
        !self.to_drop.is_empty()
    }

    /// Lets the loop drop the future of an actor.
    pub(crate) fn drop_later(&mut self, actor: u32) {
        self.to_drop.push(actor);
    }

    /// Takes the next actor with a future that the loop must drop.
    pub(crate) fn next_to_drop(&mut self) -> Option<u32> {
        (!self.to_drop.is_empty()).then(|| self.to_drop.remove(0))
    }

    /// Takes the exit hooks of all actors, for each actor the latest first.
    pub(crate) fn take_hooks(&mut self) -> Vec<ExitHook> {
        let mut hooks: Vec<ExitHook> = Vec::new();
        for record in &mut self.records {
            if let Some(extra) = &mut record.extra {
                hooks.extend(std::mem::take(&mut extra.hooks).into_iter().rev());
            }
        }
        hooks
    }

    /// Gives the answer of a parked operation, once there is one.
    #[inline]
    pub(crate) fn take_answer(&mut self, actor: u32, operation_id: u32) -> Option<OperationResult> {
        let record = &mut self.records[actor as usize];
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
        let record = &mut self.records[actor as usize];
        let slot = record.slot_mut(operation_id)?;
        if slot.state != PendingState::Answered {
            return None;
        }
        let answer = slot.answer();
        record.remove(operation_id);
        Some(answer)
    }

    /// Puts an answer into a slot, so that the next poll of the operation finds it; the answer is
    /// a number of [`OperationResult::code`].
    pub(crate) fn give_answer(
        &mut self,
        actor: u32,
        operation_id: u32,
        answer: u64,
        calendar: &mut Calendar,
    ) {
        let record = &mut self.records[actor as usize];
        let slot = record
            .slot_mut(operation_id)
            .expect("the answered slot exists");
        let timer = slot.set_answer(answer);
        record.wake(operation_id);
        calendar.drop_timer(timer, self);
    }

    /// Adds an actor to the queue of runnable actors, unless the actor is already there.
    #[inline]
    pub(crate) fn schedule_actor(&mut self, actor: u32) {
        let record = &mut self.records[actor as usize];
        if !record.queued && !record.dead {
            record.queued = true;
            self.ready.push_back(actor);
        }
    }

    /// Puts an actor at the front of the queue of runnable actors.
    pub(crate) fn schedule_first(&mut self, actor: u32) {
        let record = &mut self.records[actor as usize];
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

    pub(crate) fn count_actors(&self) -> u32 {
        u32::try_from(self.records.len()).expect("actors are counted in 32 bits")
    }

    /// Makes an actor the polled one, and takes the future out of the record: the record must not
    /// be borrowed while user code runs.
    #[inline(always)]
    pub(crate) fn begin_poll(
        &mut self,
        actor: u32,
        running: &mut Option<Body>,
        progress: Option<&crate::RunProgress>,
    ) {
        let record = &mut self.records[actor as usize];
        if let Some(progress) = progress {
            progress.enter_poll(actor, record.host);
        }
        debug_assert!(running.is_none(), "one future is polled at a time");
        (self.current, self.sends_in_step) = (actor, 0);
        std::mem::swap(running, &mut record.body);
    }

    /// Puts the future back into the record of the polled actor; no actor is polled any more.
    #[inline(always)]
    pub(crate) fn end_poll(&mut self, actor: u32, running: &mut Option<Body>) -> &mut ActorRecord {
        debug_assert_eq!(actor, self.current, "one actor is polled at a time");
        self.current = NONE;
        let record = &mut self.records[actor as usize];
        std::mem::swap(&mut record.body, running);
        record
    }

    /// Takes the future of an actor, to be dropped. The actor is the polled one until
    /// [`Actors::clear_current`], so that a panic of a destructor is a failure of the actor.
    pub(crate) fn take_body(&mut self, actor: u32) -> Option<Body> {
        self.current = actor;
        self.records[actor as usize].body.take()
    }

    /// Notes that no future is polled or dropped any more.
    pub(crate) const fn clear_current(&mut self) {
        self.current = NONE;
    }

    /// Reserves memory for the records of further actors.
    pub(crate) fn reserve_records(&mut self, count: usize) {
        self.records.reserve_exact(count);
    }

    /// A new actor that has not been started.
    pub(crate) fn add_actor(&mut self, name: Option<&str>, host: HostId) -> u32 {
        assert!(
            host.0 < self.hosts.count(),
            "there is no host number {}",
            host.0
        );
        let id = u32::try_from(self.records.len()).expect("at most 2^32 - 1 actors");
        assert!(id != NONE, "at most 2^32 - 1 actors");
        self.note_effect(Executed::ALLOCATES);
        let mut record = ActorRecord::new(host);
        record.extra = self.spare_extras.pop();
        if let Some(name) = name {
            record.extra().name = Some(name.into());
        }
        self.records.push(record);
        id
    }

    pub(super) fn host_name(&self, actor: u32) -> String {
        self.hosts.name(self[actor].host)
    }

    pub(crate) fn actor_name(&self, actor: u32) -> String {
        let record = &self.records[actor as usize];
        let name = record
            .extra
            .as_ref()
            .and_then(|extra| extra.name.as_deref());
        name.map_or_else(|| (self.namer)(ActorId(actor)), str::to_owned)
    }

    /// Marks an actor as a daemon, or not.
    pub(crate) fn set_daemon(&mut self, actor: u32, daemon: bool) {
        let record = &mut self.records[actor as usize];
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
    pub(crate) fn end_actor(
        &mut self,
        actor: u32,
        objects: &mut Objects,
        counters: &mut Counters,
    ) -> Vec<ExitHook> {
        let record = &mut self.records[actor as usize];
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
        counters
            .digest
            .mix(u64::from(actor) << 32, u64::from(u32::MAX));
        let Some(mut extra) = extra else {
            return Vec::new();
        };
        if !extra.hooks.is_empty() {
            self.record_hidden_effect();
        }
        for mutex in extra.mutexes.drain(..) {
            objects.leave_mutex(mutex, actor, self);
        }
        for joiner in extra.joiners.drain(..) {
            self.schedule_actor(joiner);
        }
        let hooks = std::mem::take(&mut extra.hooks);
        extra.slots.clear();
        extra.wakers.clear();
        if extra.name.is_some() {
            self.records[actor as usize].extra = Some(extra);
        } else if self.mode.is_stepped() {
            extra.recycle();
            self.spare_extras.push(extra);
        }
        hooks
    }

    /// Stops an actor, and its own work that the actor waits for, until [`Actors::wake_up`]. The
    /// timers of the actor continue; the actor sees an expired timer when it is resumed.
    pub(crate) fn suspend_actor(
        &mut self,
        actor: u32,
        activities: &mut Activities,
        calendar: &mut Calendar,
    ) {
        let record = &mut self.records[actor as usize];
        if record.suspended || record.dead {
            return;
        }
        record.suspended = true;
        activities.suspend_waits(&record.slots(), true, calendar);
    }

    /// Lets a suspended actor continue.
    pub(crate) fn wake_up(
        &mut self,
        actor: u32,
        activities: &mut Activities,
        calendar: &mut Calendar,
    ) {
        let record = &mut self.records[actor as usize];
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
        let is_polled = !record.started || answered.is_some();
        activities.suspend_waits(&slots, false, calendar);
        if deferred && is_polled {
            // It has no transition to choose before it comes to its next operation.
            self.start_turn(actor);
        } else if deferred {
            self.schedule_actor(actor);
        }
    }
}

impl Kernel {
    pub(crate) fn describe_failure(&self, actor: u32, message: String, panicked: bool) -> Failure {
        Failure {
            actor: ActorId(actor),
            name: self.actors.actor_name(actor),
            host: self.actors.host_name(actor),
            time: self.calendar.now,
            message,
            panicked,
            invariant: None,
        }
    }

    /// Starts an actor that was added.
    pub(crate) fn start_actor(&mut self, actor: u32) {
        let record = &mut self.actors[actor];
        if record.dead {
            return;
        }
        record.created = true;
        if !record.daemon {
            self.actors.live += 1;
        }
        if !self.host_states.host_is_on(self.actors[actor].host) {
            self.lose_actor(actor);
            return;
        }
        self.actors.start_turn(actor);
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
