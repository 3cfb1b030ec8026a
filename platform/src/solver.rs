//! Max-min fair sharing: [`Solver`] keeps an exact allocation up to date, one flow at a time.
//!
//! Flows cross capacities (links, hosts). Flow `f` has a weight `w_f` and a bound `b_f`; its rate is `x_f = w_f × level_f`.
//! An allocation is max-min fair when no capacity is exceeded and each flow is at its bound, or crosses a full capacity
//! on which no flow has a higher level. That allocation is unique.
//!
//! A use has a coefficient: how much of the capacity a unit of the rate takes. Links that nobody shares (`fatpipe`) are no
//! capacities: they are folded into the bound of each flow.
//!
//! | part | decides |
//! |---|---|
//! | `sharing` | what happens when a flow comes, goes or changes |
//! | `relax` | which links have to find a new level after that, and in which order |
//! | `waterfill` | the level that fills one link |
//! | `state` | who owns whom; which links need no load |
//! | `clock` | when flows end |
//! | `rebuild` | everything from scratch, for large batches |
//! | `reference` | progressive filling: what is right |
//! | `check` | the test mode |
//!
//! Cost of an event: the flows whose rate changes, times their links that are nearly full; one number where a single link
//! owns all flows, whatever their number. It does not depend on how many capacities there are.
//!
//! Ordering guarantee: the same sequence of calls gives the same bits. Only + − × ÷, minimum and maximum are used, and no
//! recursion.

#[cfg(test)]
mod check;
mod clock;
pub(crate) mod heap;
mod rebuild;
mod relax;
mod sharing;
mod state;
#[cfg(test)]
mod tests;
mod waterfill;

use sim_core::Time;

pub use sharing::TooManyCoefficients;

pub(crate) mod reference;

/// Keeps the max-min fair rates of flows, and the dates at which they end.
#[derive(Default, Debug)]
pub struct Solver {
    state: state::State,
    clocks: Vec<clock::Clock>,
    /// The date of the present batch of changes.
    now: Time,
    /// The link of each capacity plus one; 0 while nobody uses it.
    link_of: Vec<u32>,
    /// Links whose capacity nobody uses any more.
    free: Vec<u32>,
    declarations: u64,
    arrivals: usize,
    changed: bool,
    /// Links whose load may not fit their level.
    dirty: heap::Heap,
    dirty_at: Vec<u32>,
    /// Links whose load has changed, with the level of the flow that did it first.
    touched: Vec<(u32, f64)>,
    /// Changes of flows in the present solve.
    updates: usize,
    /// In tests: after how many of them a solve is given up, instead of the usual rule.
    #[cfg(test)]
    updates_max: Option<usize>,
    /// The end of the first flow of each link, in seconds.
    dates: heap::Heap,
    dates_at: Vec<u32>,
    /// The ends of the flows at their bounds, in seconds.
    bounded: heap::Heap,
    /// Positions of flows: in `bounded`, or in the heap of their link.
    flows_at: Vec<u32>,
    /// Links whose next date has to be found again.
    stale_clocks: Vec<u32>,
    /// Buffers.
    scan: Vec<relax::Scanned>,
    caps: Vec<waterfill::Cap>,
    reference: reference::Reference,
    problem: Problem,
    rates: Vec<f64>,
    flows_in_problem: Vec<u32>,
    links_in_problem: Vec<u32>,
    local: Vec<u32>,
}

/// A sharing problem in flat arrays, whose memory is used again.
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
    /// How much of the capacity a unit of the rate takes, for each use.
    pub(crate) coefficients: Vec<f64>,
}

impl Problem {
    /// Makes it empty, keeping its memory.
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

    /// Adds a flow, after its uses were pushed to `uses`.
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
