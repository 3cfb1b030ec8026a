//! Work in progress, under an explorer.
//!
//! Where no time passes, the records of the kernel mark work as ended as soon as the work begins.
//! The work is *over* from the step on that shows the end to an actor: a wait, or a test that
//! answers *yes*. Until then the work is in progress. A step that meets the work may come before or
//! after its end; each case is a branch of the step.
//!
//! * A test: branch 0 answers *yes* only if the work is over already; another branch lets the work
//!   end before the test.
//! * A cancellation: branch 0 comes after the end of a matched communication; branch 1 cancels the
//!   communication in progress.
//! * A host or a link that goes off: branch 0 comes after the end of all transfers, branch 1 fails
//!   all transfers in progress there, and each other branch fails one of them.
//!
//! *Not modelled*: a drop of a handle and the end of an actor come after the end of the transfer.
//! The state of an activity ([`crate::Activity::status`]) shows no work in progress.

use super::activities::ActivityKind;
use super::{Activities, ActivityStatus, Actors, Calendar, Kernel, NONE, Objects};
use crate::code::{Code, TransitionKindSet};
use crate::{ControlParameter, End, Transition, Work};

/// Flag in the known sides of an activity: the activity is over, whichever actor knows.
pub(super) const OVER: u8 = 4;

impl Activities {
    /// Returns true if an activity has ended, and an actor has seen the end of work in progress.
    #[inline]
    pub(crate) fn is_over(&self, slot: u32) -> bool {
        let record = self.get(slot);
        record.status == ActivityStatus::Ended
            && (!self.transfers_last || record.known != 0 || record.end == End::Cancelled)
    }

    /// Returns true if an activity has begun, and its end is not yet seen.
    pub(super) fn is_in_progress(&self, slot: u32) -> bool {
        self.has_ended(slot) && !self.is_over(slot)
    }

    /// Returns true if an operation may meet work in progress.
    #[inline]
    pub(super) fn meets_transfers(&self, code: Code) -> bool {
        self.transfers_last && code.is_among(TransitionKindSet::MEETS_TRANSFERS)
    }

    /// Returns the branches of an operation that meet work in progress, except branch 0.
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

    /// Returns true if an activity has begun, and the actor does not yet know its end. No step of
    /// another actor makes this false.
    fn may_be_on_its_way(&self, actor: u32, slot: u32) -> bool {
        let record = self.get(slot);
        let has_met = record.source != NONE && (record.received || record.begun_by_send);
        let is_receiver = record.received && record.destination == actor;
        let own = u8::from(record.source == actor) | u8::from(is_receiver) << 1;
        record.status == ActivityStatus::Ended
            && (record.kind != ActivityKind::Comm || has_met)
            && record.known & own == 0
    }

    /// The communications in progress, in an order that does not depend on the order of steps.
    fn on_their_way(&self) -> Vec<u32> {
        let is_on_its_way = |slot: &u32| {
            let record = self.get(*slot);
            record.kind == ActivityKind::Comm && self.is_in_progress(*slot)
        };
        let mut all: Vec<u32> = self.slots().filter(is_on_its_way).collect();
        all.sort_unstable_by_key(|&slot| {
            let record = self.get(slot);
            (record.mailbox, record.place)
        });
        all
    }

    /// Mixes in which communications are over, and how they ended.
    pub(super) fn digest_ends(&self, digest: &mut crate::Digest) {
        let ended = self.slots().filter(|&slot| self.has_ended(slot));
        let mut ends: Vec<(u64, u64)> = ended
            .map(|slot| {
                let record = self.get(slot);
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

    /// Returns true if a transfer uses the host or link that has just gone off.
    fn is_hit(
        &mut self,
        slot: u32,
        transition: Transition,
        actors: &Actors,
        calendar: &mut Calendar,
    ) -> bool {
        let record = self.get(slot);
        let ends = [record.source, record.destination];
        let (number, bytes, rate) = (record.number, record.amount, record.rate);
        let [from, to] = ends.map(|actor| actors[actor].host);
        if let Transition::SwitchHost { host, .. } = transition {
            return from.0 == host || to.0 == host;
        }
        let work = Work::Transfer {
            from,
            to,
            bytes,
            rate,
        };
        calendar.untimed_outcome(crate::ActivityId { number, slot }, &work) == End::Failed
    }
}

impl Objects {
    /// Cancels work in progress.
    pub(super) fn cancel_in_progress(&mut self, slot: u32) {
        let record = self.activities.get_mut(slot);
        record.end = End::Cancelled;
        let mailbox = record.mailbox;
        (self.mailboxes).remove_pending(mailbox, slot, &mut self.activities);
    }
}

impl Kernel {
    /// Changes a host or a link, and fails the transfers in progress that the branch selects.
    pub(super) fn change_under_transfers(&mut self, transition: Transition) {
        let mut failing = Vec::new();
        if self.choices.branch > 0 && goes_off(transition) {
            failing = self.objects.activities.on_their_way();
            if let Some(one) = self.choices.branch.checked_sub(2) {
                failing = failing.get(one as usize).copied().into_iter().collect();
            }
        }
        self.change_resource(transition);
        for slot in failing {
            if (self.objects.activities).is_hit(slot, transition, &self.actors, &mut self.calendar)
            {
                let record = self.objects.activities.get_mut(slot);
                record.end = End::Failed;
                record.known |= OVER;
            }
        }
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
