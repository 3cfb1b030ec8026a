//! Fair bottleneck: the sharing rule of SimGrid 3.32 and 4.1 for parallel tasks.
//!
//! In rounds, every capacity offers each unfinished flow on this capacity an equal part of the
//! remaining amount; each flow grows by the least offer. A flow is finished at its bound, or when
//! one of its capacities is exhausted. Weights do not count, and the result is not max-min fair.
//!
//! Two properties of SimGrid's solver change rates and are kept:
//! - a finished flow takes its last growth again in each later round from all capacities that it
//!   uses: part of a capacity may stay unused;
//! - a capacity with a remaining amount below 1e-5 is exhausted.
//!
//! *Not modelled*: capacities that are not shared (`FATPIPE`); the caller folds them into bounds.
//! SimGrid lets several flows on such a link exceed the capacity together or one by one.
//!
//! Cost: rounds times uses. A round takes at least a share of a capacity, so that rounds grow with
//! the logarithm of capacities.
//!
//! Source: a description of SimGrid's solver. `crates/simgrid-import/tests/simgrid.rs` compares the
//! dates of random tasks with SimGrid 3.32.

use super::problem::Problem;

/// A capacity with less than this left is exhausted: `precision/work-amount` of SimGrid.
const PRECISION: f64 = 1e-5;

/// The solver and the buffers of the solver.
#[derive(Default, Debug)]
pub(crate) struct Bottleneck {
    /// Remaining amount of each capacity; 0 if the capacity is exhausted.
    left: Vec<f64>,
    /// Unfinished flows of each capacity.
    users: Vec<u32>,
    /// Last growth of each flow.
    growth: Vec<f64>,
    finished: Vec<bool>,
}

impl Bottleneck {
    /// Finds the rates of all flows. Each flow uses a capacity or has a finite bound.
    pub(crate) fn solve(&mut self, problem: &Problem, rates: &mut Vec<f64>) {
        let flows = problem.bounds.len();
        rates.clear();
        rates.resize(flows, 0.0);
        self.left.clone_from(&problem.capacities);
        self.growth.clear();
        self.growth.resize(flows, 0.0);
        self.finished.clear();
        self.finished.resize(flows, false);
        while self.finished.contains(&false) {
            self.count_users(problem);
            self.grow_flows(problem, rates);
            self.consume_capacities(problem);
        }
    }

    fn count_users(&mut self, problem: &Problem) {
        self.users.clear();
        self.users.resize(self.left.len(), 0);
        for flow in (0..problem.bounds.len()).filter(|flow| !self.finished[*flow]) {
            for (capacity, _) in problem.uses_of(flow) {
                self.users[capacity as usize] += 1;
            }
        }
    }

    /// Lets every unfinished flow grow by the least offer, up to the bound of the flow.
    fn grow_flows(&mut self, problem: &Problem, rates: &mut [f64]) {
        for (flow, rate) in rates.iter_mut().enumerate() {
            if self.finished[flow] {
                continue;
            }
            let bound = problem.bounds[flow];
            let offer = |(capacity, coefficient): (u32, f64)| {
                let at = capacity as usize;
                self.left[at] / f64::from(self.users[at]) / coefficient
            };
            let offers = problem.uses_of(flow).map(offer);
            let growth = offers.fold(bound - *rate, f64::min);
            self.growth[flow] = growth;
            *rate += growth;
            self.finished[flow] = *rate >= bound;
        }
    }

    /// Takes the growth of all flows from the capacities that had users, and finishes the flows on
    /// exhausted capacities.
    fn consume_capacities(&mut self, problem: &Problem) {
        for flow in 0..problem.bounds.len() {
            for (capacity, coefficient) in problem.uses_of(flow) {
                self.left[capacity as usize] -= coefficient * self.growth[flow];
            }
        }
        for left in self.left.iter_mut().filter(|left| **left < PRECISION) {
            *left = 0.0;
        }
        for flow in 0..problem.bounds.len() {
            let mut uses = problem.uses_of(flow);
            self.finished[flow] |= uses.any(|(capacity, _)| self.left[capacity as usize] == 0.0);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(capacities: &[f64], flows: &[(f64, &[(u32, f64)])]) -> Vec<f64> {
        let mut problem = Problem::default();
        problem.capacities.extend(capacities);
        for (bound, uses) in flows {
            problem.uses.extend(uses.iter().map(|known| known.0));
            problem
                .coefficients
                .extend(uses.iter().map(|known| known.1));
            problem.finish_flow(1.0, *bound);
        }
        let mut rates = Vec::new();
        Bottleneck::default().solve(&problem, &mut rates);
        rates
    }

    const NONE: f64 = f64::INFINITY;

    #[test]
    fn equal_parts_of_one_capacity() {
        // Parts of the capacity are equal, not rates; what the bounded flow leaves is shared.
        assert_eq!(
            rates(&[12.0], &[(NONE, &[(0, 1.0)]), (NONE, &[(0, 3.0)])]),
            [6.0, 2.0]
        );
        assert_eq!(
            rates(&[12.0], &[(NONE, &[(0, 1.0)]), (2.0, &[(0, 1.0)])]),
            [10.0, 2.0]
        );
        assert_eq!(rates(&[0.0], &[(NONE, &[(0, 1.0)])]), [0.0]);
    }

    #[test]
    fn rounds_converge_where_flows_hinder_each_other() {
        let found = rates(
            &[9.0, 9.0],
            &[(NONE, &[(0, 1.0), (1, 2.0)]), (NONE, &[(0, 2.0), (1, 1.0)])],
        );
        assert_eq!(found[0], found[1]);
        assert!((found[0] - 3.0).abs() < PRECISION, "{found:?}");
    }

    #[test]
    fn a_finished_flow_takes_its_last_growth_again() {
        // Round 1: 1, 4 and 4, and 3 are left. Round 2: 0.5 up to the bound and 1.5; the first
        // takes 1 again, and nothing is left although only 11 of 12 are in use.
        let link = (1, 1.0);
        let flows: [(f64, &[(u32, f64)]); 3] =
            [(NONE, &[(0, 1.0), link]), (4.5, &[link]), (NONE, &[link])];
        assert_eq!(rates(&[1.0, 12.0], &flows), [1.0, 4.5, 5.5]);
    }
}
