//! Rates and dates from scratch: after each instant, for all coupled flows.
//!
//! Cost: the flows times their links, after any change. A flow with a rate that stays the same bit
//! for bit is not touched, so that its date does not drift.

use super::bottleneck::Bottleneck;
use super::problem::Problem;
use super::reference::ReferenceSolver;
use super::state::index;
use super::uses::Use;
use super::waves::WaveSolver;
use super::{Flow, GONE, least};

/// The solver and the buffers of the solver.
#[derive(Debug)]
pub(super) struct Plain {
    /// The first date at which a flow ends, in seconds.
    next: f64,
    /// For each capacity, its position in the problem under construction plus one; 0 if there is no
    /// position.
    pub(super) positions: Vec<u32>,
    /// The capacities of the problem.
    numbers: Vec<u32>,
    problem: Problem,
    rates: Vec<f64>,
    waves: WaveSolver,
    reference: ReferenceSolver,
    /// Instead of the two above, where that rule was asked for.
    bottleneck: Option<Bottleneck>,
    /// Solves for which waves are not tried, because they have given up,
    pause: u32,
    /// and for how many the next time.
    pause_next: u32,
}

/// Solves for which waves are not tried, at most.
const PAUSE_MAX: u32 = 64;

/// Progress of a flow.
#[derive(Clone, Copy, Debug)]
pub(super) struct FlowProgress {
    /// Work left,
    left: f64,
    /// at this date, in seconds.
    since: f64,
    /// Work done per second.
    rate: f64,
    /// The end of the flow, in seconds.
    end: f64,
}

impl FlowProgress {
    pub(super) const NONE: Self = Self {
        left: 0.0,
        since: 0.0,
        rate: 0.0,
        end: f64::INFINITY,
    };

    /// A flow that is about to begin.
    pub(super) const fn new(work: f64, now: f64) -> Self {
        Self {
            left: work,
            since: now,
            ..Self::NONE
        }
    }

    /// A flow that begins at a rate.
    #[inline]
    pub(super) fn at_rate(work: f64, rate: f64, now: f64) -> Self {
        let mut progress = Self::new(work, now);
        if rate != 0.0 {
            progress.rate = rate;
            progress.end = now + duration(work, rate);
        }
        progress
    }

    /// The end at the present rate, in seconds.
    pub(super) const fn end_s(&self) -> f64 {
        self.end
    }

    pub(super) const fn rate(&self) -> f64 {
        self.rate
    }

    pub(super) fn remaining_work(&self, now: f64) -> f64 {
        let elapsed = now - self.since;
        if elapsed > 0.0 {
            (self.left - self.rate * elapsed).max(0.0)
        } else {
            self.left
        }
    }

    /// Continues at a rate; returns the end in seconds.
    pub(super) fn continue_at(&mut self, rate: f64, now: f64) -> f64 {
        if rate != self.rate {
            self.left = self.remaining_work(now);
            self.since = now;
            self.rate = rate;
            self.end = self.since + duration(self.left, rate);
        }
        self.end
    }
}

impl Plain {
    pub(super) fn new() -> Self {
        Self {
            next: f64::INFINITY,
            positions: Vec::new(),
            numbers: Vec::new(),
            problem: Problem::default(),
            rates: Vec::new(),
            waves: WaveSolver::default(),
            reference: ReferenceSolver::default(),
            bottleneck: None,
            pause: 0,
            pause_next: 1,
        }
    }

    /// Forgets the last problem and its buffers, which are as large as the problem.
    pub(super) fn clear(&mut self) {
        let positions = std::mem::take(&mut self.positions);
        *self = Self {
            positions,
            ..Self::new()
        };
    }

    /// Returns true if flows share by fair bottleneck.
    pub(super) const fn shares_by_bottleneck(&self) -> bool {
        self.bottleneck.is_some()
    }

    /// Shares by fair bottleneck from the next solve on.
    pub(super) fn share_by_bottleneck(&mut self) {
        self.bottleneck = Some(Bottleneck::default());
    }

    /// Gives all coupled flows their rates.
    pub(super) fn solve(
        &mut self,
        flows: &mut [Flow],
        coupled: &[u32],
        capacities: &[f64],
        now: f64,
    ) {
        self.next = f64::INFINITY;
        let mut present = coupled.iter().filter(|slot| **slot != GONE);
        match (present.next(), present.next()) {
            (None, _) => return,
            (Some(slot), None) => {
                let flow = &mut flows[*slot as usize];
                self.next = flow.progress.continue_at(rate_alone(flow, capacities), now);
                return;
            }
            _ => {}
        }
        self.put_together(flows, coupled, capacities);
        self.find_rates();
        let present = coupled.iter().filter(|slot| **slot != GONE);
        for (slot, rate) in present.zip(&self.rates) {
            let end = flows[*slot as usize].progress.continue_at(*rate, now);
            self.next = self.next.min(end);
        }
    }

    /// Returns the problem that was solved last, the numbers of the capacities, and the rates.
    pub(super) fn solved(&self) -> (&Problem, &[u32], &[f64]) {
        (&self.problem, &self.numbers, &self.rates)
    }

    /// In waves, or level by level where that has taken too many waves of late.
    fn find_rates(&mut self) {
        if let Some(bottleneck) = &mut self.bottleneck {
            bottleneck.solve(&self.problem, &mut self.rates);
            return;
        }
        if let Some(left) = self.pause.checked_sub(1) {
            self.pause = left;
        } else if self.waves.solve(&self.problem, &mut self.rates) {
            self.pause_next = 1;
            return;
        } else {
            self.pause = self.pause_next;
            self.pause_next = (2 * self.pause_next).min(PAUSE_MAX);
        }
        self.reference.solve(&self.problem, &mut self.rates);
    }

    fn put_together(&mut self, flows: &[Flow], coupled: &[u32], capacities: &[f64]) {
        self.problem.clear();
        self.numbers.clear();
        for slot in coupled.iter().filter(|slot| **slot != GONE) {
            let flow = &flows[*slot as usize];
            for known in flow.uses.iter() {
                let number = known.number as usize;
                let position = &mut self.positions[number];
                if *position == 0 {
                    self.problem.capacities.push(capacities[number]);
                    self.numbers.push(known.number);
                    *position = index(self.numbers.len());
                }
                self.problem.uses.push(*position - 1);
                self.problem.coefficients.push(known.coefficient);
            }
            self.problem.finish_flow(flow.weight, flow.bound);
        }
        for number in &self.numbers {
            self.positions[*number as usize] = 0;
        }
    }

    /// The first end in seconds, infinite if there is none.
    pub(super) const fn next_s(&self) -> f64 {
        self.next
    }

    /// Appends the flows that end up to `last`.
    pub(super) fn due(
        &mut self,
        flows: &mut [Flow],
        coupled: &[u32],
        last: f64,
        due: &mut Vec<u32>,
    ) {
        if self.next > last {
            return;
        }
        self.next = f64::INFINITY;
        for slot in coupled.iter().filter(|slot| **slot != GONE) {
            let progress = &mut flows[*slot as usize].progress;
            if progress.end <= last {
                *progress = FlowProgress::NONE;
                due.push(*slot);
            } else {
                self.next = self.next.min(progress.end);
            }
        }
    }
}

/// Returns the time for `left` at a rate, in seconds: infinite only at rate 0. So work that ends
/// too late for a number differs from work that stands still.
#[inline]
pub(super) fn duration(left: f64, rate: f64) -> f64 {
    let duration = left / rate;
    if rate > 0.0 {
        least(duration, f64::MAX)
    } else {
        duration
    }
}

/// The rate of a flow that shares no capacity.
pub(super) fn rate_alone(flow: &Flow, capacities: &[f64]) -> f64 {
    let rate = |known: &Use| capacities[known.number as usize] / known.coefficient;
    flow.uses.iter().map(rate).fold(flow.bound, least)
}
