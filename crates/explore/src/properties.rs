//! Facts about the program that are discovered during the search and change the dependency
//! relation.
//!
//! The search restarts when a fact is discovered. Facts are only added, so the search restarts only
//! a few times.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use sim_core::OrderSensitivity;

use crate::independence::Lists;

/// The facts discovered so far.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct ProgramProperties {
    /// By barrier: the actors that have used the barrier, over all runs.
    pub(crate) users: Vec<Vec<u16>>,
    /// By barrier: true if the number of actors exceeds the size.
    pub(crate) oversubscribed: Vec<bool>,
    /// By actor: effects of the steps with answers that may change. All such steps of the actor are
    /// assumed to have these effects, whatever the answer: the dependency relation must not depend
    /// on answers.
    pub(crate) may_have_effects: Vec<u8>,
    /// By actor: the part of the order of deliveries that the actor can observe.
    pub(crate) order_sensitive: Vec<OrderSensitivity>,
    /// The program states invariants, which may read whatever a step changes, so all steps are
    /// dependent.
    pub(crate) has_invariants: bool,
}

impl ProgramProperties {
    /// Returns true if the number of actors that use a barrier exceeds its size.
    pub(crate) fn is_oversubscribed(&self, barrier: u32) -> bool {
        self.oversubscribed
            .get(barrier as usize)
            .is_some_and(|&oversubscribed| oversubscribed)
    }

    /// Records that an actor uses a barrier made for `size` actors. Returns true if this changes
    /// the dependency relation.
    pub(crate) fn note_user(&mut self, actor: u16, barrier: u32, size: u32) -> bool {
        let index = barrier as usize;
        if index >= self.users.len() {
            self.users.resize_with(index + 1, Vec::new);
            self.oversubscribed.resize(index + 1, false);
        }
        if self.oversubscribed[index] || self.users[index].contains(&actor) {
            return false;
        }
        self.users[index].push(actor);
        self.oversubscribed[index] = self.users[index].len() > size as usize;
        self.oversubscribed[index]
    }

    /// Returns the part of the order of deliveries to an actor that may matter.
    #[inline]
    pub(crate) fn order_sensitivity(&self, actor: u32) -> OrderSensitivity {
        let known = self.order_sensitive.get(actor as usize);
        known.copied().unwrap_or_default()
    }

    /// Records the part of the order of deliveries to an actor that may matter.
    pub(crate) fn note_order_sensitive(&mut self, actor: u32, order_sensitivity: OrderSensitivity) {
        let index = actor as usize;
        if index >= self.order_sensitive.len() {
            self.order_sensitive
                .resize(index + 1, OrderSensitivity::Never);
        }
        self.order_sensitive[index] = self.order_sensitive[index].max(order_sensitivity);
    }

    /// Merges the order sensitivities that another search found.
    pub(crate) fn merge_order_sensitive(&mut self, other: &Self) {
        for (actor, &order_sensitivity) in (0..).zip(&other.order_sensitive) {
            self.note_order_sensitive(actor, order_sensitivity);
        }
    }

    /// Records effects of a step with an uncertain answer. Returns true if an effect is new.
    pub(crate) fn note_effects(&mut self, actor: u16, effects: u8) -> bool {
        let index = actor as usize;
        if index >= self.may_have_effects.len() {
            self.may_have_effects.resize(index + 1, 0);
        }
        let is_new = effects & !self.may_have_effects[index] != 0;
        self.may_have_effects[index] |= effects;
        is_new
    }
}

/// The communications that are tested at once, each as mailbox and place.
pub(crate) type List = Vec<(u32, u32)>;

/// The lists of communications that are tested, in the order in which they were first seen on any
/// thread: all threads number them in this order, so that all give them the same numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct SharedLists(Arc<Mutex<Vec<List>>>);

impl SharedLists {
    /// The number of a list, which `own` knows afterwards, with all others that were known before.
    pub(crate) fn list_number(&self, list: &[(u32, u32)], own: &mut Lists) -> u32 {
        let mut all = self.lock();
        if !all.iter().any(|other| other == list) {
            all.push(list.to_vec());
        }
        drop(all);
        self.bring_to(own);
        own.list_number(list)
    }

    /// Brings `own` up to date.
    pub(crate) fn bring_to(&self, own: &mut Lists) {
        for list in &*self.lock() {
            own.list_number(list);
        }
    }

    /// All of them in order.
    pub(crate) fn to_vec(&self) -> Vec<List> {
        self.lock().clone()
    }

    /// Lists in this order.
    pub(crate) fn from_vec(lists: Vec<List>) -> Self {
        Self(Arc::new(Mutex::new(lists)))
    }

    fn lock(&self) -> MutexGuard<'_, Vec<List>> {
        // A list is pushed whole or not at all.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_have_one_number_on_all_threads() {
        let shared = SharedLists::default();
        let (mut one, mut other) = (Lists::default(), Lists::default());
        let first = shared.list_number(&[(0, 1)], &mut one);
        let second = shared.list_number(&[(0, 2)], &mut other);
        assert_eq!(shared.list_number(&[(0, 1)], &mut other), first);
        assert_ne!(first, second);
        shared.bring_to(&mut one);
        assert_eq!(one.get(second), [(0, 2)]);
    }

    #[test]
    fn a_barrier_is_crowded_from_one_actor_too_many_on() {
        let mut properties = ProgramProperties::default();
        let learnt: Vec<bool> = [3, 4, 3, 5, 6]
            .into_iter()
            .map(|actor| properties.note_user(actor, 1, 2))
            .collect();
        assert_eq!(learnt, [false, false, false, true, false]);
        assert!(
            properties.is_oversubscribed(1)
                && !properties.is_oversubscribed(0)
                && !properties.is_oversubscribed(2)
        );
    }
}
