//! Work on its way, under an explorer.
//!
//! Where no time passes, the records of the kernel call work ended as soon as it begins. It is
//! *over* from the step on that shows it to an actor: a wait, or a test that says yes. Until then
//! it is on its way, and what meets it may come before or after its end: each is a branch of the
//! step.
//!
//! * A test: branch 0 says yes only if it is over already; another branch lets it end before the
//!   test.
//! * A cancellation: branch 0 comes too late for what both sides have posted; branch 1 catches it
//!   on its way.
//! * A host or a link that goes off: branch 0 comes after the end of all transfers, branch 1 fails
//!   all that are on their way there, and each other branch one of them.
//!
//! *Not modelled*: dropping a handle and the end of an actor come after the end of the transfer,
//! and the state of an activity ([`crate::Activity::status`]) shows no work on its way.

use super::activities::Kind;
use super::{Kernel, NONE, Status};
use crate::code::{Code, TransitionKindSet};
use crate::{ControlParameter, End, Transition, Work};

/// In what is known of an activity: it is over, whoever knows.
const OVER: u8 = 4;

impl Kernel {
    /// Returns true if an activity has ended, and was seen to have ended if it was on its way.
    #[inline]
    pub(crate) fn is_over(&self, slot: u32) -> bool {
        let record = self.activities.get(slot);
        record.status == Status::Ended
            && (!self.transfers_last || record.known != 0 || record.end == End::Cancelled)
    }

    /// Returns the progress of an activity as a number that grows: 0 before it begins, 1 while it
    /// is in progress, 2 when it is over.
    pub(super) fn progress_of(&self, slot: u32) -> u64 {
        u64::from(self.has_ended(slot)) + u64::from(self.is_over(slot))
    }

    /// Returns true if an operation may meet work on its way.
    #[inline]
    pub(super) fn meets_transfers(&self, code: Code) -> bool {
        self.transfers_last && code.is_among(TransitionKindSet::MEETS_TRANSFERS)
    }

    /// The branches of an operation that meet work on its way, but for branch 0.
    pub(super) fn meetings(&self, actor: u32, code: Code) -> Vec<u32> {
        if !self.meets_transfers(code) {
            return Vec::new();
        }
        let meets = |slot: u32| self.may_be_on_its_way(actor, slot);
        match code.transition() {
            Transition::Test { activity } | Transition::Cancel { activity } if meets(activity) => {
                vec![1]
            }
            Transition::TestAny { list } => (1..)
                .zip(&self.lists[list as usize])
                .filter_map(|(branch, &slot)| meets(slot).then_some(branch))
                .collect(),
            other if goes_off(other) => match u32::try_from(self.on_their_way().len()) {
                Ok(0) => Vec::new(),
                Ok(1) => vec![1],
                Ok(many) => (1..many + 2).collect(),
                Err(_) => unreachable!("activities are counted in 32 bits"),
            },
            _ => Vec::new(),
        }
    }

    /// Returns true if an activity has begun, and the actor does not know yet that it is over. No
    /// step of another actor makes this false.
    fn may_be_on_its_way(&self, actor: u32, slot: u32) -> bool {
        let record = self.activities.get(slot);
        let has_met = record.source != NONE && (record.received || record.begun_by_send);
        let is_receiver = record.received && record.destination == actor;
        let own = u8::from(record.source == actor) | u8::from(is_receiver) << 1;
        record.status == Status::Ended
            && (record.kind != Kind::Comm || has_met)
            && record.known & own == 0
    }

    /// The communications on their way, in an order that does not depend on that of the steps.
    fn on_their_way(&self) -> Vec<u32> {
        let is_on_its_way = |slot: &u32| {
            let record = self.activities.get(*slot);
            record.kind == Kind::Comm && self.has_ended(*slot) && !self.is_over(*slot)
        };
        let mut all: Vec<u32> = self.activities.slots().filter(is_on_its_way).collect();
        all.sort_unstable_by_key(|&slot| {
            let record = self.activities.get(slot);
            (record.mailbox, record.place)
        });
        all
    }

    /// Mixes in which communications are over, and how they ended.
    pub(super) fn digest_ends(&self, digest: &mut crate::Digest) {
        let ended = self.activities.slots().filter(|&slot| self.has_ended(slot));
        let mut ends: Vec<(u64, u64)> = ended
            .map(|slot| {
                let record = self.activities.get(slot);
                let place = u64::from(record.mailbox) << 32 | u64::from(record.place);
                (
                    place,
                    (record.end as u64) << 1 | u64::from(self.is_over(slot)),
                )
            })
            .collect();
        ends.sort_unstable();
        for (place, end) in ends {
            digest.mix(place, end << 3 | 4);
        }
    }

    /// Marks an activity as over.
    pub(super) fn mark_over(&mut self, slot: u32) {
        self.activities.get_mut(slot).known |= OVER;
    }

    /// Cancels an activity; the branch decides whether that comes too late for work on its way.
    pub(super) fn cancel_under_way(&mut self, slot: u32) {
        if self.branch == 0 {
            self.cancel_activity(slot);
            return;
        }
        if !self.has_ended(slot) || self.is_over(slot) {
            return;
        }
        let record = self.activities.get_mut(slot);
        record.end = End::Cancelled;
        let mailbox = record.mailbox;
        self.unqueue(mailbox, slot);
    }

    /// Changes a host or a link, and lets those transfers fail on their way that the branch means.
    pub(super) fn change_under_transfers(&mut self, transition: Transition) {
        let mut failing = Vec::new();
        if self.branch > 0 && goes_off(transition) {
            failing = self.on_their_way();
            if let Some(one) = self.branch.checked_sub(2) {
                failing = failing.get(one as usize).copied().into_iter().collect();
            }
        }
        self.change_resource(transition);
        for slot in failing {
            if self.is_hit(slot, transition) {
                let record = self.activities.get_mut(slot);
                record.end = End::Failed;
                record.known |= OVER;
            }
        }
    }

    /// Returns true if a transfer needs what has just gone off.
    fn is_hit(&mut self, slot: u32, transition: Transition) -> bool {
        let record = self.activities.get(slot);
        let ends = [record.source, record.destination];
        let (number, bytes, rate) = (record.number, record.amount, record.rate);
        let [from, to] = ends.map(|actor| self.actors[actor as usize].host);
        if let Transition::SwitchHost { host, .. } = transition {
            return from.0 == host || to.0 == host;
        }
        let work = Work::Transfer {
            from,
            to,
            bytes,
            rate,
        };
        self.untimed_outcome(crate::ActivityId { number, slot }, &work) == End::Failed
    }
}

/// Returns true if a transition switches a host or a link off.
const fn goes_off(transition: Transition) -> bool {
    matches!(
        transition,
        Transition::SwitchHost { on: false, .. }
            | Transition::Control {
                parameter: ControlParameter::Link,
                value: 0,
                ..
            }
    )
}
