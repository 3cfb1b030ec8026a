//! Arrival, end and change of a flow, with updates only of flows with changed rates.
//!
//! A capacity becomes a link when the first flow shares it, and is free again after the last flow.
//! The table from numbers of capacities to links is made with the first flow, of zeroed memory that
//! the system provides only when it is touched.

use super::BATCH_MIN;
use super::clock::LinkClock;
use super::heap::{ABSENT, IndexedHeap};
use super::problem::Problem;
use super::reference::ReferenceSolver;
use super::relax::ScannedUser;
use super::state::{ActiveLink, Element, Flow, LinkLoad, Owner, RARE, SolverState, index, owner};
use super::uses::Use;
use super::waterfill::UserCap;

/// Updates of flows, per flow, after which an incremental solve is given up, because starting from
/// scratch costs less.
const UPDATES_PER_FLOW: usize = 3;

/// A flow that begins to share.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arrival<'a> {
    pub(super) slot: u32,
    pub(super) uses: &'a [Use],
    pub(super) capacities: &'a [f64],
    pub(super) weight: f64,
    pub(super) bound: f64,
    pub(super) work: f64,
}

/// The solver with all state that it keeps between events.
#[derive(Default, Debug)]
pub(super) struct Incremental {
    pub(super) state: SolverState,
    pub(super) clocks: Vec<LinkClock>,
    /// The date of the present batch of changes.
    pub(super) now: f64,
    /// The link of each capacity plus one; 0 while no flow uses the capacity.
    pub(super) link_of: Vec<u32>,
    /// Links of capacities that no flow uses any more.
    free: Vec<u32>,
    /// Links with a load that may not fit their level.
    pub(super) dirty: IndexedHeap,
    pub(super) dirty_at: Vec<u32>,
    /// Links with a changed load, with the level of the first flow that changed the load.
    pub(super) touched: Vec<(u32, f64)>,
    /// Changes of flows in the present solve.
    pub(super) updates: usize,
    /// In tests: after how many of them a solve is given up, instead of the usual rule.
    #[cfg(test)]
    pub(super) updates_max: Option<usize>,
    /// The end of the first flow of each link, in seconds.
    pub(super) dates: IndexedHeap,
    pub(super) dates_at: Vec<u32>,
    /// The ends of the flows at their bounds, in seconds.
    pub(super) bounded: IndexedHeap,
    /// Positions of flows: in `bounded`, or in the heap of their link.
    pub(super) flows_at: Vec<u32>,
    /// Links with a next date that must be found again.
    pub(super) stale_clocks: Vec<u32>,
    /// Buffers.
    pub(super) scan: Vec<ScannedUser>,
    pub(super) caps: Vec<UserCap>,
    pub(super) reference: ReferenceSolver,
    pub(super) problem: Problem,
    pub(super) rates: Vec<f64>,
    pub(super) flows_in_problem: Vec<u32>,
    pub(super) links_in_problem: Vec<u32>,
    pub(super) local: Vec<u32>,
}

impl Incremental {
    /// Notes a flow that shares, before [`Incremental::share_all`].
    pub(super) fn add_flow(&mut self, arrival: &Arrival<'_>, now: f64) {
        self.now = now;
        self.take_up(arrival);
        // Whose it is will be found out with all others.
        self.state.flows[arrival.slot as usize].owner = Owner::Bound;
    }

    /// Shares among all flows that were noted.
    pub(super) fn share_all(&mut self, now: f64) {
        self.now = now;
        self.solve_from_scratch();
        self.set_clocks();
    }

    /// Forgets all state, including the flows that share.
    pub(super) fn clear<'a>(&mut self, sharing: impl Iterator<Item = &'a u32>) {
        for slot in sharing {
            let flow = &mut self.state.flows[*slot as usize];
            flow.elements.clear();
            *flow = Flow {
                elements: std::mem::take(&mut flow.elements),
                ..Flow::NEW
            };
            self.flows_at[*slot as usize] = ABSENT;
        }
        for slot in &self.state.moved {
            self.state.flows[*slot as usize].moved = false;
        }
        for link in &self.state.links {
            self.link_of[link.number as usize] = 0;
        }
        self.state.clear();
        self.free.clear();
        self.clocks.clear();
        self.dirty.clear(&mut self.dirty_at);
        self.dirty_at.clear();
        self.dates.clear(&mut self.dates_at);
        self.dates_at.clear();
        self.bounded.clear(&mut self.flows_at);
        self.stale_clocks.clear();
    }

    /// Puts a flow into the lists of all links that the flow uses.
    fn take_up(&mut self, arrival: &Arrival<'_>) {
        let Arrival {
            slot,
            uses,
            capacities,
            weight,
            bound,
            work,
        } = *arrival;
        let (flow, count) = (slot as usize, slot as usize + 1);
        if self.state.flows.len() < count {
            self.state.flows.resize(count, Flow::NEW);
            self.flows_at.resize(count, ABSENT);
        }
        let entry = &mut self.state.flows[flow];
        debug_assert!(entry.owner == Owner::Out && entry.elements.is_empty());
        (entry.weight, entry.bound, entry.limit) = (weight, bound, bound / weight);
        (entry.tag, entry.clock, entry.watched) = (work, Owner::Out, 0);
        entry.elements.reserve_exact(uses.len());
        self.state.sharing += 1;
        for (at, known) in uses.iter().enumerate() {
            let link = self.link_index(known.number, capacities[known.number as usize]);
            let class = self.state.coefficient_class(known.coefficient);
            if class == RARE {
                let key = (slot, index(link));
                self.state.rare.insert(key, known.coefficient);
            }
            let element = Element::new(index(link), 0, class);
            self.state.flows[flow].elements.push(element);
            self.state.attach(flow, at);
        }
    }

    /// Lets a flow share from now on.
    pub(super) fn start_sharing(&mut self, arrival: &Arrival<'_>, now: f64) {
        self.now = now;
        let slot = arrival.slot;
        let flow = slot as usize;
        self.take_up(arrival);
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
        self.review_queued();
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

    /// Returns the owner of a new flow, and the level of the flow.
    fn first_owner(&self, flow: usize) -> (f64, Owner) {
        let found = self.state.second(flow, usize::MAX);
        if found.0 < f64::INFINITY {
            return found;
        }
        let mut level = f64::INFINITY;
        for element in &self.state.flows[flow].elements {
            let capacity = self.state.gauges[element.link()].capacity;
            level = level.min(capacity / self.state.share(flow, *element));
        }
        // Without any link there is nothing to wait for.
        if level < f64::INFINITY {
            (level, Owner::Nobody)
        } else {
            (level, Owner::Bound)
        }
    }

    /// Marks the narrowest link of a flow without owner, which set the level, so that it is solved.
    fn mark_narrowest(&mut self, flow: usize, level: f64) {
        for slot in 0..self.state.flows[flow].elements.len() {
            let element = self.state.flows[flow].elements[slot];
            let share = self.state.share(flow, element);
            if self.state.gauges[element.link()].capacity / share <= level {
                self.mark_over_full(element.link(), level);
            }
        }
    }

    /// Adds a new flow to the loads of its links, and marks links with a load that no longer fits.
    fn join_loads(&mut self, flow: usize, level: f64, by: Owner) {
        let watched = self.state.flows[flow].watched as usize;
        for slot in 0..watched {
            let element = self.state.flows[flow].elements[slot];
            let at = element.link();
            let share = self.state.share(flow, element);
            self.state.gauges[at].load += share * level;
            if by == owner(at) {
                let (low, _) = self.state.second(flow, at);
                let link = &mut self.state.links[at];
                link.low = link.low.min(low);
            } else {
                let high = &mut self.state.gauges[at].high;
                *high = high.max(level);
            }
            if self.state.gauges[at].level.is_finite() {
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
            if threshold < level || threshold * link.weight > self.state.gauges[at].capacity {
                self.state.queue_for_review(at);
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
    pub(super) fn stop_sharing(&mut self, slot: u32, now: f64) -> f64 {
        self.now = now;
        let flow = slot as usize;
        let left = self.remaining_of(flow);
        self.detach_clock(flow);
        let level = self.state.level(flow);
        self.state.change_owner(flow, Owner::Out, 0.0);
        self.state.sharing -= 1;
        for slot in 0..self.state.flows[flow].elements.len() {
            let element = self.state.flows[flow].elements[slot];
            let at = element.link();
            let share = self.state.share(flow, element);
            self.state.detach(flow, slot);
            if element.class() == RARE {
                self.state.rare.remove(&(index(flow), index(at)));
            }
            self.state.gauges[at].load -= share * level;
            if self.state.links[at].users.is_empty() {
                self.release_link(at);
            } else if self.state.gauges[at].level.is_finite() {
                self.mark(at);
            } else {
                self.state.unwatch_if_idle(at);
            }
        }
        self.state.flows[flow].watched = 0;
        self.state.flows[flow].elements.clear();
        left
    }

    /// Forgets a link that no flow uses any more.
    fn release_link(&mut self, at: usize) {
        self.state.empty(at);
        self.set_level(at, f64::INFINITY);
        self.dirty.remove(index(at), &mut self.dirty_at);
        self.link_of[self.state.links[at].number as usize] = 0;
        self.free.push(index(at));
    }

    /// Changes a capacity, if any flow uses it.
    pub(super) fn set_capacity(&mut self, number: u32, capacity: f64, now: f64) {
        self.now = now;
        let Some(link) = self.link_of[number as usize].checked_sub(1) else {
            return;
        };
        let at = link as usize;
        self.state.gauges[at].capacity = capacity;
        if !self.state.links[at].watched {
            self.state.queue_for_review(at);
            self.review_queued();
        } else if self.state.gauges[at].level.is_finite() {
            self.mark(at);
        } else if self.is_over_full(at) {
            let level = self.state.gauges[at].high;
            self.mark_over_full(at, level);
        }
    }

    /// Shares anew after a change, and finds the dates. `changed` gets the flows with rates that
    /// may have changed.
    pub(super) fn solve(&mut self, now: f64, changed: Option<&mut Vec<u32>>) {
        self.now = now;
        let updates_max = UPDATES_PER_FLOW * self.state.sharing + BATCH_MIN;
        #[cfg(test)]
        let updates_max = self.updates_max.unwrap_or(updates_max);
        if !self.relax(updates_max) {
            self.solve_from_scratch();
        }
        if let Some(changed) = changed {
            self.list_changes(changed);
        }
        self.set_clocks();
    }

    fn solve_from_scratch(&mut self) {
        self.rebuild();
        // What is left is rounding. If it does not settle, the solution from scratch stands.
        if !self.relax(10 * UPDATES_PER_FLOW * self.state.sharing + BATCH_MIN) {
            self.dirty.clear(&mut self.dirty_at);
        }
    }

    /// The work that a flow that shares has left.
    pub(super) fn remaining_work(&mut self, slot: u32, now: f64) -> f64 {
        let before = std::mem::replace(&mut self.now, now);
        let left = self.remaining_of(slot as usize);
        self.now = before;
        left
    }

    /// The rate of a flow that shares, after a solve.
    pub(super) fn rate(&self, slot: u32) -> f64 {
        let flow = &self.state.flows[slot as usize];
        match flow.owner {
            Owner::Bound => flow.bound,
            _ => self.state.level(slot as usize) * flow.weight,
        }
    }

    /// The link of a capacity, which may have been idle until now.
    fn link_index(&mut self, number: u32, capacity: f64) -> usize {
        if let Some(link) = self.link_of[number as usize].checked_sub(1) {
            return link as usize;
        }
        let link = self.free.pop().map_or_else(
            || {
                self.state.links.push(ActiveLink::new(number));
                self.state.gauges.push(LinkLoad::new(capacity));
                self.state.listed.push(false);
                self.clocks.push(LinkClock::default());
                self.dates_at.push(ABSENT);
                self.dirty_at.push(ABSENT);
                self.state.links.len() - 1
            },
            |link| link as usize,
        );
        self.state.links[link].number = number;
        self.state.gauges[link].capacity = capacity;
        self.link_of[number as usize] = index(link) + 1;
        link
    }
}
