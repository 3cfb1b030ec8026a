//! Progressive filling from scratch: the solver that defines the correct result.
//!
//! The level of all flows rises together from 0. When the level reaches the bound of a flow, this
//! flow stops there; when a capacity is full, all its flows stop. A heap of the levels at which
//! capacities fill gives the next event. As flows stop, the level of a capacity only rises: an
//! entry of the heap is refreshed when the entry comes to the top.
//!
//! Cost: O((flows + uses) log) per solve. Kept for ever as the reference for faster solvers.
//!
//! Rounding: the remaining capacity is computed by subtraction. A capacity that nearly fills at two
//! very different levels loses relative precision at the second level; a level never falls, so
//! every flow stops.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::problem::Problem;

/// The solver and the buffers of the solver.
#[derive(Default, Debug)]
pub(crate) struct ReferenceSolver {
    slots: Vec<Slot>,
    /// The flows of all capacities, one capacity after the other.
    flows: Vec<u32>,
    /// Levels at which capacities fill, as bit patterns, which sort as the levels do.
    heap: BinaryHeap<Reverse<(u64, u32)>>,
    /// Flows with a finite bound, by the level at which they reach the bound.
    by_bound: Vec<(u64, u32)>,
    /// After a solve: the level at which each capacity filled, infinite if it did not fill.
    pub(crate) levels: Vec<f64>,
    /// After a solve: the capacity that stopped each flow, `None` if the bound stopped the flow.
    pub(crate) owners: Vec<Option<u32>>,
}

/// Rest of one capacity.
#[derive(Clone, Copy, Default, Debug)]
struct Slot {
    left: f64,
    /// Sum of the weights of the flows that still rise.
    usage: f64,
    /// The usage at the last summation.
    usage_summed: f64,
    /// Uses by flows that still rise.
    rising: u32,
    /// The range in `flows`.
    begin: u32,
    end: u32,
}

/// The rate of a flow that still rises.
const RISING: f64 = -1.0;

impl ReferenceSolver {
    /// Writes the max-min fair rate of each flow of `problem` into `rates`.
    pub(crate) fn solve(&mut self, problem: &Problem, rates: &mut Vec<f64>) {
        rates.clear();
        rates.resize(problem.weights.len(), RISING);
        self.levels.clear();
        self.levels.resize(problem.capacities.len(), f64::INFINITY);
        self.owners.clear();
        self.owners.resize(problem.weights.len(), None);
        self.prepare_slots(problem);
        let mut level = 0.0_f64;
        let mut bound_next = 0;
        loop {
            let full = self.next_full(problem, rates, level);
            while self
                .by_bound
                .get(bound_next)
                .is_some_and(|(_, flow)| rates[*flow as usize] >= 0.0)
            {
                bound_next += 1;
            }
            let bounded = self.by_bound.get(bound_next).copied();
            match (bounded, full) {
                (Some((bits, flow)), full)
                    if full.is_none_or(|(filled, _)| f64::from_bits(bits) <= filled) =>
                {
                    level = level.max(f64::from_bits(bits));
                    let rate = problem.bounds[flow as usize];
                    self.stop(problem, flow, rate, rates);
                }
                (_, Some((filled, capacity))) => {
                    level = filled;
                    self.levels[capacity as usize] = level;
                    let slot = self.slots[capacity as usize];
                    for at in slot.begin..slot.end {
                        let flow = self.flows[at as usize];
                        if rates[flow as usize] < 0.0 {
                            let wanted = level * problem.weights[flow as usize];
                            let rate = wanted.min(problem.bounds[flow as usize]);
                            self.owners[flow as usize] = Some(capacity);
                            self.stop(problem, flow, rate, rates);
                        }
                    }
                }
                (_, None) => break,
            }
        }
    }

    fn prepare_slots(&mut self, problem: &Problem) {
        self.slots.clear();
        self.slots
            .extend(problem.capacities.iter().map(|capacity| Slot {
                left: *capacity,
                ..Slot::default()
            }));
        for flow in 0..problem.weights.len() {
            for (capacity, coefficient) in problem.uses_of(flow) {
                let slot = &mut self.slots[capacity as usize];
                slot.usage += coefficient * problem.weights[flow];
                slot.rising += 1;
            }
        }
        let mut begin = 0;
        for slot in &mut self.slots {
            slot.usage_summed = slot.usage;
            slot.begin = begin;
            slot.end = begin;
            begin += slot.rising;
        }
        self.flows.clear();
        self.flows.resize(problem.uses.len(), 0);
        self.by_bound.clear();
        for (flow, number) in (0..problem.weights.len()).zip(0_u32..) {
            for (capacity, _) in problem.uses_of(flow) {
                let slot = &mut self.slots[capacity as usize];
                self.flows[slot.end as usize] = number;
                slot.end += 1;
            }
            if problem.bounds[flow].is_finite() {
                let level = problem.bounds[flow] / problem.weights[flow];
                self.by_bound.push((level.to_bits(), number));
            }
        }
        self.by_bound.sort_unstable();
        self.heap.clear();
        for (slot, number) in self.slots.iter().zip(0_u32..) {
            if slot.rising > 0 {
                let level = slot.left / slot.usage;
                self.heap.push(Reverse((level.to_bits(), number)));
            }
        }
    }

    /// Returns the capacity that fills next, with its level, at least `level_min`; keeps the entry.
    fn next_full(
        &mut self,
        problem: &Problem,
        rates: &[f64],
        level_min: f64,
    ) -> Option<(f64, u32)> {
        while let Some(Reverse((bits, capacity))) = self.heap.peek().copied() {
            if self.slots[capacity as usize].rising == 0 {
                self.heap.pop();
                continue;
            }
            let slot = &mut self.slots[capacity as usize];
            if slot.usage < slot.usage_summed * 1e-3 {
                // Most of the sum is gone by subtraction: sum up what is left.
                let flows = &self.flows[slot.begin as usize..slot.end as usize];
                let rising = flows.iter().map(|flow| *flow as usize);
                slot.usage = rising
                    .filter(|flow| rates[*flow] < 0.0)
                    .map(|flow| problem.coefficient(flow, capacity) * problem.weights[flow])
                    .sum();
                slot.usage_summed = slot.usage;
            }
            let level = (slot.left / slot.usage).max(level_min);
            if level.to_bits() <= bits {
                return Some((level, capacity));
            }
            self.heap.pop();
            self.heap.push(Reverse((level.to_bits(), capacity)));
        }
        None
    }

    fn stop(&mut self, problem: &Problem, flow: u32, rate: f64, rates: &mut [f64]) {
        rates[flow as usize] = rate;
        for (capacity, coefficient) in problem.uses_of(flow as usize) {
            let slot = &mut self.slots[capacity as usize];
            slot.left = (slot.left - coefficient * rate).max(0.0);
            slot.usage -= coefficient * problem.weights[flow as usize];
            slot.rising -= 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn solve(capacities: &[f64], flows: &[(f64, f64, &[u32])]) -> Vec<f64> {
        let mut problem = Problem {
            capacities: capacities.to_vec(),
            ..Problem::default()
        };
        for (weight, bound, uses) in flows {
            problem.uses.extend_from_slice(uses);
            problem.coefficients.resize(problem.uses.len(), 1.0);
            problem.finish_flow(*weight, *bound);
        }
        let mut rates = Vec::new();
        ReferenceSolver::default().solve(&problem, &mut rates);
        problem.assert_fair(&rates, 1e-12);
        rates
    }

    const FREE: f64 = f64::INFINITY;

    #[test]
    fn the_classical_chain() {
        // A long flow over two links, each with a short flow; the second link is wider.
        let rates = solve(
            &[1.0, 4.0],
            &[(1.0, FREE, &[0, 1]), (1.0, FREE, &[0]), (1.0, FREE, &[1])],
        );
        assert_eq!(rates, [0.5, 0.5, 3.5]);
    }

    #[test]
    fn weights_bounds_and_double_uses() {
        let rates = solve(&[3.0], &[(2.0, FREE, &[0]), (1.0, FREE, &[0])]);
        assert_eq!(rates, [2.0, 1.0]);
        let rates = solve(&[3.0], &[(1.0, 0.5, &[0]), (1.0, FREE, &[0])]);
        assert_eq!(rates, [0.5, 2.5]);
        assert_eq!(solve(&[3.0], &[(1.0, FREE, &[0, 0])]), [1.5]);
        assert_eq!(solve(&[3.0], &[(1.0, 7.0, &[])]), [7.0]);
    }

    #[test]
    fn very_different_weights_leave_nobody_standing() {
        let rates = solve(&[3.0], &[(1e20, 1.0, &[0]), (1.0, FREE, &[0])]);
        assert_eq!(rates, [1.0, 2.0]);
        // Both capacities fill at the level 1e-17; rounding leaves exactly nothing of the second
        // one for its own flow.
        let rates = solve(&[1.0, 1.0], &[(1e17, FREE, &[0, 1]), (1.0, FREE, &[1])]);
        assert_eq!(rates, [1.0, 1e-17]);
    }
}
