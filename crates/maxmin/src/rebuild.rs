//! Starting afresh: progressive filling for everything that shares, then all that the solver keeps
//! between events.
//!
//! For the first fill and for large batches, where changing one flow after the other costs more.

use super::incremental::Incremental;
use super::state::{Owner, index, owner};

/// Room that an unwatched link must have; as in `state`.
use super::state::THRESHOLD;

impl Incremental {
    /// Solves from scratch; marks links with a load that rounding left unequal to the capacity.
    pub(super) fn rebuild(&mut self) {
        self.dirty.clear(&mut self.dirty_at);
        self.state_as_problem();
        self.reference.solve(&self.problem, &mut self.rates);
        for at in 0..self.flows_in_problem.len() {
            let flow = self.flows_in_problem[at] as usize;
            let to = match self.reference.owners[at] {
                Some(local) => Owner::Link(self.links_in_problem[local as usize]),
                None => Owner::Bound,
            };
            let entry = &mut self.state.flows[flow];
            (entry.owner, entry.watched) = (to, 0);
            if !std::mem::replace(&mut entry.moved, true) {
                self.state.moved.push(index(flow));
            }
        }
        for local in 0..self.links_in_problem.len() {
            let link = self.links_in_problem[local] as usize;
            self.set_level(link, self.reference.levels[local]);
        }
        for local in 0..self.links_in_problem.len() {
            self.reset_link(self.links_in_problem[local] as usize);
        }
        for at in 0..self.flows_in_problem.len() {
            let flow = self.flows_in_problem[at] as usize;
            if let Owner::Link(link) = self.state.flows[flow].owner {
                self.state.own_flow(flow, link as usize);
            }
        }
        for local in 0..self.links_in_problem.len() {
            self.complete_link(self.links_in_problem[local] as usize);
        }
    }

    /// Fills the problem from all flows that share.
    pub(super) fn state_as_problem(&mut self) {
        let problem = &mut self.problem;
        problem.clear();
        self.flows_in_problem.clear();
        self.links_in_problem.clear();
        self.local.resize(self.state.links.len(), 0);
        for (at, link) in self.state.links.iter().enumerate() {
            if !link.users.is_empty() {
                self.local[at] = index(problem.capacities.len());
                problem.capacities.push(self.state.gauges[at].capacity);
                self.links_in_problem.push(index(at));
            }
        }
        for (at, flow) in self.state.flows.iter().enumerate() {
            if flow.owner == Owner::Out {
                continue;
            }
            self.flows_in_problem.push(index(at));
            for element in &flow.elements {
                problem.uses.push(self.local[element.link()]);
                let coefficient = self.state.coefficient(at, element.link(), element.class());
                problem.coefficients.push(coefficient);
            }
            problem.finish_flow(flow.weight, flow.bound);
        }
    }

    /// Decides whether a link is watched, with no flow owned yet.
    fn reset_link(&mut self, at: usize) {
        let state = &mut self.state;
        let (mut weight, mut load, mut high) = (0.0, 0.0, 0.0_f64);
        for position in 0..state.links[at].users.len() {
            let user = state.links[at].users[position];
            let share = state.share_of(at, user);
            let level = state.level(user.flow());
            weight += share;
            load += share * level;
            high = high.max(level);
        }
        let gauge = &mut state.gauges[at];
        (gauge.load, gauge.high) = (load, high);
        let link = &mut state.links[at];
        link.weight = weight;
        (link.own, link.nobodys, link.crossings, link.updates) = (0, 0, 0, 0);
        (link.own_weight, link.low, link.trigger) = (0.0, f64::INFINITY, f64::INFINITY);
        link.threshold = THRESHOLD * (gauge.capacity / weight);
        link.watched = gauge.level.is_finite() || high > link.threshold;
        if link.watched {
            for position in 0..state.links[at].users.len() {
                let user = state.links[at].users[position];
                let first = state.flows[user.flow()].watched as usize;
                state.swap_elements(user.flow(), user.slot(), first);
                state.flows[user.flow()].watched += 1;
            }
        }
    }

    /// Finds the limits of a link once all owners are known.
    fn complete_link(&mut self, at: usize) {
        if !self.state.links[at].watched {
            let threshold = self.state.links[at].threshold;
            self.state.set_threshold(at, threshold);
            return;
        }
        let (mut high, mut low) = (0.0_f64, f64::INFINITY);
        for position in 0..self.state.links[at].users.len() {
            let flow = self.state.links[at].users[position].flow();
            if self.state.flows[flow].owner == owner(at) {
                low = low.min(self.state.second(flow, at).0);
            } else {
                high = high.max(self.state.level(flow));
            }
        }
        self.state.links[at].low = low;
        let gauge = &mut self.state.gauges[at];
        gauge.high = high;
        if gauge.level.is_finite() {
            self.mark(at);
        } else if self.is_over_full(at) {
            self.mark_over_full(at, high);
        }
    }
}
