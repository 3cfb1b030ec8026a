//! A sharing problem in flat arrays: the input of the solvers from scratch.
//!
//! This module decides no rate. The caller chooses the unit of rates and capacities.

/// Flows and the capacities that they use; the memory is used again.
#[derive(Clone, Default, Debug)]
pub(crate) struct Problem {
    /// Flop/s or bytes/s of each capacity, above 0.
    pub(crate) capacities: Vec<f64>,
    /// Weight of each flow, above 0.
    pub(crate) weights: Vec<f64>,
    /// Upper limit of the rate of each flow, above 0, possibly infinite.
    pub(crate) bounds: Vec<f64>,
    /// Where the capacities of each flow end in `uses`.
    pub(crate) ends: Vec<u32>,
    /// The capacities of all flows, one flow after the other.
    pub(crate) uses: Vec<u32>,
    /// Share of the capacity taken by a unit of the rate, for each use.
    pub(crate) coefficients: Vec<f64>,
}

impl Problem {
    /// Empties the problem and keeps the memory.
    pub(crate) fn clear(&mut self) {
        self.capacities.clear();
        self.weights.clear();
        self.bounds.clear();
        self.ends.clear();
        self.uses.clear();
        self.coefficients.clear();
    }

    /// The capacities that a flow crosses.
    pub(crate) fn uses_of(&self, flow: usize) -> impl Iterator<Item = (u32, f64)> + '_ {
        let begin = flow.checked_sub(1).map_or(0, |before| self.ends[before]);
        let range = begin as usize..self.ends[flow] as usize;
        let uses = self.uses[range.clone()].iter().copied();
        uses.zip(self.coefficients[range].iter().copied())
    }

    /// Amount of a capacity that a unit of the rate of a flow takes; the same for all
    /// uses, if there are several.
    pub(crate) fn coefficient(&self, flow: usize, capacity: u32) -> f64 {
        let mut uses = self.uses_of(flow);
        let found = uses.find(|(number, _)| *number == capacity);
        found.map_or(0.0, |(_, coefficient)| coefficient)
    }

    /// Adds a flow, after the uses of the flow were pushed to `uses`.
    pub(crate) fn finish_flow(&mut self, weight: f64, bound: f64) {
        self.weights.push(weight);
        self.bounds.push(bound);
        let end = u32::try_from(self.uses.len()).expect("fewer than 2^32 uses of capacities");
        self.ends.push(end);
    }

    /// Asserts that `rates` is the max-min fair allocation, up to `tolerance` (relative).
    #[cfg(test)]
    pub(crate) fn assert_fair(&self, rates: &[f64], tolerance: f64) {
        let level = |flow: usize| rates[flow] / self.weights[flow];
        let mut load = vec![0.0; self.capacities.len()];
        let mut level_max = vec![0.0_f64; self.capacities.len()];
        for (flow, rate) in rates.iter().enumerate() {
            assert!(*rate > 0.0, "flow {flow} stands still");
            assert!(*rate <= self.bounds[flow] * (1.0 + tolerance));
            for (capacity, coefficient) in self.uses_of(flow) {
                let at = capacity as usize;
                load[at] += coefficient * rate;
                level_max[at] = level_max[at].max(level(flow));
            }
        }
        for (at, capacity) in self.capacities.iter().enumerate() {
            assert!(
                load[at] <= capacity * (1.0 + tolerance),
                "capacity {at} is over-full: {} of {capacity}",
                load[at]
            );
        }
        for (flow, rate) in rates.iter().enumerate() {
            let at_bound = *rate >= self.bounds[flow] * (1.0 - tolerance);
            let bottleneck = self.uses_of(flow).any(|(capacity, _)| {
                let at = capacity as usize;
                load[at] >= self.capacities[at] * (1.0 - tolerance)
                    && level(flow) >= level_max[at] * (1.0 - tolerance)
            });
            assert!(
                at_bound || bottleneck,
                "flow {flow} could be faster than {rate}"
            );
        }
    }
}
