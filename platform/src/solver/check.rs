//! The test mode: after an event, everything that the solver keeps is computed again.
//!
//! Checked are the three conditions of exactness (every flow has the smallest level on its way; a link with a finite level
//! is full; no other link is over-full), every sum, count and limit, every clock, and all rates against progressive filling
//! from scratch.

use super::Solver;
use super::heap::ABSENT;
use super::reference::Reference;
use super::state::{Owner, owner};

impl Solver {
    /// Panics if anything is wrong by more than `tolerance` (relative). Call it after [`Solver::solve`].
    pub(crate) fn check(&mut self, tolerance: f64) {
        assert!(!self.changed && self.dirty.is_empty());
        assert!(self.state.suspects.is_empty() && self.touched.is_empty());
        for link in 0..self.state.links.len() {
            self.check_link(link, tolerance);
        }
        for flow in 0..self.state.flows.len() {
            self.check_flow(flow, tolerance);
        }
        self.state_as_problem();
        let mut wanted = Vec::new();
        Reference::default().solve(&self.problem, &mut wanted);
        let rates = self.flows_in_problem.iter().map(|flow| self.rate(*flow));
        let found: Vec<f64> = rates.collect();
        for (found, wanted) in found.iter().zip(&wanted) {
            assert!(
                (found - wanted).abs() <= tolerance * wanted || found == wanted,
                "rate {found} instead of {wanted}"
            );
        }
    }

    fn check_link(&self, at: usize, tolerance: f64) {
        let state = &self.state;
        let link = &state.links[at];
        let near =
            |found: f64, wanted: f64, scale: f64| (found - wanted).abs() <= tolerance * scale;
        assert!(!link.listed && link.nobodys == 0);
        if link.users.is_empty() {
            assert!(link.level.is_infinite() && link.own == 0 && !link.watched);
            return;
        }
        let (mut load, mut weight, mut own_weight) = (0.0, 0.0, 0.0);
        let (mut own, mut crossings) = (0, 0);
        for (position, user) in link.users.iter().enumerate() {
            let flow = &state.flows[user.flow()];
            let element = flow.elements[user.slot()];
            assert_eq!((element.link(), element.position()), (at, position));
            assert_eq!(link.watched, user.slot() < flow.watched as usize);
            let share = state.share(user.flow(), user.class());
            let level = state.level(user.flow());
            weight += share;
            load += share * level;
            if flow.owner == owner(at) {
                assert_eq!(position, own, "own flows come first");
                own += 1;
                own_weight += share;
                crossings += flow.watched - 1;
                assert!(link.level <= flow.limit * (1.0 + tolerance));
                for element in &flow.elements[flow.watched as usize..] {
                    let threshold = state.links[element.link()].threshold;
                    assert!(link.trigger <= threshold, "a trigger too high");
                }
            } else if link.watched {
                assert!(link.high >= level, "the highest other level is above");
            } else {
                assert!(level <= link.threshold * (1.0 + tolerance));
            }
        }
        assert_eq!(own, link.own as usize);
        assert!(near(link.weight, weight, weight));
        if !link.watched {
            assert!(link.level.is_infinite() && load <= link.capacity);
            return;
        }
        assert_eq!(crossings, link.crossings);
        assert!(near(link.own_weight, own_weight, weight));
        assert!(near(link.load, load, link.capacity), "a load has drifted");
        if link.level.is_finite() {
            assert!(
                own > 0 && near(load, link.capacity, link.capacity),
                "not full"
            );
        } else {
            assert!(
                own == 0 && load <= link.capacity * (1.0 + tolerance),
                "over-full"
            );
        }
    }

    fn check_flow(&self, at: usize, tolerance: f64) {
        let flow = &self.state.flows[at];
        assert!(!flow.moved);
        assert_eq!(flow.clock, flow.owner);
        if flow.owner == Owner::Out {
            assert_eq!(self.flows_at[at], ABSENT);
            return;
        }
        assert!(flow.owner != Owner::Nobody);
        let level = self.state.level(at);
        let (least, _) = self.state.second(at, usize::MAX);
        assert!(
            (level - least).abs() <= tolerance * least || level == least,
            "level {level} where {least} is the least"
        );
        assert_ne!(self.flows_at[at], ABSENT, "a flow without a clock");
    }
}
