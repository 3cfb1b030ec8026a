//! Progressive filling in waves: all capacities that can fill next, wherever they are, in one pass.
//!
//! A capacity is a bottleneck if no other capacity or bound can stop its flows earlier (all other
//! capacities and bounds on the ways of its flows have at least its level). This holds whatever
//! happens elsewhere: as flows stop, levels only rise. So all such capacities fill at once, and a
//! problem takes as many waves as its longest chain of bottlenecks that depend on each other. The
//! chain is short where traffic is regular or flows are many and independent. Where the chain is
//! long, [`WaveSolver::solve`] gives up.
//!
//! Cost: the flows that still rise in each wave, times their uses; no heap, no lists of flows by
//! capacity.
//!
//! Rounding: the remaining capacity is computed by subtraction, and the level of a capacity never
//! falls, as in the reference.

use super::problem::Problem;

/// Flows looked at, per flow of the problem, before giving up.
const VISITS_PER_FLOW: usize = 8;

/// The solver and the buffers of the solver.
#[derive(Default, Debug)]
pub(super) struct WaveSolver {
    slots: Vec<Slot>,
    /// Slots that flows of the present wave use.
    touched: Vec<u32>,
    rising: Vec<u32>,
    /// The lowest level on the way of each rising flow.
    lowest: Vec<f64>,
}

/// Rest of one capacity.
#[derive(Clone, Copy, Debug)]
struct Slot {
    left: f64,
    /// Σ coefficient × weight of the flows that still rise.
    usage: f64,
    level: f64,
    /// The wave in which the usage was summed up.
    wave: u32,
    /// True if no other limit stops the flows of the capacity earlier.
    is_bottleneck: bool,
}

impl WaveSolver {
    /// Writes the max-min fair rate of each flow of `problem` into `rates`; false if that would
    /// take too long.
    pub(super) fn solve(&mut self, problem: &Problem, rates: &mut Vec<f64>) -> bool {
        let count = problem.weights.len();
        rates.clear();
        rates.resize(count, 0.0);
        self.slots.clear();
        self.slots
            .extend(problem.capacities.iter().map(|capacity| Slot {
                left: *capacity,
                usage: 0.0,
                level: 0.0,
                wave: 0,
                is_bottleneck: false,
            }));
        self.rising.clear();
        self.rising.extend((0_u32..).take(count));
        let mut visits = VISITS_PER_FLOW * count;
        let mut wave = 0;
        while !self.rising.is_empty() {
            let Some(left) = visits.checked_sub(self.rising.len()) else {
                return false;
            };
            visits = left;
            wave += 1;
            self.find_levels(problem, wave);
            self.find_bottlenecks(problem);
            self.stop_flows(problem, rates);
        }
        true
    }

    fn find_levels(&mut self, problem: &Problem, wave: u32) {
        self.touched.clear();
        for flow in &self.rising {
            let weight = problem.weights[*flow as usize];
            for (capacity, coefficient) in problem.uses_of(*flow as usize) {
                let slot = &mut self.slots[capacity as usize];
                if slot.wave != wave {
                    slot.wave = wave;
                    slot.usage = 0.0;
                    slot.is_bottleneck = true;
                    self.touched.push(capacity);
                }
                slot.usage += coefficient * weight;
            }
        }
        for capacity in &self.touched {
            let slot = &mut self.slots[*capacity as usize];
            slot.level = slot.level.max(slot.left / slot.usage);
        }
    }

    fn find_bottlenecks(&mut self, problem: &Problem) {
        self.lowest.clear();
        for flow in &self.rising {
            let flow = *flow as usize;
            let mut lowest = f64::INFINITY;
            for (capacity, _) in problem.uses_of(flow) {
                lowest = lowest.min(self.slots[capacity as usize].level);
            }
            self.lowest.push(lowest);
            let stops = lowest.min(problem.bounds[flow] / problem.weights[flow]);
            for (capacity, _) in problem.uses_of(flow) {
                let slot = &mut self.slots[capacity as usize];
                slot.is_bottleneck &= slot.level <= stops;
            }
        }
    }

    /// Stops the flows that have reached their bound or a bottleneck.
    fn stop_flows(&mut self, problem: &Problem, rates: &mut [f64]) {
        let mut still_rising = 0;
        for at in 0..self.rising.len() {
            let number = self.rising[at];
            let flow = number as usize;
            let (weight, bound) = (problem.weights[flow], problem.bounds[flow]);
            let lowest = self.lowest[at];
            let at_bound = bound / weight <= lowest;
            let is_bottleneck =
                |(capacity, _): (u32, f64)| self.slots[capacity as usize].is_bottleneck;
            if !at_bound && !problem.uses_of(flow).any(is_bottleneck) {
                self.rising[still_rising] = number;
                still_rising += 1;
                continue;
            }
            let rate = if at_bound { bound } else { lowest * weight };
            rates[flow] = rate;
            for (capacity, coefficient) in problem.uses_of(flow) {
                let slot = &mut self.slots[capacity as usize];
                slot.left = (slot.left - coefficient * rate).max(0.0);
            }
        }
        self.rising.truncate(still_rising);
    }
}

#[cfg(test)]
mod tests {
    use super::super::reference::ReferenceSolver;
    use super::*;
    use proptest::prelude::*;

    fn problems() -> impl Strategy<Value = Problem> {
        let uses = prop::collection::vec((0_u32..8, prop_oneof![Just(1.0), Just(0.05)]), 0..4);
        let weight = prop_oneof![Just(1.0), 0.1..10.0];
        let bound = prop_oneof![Just(f64::INFINITY), 0.01..3.0];
        let flows = prop::collection::vec((uses, weight, bound), 1..30);
        (prop::collection::vec(0.1..10.0, 8), flows).prop_map(|(capacities, flows)| {
            let mut problem = Problem {
                capacities,
                ..Problem::default()
            };
            for (uses, weight, bound) in flows {
                let mut seen = Vec::new();
                for (capacity, coefficient) in uses {
                    if !seen.contains(&capacity) {
                        seen.push(capacity);
                        problem.uses.push(capacity);
                        problem.coefficients.push(coefficient);
                    }
                }
                let bound = if seen.is_empty() {
                    bound.min(5.0)
                } else {
                    bound
                };
                problem.finish_flow(weight, bound);
            }
            problem
        })
    }

    proptest! {
        #[test]
        fn the_rates_are_those_of_the_reference(problem in problems()) {
            let (mut found, mut wanted) = (Vec::new(), Vec::new());
            ReferenceSolver::default().solve(&problem, &mut wanted);
            prop_assume!(WaveSolver::default().solve(&problem, &mut found));
            for (found, wanted) in found.iter().zip(&wanted) {
                prop_assert!((found - wanted).abs() <= 1e-11 * wanted, "{found} instead of {wanted}");
            }
            problem.assert_fair(&found, 1e-11);
        }
    }

    /// A chain in which each flow can only stop after the one before.
    fn chain(length: u32) -> Problem {
        let mut problem = Problem::default();
        for at in 0..length {
            problem.capacities.push(f64::from(at + 1));
            problem.uses.extend([at, at + 1]);
            problem.coefficients.extend([1.0, 1.0]);
            problem.finish_flow(1.0, f64::INFINITY);
        }
        problem.capacities.push(1e9);
        problem
    }

    #[test]
    fn a_long_chain_is_given_up_and_a_short_one_is_not() {
        let mut rates = Vec::new();
        assert!(WaveSolver::default().solve(&chain(4), &mut rates));
        assert_eq!(rates, [1.0, 1.0, 2.0, 2.0]);
        assert!(!WaveSolver::default().solve(&chain(1000), &mut rates));
    }

    #[test]
    fn equal_flows_on_a_ring_take_one_wave() {
        let count = 1000;
        let mut problem = Problem {
            capacities: vec![1.05; count],
            ..Problem::default()
        };
        for at in 0..count as u32 {
            problem.uses.extend([at, (at + 1) % count as u32]);
            problem.coefficients.extend([1.0, 0.05]);
            problem.finish_flow(1.0, f64::INFINITY);
        }
        let mut waves = WaveSolver::default();
        let mut rates = Vec::new();
        assert!(waves.solve(&problem, &mut rates));
        assert!(rates.iter().all(|rate| *rate == 1.0));
    }
}
