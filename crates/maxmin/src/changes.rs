//! Flows with rates that may have changed in a solve, and the capacities that limit these flows,
//! for observers.
//!
//! Changes are kept only for an observer. The incremental method knows both from its owners; the
//! plain method gives all coupled flows their rates and finds the limits from its loads.

use super::incremental::Incremental;
use super::plain::rate_alone;
use super::problem::Problem;
use super::state::{Owner, index};
use super::uses::Use;
use super::{Flow, GONE, LONE, Method, Solver, least};

/// Relative difference below which a capacity counts as full, and a flow counts as at its bound.
const TOLERANCE: f64 = 1e-9;

/// No capacity.
const NONE: u32 = u32::MAX;

/// The flows to look at after a solve.
#[derive(Default, Debug)]
pub(super) struct Changes {
    /// Flows with a rate or limit that may have changed; a flow may appear several times.
    pub(super) slots: Vec<u32>,
    /// For each slot, the capacity that limited it in the last plain solve.
    limits: Vec<u32>,
    /// Buffers, by capacities of the problem: their loads and the highest level of their flows.
    loads: Vec<f64>,
    highs: Vec<f64>,
}

impl Changes {
    /// Finds the limits of the flows of a solved problem. `numbers`: the numbers of the capacities
    /// of the problem.
    fn find_limits(
        &mut self,
        slots: impl Iterator<Item = u32>,
        problem: &Problem,
        numbers: &[u32],
        rates: &[f64],
    ) {
        self.loads.clear();
        self.loads.resize(numbers.len(), 0.0);
        self.highs.clear();
        self.highs.resize(numbers.len(), 0.0);
        for (flow, rate) in rates.iter().enumerate() {
            for (at, coefficient) in problem.uses_of(flow) {
                self.loads[at as usize] += coefficient * rate;
                let high = &mut self.highs[at as usize];
                *high = high.max(rate / problem.weights[flow]);
            }
        }
        for ((slot, flow), rate) in slots.zip(0_usize..).zip(rates) {
            let level = rate / problem.weights[flow];
            let limits = |at: usize| {
                self.loads[at] >= problem.capacities[at] * (1.0 - TOLERANCE)
                    && level >= self.highs[at] * (1.0 - TOLERANCE)
            };
            let mut uses = problem.uses_of(flow).map(|(at, _)| at as usize);
            let is_bounded = *rate >= problem.bounds[flow] * (1.0 - TOLERANCE);
            let found = uses.find(|&at| !is_bounded && limits(at));
            self.set_limit(slot, found.map_or(NONE, |at| numbers[at]));
        }
    }

    fn set_limit(&mut self, slot: u32, limit: u32) {
        let count = slot as usize + 1;
        if self.limits.len() < count {
            self.limits.resize(count, NONE);
        }
        self.limits[slot as usize] = limit;
    }
}

impl Solver {
    /// Records the flows with rates that change in a solve, for [`Solver::take_changes`].
    pub fn keep_changes(&mut self) {
        self.kept.get_or_insert_default();
    }

    /// Appends the flows with rates or limits that may have changed since the last call, each flow
    /// once, in the order of the slots. Some of these flows may have left.
    pub fn take_changes(&mut self, slots: &mut Vec<u32>) {
        if let Some(changes) = &mut self.kept {
            changes.slots.sort_unstable();
            changes.slots.dedup();
            slots.append(&mut changes.slots);
        }
    }

    /// Notes that all coupled flows may have changed, after a plain solve or a build of the
    /// incremental state.
    pub(super) fn keep_coupled(&mut self) {
        let Some(changes) = &mut self.kept else {
            return;
        };
        let present = self.coupled.iter().copied().filter(|slot| *slot != GONE);
        changes.slots.extend(present.clone());
        if self.method == Method::Plain && self.count > 1 {
            let (problem, numbers, rates) = self.plain.solved();
            changes.find_limits(present, problem, numbers, rates);
        }
    }

    /// Returns the capacity that limits a flow, after a solve; `None` if the bound is the limit.
    /// Only after [`Solver::keep_changes`].
    #[must_use]
    pub fn limiting_capacity(&self, slot: u32) -> Option<u32> {
        let flow = &self.flows[slot as usize];
        if flow.position == LONE || self.method == Method::Plain && self.count == 1 {
            return self.limit_alone(flow);
        }
        match self.method {
            Method::Plain => {
                let limits = &self.kept.as_ref()?.limits;
                let limit = limits.get(slot as usize).copied();
                limit.filter(|&number| number != NONE)
            }
            Method::Incremental => self.incremental.limiting_capacity(slot),
        }
    }

    /// Returns the first of the narrowest capacities of a flow that shares no capacity.
    fn limit_alone(&self, flow: &Flow) -> Option<u32> {
        let rate = rate_alone(flow, &self.capacities);
        let value = |known: &Use| self.capacities[known.number as usize];
        let mut uses = flow.uses.iter();
        let found =
            uses.find(|known| rate < flow.bound && value(known) / known.coefficient <= rate);
        found.map(|known| known.number)
    }

    /// Returns the rate that a declared flow would have with this bound if it shared no capacity.
    #[must_use]
    pub fn rate_alone(&self, slot: u32, bound: f64) -> f64 {
        let uses = &self.flows[slot as usize].uses;
        let rate = |known: &Use| self.capacities[known.number as usize] / known.coefficient;
        uses.iter().map(rate).fold(bound, least)
    }
}

impl Incremental {
    /// Appends the flows with a changed owner or level, before their clocks are set.
    pub(super) fn list_changes(&self, slots: &mut Vec<u32>) {
        slots.extend(&self.state.moved);
        for &link in &self.stale_clocks {
            let link = &self.state.links[link as usize];
            let own = &link.users[..link.own as usize];
            slots.extend(own.iter().map(|user| index(user.flow())));
        }
    }

    /// Returns the capacity that sets the level of a flow.
    fn limiting_capacity(&self, slot: u32) -> Option<u32> {
        match self.state.flows[slot as usize].owner {
            Owner::Link(link) => Some(self.state.links[link as usize].number),
            Owner::Bound | Owner::Nobody | Owner::Out => None,
        }
    }
}
