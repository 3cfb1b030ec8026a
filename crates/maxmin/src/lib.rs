//! Max-min fair sharing: [`Solver`] keeps an exact allocation up to date.
//!
//! Flows cross capacities. Flow `f` has a weight `w_f` and a bound `b_f`; its rate is `x_f = w_f ×
//! level_f`. An allocation is max-min fair when no capacity is exceeded and each flow is at its
//! bound, or crosses a full capacity on which no flow has a higher level. This allocation is
//! unique.
//!
//! A use has a coefficient: the amount of the capacity that a unit of the rate takes. Links without
//! sharing (`fatpipe`) are no capacities: they are folded into the bound of each flow.
//!
//! Dates are numbers of at least 0 that never go back; a work `w` at rate 1 ends after `w` units of
//! time.
//!
//! A flow that shares no capacity is *lone*: its own links set its rate. All other flows are
//! *coupled*. There are two methods to keep the allocation of coupled flows up to date; [`Solver`]
//! takes the cheaper method:
//! - *plain*: all rates from scratch after each instant. Only the flows are kept: flows that come
//!   and go together, or alone, cost almost no other work.
//! - *incremental*: an event touches only the changed state. This method needs lists, sums and
//!   clocks for every link in use.
//!
//! | part | decides |
//! |---|---|
//! | this file | the method, and the uses of flows |
//! | `lone` | which flows are alone on their links |
//! | `plain` | rates and dates from scratch |
//! | `waves` | progressive filling in waves, for problems with few levels |
//! | `bottleneck` | fair bottleneck, an optional rule instead of max-min fairness |
//! | `reference` | progressive filling, level by level: the correct result |
//! | `incremental` | the updates when a flow comes, goes or changes |
//! | `relax` | which links have to find a new level after these updates, and in which order |
//! | `waterfill` | the level that fills one link |
//! | `state` | the owners of flows; which links need no load |
//! | `clock` | when flows end |
//! | `rebuild` | the incremental state from scratch |
//! | `changes` | which rates have changed, for observers |
//! | `check` | the test mode |
//!
//! Cost of an event: for a lone flow, its links; plain, the coupled flows times their links;
//! incremental, the flows with changed rates times their links that are nearly full, or one number
//! where a single link owns all flows. The cost never depends on the number of capacities.
//!
//! Ordering guarantee: the same sequence of calls gives the same bits. Only + − × ÷, minimum and
//! maximum are used, and no recursion.

#![warn(clippy::missing_errors_doc)]

mod bottleneck;
mod changes;
#[cfg(any(test, feature = "check"))]
mod check;
mod clock;
pub mod dates;
mod heap;
mod incremental;
mod lone;
mod plain;
mod problem;
mod rebuild;
mod reference;
mod relax;
mod state;
#[cfg(test)]
mod tests;
mod uses;
mod waterfill;
mod waves;

use changes::Changes;
use dates::DatePlace;
use incremental::{Arrival, Incremental};
use lone::Lone;
use plain::{FlowProgress, Plain, rate_alone};
use uses::{FlowUses, UseMerger};
pub use uses::{SharedUses, Use};

/// Up to this many flows the plain way costs less, whatever happens.
const FEW: usize = 16;
/// A batch is large when this many flows arrive at once,
const BATCH_MIN: usize = 64;
/// and they are more than this part of all flows.
const BATCH_PART: usize = 2;
/// Number of flow rates from scratch that cost as much as one incremental event.
const FLOWS_PER_EVENT: usize = 20;
/// Number of flow rates from scratch, per flow in progress, that cost as much as building the
/// incremental state.
const FLOWS_PER_BUILD: usize = 1;

/// In `coupled`, where a flow has left; as a position, of a flow that does not share.
const GONE: u32 = u32::MAX;
/// As a position, of a lone flow.
const LONE: u32 = u32::MAX - 1;

/// Keeps the max-min fair rates of flows, and the dates at which the flows end.
///
/// A flow is known by its slot, a capacity by its number. A flow declares its uses once
/// ([`Solver::declare`], [`Solver::cross`]), may then enter and leave several times, and is
/// forgotten by [`Solver::forget_uses`]. All changes between two solves belong to one instant.
#[derive(Debug)]
pub struct Solver {
    /// By slot.
    flows: Vec<Flow>,
    /// Present values by number; 0 before the first use. As all tables by capacity, this is empty
    /// before the first flow, as many runs have no flows.
    capacities: Vec<f64>,
    /// Grows with each change of a capacity.
    revision: u64,
    lone: Lone,
    /// The other flows that share, in the order in which they came to do so.
    coupled: Vec<u32>,
    /// Number of flows that share.
    count: usize,
    merger: UseMerger,
    /// Memory for the uses of a flow that is being declared.
    spare: Vec<Use>,
    method: Method,
    plain: Plain,
    incremental: Incremental,
    changed: bool,
    /// Flows that have been coupled since the last solve.
    arrivals: usize,
    /// Everything that has changed among the coupled flows since the last solve.
    changes: usize,
    /// Flows that the plain method computed and the incremental method would not have computed.
    wasted: usize,
    /// Changes that an observer has asked for.
    kept: Option<Box<Changes>>,
    /// In tests: always this way.
    #[cfg(test)]
    forced: Option<Method>,
}

/// Method that keeps the rates up to date.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Method {
    Plain,
    Incremental,
}

/// A flow, sharing or not.
#[derive(Clone, Debug)]
struct Flow {
    uses: FlowUses,
    weight: f64,
    bound: f64,
    /// The position of the flow in `coupled`, [`LONE`], or [`GONE`].
    position: u32,
    /// Of a lone flow.
    end_place: DatePlace,
    progress: FlowProgress,
}

impl Flow {
    const NEW: Self = Self {
        uses: FlowUses::NONE,
        weight: 1.0,
        bound: f64::INFINITY,
        position: GONE,
        end_place: DatePlace::NONE,
        progress: FlowProgress::NONE,
    };

    /// Returns the description of a flow for the incremental method.
    fn arrival<'a>(&'a self, slot: u32, capacities: &'a [f64], work: f64) -> Arrival<'a> {
        Arrival {
            slot,
            uses: &self.uses,
            capacities,
            weight: self.weight,
            bound: self.bound,
            work,
        }
    }
}

/// Returns the lesser of two numbers that are not NaN, in one instruction.
#[inline]
#[must_use]
pub fn least(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

impl Solver {
    /// A solver for capacities with numbers below `capacities`.
    #[must_use]
    pub fn new(capacities: usize) -> Self {
        Self {
            flows: Vec::new(),
            capacities: Vec::new(),
            revision: 1,
            lone: Lone::default(),
            coupled: Vec::new(),
            count: 0,
            merger: UseMerger::new(capacities),
            spare: Vec::new(),
            method: Method::Plain,
            plain: Plain::new(),
            incremental: Incremental::default(),
            changed: false,
            arrivals: 0,
            changes: 0,
            wasted: 0,
            kept: None,
            #[cfg(test)]
            forced: None,
        }
    }

    /// Shares by fair bottleneck, SimGrid's rule for parallel tasks, from now on and for good.
    ///
    /// In rounds, every capacity offers its unfinished flows equal parts of its rest, and each flow
    /// takes the least of its offers; weights do not count. Each solve is from scratch.
    pub fn share_by_bottleneck(&mut self) {
        if !self.plain.shares_by_bottleneck() {
            self.plain.share_by_bottleneck();
            self.changed = true;
            self.changes += 1;
        }
    }

    /// Begins to declare the flow in `slot`.
    #[inline]
    pub fn declare(&mut self, slot: u32) {
        if self.flows.len() <= slot as usize {
            self.make_room(slot);
        }
        let uses = &mut self.flows[slot as usize].uses;
        debug_assert!(uses.is_empty());
        if uses.own.capacity() == 0 {
            std::mem::swap(&mut uses.own, &mut self.spare);
        }
    }

    #[cold]
    #[inline(never)]
    fn make_room(&mut self, slot: u32) {
        if self.flows.is_empty() {
            let count = self.merger.capacity_count();
            self.capacities = vec![0.0; count];
            self.lone.users = vec![0; count];
            self.plain.positions = vec![0; count];
            self.incremental.link_of = vec![0; count];
        }
        self.flows.resize(slot as usize + 1, Flow::NEW);
    }

    /// Lets the flow that is being declared use a capacity; several uses of one capacity add up.
    #[inline]
    pub fn cross(&mut self, slot: u32, number: u32, capacity: f64, coefficient: f64) {
        let known = &mut self.capacities[number as usize];
        if *known != capacity {
            *known = capacity;
            self.revision += 1;
        }
        let uses = &mut self.flows[slot as usize].uses.own;
        match self.merger.find_use(uses, number) {
            Some(at) => uses[at].coefficient += coefficient,
            None => uses.push(Use {
                number,
                coefficient,
            }),
        }
    }

    /// Lets the flow in `slot`, which does not share at the moment, use these capacities and no
    /// others.
    #[inline]
    pub fn declare_like(&mut self, slot: u32, uses: &SharedUses) {
        if self.flows.len() <= slot as usize {
            self.make_room(slot);
        }
        self.flows[slot as usize].uses.shared.clone_from(uses);
    }

    /// Moves the uses of a newly declared flow to `way`, for flows of the same way.
    pub fn share_uses(&mut self, slot: u32, way: &mut SharedUses) {
        let uses = &mut self.flows[slot as usize].uses;
        uses.share_way(way);
        self.spare = std::mem::take(&mut uses.own);
    }

    /// The capacities that a declared flow uses, each once.
    #[inline]
    pub fn uses(&self, slot: u32) -> &[Use] {
        &self.flows[slot as usize].uses
    }

    /// Forgets the uses of the flow in `slot`, if the flow was declared; the flow does not share at
    /// the moment.
    #[inline]
    pub fn forget_uses(&mut self, slot: u32) {
        if let Some(flow) = self.flows.get_mut(slot as usize) {
            debug_assert!(flow.position == GONE);
            flow.uses.forget_uses();
        }
    }

    /// Lets the flow in `slot` share from now on, with `work` left.
    #[inline]
    pub fn enter(&mut self, slot: u32, weight: f64, bound: f64, work: f64, now: f64) {
        let flow = &mut self.flows[slot as usize];
        debug_assert!(flow.position == GONE);
        (flow.weight, flow.bound) = (weight, bound);
        if !self.lone.admit(slot, &flow.uses) {
            flow.progress = FlowProgress::new(work, now);
            return self.enter_coupled(slot, now);
        }
        flow.position = LONE;
        if self.kept.is_some() {
            flow.progress = FlowProgress::new(work, now);
            self.lone.fresh.push(slot);
            self.changed = true;
        } else {
            // The rate does not depend on other flows, so no solve has to find it.
            let narrowest = flow
                .uses
                .narrowest_capacity(&self.capacities, self.revision);
            flow.progress = FlowProgress::at_rate(work, least(bound, narrowest), now);
            flow.end_place = self.lone.set_end(slot, flow.progress.end_s());
        }
    }

    #[inline(never)]
    fn enter_coupled(&mut self, slot: u32, now: f64) {
        self.changed = true;
        for at in 0..self.flows[slot as usize].uses.len() {
            let number = self.flows[slot as usize].uses[at].number;
            if let Some(other) = self.lone.lone_flow(number) {
                self.forget_end(other);
                self.couple(other, now);
            }
        }
        self.couple(slot, now);
    }

    /// Forgets the end of a lone flow.
    fn forget_end(&mut self, slot: u32) {
        let place = &mut self.flows[slot as usize].end_place;
        let place = std::mem::replace(place, DatePlace::NONE);
        if place != DatePlace::NONE {
            self.lone.ends.remove_date(slot, place);
        }
    }

    /// Lets a flow share with others.
    fn couple(&mut self, slot: u32, now: f64) {
        self.arrivals += 1;
        self.changes += 1;
        self.count += 1;
        let flow = &mut self.flows[slot as usize];
        self.lone.couple(&flow.uses);
        flow.position = state::index(self.coupled.len());
        self.coupled.push(slot);
        if self.method == Method::Incremental {
            let left = flow.progress.remaining_work(now);
            let arrival = flow.arrival(slot, &self.capacities, left);
            self.incremental.start_sharing(&arrival, now);
        }
    }

    /// Ends the sharing of the flow in `slot`; returns the work that is left.
    pub fn stop_sharing(&mut self, slot: u32, now: f64) -> f64 {
        let flow = &mut self.flows[slot as usize];
        let position = std::mem::replace(&mut flow.position, GONE);
        if position == LONE {
            self.changed |= self.kept.is_some();
            self.lone.release_flow(&flow.uses);
            let left = flow.progress.remaining_work(now);
            self.forget_end(slot);
            return left;
        }
        self.changed = true;
        self.lone.uncouple(&flow.uses);
        self.changes += 1;
        self.count -= 1;
        self.coupled[position as usize] = GONE;
        let left = match self.method {
            Method::Plain => flow.progress.remaining_work(now),
            Method::Incremental => self.incremental.stop_sharing(slot, now),
        };
        self.close_gaps();
        left
    }

    /// Keeps the list of coupled flows from growing for ever.
    fn close_gaps(&mut self) {
        if self.count == 0 {
            self.coupled.clear();
        } else if self.coupled.len() > 2 * self.count + BATCH_MIN {
            self.coupled.retain(|slot| *slot != GONE);
            for (slot, position) in self.coupled.iter().zip(0..) {
                self.flows[*slot as usize].position = position;
            }
        }
    }

    /// Changes weight and bound of a flow that shares.
    #[inline]
    pub fn update(&mut self, slot: u32, weight: f64, bound: f64, now: f64) {
        self.changed = true;
        let flow = &mut self.flows[slot as usize];
        (flow.weight, flow.bound) = (weight, bound);
        if flow.position == LONE {
            self.lone.fresh.push(slot);
            return;
        }
        self.changes += 1;
        if self.method == Method::Incremental {
            let left = self.incremental.stop_sharing(slot, now);
            let arrival = flow.arrival(slot, &self.capacities, left);
            self.incremental.start_sharing(&arrival, now);
        }
    }

    /// Changes a capacity, for all flows that use this capacity.
    #[inline]
    pub fn set_capacity(&mut self, number: u32, capacity: f64, now: f64) {
        self.changed = true;
        if self.flows.is_empty() {
            // There are no tables yet; flows bring the values of their capacities.
            self.changes += 1;
            return;
        }
        self.capacities[number as usize] = capacity;
        self.revision += 1;
        if let Some(slot) = self.lone.lone_flow(number) {
            self.lone.fresh.push(slot);
            return;
        }
        self.changes += 1;
        if self.method == Method::Incremental {
            self.incremental.set_capacity(number, capacity, now);
        }
    }

    /// Shares anew if anything has changed, and finds the dates.
    #[inline]
    pub fn solve(&mut self, now: f64) {
        if !std::mem::replace(&mut self.changed, false) {
            return;
        }
        while let Some(slot) = self.lone.fresh.pop() {
            let flow = &mut self.flows[slot as usize];
            if flow.position == LONE {
                let rate = rate_alone(flow, &self.capacities);
                let end = flow.progress.continue_at(rate, now);
                self.forget_end(slot);
                self.flows[slot as usize].end_place = self.lone.set_end(slot, end);
                if let Some(changes) = &mut self.kept {
                    changes.slots.push(slot);
                }
            }
        }
        if self.changes > 0 {
            self.solve_coupled(now);
        }
    }

    fn solve_coupled(&mut self, now: f64) {
        let (arrivals, changes) = (self.arrivals, self.changes);
        (self.arrivals, self.changes) = (0, 0);
        match (self.method, self.cheaper_method(arrivals, changes)) {
            (Method::Plain, Method::Plain) => self.solve_plain(now),
            (Method::Plain, Method::Incremental) => self.become_incremental(now),
            (Method::Incremental, Method::Incremental) => self.solve_incremental(now),
            (Method::Incremental, Method::Plain) => self.become_plain(now),
        }
    }

    /// Returns the method expected to be cheaper.
    ///
    /// The future is unknown. So the plain method continues until its wasted work would have paid
    /// for the incremental method; this rule costs at most twice the optimum.
    fn cheaper_method(&mut self, arrivals: usize, changes: usize) -> Method {
        if self.plain.shares_by_bottleneck() {
            return Method::Plain;
        }
        #[cfg(test)]
        if let Some(method) = self.forced {
            return method;
        }
        let many = arrivals > BATCH_MIN && arrivals > self.count / BATCH_PART;
        if self.count <= FEW || many {
            self.wasted = 0;
            return Method::Plain;
        }
        if self.method == Method::Plain {
            self.wasted += self.count.saturating_sub(FLOWS_PER_EVENT * changes);
            if self.wasted <= FLOWS_PER_BUILD * self.count {
                return Method::Plain;
            }
            self.wasted = 0;
        }
        Method::Incremental
    }

    fn solve_plain(&mut self, now: f64) {
        self.plain
            .solve(&mut self.flows, &self.coupled, &self.capacities, now);
        self.keep_coupled();
    }

    fn solve_incremental(&mut self, now: f64) {
        let slots = self.kept.as_mut().map(|changes| &mut changes.slots);
        self.incremental.solve(now, slots);
    }

    fn become_incremental(&mut self, now: f64) {
        self.method = Method::Incremental;
        self.plain.clear();
        for slot in self.coupled.iter().filter(|slot| **slot != GONE) {
            let flow = &self.flows[*slot as usize];
            let left = flow.progress.remaining_work(now);
            let arrival = flow.arrival(*slot, &self.capacities, left);
            self.incremental.add_flow(&arrival, now);
        }
        self.incremental.share_all(now);
        self.keep_coupled();
    }

    fn become_plain(&mut self, now: f64) {
        self.method = Method::Plain;
        for slot in self.coupled.iter().filter(|slot| **slot != GONE) {
            let left = self.incremental.remaining_work(*slot, now);
            self.flows[*slot as usize].progress = FlowProgress::new(left, now);
        }
        self.incremental
            .clear(self.coupled.iter().filter(|slot| **slot != GONE));
        self.solve_plain(now);
    }

    /// Notes that the users of a capacity have changed, for an owner that looks at them before a
    /// solve.
    #[inline]
    pub const fn mark_changed(&mut self) {
        self.changed = true;
    }

    /// Returns true if rates may have changed since the last solve.
    #[inline]
    #[must_use]
    pub const fn is_changed(&self) -> bool {
        self.changed
    }

    /// Returns the number of flows that share a capacity.
    #[inline]
    #[must_use]
    pub fn users(&self, number: u32) -> u32 {
        self.lone.count_users(number)
    }

    /// The work that a flow that shares has left.
    #[inline]
    pub fn remaining_work(&mut self, slot: u32, now: f64) -> f64 {
        let flow = &self.flows[slot as usize];
        if flow.position == LONE || self.method == Method::Plain {
            flow.progress.remaining_work(now)
        } else {
            self.incremental.remaining_work(slot, now)
        }
    }

    /// The rate of a flow that shares, after a solve.
    #[inline]
    #[must_use]
    pub fn rate(&self, slot: u32) -> f64 {
        let flow = &self.flows[slot as usize];
        if flow.position == LONE || self.method == Method::Plain {
            flow.progress.rate()
        } else {
            self.incremental.rate(slot)
        }
    }

    /// The first date at which a flow ends, after a solve.
    #[inline]
    #[must_use]
    pub fn next(&self) -> Option<f64> {
        let first = self.next_s();
        (first < f64::INFINITY).then_some(first)
    }

    /// The same, infinite if there is none.
    #[inline]
    #[must_use]
    pub fn next_s(&self) -> f64 {
        least(self.next_coupled_s(), self.lone.ends.first_s())
    }

    #[inline]
    fn next_coupled_s(&self) -> f64 {
        match self.method {
            Method::Plain => self.plain.next_s(),
            Method::Incremental => self.incremental.next_s(),
        }
    }

    /// Ends and forgets a lone flow that ends up to `last`, if no other flow ends; returns the
    /// slot.
    #[inline]
    pub fn end_only(&mut self, last: f64) -> Option<u32> {
        let slot = self.lone.ends.only_until(last)?;
        if self.next_coupled_s() <= last {
            return None;
        }
        self.lone.ends.pop_queued();
        let flow = &mut self.flows[slot as usize];
        (flow.position, flow.end_place) = (GONE, DatePlace::NONE);
        self.lone.release_flow(&flow.uses);
        flow.uses.forget_uses();
        self.changed |= self.kept.is_some();
        Some(slot)
    }

    /// Appends the flows that end up to `last`, after a solve; they have to leave then.
    #[inline]
    pub fn due(&mut self, last: f64, flows: &mut Vec<u32>) {
        let begin = flows.len();
        self.lone.ends.take_until(last, flows);
        for slot in &flows[begin..] {
            let flow = &mut self.flows[*slot as usize];
            (flow.progress, flow.end_place) = (FlowProgress::NONE, DatePlace::NONE);
        }
        match self.method {
            Method::Plain => self.plain.due(&mut self.flows, &self.coupled, last, flows),
            Method::Incremental => self.incremental.due(last, flows),
        }
    }
}
