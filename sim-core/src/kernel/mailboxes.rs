//! Mailboxes: where sends and receives meet, first in, first out.
//!
//! At any moment a mailbox holds pending requests of one kind only, sends or receives. The oldest
//! pair first. With a permanent receiver a send does not wait for a receive: the data travel to
//! that actor's host at once, and a later receive finds them on the way or arrived.

use std::collections::{BTreeMap, VecDeque};

use super::{Activities, ActivityStatus, Actors, NONE, ObjectStore, Recycle};
use crate::Executed;

/// One mailbox.
#[derive(Debug, Default)]
pub(crate) struct MailboxRecord {
    /// Pending communications, all sends or all receives.
    pub(crate) pending: VecDeque<u32>,
    /// The permanent receiver plus one, 0 if there is none.
    receiver: u32,
    /// Sends that were posted and not withdrawn.
    pub(super) sends: u32,
    /// Receives that were posted and not withdrawn.
    pub(super) receives: u32,
    /// Number of operations posted or withdrawn so far.
    pub(super) changes: u32,
}

impl Recycle for MailboxRecord {
    fn recycle(&mut self) {
        self.pending.clear();
        (self.receiver, self.sends, self.receives, self.changes) = (0, 0, 0, 0);
    }
}

/// All mailboxes, and the names of the named mailboxes.
#[derive(Debug, Default)]
pub(crate) struct Mailboxes {
    pub(crate) records: ObjectStore<MailboxRecord>,
    by_name: BTreeMap<Box<str>, u32>,
    pub(crate) names: BTreeMap<u32, Box<str>>,
}

impl Mailboxes {
    /// Forgets all mailboxes and keeps their memory.
    pub(super) fn recycle(&mut self) {
        self.records.recycle();
        self.by_name.clear();
        self.names.clear();
    }

    pub(crate) fn add_mailbox(&mut self) -> u32 {
        self.records.add().0
    }

    /// The mailbox of that name, made on first use.
    pub(crate) fn find_mailbox(&mut self, name: &str, actors: &Actors) -> u32 {
        if let Some(&mailbox) = self.by_name.get(name) {
            return mailbox;
        }
        actors.note_effect(Executed::ALLOCATES);
        let mailbox = self.add_mailbox();
        self.by_name.insert(name.into(), mailbox);
        self.names.insert(mailbox, name.into());
        mailbox
    }

    pub(crate) fn set_receiver(&mut self, mailbox: u32, receiver: Option<u32>, actors: &Actors) {
        actors.record_hidden_effect();
        self.records[mailbox as usize].receiver = receiver.map_or(0, |actor| actor + 1);
    }

    /// The permanent receiver of a mailbox.
    pub(super) fn permanent_receiver(&self, mailbox: u32) -> Option<u32> {
        self.records[mailbox as usize].receiver.checked_sub(1)
    }

    fn take_first(
        &mut self,
        mailbox: u32,
        status: ActivityStatus,
        activities: &Activities,
    ) -> Option<u32> {
        let pending = &mut self.records[mailbox as usize].pending;
        let &first = pending.front()?;
        let record = activities.get(first);
        let is_send = record.source != NONE;
        if is_send != (status == ActivityStatus::Send) {
            return None;
        }
        self.records[mailbox as usize].pending.pop_front()
    }

    /// A send of an actor: meets the oldest receive, or waits. Returns the communication, and true
    /// if the data start to travel.
    #[inline]
    pub(crate) fn post_send(
        &mut self,
        mailbox: u32,
        prepared: u32,
        actor: u32,
        activities: &mut Activities,
    ) -> (u32, bool) {
        let record = &mut self.records[mailbox as usize];
        record.sends = record.sends.wrapping_add(1);
        record.changes = record.changes.wrapping_add(1);
        let place = record.sends;
        let receiver = record.receiver;
        if let Some(receive) = self.take_first(mailbox, ActivityStatus::Receive, activities) {
            let record = activities.get_mut(prepared);
            let (message, amount, rate) = (
                std::mem::take(&mut record.message),
                record.amount,
                record.rate,
            );
            let detached = record.detached;
            activities.free(prepared);
            let record = activities.get_mut(receive);
            record.message = message;
            record.amount = amount;
            record.rate = record.rate.min(rate);
            record.source = actor;
            record.begun_by_send = receiver != 0;
            // The queue's reference becomes the sender's, unless nobody holds on to the send.
            record.references -= u32::from(detached);
            return (receive, true);
        }
        let record = activities.get_mut(prepared);
        record.status = ActivityStatus::Send;
        record.source = actor;
        record.begun_by_send = receiver != 0;
        record.place = place;
        record.references = 2 - u32::from(record.detached);
        self.records[mailbox as usize].pending.push_back(prepared);
        if receiver != 0 {
            activities.get_mut(prepared).destination = receiver - 1;
        }
        (prepared, receiver != 0)
    }

    /// A receive of an actor: meets the oldest send, or waits. Returns the communication, and true
    /// if the data start to travel.
    #[inline]
    pub(crate) fn post_receive(
        &mut self,
        mailbox: u32,
        prepared: u32,
        actor: u32,
        activities: &mut Activities,
    ) -> (u32, bool) {
        let record = &mut self.records[mailbox as usize];
        record.receives = record.receives.wrapping_add(1);
        record.changes = record.changes.wrapping_add(1);
        let place = record.receives;
        if let Some(send) = self.take_first(mailbox, ActivityStatus::Send, activities) {
            let rate = activities.get(prepared).rate;
            activities.free(prepared);
            // The queue's reference becomes the receiver's.
            let record = activities.get_mut(send);
            record.rate = record.rate.min(rate);
            record.destination = actor;
            record.received = true;
            return (send, record.status == ActivityStatus::Send);
        }
        let record = activities.get_mut(prepared);
        record.status = ActivityStatus::Receive;
        record.destination = actor;
        record.received = true;
        record.place = place;
        record.references = 2;
        self.records[mailbox as usize].pending.push_back(prepared);
        (prepared, false)
    }

    /// Removes a communication from the queue of its mailbox, if it is still there.
    pub(crate) fn remove_pending(&mut self, mailbox: u32, comm: u32, activities: &mut Activities) {
        let Some(record) = self.records.get_mut(mailbox as usize) else {
            return;
        };
        if let Some(position) = record.pending.iter().position(|&other| other == comm) {
            record.pending.remove(position);
            record.changes = record.changes.wrapping_add(1);
            let activity = activities.get_mut(comm);
            activity.references -= 1;
            // The k-th send that stays meets the k-th receive that stays.
            if activity.source == NONE {
                record.receives = record.receives.wrapping_sub(1);
            } else {
                record.sends = record.sends.wrapping_sub(1);
            }
            for &later in record.pending.range(position..) {
                let activity = activities.get_mut(later);
                activity.place = activity.place.wrapping_sub(1);
            }
        }
    }

    /// Returns true if a receive would find a send.
    pub(crate) fn has_send(&self, mailbox: u32, activities: &Activities) -> bool {
        let first = self.records[mailbox as usize].pending.front();
        first.is_some_and(|&comm| activities.get(comm).source != NONE)
    }
}
