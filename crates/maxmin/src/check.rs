//! The test mode: after an event, all state of the solver is computed again.
//!
//! The checks are: the three conditions of exactness (every flow has the smallest level on its way;
//! a link with a finite level is full; no other link is over-full), every sum, count and limit,
//! every clock, and all rates against progressive filling from scratch.

use super::heap::ABSENT;
use super::incremental::Incremental;
use super::lone::COUPLED;
use super::problem::Problem;
use super::reference::ReferenceSolver;
use super::state::{Owner, owner};
use super::uses::Use;
use super::{GONE, LONE, Method, Solver};

impl Solver {
    /// Computes everything again that the solver keeps, after [`Solver::solve`].
    ///
    /// # Panics
    /// If anything is wrong by more than `tolerance` (relative).
    pub fn check(&mut self, tolerance: f64) {
        assert!(!self.changed);
        let coupled = self.coupled.iter().copied().filter(|slot| *slot != GONE);
        let coupled: Vec<u32> = coupled.collect();
        assert_eq!(coupled.len(), self.count);
        for slot in &coupled {
            let position = self.flows[*slot as usize].position;
            assert_eq!(self.coupled[position as usize], *slot);
        }
        let slots = (0..).take(self.flows.len());
        let is_lone = |slot: &u32| self.flows[*slot as usize].position == LONE;
        let lone: Vec<u32> = slots.filter(is_lone).collect();
        let uses = |slot: &u32| &*self.flows[*slot as usize].uses;
        self.check_users(
            coupled.iter().flat_map(uses),
            lone.iter()
                .flat_map(|slot| uses(slot).iter().map(|known| (*slot, known))),
        );
        let present = [coupled, lone].concat();
        if self.method == Method::Incremental {
            self.incremental.check_state(tolerance);
        }
        let mut problem = Problem::default();
        for slot in &present {
            let flow = &self.flows[*slot as usize];
            for known in flow.uses.iter() {
                let of_problem = &mut problem.capacities;
                let missing = (known.number as usize + 1).saturating_sub(of_problem.len());
                of_problem.extend(std::iter::repeat_n(1.0, missing));
                of_problem[known.number as usize] = self.capacities[known.number as usize];
                problem.uses.push(known.number);
                problem.coefficients.push(known.coefficient);
            }
            problem.finish_flow(flow.weight, flow.bound);
        }
        let mut wanted = Vec::new();
        ReferenceSolver::default().solve(&problem, &mut wanted);
        for (slot, wanted) in present.iter().zip(&wanted) {
            let found = self.rate(*slot);
            assert!(
                (found - wanted).abs() <= tolerance * wanted || found == *wanted,
                "rate {found} instead of {wanted}"
            );
        }
    }
}

impl Solver {
    /// Asserts that the users of all capacities are those of the coupled and the lone flows.
    fn check_users<'a>(
        &self,
        coupled: impl Iterator<Item = &'a Use>,
        lone: impl Iterator<Item = (u32, &'a Use)>,
    ) {
        let mut users = vec![0; self.capacities.len()];
        for known in coupled {
            let user = &mut users[known.number as usize];
            *user = (*user | COUPLED) + 1;
        }
        for (slot, known) in lone {
            assert_eq!(users[known.number as usize], 0, "a lone flow is alone");
            users[known.number as usize] = slot + 1;
        }
        assert_eq!(self.lone.users, users);
        assert!(self.plain.positions.iter().all(|position| *position == 0));
    }
}

impl Incremental {
    fn check_state(&self, tolerance: f64) {
        assert!(self.dirty.is_empty());
        assert!(self.state.suspects.is_empty() && self.touched.is_empty());
        for link in 0..self.state.links.len() {
            self.check_link(link, tolerance);
        }
        for flow in 0..self.state.flows.len() {
            self.check_flow(flow, tolerance);
        }
    }

    fn check_link(&self, at: usize, tolerance: f64) {
        let state = &self.state;
        let link = &state.links[at];
        let gauge = state.gauges[at];
        let near =
            |found: f64, wanted: f64, scale: f64| (found - wanted).abs() <= tolerance * scale;
        assert!(!state.listed[at] && link.nobodys == 0);
        if link.users.is_empty() {
            assert!(gauge.level.is_infinite() && link.own == 0 && !link.watched);
            return;
        }
        let (mut load, mut weight, mut own_weight) = (0.0, 0.0, 0.0);
        let (mut own, mut crossings) = (0, 0);
        for (position, user) in link.users.iter().enumerate() {
            let flow = &state.flows[user.flow()];
            let element = flow.elements[user.slot()];
            assert_eq!((element.link(), element.position()), (at, position));
            assert_eq!(link.watched, user.slot() < flow.watched as usize);
            let share = state.share_of(at, *user);
            let level = state.level(user.flow());
            weight += share;
            load += share * level;
            if flow.owner == owner(at) {
                assert_eq!(position, own, "own flows come first");
                own += 1;
                own_weight += share;
                crossings += flow.watched - 1;
                assert!(gauge.level <= flow.limit * (1.0 + tolerance));
                for element in &flow.elements[flow.watched as usize..] {
                    let threshold = state.links[element.link()].threshold;
                    assert!(link.trigger <= threshold, "a trigger too high");
                }
            } else if link.watched {
                assert!(gauge.high >= level, "the highest other level is above");
            } else {
                assert!(level <= link.threshold * (1.0 + tolerance));
            }
        }
        assert_eq!(own, link.own as usize);
        assert!(near(link.weight, weight, weight));
        if !link.watched {
            assert!(gauge.level.is_infinite() && load <= gauge.capacity);
            return;
        }
        assert_eq!(crossings, link.crossings);
        assert!(near(link.own_weight, own_weight, weight));
        assert!(near(gauge.load, load, gauge.capacity), "a load has drifted");
        if gauge.level.is_finite() {
            assert!(
                own > 0 && near(load, gauge.capacity, gauge.capacity),
                "not full"
            );
        } else {
            assert!(
                own == 0 && load <= gauge.capacity * (1.0 + tolerance),
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
