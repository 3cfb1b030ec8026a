//! Steps for an explorer: the enabled steps, the objects that they access, and the restart.
//!
//! An explorer takes the same transitions, through the same functions, as a run. There are three
//! differences. The explorer asks whether *one* actor can continue; there is no queue of runnable
//! actors. A test that failed before waits for a change of an object that it depends on, not for
//! any change: independent steps of other actors do not enable this test. A restart of the kernel
//! keeps the memory.

use super::limits::Limits;
use super::transfers::OVER;
use super::{
    Activities, ActivityStatus, ActorRecord, Actors, Calendar, Counters, HostTable, Kernel, NONE,
    Objects, OperationSlot, PendingState, activities::ActivityKind,
};
use crate::code::{Code, TransitionKindSet};
use crate::{
    ActorId, Branch, EnabledStep, End, Executed, ExplorableDevice, Footprint, Note,
    OperationResult, QueueHead, SendCall, StepKind, Transition, WildcardReceive,
};
use source_location::SourceLocation;
use std::rc::Rc;

/// The answer *yes*, and the first answer that is a number, as numbers of
/// [`OperationResult::code`](crate::OperationResult).
const YES: u64 = 2;
const NUMBERS: u64 = 4;

/// The bits of a choice that belong to the branch; the position of the operation is above.
const BRANCH_BITS: u32 = 24;
/// The branch of a choice.
pub(crate) const BRANCH_MASK: u32 = (1 << BRANCH_BITS) - 1;

/// A choice, from the position of an operation of the actor and the branch of the operation.
fn choice(position: usize, branch: u32) -> u32 {
    assert!(
        branch < 1 << BRANCH_BITS && position < 1 << 8,
        "an explorer knows at most 2^24 branches of one step and 2^8 operations of one actor"
    );
    #[expect(clippy::cast_possible_truncation, reason = "just checked")]
    let position = position as u32;
    position << BRANCH_BITS | branch
}

impl Branch {
    /// Returns the object that the branch accesses.
    pub(crate) const fn footprint(self, actor: u32) -> Footprint {
        Footprint {
            kind: if self.draws {
                StepKind::Choose
            } else {
                StepKind::Device
            },
            object: actor,
            detail: match self.also {
                Some(also) => also.0 + 1,
                None => 0,
            },
        }
    }
}

/// State that only an explorer uses.
#[derive(Default)]
pub(crate) struct Exploration {
    /// The device if an explorer decides its arrivals.
    pub(crate) device: Option<Rc<dyn ExplorableDevice>>,
    /// The number of steps that an explorer has begun.
    pub(crate) steps: u32,
    /// True if the explorer may let the time limit of a wait expire.
    pub(crate) timeouts: bool,
    /// The time limits that expire only when no other step is possible.
    pub(crate) limits: Limits,
    /// The sends of this run, for an explorer that compares runs.
    pub(crate) sends: Option<Vec<SendCall>>,
    /// The source locations at which programs have read the clock of an untimed run, in any run.
    pub(crate) clock_reads: Vec<SourceLocation>,
    /// Notes of devices for the user of an explorer, of this run.
    pub(crate) notes: Vec<Note>,
    /// The arrivals that wildcard receives have taken in this run, in order.
    pub(crate) wildcard_receives: Vec<WildcardReceive>,
}

impl Exploration {
    /// Forgets the run and keeps its memory.
    fn recycle(&mut self) {
        if let Some(sends) = &mut self.sends {
            sends.clear();
        }
        self.wildcard_receives.clear();
        self.steps = 0;
        self.limits.clear();
    }

    /// Returns true if a pending operation waits for a choice of the explorer about the device.
    #[inline]
    fn is_branching(&self, slot: &OperationSlot) -> bool {
        slot.code == Code::DEVICE && self.device.is_some()
    }

    #[cold]
    fn device_branches(&self, actor: u32) -> Vec<Branch> {
        let mut branches = Vec::new();
        if let Some(device) = &self.device {
            device.branches(ActorId(actor), &mut branches);
        }
        branches
    }

    /// Returns the branch with this number of a parked actor, if the actor stands before branches.
    pub(crate) fn branch_of(&self, actor: u32, code: Code, number: u32) -> Option<Branch> {
        if code != Code::DEVICE {
            return None;
        }
        let branches = self.device_branches(actor);
        branches.into_iter().find(|branch| branch.number == number)
    }
}

/// The enabled steps of actors, as an explorer asks for them.
#[derive(Clone, Copy)]
pub(crate) struct StepView<'a> {
    actors: &'a Actors,
    objects: &'a Objects,
    exploration: &'a Exploration,
}

impl Objects {
    /// Returns the number of changes of the object on which the answer of a test depends, plus 1.
    pub(super) fn version_of(&self, transition: Transition) -> u64 {
        1 + match transition {
            Transition::MutexTest { mutex } => u64::from(self.mutexes[mutex as usize].departures),
            Transition::MutexTryLock { mutex } => u64::from(self.mutexes[mutex as usize].changes),
            Transition::Probe { mailbox } => {
                u64::from(self.mailboxes.records[mailbox as usize].changes)
            }
            // An activity ends once; when it has, the test succeeds anyway.
            _ => 0,
        }
    }

    /// Returns the footprint of a transition. Inlined: if it were returned through memory, the kind
    /// would be written as a byte and read with its neighbours, a stall of 4 ns.
    #[inline(always)]
    pub(crate) fn footprint(&self, actor: u32, code: Code, branch: u32) -> Footprint {
        let mut kind = StepKind::from_number(code.kind());
        if code.is_limited() {
            kind = kind.limited(branch == EnabledStep::TIME_UP, code.is_owned());
        }
        if branch > 0 {
            kind = kind.let_end();
        }
        let (object, detail) = match kind {
            StepKind::AsyncSend => {
                let mailbox = &self.mailboxes.records[code.object() as usize];
                (code.object(), mailbox.sends.wrapping_add(1))
            }
            StepKind::AsyncReceive => {
                let mailbox = &self.mailboxes.records[code.object() as usize];
                (code.object(), mailbox.receives.wrapping_add(1))
            }
            StepKind::Wait
            | StepKind::Test
            | StepKind::TestEnded
            | StepKind::Cancel
            | StepKind::Withdraw => self.activities.place_of(code.object(), actor),
            StepKind::WaitAny => {
                let list = &self.activities.lists[code.object() as usize];
                list.get(branch as usize)
                    .map_or((Footprint::NOTHING, 0), |&activity| {
                        self.activities.place_of(activity, actor)
                    })
            }
            StepKind::TestAnyEnded => {
                let member = self.activities.lists[code.object() as usize][branch as usize - 1];
                self.activities.place_of(member, actor)
            }
            StepKind::Device => (actor, 0),
            StepKind::TestAny => (code.object(), 0),
            StepKind::SemaphoreWait
            | StepKind::TimedSemaphoreWait
            | StepKind::BarrierWait
            | StepKind::CondvarAsyncLock
            | StepKind::CondvarWait
            | StepKind::TimedCondvarWait
            | StepKind::Control => (code.object(), code.detail()),
            StepKind::BarrierAsyncLock => {
                let round = self.barriers[code.object() as usize].round;
                (code.object(), round << 1 | u32::from(code.is_owned()))
            }
            StepKind::Yield | StepKind::Sleep | StepKind::Random | StepKind::TimeUp => {
                (Footprint::NOTHING, 0)
            }
            _ => (code.object(), 0),
        };
        Footprint {
            kind,
            object,
            detail,
        }
    }

    /// Returns a fingerprint of the objects: the queues of waiting actors, and the posted
    /// operations. The knowledge of the actors is not in the fingerprint.
    pub(crate) fn object_digest(&self, actors: &Actors) -> crate::Digest {
        let mut digest = crate::Digest::default();
        let mut queue = |queue: &mut dyn Iterator<Item = u64>| {
            let mut length = 0;
            for entry in queue {
                digest.mix(entry, 1);
                length += 1;
            }
            digest.mix(length, 2);
        };
        for mutex in self.mutexes.iter() {
            queue(&mut mutex.queue.iter().map(|&actor| u64::from(actor)));
        }
        for semaphore in self.semaphores.iter() {
            let waiting = semaphore.waiting.iter().map(|&(_, actor)| u64::from(actor));
            queue(&mut std::iter::once(u64::from(semaphore.value)).chain(waiting));
        }
        for barrier in self.barriers.iter() {
            // The order of arrival is of no consequence.
            let mut arrived = barrier.arrived.clone();
            arrived.sort_unstable();
            let arrived = arrived.into_iter().map(u64::from);
            queue(&mut std::iter::once(u64::from(barrier.round)).chain(arrived));
        }
        for condvar in self.condvars.iter() {
            queue(&mut condvar.waiting.iter().map(|&(_, actor)| u64::from(actor)));
            let mut signalled = condvar.signalled.clone();
            signalled.sort_unstable();
            queue(&mut signalled.into_iter().map(u64::from));
        }
        for mailbox in self.mailboxes.records.iter() {
            let pending = mailbox.pending.iter().map(|&comm| {
                let record = self.activities.get(comm);
                u64::from(record.source) << 32 | u64::from(record.destination)
            });
            queue(&mut std::iter::once(u64::from(mailbox.sends)).chain(pending));
        }
        if self.activities.transfers_last {
            self.activities.digest_ends(&mut digest);
        }
        for (actor, record) in (0_u64..).zip(&actors.records) {
            let flags = u64::from(record.dead) | u64::from(record.suspended) << 1;
            digest.mix(actor << 8 | flags, 3);
        }
        digest
    }
}

impl StepView<'_> {
    /// Returns the step that is about to be executed, without its answer.
    #[inline(always)]
    pub(crate) fn describe_step(
        &self,
        actor: u32,
        code: Code,
        (number, alternatives): (u32, u32),
        of_device: Option<Branch>,
    ) -> Executed {
        let polls = code.is_among(TransitionKindSet::POLLS);
        let question = || (self.objects.activities).question_of(code.transition(), self.actors);
        let extra = self.actors[actor].extra.as_ref().filter(|_| polls);
        let awaited = extra.is_some_and(|extra| extra.has_asked(question()));
        // What made it possible may be about another question of the loop.
        let hidden = awaited && extra.is_some_and(|extra| extra.asked.len() > 1);
        // A test that is asked again may say no only after some other step.
        let meets =
            code.is_among(TransitionKindSet::MEETS_TRANSFERS) && (alternatives > 1 || number > 0);
        let several = meets
            || code.is_among(TransitionKindSet::WAITS_FOR_ANY)
            || (code.is_limited() && code.is_among(TransitionKindSet::TAKES_TIME))
            || of_device.is_some()
            || self.actors[actor].has_more();
        let is_up = self.exploration.limits.is_up;
        Executed {
            footprint: self.accessed_object(actor, code, number, of_device),
            answer: 0,
            alternatives,
            cause: of_device.map_or(QueueHead::BEFORE, |branch| branch.cause),
            effects: if awaited { Executed::AWAITED } else { 0 }
                | if hidden { Executed::HIDDEN } else { 0 }
                | if several { Executed::SEVERAL } else { 0 }
                | if is_up { Executed::IDLE } else { 0 },
        }
    }

    /// Returns the object that a step which is about to be executed accesses.
    #[inline(always)]
    pub(crate) fn accessed_object(
        &self,
        actor: u32,
        code: Code,
        number: u32,
        of_device: Option<Branch>,
    ) -> Footprint {
        match of_device {
            Some(branch) => branch.footprint(actor),
            None => self.objects.footprint(actor, code, number),
        }
    }

    /// Returns true if a pending operation can happen, when an explorer asks.
    #[inline(always)]
    fn is_open(&self, actor: u32, slot: &OperationSlot) -> bool {
        match slot.state {
            PendingState::Free | PendingState::Answered => false,
            _ if slot.code.is_among(TransitionKindSet::FREE) || slot.code.is_limited() => true,
            state if !slot.code.is_among(TransitionKindSet::LATER_OR_POLLS) => {
                (self.objects).is_ready(actor, slot.code, state == PendingState::Fired, self.actors)
            }
            _ => self.may_happen(actor, slot),
        }
    }

    /// [`Self::is_open`] for an operation that waits for a device or a date, and for a test.
    fn may_happen(&self, actor: u32, slot: &OperationSlot) -> bool {
        match slot.state {
            _ if self.exploration.is_branching(slot) => {
                let device = self.exploration.device.as_ref();
                device.is_some_and(|device| device.has_branches(ActorId(actor)))
            }
            PendingState::Fired if slot.code.is_among(TransitionKindSet::LATER) => true,
            _ if slot.code.is_among(TransitionKindSet::POLLS) => {
                (self.objects).is_enabled(actor, slot.code, false, self.actors)
                    || !(self.objects.activities)
                        .meetings(actor, slot.code)
                        .is_empty()
            }
            state => {
                self.objects
                    .is_enabled(actor, slot.code, state == PendingState::Fired, self.actors)
            }
        }
    }

    /// Returns true if the choices of a pending operation are the choices of its transition.
    #[inline]
    fn is_simple(&self, slot: &OperationSlot) -> bool {
        !slot.code.is_limited()
            && !self.exploration.is_branching(slot)
            && !self.objects.activities.meets_transfers(slot.code)
    }

    /// Returns true if an actor can take a step.
    #[inline(always)]
    pub(crate) fn has_step(&self, actor: u32) -> bool {
        let record = &self.actors[actor];
        if !record.is_steppable() {
            return false;
        }
        if record.has_more() {
            return record.slots().iter().any(|slot| self.is_open(actor, slot));
        }
        self.is_open(actor, &record.first)
    }

    /// Returns true if the first step that an actor can take, if there is any, is choice 0.
    #[inline]
    pub(crate) fn begins_with_zero(&self, actor: u32) -> bool {
        let record = &self.actors[actor];
        !record.has_more()
            && !record.first.code.is_among(TransitionKindSet::WAITS_FOR_ANY)
            && self.is_simple(&record.first)
    }

    /// Appends the enabled steps of an actor, in the order of its operations and their branches.
    pub(crate) fn enabled_steps(&self, actor: u32, into: &mut Vec<EnabledStep>) {
        let record = self.actors.records.get(actor as usize);
        let Some(record) = record.filter(|record| record.is_steppable()) else {
            return;
        };
        if !record.has_more() {
            self.append_offers(actor, 0, &record.first, into);
            return;
        }
        for (position, slot) in record.slots().iter().enumerate() {
            self.append_offers(actor, position, slot, into);
        }
    }

    fn append_offers(
        &self,
        actor: u32,
        position: usize,
        slot: &OperationSlot,
        into: &mut Vec<EnabledStep>,
    ) {
        if !self.is_open(actor, slot) {
            return;
        }
        if self.exploration.is_branching(slot) {
            for branch in self.exploration.device_branches(actor) {
                into.push(EnabledStep {
                    choice: choice(position, branch.number),
                    footprint: branch.footprint(actor),
                });
            }
            return;
        }
        let mut enabled_step = |branch: u32| {
            into.push(EnabledStep {
                choice: choice(position, branch),
                footprint: self.objects.footprint(actor, slot.code, branch),
            });
        };
        let may_expire =
            slot.code.is_limited() && slot.code.is_among(TransitionKindSet::TAKES_TIME);
        match slot.code.transition() {
            Transition::Random { limit } => (0..limit).for_each(&mut enabled_step),
            Transition::WaitAny { list } => {
                for (member, &activity) in (0..).zip(&self.objects.activities.lists[list as usize])
                {
                    if self.objects.activities.has_ended(activity) {
                        enabled_step(member);
                    }
                }
            }
            Transition::Wait { activity, .. }
                if may_expire && !self.objects.activities.has_ended(activity) => {}
            // It waits, unless what it asks for ends now.
            _ if slot.code.is_among(TransitionKindSet::POLLS)
                && !self
                    .objects
                    .is_enabled(actor, slot.code, false, self.actors) => {}
            _ => enabled_step(0),
        }
        if may_expire {
            enabled_step(EnabledStep::TIME_UP);
        }
        for branch in self.objects.activities.meetings(actor, slot.code) {
            enabled_step(branch);
        }
    }

    /// Returns the footprint of the next step of an actor that waits in one operation, enabled or
    /// not.
    pub(crate) fn next_footprint(&self, actor: u32) -> Option<Footprint> {
        let record = self.actors.records.get(actor as usize)?;
        let slot = &record.first;
        let is_pending =
            !record.dead && !matches!(slot.state, PendingState::Free | PendingState::Answered);
        is_pending.then(|| self.objects.footprint(actor, slot.code, 0))
    }

    /// Returns the operation and the branch of a choice, and the number of choices. `None` if the
    /// choice is not possible.
    #[inline(always)]
    pub(crate) fn chosen_slot(&self, actor: u32, choice: u32) -> Option<(OperationSlot, u32, u32)> {
        let record = self.actors.records.get(actor as usize)?;
        let slot = &record.first;
        let is_only = choice == 0
            && slot.code.kind() != StepKind::Random as u8
            && self.begins_with_zero(actor);
        if is_only {
            let is_possible = record.is_steppable() && self.is_open(actor, slot);
            return is_possible.then_some((*slot, 0, 1));
        }
        self.slot_among_many(actor, choice)
    }

    /// [`Self::chosen_slot`] for an actor with other choices than 0, or with several operations.
    #[inline(never)]
    fn slot_among_many(&self, actor: u32, choice: u32) -> Option<(OperationSlot, u32, u32)> {
        let record = self.actors.records.get(actor as usize);
        let record = record.filter(|record| record.is_steppable())?;
        if !record.has_more() && choice >> BRANCH_BITS == 0 && self.is_simple(&record.first) {
            let slot = &record.first;
            if !self.is_open(actor, slot) {
                return None;
            }
            return match slot.code.transition() {
                Transition::Random { limit } if choice < limit => Some((*slot, choice, limit)),
                Transition::WaitAny { list } => Some((
                    *slot,
                    self.objects.activities.rank_of_ended(list, choice)?,
                    self.objects.activities.count_ended(list),
                )),
                Transition::Random { .. } => None,
                _ => (choice == 0).then_some((*slot, 0, 1)),
            };
        }
        let mut enabled_steps = Vec::new();
        self.enabled_steps(actor, &mut enabled_steps);
        enabled_steps
            .iter()
            .find(|enabled_step| enabled_step.choice == choice)?;
        let slot = *record.slots().get((choice >> BRANCH_BITS) as usize)?;
        let branch = choice & BRANCH_MASK;
        let branch = match slot.code.transition() {
            Transition::WaitAny { list } if branch != EnabledStep::TIME_UP => {
                self.objects.activities.rank_of_ended(list, branch)?
            }
            _ => branch,
        };
        let all = u32::try_from(enabled_steps.len()).expect("enabled steps are counted in 32 bits");
        Some((slot, branch, all))
    }
}

impl Kernel {
    /// Returns the view of an explorer on the enabled steps.
    #[inline]
    pub(crate) const fn view_steps(&self) -> StepView<'_> {
        StepView {
            actors: &self.actors,
            objects: &self.objects,
            exploration: &self.exploration,
        }
    }

    /// Forgets everything that happened and keeps the memory. Futures and messages must be gone.
    pub(crate) fn recycle_parts(&mut self) {
        self.actors.recycle();
        self.objects.recycle();
        self.calendar.recycle();
        self.exploration.recycle();
        self.counters = Counters::default();
        (self.stop, self.late_failure) = (None, None);
        self.host_states = HostTable::default();
        self.device_waits = false;
    }

    /// Executes a step of a wait with a time limit that may expire at any moment. A wait for work
    /// can end in both ways, because work takes time; except if the other side of a communication
    /// already knows the end. A wait for another object expires only while the object is not ready.
    #[cold]
    pub(crate) fn execute_limited(&mut self, actor: u32, code: Code) -> u64 {
        let up = if code.is_among(TransitionKindSet::TAKES_TIME) {
            self.choices.branch == EnabledStep::TIME_UP
                && !self.objects.activities.is_over_for_good(actor, code)
        } else {
            !self.objects.is_enabled(actor, code, false, &self.actors)
        };
        if !up {
            return self.execute_transition(actor, code);
        }
        if let Transition::Wait {
            activity,
            owned: true,
        } = code.transition()
            && self.objects.activities.has_ended(activity)
        {
            // It was on its way, and is withdrawn there: the other side will see that.
            // With a permanent receiver it may be on its way before its receive.
            self.objects.cancel_in_progress(activity);
        }
        self.expire_wait(actor, code).code()
    }
}

impl Activities {
    /// Returns true if a put or a get has ended and its actor can no longer withdraw the operation.
    fn is_over_for_good(&self, actor: u32, code: Code) -> bool {
        let Transition::Wait {
            activity,
            owned: true,
        } = code.transition()
        else {
            return false;
        };
        let record = self.get(activity);
        let others = if record.source == actor { 2 } else { 1 };
        record.status == ActivityStatus::Ended
            && (record.end != End::Done || record.known & others != 0)
    }

    /// Returns the rank of a member of a list among the members that have ended.
    fn rank_of_ended(&self, list: u32, member: u32) -> Option<u32> {
        let members = &self.lists[list as usize];
        let activity = *members.get(member as usize)?;
        if !self.has_ended(activity) {
            return None;
        }
        let before = members[..member as usize].iter();
        let rank = before.filter(|&&other| self.has_ended(other)).count();
        u32::try_from(rank).ok()
    }

    /// Notes that an actor has been told that an activity has ended.
    pub(crate) fn note_known(&mut self, actor: u32, code: Code, answer: u64) {
        if answer == const { OperationResult::Timeout.code() } {
            return;
        }
        let slot = match code.transition() {
            Transition::Wait { activity, .. } => activity,
            Transition::Test { activity } if answer == YES => activity,
            Transition::WaitAny { list } | Transition::TestAny { list } if answer >= NUMBERS => {
                let member = usize::try_from(answer - NUMBERS).unwrap_or(usize::MAX);
                match self.lists[list as usize].get(member) {
                    Some(&activity) => activity,
                    None => return,
                }
            }
            _ => return,
        };
        let record = self.get_mut(slot);
        record.known |= OVER;
        let receives = record.received && record.destination == actor;
        record.known |= u8::from(record.source == actor) | u8::from(receives) << 1;
    }

    /// Returns true if dropping a handle of an activity changes no shared state: the activity is
    /// work of this actor alone, or the actor knows its end.
    pub(super) fn is_known(&self, slot: u32, actors: &Actors) -> bool {
        let record = self.get(slot);
        let as_sender = record.source == actors.current && record.known & 1 != 0;
        let as_receiver = record.destination == actors.current && record.known & 2 != 0;
        record.kind != ActivityKind::Comm || as_sender || as_receiver
    }

    /// The mailbox and the position of a communication; [`Footprint::NOTHING`] for other activities
    /// and for a communication that was cancelled before its match: another one has its position.
    fn place_of(&self, activity: u32, actor: u32) -> (u32, u32) {
        let record = self.get(activity);
        match record.kind {
            ActivityKind::Comm
                if record.status == ActivityStatus::Ended
                    && record.end != End::Done
                    && (record.source == NONE || !record.received) =>
            {
                (Footprint::NOTHING, 0)
            }
            ActivityKind::Comm if record.status != ActivityStatus::Free => {
                let is_receiver = record.received && record.destination == actor;
                let begun = record.begun_by_send && !is_receiver;
                let begun = if begun { Footprint::BEGUN } else { 0 };
                (record.mailbox, record.place | begun)
            }
            _ => (Footprint::NOTHING, 0),
        }
    }

    /// The mailboxes and places of the members of a list of an actor.
    pub(crate) fn list_members(&self, actor: u32, list: u32, into: &mut Vec<(u32, u32)>) {
        let members = self.lists[list as usize].iter();
        into.extend(members.map(|&activity| self.place_of(activity, actor)));
    }
}

impl ActorRecord {
    /// Returns the ticket of the earliest operation that the device has ended, unless the actor is
    /// dead.
    #[inline]
    fn woken_operation(&self) -> Option<u32> {
        let is_woken =
            |slot: &OperationSlot| slot.state == PendingState::Fired && slot.code == Code::DEVICE;
        if self.has_more() {
            let earliest = self.earliest(is_woken).filter(|_| !self.dead);
            return earliest.map(|slot| slot.operation_id);
        }
        (is_woken(&self.first) && !self.dead).then_some(self.first.operation_id)
    }
}

impl Actors {
    /// Notes an effect of the present step besides its transition.
    #[inline]
    pub(crate) fn note_effect(&self, effect: u8) {
        self.effects.set(self.effects.get() | effect);
    }

    /// Notes a change of shared state, unless the present transition makes the change.
    #[inline]
    pub(crate) fn record_hidden_effect(&self) {
        if self.acting == NONE {
            self.note_effect(Executed::HIDDEN);
        }
    }

    /// Gives the answer of a chosen operation, and moves the operation into the first slot of the
    /// actor.
    #[inline]
    pub(crate) fn answer_chosen(
        &mut self,
        actor: u32,
        operation_id: u32,
        answer: u64,
        calendar: &mut Calendar,
    ) {
        let record = &mut self.records[actor as usize];
        let slot = &record.first;
        let is_first = slot.operation_id == operation_id && slot.state != PendingState::Free;
        if is_first && slot.timer() == 0 && !record.has_wakers() {
            record.first.set_answer(answer);
            return;
        }
        record.move_to_front(operation_id);
        self.give_answer(actor, operation_id, answer, calendar);
    }

    /// Forgets the failed tests of an actor after any other visible action of the actor.
    #[inline]
    pub(crate) fn forget_failures(&mut self, actor: u32, code: Code) {
        if !code.is_among(TransitionKindSet::SILENT)
            && let Some(extra) = &mut self.records[actor as usize].extra
        {
            extra.asked.clear();
        }
    }

    /// Returns an actor that the device woke and that does not stop before a choice; the actor then
    /// has its answer.
    pub(crate) fn take_woken(
        &mut self,
        exploration: &Exploration,
        calendar: &mut Calendar,
    ) -> Option<u32> {
        if self.woken.is_empty() {
            return None;
        }
        let device = exploration.device.as_ref()?;
        let records = &self.records;
        self.woken
            .retain(|&actor| records[actor as usize].woken_operation().is_some());
        let goes_on = |&&actor: &&u32| {
            !records[actor as usize].suspended && !device.has_branches(ActorId(actor))
        };
        let actor = *self.woken.iter().filter(goes_on).min()?;
        let operation_id = records[actor as usize].woken_operation()?;
        self.answer_chosen(actor, operation_id, OperationResult::Done.code(), calendar);
        Some(actor)
    }

    /// The source line of the first operation in which an actor waits.
    pub(crate) fn line_of(&self, actor: ActorId) -> Option<SourceLocation> {
        let record = self.records.get(actor.index())?;
        let slot = record.slots().first().copied()?;
        (slot.state != PendingState::Free).then_some(slot.location)
    }
}
