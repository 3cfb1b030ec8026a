//! Activities: computations and communications in progress, with one vocabulary.
//!
//! A communication goes through *send* or *receive* (one side is posted), *ready* (both sides are
//! posted, the data travel) and *ended*. A record is used again once no handle and no queue refers
//! to the record.
//!
//! Work of a device has a slot, too, and no record: only the token of the device.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::{Actors, Calendar, Kernel, NONE, OperationSlot};
use crate::{
    ActivityId, Change, DiskId, End, Io, Message, Outcome, ParallelWork, Transition, Work,
};

/// The status of an activity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ActivityStatus {
    /// The record is not in use.
    Free,
    /// The operation has been made but not issued.
    Prepared,
    /// A send that no receive has met.
    Send,
    /// A receive that no send has met.
    Receive,
    /// The data travel, or the computation runs.
    Ready,
    /// The activity has ended.
    Ended,
}

/// Kind of an activity.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) enum ActivityKind {
    Comm,
    Exec {
        threads: u32,
        priority: f64,
    },
    Io {
        disk: DiskId,
        operation: Io,
        priority: f64,
    },
    /// A parallel task; the work is in [`Activities::parallel`] until the task begins.
    Parallel,
}

/// The token of a slot without work of a device.
const NO_TOKEN: u64 = u64::MAX;

/// One activity.
#[derive(Debug)]
pub(crate) struct Activity {
    pub(crate) number: u64,
    pub(crate) status: ActivityStatus,
    pub(crate) end: End,
    pub(crate) kind: ActivityKind,
    /// The sending actor, or the one that computes.
    pub(crate) source: u32,
    /// The receiving actor.
    pub(crate) destination: u32,
    pub(crate) mailbox: u32,
    /// The position among the sends and among the receives of the mailbox, from 1; 0 before the
    /// activity is posted.
    pub(crate) place: u32,
    /// Handles and queues that refer to the record.
    pub(crate) references: u32,
    pub(crate) detached: bool,
    /// True if the mailbox had a permanent receiver at the send: the communication began then.
    pub(super) begun_by_send: bool,
    /// True if a receive has been posted for the communication.
    pub(super) received: bool,
    /// Sides of a communication that know its end, as flags: 1 the sender, 2 the receiver, 4 any
    /// other actor. Kept for explorers only.
    pub(super) known: u8,
    /// True if the work is suspended because an actor that waits for the work is suspended.
    frozen: bool,
    pub(crate) message: Message,
    /// Bytes or flop, or 1 for a parallel task.
    pub(crate) amount: f64,
    /// Upper limit in bytes/s or flop/s.
    pub(crate) rate: f64,
    waiters: [u32; 2],
    more_waiters: Vec<u32>,
}

impl Activity {
    const FREE: Self = Self {
        number: 0,
        status: ActivityStatus::Free,
        end: End::Done,
        kind: ActivityKind::Comm,
        source: NONE,
        destination: NONE,
        mailbox: NONE,
        place: 0,
        references: 0,
        detached: false,
        begun_by_send: false,
        received: false,
        known: 0,
        frozen: false,
        message: Message::Empty,
        amount: 0.0,
        rate: f64::INFINITY,
        waiters: [NONE; 2],
        more_waiters: Vec::new(),
    };

    /// Returns the name of the activity for the resource.
    const fn resource_id(&self, slot: u32) -> ActivityId {
        ActivityId {
            number: self.number,
            slot,
        }
    }
}

/// All activities.
#[derive(Debug, Default)]
pub(crate) struct Activities {
    /// By slot, up to the last slot that an activity of an actor has had.
    records: Vec<Activity>,
    /// The tokens of work of the device by slot, up to the last slot that such work has had.
    tokens: Vec<u64>,
    /// The number of slots that have been given out.
    slots: u32,
    free: Vec<u32>,
    /// Parallel tasks that have not begun, by slot.
    parallel: BTreeMap<u32, Rc<ParallelWork>>,
    /// Lists of activities, for the operations on any activity of a list.
    pub(super) lists: Vec<Vec<u32>>,
    free_lists: Vec<u32>,
    /// True if, under an explorer, work is in progress until an actor observes its end.
    pub(crate) transfers_last: bool,
}

impl Activities {
    /// Makes sure that the end of the awaited object wakes the actor.
    pub(super) fn await_object(&mut self, actor: u32, transition: Transition, actors: &mut Actors) {
        match transition {
            Transition::Wait { activity, .. } => self.await_activity(activity, actor),
            Transition::Join { target } => {
                actors[target.0].extra().joiners.push(actor);
            }
            Transition::WaitAny { list } => self.await_any(list, actor),
            _ => {}
        }
    }

    /// Takes a slot that is not in use.
    #[inline]
    fn take_slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            let slot = self.slots;
            let count = slot.checked_add(1);
            self.slots = count.expect("activities at one time are counted in 32 bits");
            slot
        })
    }

    #[inline]
    fn insert(&mut self, activity: Activity) -> u32 {
        let slot = self.take_slot();
        if let Some(record) = self.records.get_mut(slot as usize) {
            *record = activity;
        } else {
            self.records.resize_with(slot as usize, || Activity::FREE);
            self.records.push(activity);
        }
        slot
    }

    /// Takes a slot for work of the device.
    #[inline]
    pub(crate) fn insert_device_work(&mut self, token: u64) -> u32 {
        let slot = self.take_slot();
        let at = slot as usize;
        if self.tokens.len() <= at {
            self.tokens.resize(at + 1, NO_TOKEN);
        }
        self.tokens[at] = token;
        slot
    }

    /// Returns the token of the work of the device in a slot, and frees the slot; `None` if an
    /// activity of an actor has the slot.
    #[inline]
    pub(crate) fn take_device_work(&mut self, slot: u32) -> Option<u64> {
        let token = self.tokens.get_mut(slot as usize)?;
        if *token == NO_TOKEN {
            return None;
        }
        self.free.push(slot);
        Some(std::mem::replace(token, NO_TOKEN))
    }

    /// A list of activities for a wait-any.
    pub(crate) fn add_list(&mut self, members: Vec<u32>) -> u32 {
        if let Some(list) = self.free_lists.pop() {
            self.lists[list as usize] = members;
            return list;
        }
        self.lists.push(members);
        let list = u32::try_from(self.lists.len() - 1).expect("lists are counted in 32 bits");
        assert!(list != NONE, "lists are counted in 32 bits");
        list
    }

    pub(crate) fn free_list(&mut self, list: u32) {
        self.lists[list as usize].clear();
        self.free_lists.push(list);
    }

    /// Frees the list of a wait-any that was dropped.
    pub(crate) fn free_list_of(&mut self, transition: Transition) {
        if let Transition::WaitAny { list } | Transition::TestAny { list } = transition {
            self.free_list(list);
        }
    }

    /// The slots of all activities.
    pub(crate) fn slots(&self) -> impl Iterator<Item = u32> {
        let in_use = (0..).zip(&self.records);
        let in_use = in_use.filter(|(_, record)| record.status != ActivityStatus::Free);
        in_use.map(|(slot, _)| slot)
    }

    #[inline]
    pub(crate) fn get(&self, slot: u32) -> &Activity {
        &self.records[slot as usize]
    }

    #[inline]
    pub(crate) fn get_mut(&mut self, slot: u32) -> &mut Activity {
        &mut self.records[slot as usize]
    }

    /// Forgets all activities and keeps their memory. Messages must have been taken before.
    pub(super) fn recycle(&mut self) {
        self.records.clear();
        self.tokens.clear();
        self.slots = 0;
        self.free.clear();
        self.parallel.clear();
        self.free_lists.clear();
        self.lists.clear();
    }

    /// Takes the message, for the get.
    pub(crate) fn take_message(&mut self, slot: u32) -> Message {
        std::mem::take(&mut self.get_mut(slot).message)
    }

    /// All messages that have not been taken.
    pub(crate) fn take_messages(&mut self) -> Vec<Message> {
        let values = self.records.iter_mut().map(|record| &mut record.message);
        values
            .filter(|message| matches!(message, Message::Value(_)))
            .map(std::mem::take)
            .collect()
    }

    pub(crate) fn free(&mut self, slot: u32) {
        let record = &mut self.records[slot as usize];
        debug_assert!(
            record.status != ActivityStatus::Free,
            "an activity is freed once"
        );
        record.status = ActivityStatus::Free;
        record.message = Message::Empty;
        record.more_waiters = Vec::new();
        if matches!(record.kind, ActivityKind::Parallel) {
            self.parallel.remove(&slot);
        }
        self.free.push(slot);
    }

    /// A record for one side of a communication that has not been posted.
    #[inline]
    pub(crate) fn prepare_comm(
        &mut self,
        mailbox: u32,
        message: Message,
        bytes: f64,
        rate: f64,
        detached: bool,
    ) -> u32 {
        self.insert(Activity {
            status: ActivityStatus::Prepared,
            mailbox,
            references: 1,
            detached,
            message,
            amount: bytes,
            rate,
            ..Activity::FREE
        })
    }

    /// Forgets a prepared communication with an operation that was never issued.
    pub(crate) fn discard_prepared(&mut self, comm: u32) {
        if self.get(comm).status == ActivityStatus::Prepared {
            self.free(comm);
        }
    }

    /// Returns a record for work that involves only one actor, with one reference; `rate` is the
    /// upper limit of the rate.
    pub(crate) fn prepare_work(
        &mut self,
        actor: u32,
        kind: ActivityKind,
        amount: f64,
        rate: f64,
    ) -> u32 {
        let slot = self.prepare_comm(NONE, Message::Empty, amount, rate, false);
        let record = self.get_mut(slot);
        record.kind = kind;
        record.source = actor;
        slot
    }

    /// A record for a parallel task, with one reference.
    pub(crate) fn prepare_parallel(&mut self, actor: u32, work: Rc<ParallelWork>) -> u32 {
        let slot = self.prepare_work(actor, ActivityKind::Parallel, 1.0, f64::INFINITY);
        self.parallel.insert(slot, work);
        slot
    }

    /// Makes sure that the end of an activity wakes the actor.
    #[inline]
    pub(crate) fn await_activity(&mut self, slot: u32, actor: u32) {
        let record = self.get_mut(slot);
        if record.waiters.contains(&actor) {
            return;
        }
        if let Some(place) = record.waiters.iter_mut().find(|place| **place == NONE) {
            *place = actor;
        } else if !record.more_waiters.contains(&actor) {
            record.more_waiters.push(actor);
        }
    }

    /// Makes sure that the end of any activity of a list wakes the actor.
    pub(crate) fn await_any(&mut self, list: u32, actor: u32) {
        for position in 0..self.lists[list as usize].len() {
            let activity = self.lists[list as usize][position];
            self.await_activity(activity, actor);
        }
    }

    #[inline]
    pub(crate) fn has_ended(&self, slot: u32) -> bool {
        self.get(slot).status == ActivityStatus::Ended
    }

    /// Gives back one reference to an activity.
    pub(crate) fn release_activity(&mut self, slot: u32) {
        let record = self.get_mut(slot);
        if record.status == ActivityStatus::Free {
            return;
        }
        record.references = record
            .references
            .checked_sub(1)
            .expect("references are counted");
        if record.references == 0 && record.status == ActivityStatus::Ended {
            self.free(slot);
        }
    }

    /// The position in a list of the `branch`-th member that has ended.
    pub(crate) fn first_ended(&self, list: u32, branch: u32) -> Option<u32> {
        let ended = self.lists[list as usize]
            .iter()
            .enumerate()
            .filter(|&(_, &slot)| self.has_ended(slot));
        let position = ended.map(|(position, _)| position).nth(branch as usize)?;
        u32::try_from(position).ok()
    }

    /// The position of the first member of a list that is over.
    pub(super) fn first_over(&self, list: u32) -> Option<u32> {
        let mut members = self.lists[list as usize].iter();
        u32::try_from(members.position(|&slot| self.is_over(slot))?).ok()
    }

    pub(crate) fn count_ended(&self, list: u32) -> u32 {
        let ended = self.lists[list as usize]
            .iter()
            .filter(|&&slot| self.has_ended(slot))
            .count();
        u32::try_from(ended).expect("a list is counted in 32 bits")
    }

    /// Suspends or resumes the work that an actor waits for with these operations.
    pub(super) fn suspend_waits(
        &mut self,
        slots: &[OperationSlot],
        freeze: bool,
        calendar: &mut Calendar,
    ) {
        for slot in slots {
            if let Transition::Wait { activity, .. } = slot.code.transition() {
                self.suspend_work(activity, freeze, calendar);
            }
        }
    }

    /// Suspends or resumes running work that involves only one actor.
    pub(crate) fn suspend_work(&mut self, slot: u32, freeze: bool, calendar: &mut Calendar) {
        let record = self.get_mut(slot);
        if matches!(record.kind, ActivityKind::Comm)
            || record.status != ActivityStatus::Ready
            || record.frozen == freeze
        {
            return;
        }
        record.frozen = freeze;
        let activity = record.resource_id(slot);
        calendar
            .resource
            .set_suspended(activity, freeze, calendar.now);
    }

    /// The bytes or flop that an activity has left, or the part of a parallel task.
    pub(crate) fn remaining_work(&mut self, slot: u32, calendar: &mut Calendar) -> f64 {
        let record = self.get(slot);
        match record.status {
            ActivityStatus::Ended | ActivityStatus::Free => 0.0,
            ActivityStatus::Ready => calendar
                .resource
                .remaining(record.resource_id(slot), calendar.now),
            ActivityStatus::Prepared | ActivityStatus::Send | ActivityStatus::Receive => {
                record.amount
            }
        }
    }

    pub(crate) fn update_activity(&mut self, slot: u32, change: Change, calendar: &mut Calendar) {
        let record = self.get(slot);
        if record.status == ActivityStatus::Ready {
            calendar
                .resource
                .update(record.resource_id(slot), change, calendar.now);
        }
    }
}

impl Kernel {
    /// Starts prepared work that involves only one actor; has no effect on other activities.
    #[inline]
    pub(crate) fn begin_work(&mut self, slot: u32) {
        let record = self.objects.activities.get(slot);
        if record.status != ActivityStatus::Prepared {
            return;
        }
        let work = match record.kind {
            ActivityKind::Exec { threads, priority } => Work::Exec {
                host: self.actors[record.source].host,
                threads,
                flops: record.amount,
                priority,
                bound: record.rate,
            },
            ActivityKind::Io {
                disk,
                operation,
                priority,
            } => Work::Io {
                disk,
                operation,
                bytes: record.amount,
                priority,
            },
            ActivityKind::Parallel => match self.objects.activities.parallel.remove(&slot) {
                Some(work) => Work::Parallel(work),
                None => return,
            },
            ActivityKind::Comm => return,
        };
        self.start_work(slot, &work);
    }

    /// Starts a communication with two known sides.
    pub(crate) fn start_comm(&mut self, slot: u32) {
        let record = self.objects.activities.get(slot);
        let (from, mut to) = (record.source, record.destination);
        if record.begun_by_send && !self.calendar.is_timed() {
            // Whether the send or the receive comes first must not decide which links it needs.
            to = (self.objects.mailboxes)
                .permanent_receiver(record.mailbox)
                .unwrap_or(to);
        }
        let work = Work::Transfer {
            from: self.actors[from].host,
            to: self.actors[to].host,
            bytes: record.amount,
            rate: record.rate,
        };
        self.counters.messages += 1;
        self.counters.bytes += record.amount;
        self.start_work(slot, &work);
    }

    #[inline]
    pub(crate) fn start_work(&mut self, slot: u32, work: &Work) {
        let number = self.calendar.next_number();
        let record = self.objects.activities.get_mut(slot);
        record.number = number;
        record.status = ActivityStatus::Ready;
        if !self.calendar.is_timed() {
            let end = if self.host_states.links_changed {
                (self.calendar).untimed_outcome(ActivityId { number, slot }, work)
            } else {
                End::Done
            };
            self.finish_activity(slot, end);
        } else if let Err(error) =
            self.calendar
                .resource
                .start(ActivityId { number, slot }, work, self.calendar.now)
        {
            self.stop.get_or_insert(Outcome::BadInput(error.0));
            // The resource does not know it, so nobody may cancel it any more.
            self.finish_activity(slot, End::Failed);
        }
    }

    /// Marks an activity as ended and wakes the actors that wait for the activity.
    pub(crate) fn finish_activity(&mut self, slot: u32, end: End) {
        let record = self.objects.activities.get_mut(slot);
        record.status = ActivityStatus::Ended;
        record.end = end;
        let (waiters, more) = (record.waiters, std::mem::take(&mut record.more_waiters));
        record.waiters = [NONE; 2];
        let unreferenced = record.references == 0;
        for actor in waiters
            .into_iter()
            .chain(more)
            .filter(|&actor| actor != NONE)
        {
            self.actors.schedule_actor(actor);
        }
        if unreferenced {
            self.objects.activities.free(slot);
        }
    }

    /// Ends an activity without success; the other side of a communication sees the end too.
    pub(crate) fn cancel_activity(&mut self, slot: u32) {
        let record = self.objects.activities.get(slot);
        let (number, mailbox) = (record.number, record.mailbox);
        if !matches!(
            record.status,
            ActivityStatus::Free | ActivityStatus::Ended | ActivityStatus::Prepared
        ) {
            self.actors.record_hidden_effect();
        }
        match record.status {
            ActivityStatus::Free | ActivityStatus::Ended => {}
            ActivityStatus::Prepared => self.objects.activities.free(slot),
            status => {
                let (objects, calendar) = (&mut self.objects, &mut self.calendar);
                if status == ActivityStatus::Ready {
                    (calendar.resource).cancel(ActivityId { number, slot }, calendar.now);
                }
                (objects.mailboxes).remove_pending(mailbox, slot, &mut objects.activities);
                self.finish_activity(slot, End::Cancelled);
            }
        }
    }

    /// Cancels an unfinished activity because its last handle was dropped.
    pub(crate) fn drop_handle(&mut self, slot: u32) {
        if self.actors.mode.is_stepped() && !self.objects.activities.is_known(slot, &self.actors) {
            self.actors.record_hidden_effect();
        }
        if !self.objects.activities.has_ended(slot) {
            self.cancel_activity(slot);
        }
        self.objects.activities.release_activity(slot);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The rare kinds of work do not make the record of a communication larger.
    #[test]
    fn kinds_stay_small() {
        assert_eq!(size_of::<ActivityKind>(), 16);
    }
}
