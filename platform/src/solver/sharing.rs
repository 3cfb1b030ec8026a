//! The solver as the model sees it: flows that declare their links, enter, leave, and end at dates.
//!
//! A flow is known by its slot, a capacity by its number. A flow declares what it uses once ([`Solver::declare`],
//! [`Solver::cross`]), may then enter and leave several times, and is forgotten by [`Solver::forget`]. Between
//! [`Solver::solve`]s all changes belong to one instant.
//!
//! Capacities that nobody uses cost nothing: a table from numbers to links in use is zeroed memory that the system does not
//! even provide until it is touched.

use sim_core::Time;

use super::Solver;
use super::clock::Clock;
use super::heap::ABSENT;
use super::state::{Element, Flow, Link, Owner, index, owner};

/// Different coefficients that one solver can tell apart.
const CLASSES_MAX: usize = 256;
/// A batch is solved from scratch when so many flows arrive at once,
const BATCH_MIN: usize = 64;
/// and they are more than this part of all flows.
const BATCH_PART: usize = 2;
/// Updates of flows, per flow, after which an incremental solve is given up, because starting from scratch costs less.
const UPDATES_PER_FLOW: usize = 3;

impl Solver {
    /// A solver for capacities with numbers below `capacities`.
    #[must_use]
    pub fn new(capacities: usize) -> Self {
        Self {
            link_of: vec![0; capacities],
            ..Self::default()
        }
    }

    /// Begins to declare the flow in `slot`.
    pub fn declare(&mut self, slot: u32) {
        let count = slot as usize + 1;
        if self.state.flows.len() < count {
            self.state.flows.resize(count, Flow::NEW);
            self.flows_at.resize(count, ABSENT);
        }
        debug_assert!(self.state.flows[slot as usize].elements.is_empty());
        self.declarations += 1;
    }

    /// Lets the flow that is being declared use a capacity; several uses of one capacity add up.
    ///
    /// # Errors
    /// If there are more than 256 different coefficients.
    pub fn cross(
        &mut self,
        slot: u32,
        number: u32,
        capacity: f64,
        coefficient: f64,
    ) -> Result<(), TooManyCoefficients> {
        let link = self.link(number, capacity);
        let (declaration, at) = self.state.links[link].declared;
        if declaration == self.declarations {
            let old = self.state.flows[slot as usize].elements[at as usize];
            let sum = self.state.classes[old.class() as usize] + coefficient;
            let class = self.class(sum)?;
            self.state.flows[slot as usize].elements[at as usize] =
                Element::new(index(link), 0, class);
            return Ok(());
        }
        let class = self.class(coefficient)?;
        let elements = &mut self.state.flows[slot as usize].elements;
        self.state.links[link].declared = (self.declarations, index(elements.len()));
        self.state.links[link].references += 1;
        elements.push(Element::new(index(link), 0, class));
        Ok(())
    }

    /// Forgets what the flow in `slot` uses; it does not share at the moment.
    pub fn forget(&mut self, slot: u32) {
        let mut elements = std::mem::take(&mut self.state.flows[slot as usize].elements);
        for element in &elements {
            let link = &mut self.state.links[element.link()];
            link.references -= 1;
            if link.references == 0 {
                self.link_of[link.number as usize] = 0;
                self.free.push(index(element.link()));
            }
        }
        elements.clear();
        self.state.flows[slot as usize].elements = elements;
    }

    /// [`Solver::forget`] for a slot that may never have been declared.
    pub(crate) fn forget_if_declared(&mut self, slot: u32) {
        if (slot as usize) < self.state.flows.len() {
            self.forget(slot);
        }
    }

    /// Lets the flow in `slot` share from now on, with `work` left.
    pub fn enter(&mut self, slot: u32, weight: f64, bound: f64, work: f64, now: Time) {
        self.now = now;
        let flow = slot as usize;
        let entry = &mut self.state.flows[flow];
        debug_assert!(entry.owner == Owner::Out);
        (entry.weight, entry.bound, entry.limit) = (weight, bound, bound / weight);
        (entry.tag, entry.clock, entry.watched) = (work, Owner::Out, 0);
        self.state.sharing += 1;
        self.arrivals += 1;
        self.changed = true;
        for slot in 0..self.state.flows[flow].elements.len() {
            self.state.attach(flow, slot);
        }
        self.watch_first(flow);
        let (level, owner) = self.first_owner(flow);
        self.state.flows[flow].alone = level;
        if !std::mem::replace(&mut self.state.flows[flow].moved, true) {
            self.state.moved.push(slot);
        }
        if owner == Owner::Nobody {
            self.state.flows[flow].owner = owner;
            for slot in 0..self.state.flows[flow].elements.len() {
                let link = self.state.flows[flow].elements[slot].link();
                self.state.links[link].nobodys += 1;
            }
        } else {
            self.state.change_owner(flow, owner, level);
        }
        self.join_loads(flow, level, owner);
        self.review_suspects();
        if owner == Owner::Nobody {
            self.mark_narrowest(flow, level);
        }
    }

    /// Puts the elements of a flow that are on watched links first.
    fn watch_first(&mut self, flow: usize) {
        for slot in 0..self.state.flows[flow].elements.len() {
            let link = self.state.flows[flow].elements[slot].link();
            if self.state.links[link].watched {
                let first = self.state.flows[flow].watched as usize;
                self.state.swap_elements(flow, slot, first);
                self.state.flows[flow].watched += 1;
            }
        }
    }

    /// The owner of a new flow, and its level.
    fn first_owner(&self, flow: usize) -> (f64, Owner) {
        let found = self.state.second(flow, usize::MAX);
        if found.0 < f64::INFINITY {
            return found;
        }
        let mut level = f64::INFINITY;
        for element in &self.state.flows[flow].elements {
            let link = &self.state.links[element.link()];
            level = level.min(link.capacity / self.state.share(flow, element.class()));
        }
        // Without any link there is nothing to wait for.
        if level < f64::INFINITY {
            (level, Owner::Nobody)
        } else {
            (level, Owner::Bound)
        }
    }

    /// Lets the link that gave its level to a flow without owner find out how it is shared.
    fn mark_narrowest(&mut self, flow: usize, level: f64) {
        for slot in 0..self.state.flows[flow].elements.len() {
            let element = self.state.flows[flow].elements[slot];
            let share = self.state.share(flow, element.class());
            if self.state.links[element.link()].capacity / share <= level {
                self.mark_over_full(element.link(), level);
            }
        }
    }

    /// Adds a new flow to the loads of its links, and marks those that do not fit any more.
    fn join_loads(&mut self, flow: usize, level: f64, by: Owner) {
        let watched = self.state.flows[flow].watched as usize;
        for slot in 0..watched {
            let element = self.state.flows[flow].elements[slot];
            let at = element.link();
            let share = self.state.share(flow, element.class());
            let link = &mut self.state.links[at];
            link.load += share * level;
            if by == owner(at) {
                let (low, _) = self.state.second(flow, at);
                let link = &mut self.state.links[at];
                link.low = link.low.min(low);
            } else {
                link.high = link.high.max(level);
            }
            if self.state.links[at].level.is_finite() {
                self.mark(at);
            } else if self.is_over_full(at) {
                self.mark_over_full(at, level);
            }
        }
        let mut least = f64::INFINITY;
        for slot in watched..self.state.flows[flow].elements.len() {
            let at = self.state.flows[flow].elements[slot].link();
            let link = &self.state.links[at];
            let threshold = link.threshold;
            if threshold < level || threshold * link.weight > link.capacity {
                self.state.suspect(at);
            } else {
                least = least.min(threshold);
            }
        }
        if let Owner::Link(link) = by {
            let trigger = &mut self.state.links[link as usize].trigger;
            *trigger = trigger.min(least);
        }
    }

    /// Ends the sharing of the flow in `slot`; returns the work that is left.
    pub fn leave(&mut self, slot: u32, now: Time) -> f64 {
        self.now = now;
        let flow = slot as usize;
        let left = self.remaining_of(flow);
        self.unfollow(flow);
        let level = self.state.level(flow);
        self.state.change_owner(flow, Owner::Out, 0.0);
        self.state.sharing -= 1;
        self.changed = true;
        for slot in 0..self.state.flows[flow].elements.len() {
            let element = self.state.flows[flow].elements[slot];
            let at = element.link();
            self.state.detach(flow, slot);
            let share = self.state.share(flow, element.class());
            let link = &mut self.state.links[at];
            link.load -= share * level;
            if link.users.is_empty() {
                self.state.empty(at);
                self.set_level(at, f64::INFINITY);
                self.dirty.remove(index(at), &mut self.dirty_at);
            } else if link.level.is_finite() {
                self.mark(at);
            } else {
                self.state.unwatch_if_idle(at);
            }
        }
        self.state.flows[flow].watched = 0;
        left
    }

    /// Changes weight and bound of a flow that shares.
    pub fn update(&mut self, slot: u32, weight: f64, bound: f64, now: Time) {
        let left = self.leave(slot, now);
        self.enter(slot, weight, bound, left, now);
        // One that was there before is no arrival.
        self.arrivals -= 1;
    }

    /// Changes a capacity, if anybody uses it.
    pub fn set_capacity(&mut self, number: u32, capacity: f64, now: Time) {
        self.now = now;
        let Some(link) = self.link_of[number as usize].checked_sub(1) else {
            return;
        };
        let at = link as usize;
        self.state.links[at].capacity = capacity;
        if self.state.links[at].users.is_empty() {
            return;
        }
        self.changed = true;
        if !self.state.links[at].watched {
            self.state.suspect(at);
            self.review_suspects();
        } else if self.state.links[at].level.is_finite() {
            self.mark(at);
        } else if self.is_over_full(at) {
            let level = self.state.links[at].high;
            self.mark_over_full(at, level);
        }
    }

    /// Shares anew if anything has changed, and finds the dates.
    pub fn solve(&mut self, now: Time) {
        self.now = now;
        if !self.changed {
            return;
        }
        self.changed = false;
        let many = self.arrivals > BATCH_MIN && self.arrivals > self.state.sharing / BATCH_PART;
        self.arrivals = 0;
        let updates_max = UPDATES_PER_FLOW * self.state.sharing + BATCH_MIN;
        #[cfg(test)]
        let updates_max = self.updates_max.unwrap_or(updates_max);
        if many || !self.relax(updates_max) {
            self.rebuild();
            // What is left is rounding. If it does not settle, the solution from scratch stands.
            if !self.relax(10 * UPDATES_PER_FLOW * self.state.sharing + BATCH_MIN) {
                self.dirty.clear(&mut self.dirty_at);
            }
        }
        self.set_clocks();
    }

    /// Whether anything has changed since the last solve.
    #[must_use]
    pub const fn is_changed(&self) -> bool {
        self.changed
    }

    /// How many flows share a capacity.
    #[must_use]
    pub fn users(&self, number: u32) -> usize {
        let link = self.link_of[number as usize].checked_sub(1);
        link.map_or(0, |link| self.state.links[link as usize].users.len())
    }

    /// The work that a flow that shares has left.
    pub fn remaining(&mut self, slot: u32, now: Time) -> f64 {
        let before = std::mem::replace(&mut self.now, now);
        let left = self.remaining_of(slot as usize);
        self.now = before;
        left
    }

    /// The rate of a flow that shares, after a solve.
    #[must_use]
    pub fn rate(&self, slot: u32) -> f64 {
        let flow = &self.state.flows[slot as usize];
        match flow.owner {
            Owner::Bound => flow.bound,
            _ => self.state.level(slot as usize) * flow.weight,
        }
    }

    /// The link of a capacity, which may have been idle until now.
    fn link(&mut self, number: u32, capacity: f64) -> usize {
        if let Some(link) = self.link_of[number as usize].checked_sub(1) {
            return link as usize;
        }
        let link = self.free.pop().map_or_else(
            || {
                self.state.links.push(Link::new(number, capacity));
                self.clocks.push(Clock::default());
                self.dates_at.push(ABSENT);
                self.dirty_at.push(ABSENT);
                self.state.links.len() - 1
            },
            |link| link as usize,
        );
        let entry = &mut self.state.links[link];
        (entry.number, entry.capacity, entry.declared) = (number, capacity, (0, 0));
        self.link_of[number as usize] = index(link) + 1;
        link
    }

    fn class(&mut self, coefficient: f64) -> Result<u8, TooManyCoefficients> {
        let known = self
            .state
            .classes
            .iter()
            .position(|known| *known == coefficient);
        let class = known.unwrap_or_else(|| {
            if self.state.classes.len() < CLASSES_MAX {
                self.state.classes.push(coefficient);
                self.state.classes.len() - 1
            } else {
                CLASSES_MAX
            }
        });
        u8::try_from(class).map_err(|_| TooManyCoefficients)
    }
}

/// More different coefficients than a solver can tell apart: the routes cross some links very often.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TooManyCoefficients;

impl std::fmt::Display for TooManyCoefficients {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "more than {CLASSES_MAX} different ways in which routes cross links several times"
        )
    }
}

impl std::error::Error for TooManyCoefficients {}
