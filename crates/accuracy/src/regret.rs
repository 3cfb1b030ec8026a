//! Regret: the measured time of the algorithm that the simulation finds fastest, divided by the
//! measured time of the fastest one. 1 is the best choice; the library's choice is compared beside.
//!
//! *Not decided here*: sizes between the measured ones.

use std::collections::BTreeMap;

use collectives::Collective;
use validation::quantile;

use crate::judge::JudgedRow;
use crate::row::MeasuredRow;

/// A call that was measured with several algorithms.
#[derive(Clone, PartialEq, Debug)]
pub struct Regret {
    /// Number of nodes.
    pub nodes: u32,
    /// Number of ranks on each node.
    pub ranks_per_node: u32,
    /// The operation.
    pub operation: Collective,
    /// Size in bytes.
    pub bytes: u64,
    /// The algorithm that is fastest in the simulation.
    pub chosen: String,
    /// The algorithm that was measured as the fastest.
    pub best: String,
    /// Measured time of the chosen algorithm, divided by the time of the best algorithm.
    pub of_choice: f64,
    /// Measured time with the library's choice, divided by the time of the best algorithm.
    pub of_default: Option<f64>,
}

/// Summary of many regrets.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RegretSummary {
    /// Number of calls.
    pub count: usize,
    /// The geometric mean.
    pub mean: f64,
    /// Nine of ten are smaller.
    pub p90: f64,
    /// The largest.
    pub largest: f64,
    /// Part of the calls in which the choice is the best.
    pub exact: f64,
}

impl RegretSummary {
    /// Returns the summary; `None` without regrets.
    #[expect(clippy::cast_precision_loss, reason = "numbers of rows")]
    pub fn new(regrets: &[f64]) -> Option<Self> {
        let count = regrets.len() as f64;
        let logarithms: f64 = regrets.iter().copied().map(libm::log).sum();
        let exact = regrets.iter().filter(|regret| **regret <= 1.0).count();
        Some(Self {
            count: regrets.len(),
            mean: libm::exp(logarithms / count),
            p90: quantile(regrets, 0.9)?,
            largest: quantile(regrets, 1.0)?,
            exact: exact as f64 / count,
        })
    }
}

/// Times of one call by algorithm: simulated and measured sums, and how many were added.
type Times<'a> = BTreeMap<&'a str, (f64, f64, f64)>;

/// Returns the regrets of all calls that were measured with at least two known algorithms; the
/// times of several jobs are averaged.
pub fn find_regrets(judged: &[JudgedRow], choices: &[MeasuredRow]) -> Vec<Regret> {
    let key = |row: &MeasuredRow| {
        let at = Collective::ALL.iter().position(|one| *one == row.operation);
        (row.nodes, row.ranks_per_node, at, row.bytes)
    };
    let mut calls: BTreeMap<_, (Collective, Times<'_>)> = BTreeMap::new();
    for JudgedRow { row, simulated_s } in judged {
        let (_, times) = calls
            .entry(key(row))
            .or_insert((row.operation, Times::new()));
        let time = times.entry(&row.label).or_default();
        *time = (time.0 + simulated_s, time.1 + row.median_s, time.2 + 1.0);
    }
    let mut defaults: BTreeMap<_, (f64, f64)> = BTreeMap::new();
    for row in choices {
        let default = defaults.entry(key(row)).or_default();
        *default = (default.0 + row.median_s, default.1 + 1.0);
    }
    let mut regrets = Vec::new();
    for (key, (operation, times)) in calls {
        let averages = times.iter().map(|(label, (simulated, measured, count))| {
            (*label, simulated / count, measured / count)
        });
        let averages: Vec<(&str, f64, f64)> = averages.collect();
        let chosen = averages
            .iter()
            .min_by(|one, other| one.1.total_cmp(&other.1));
        let best = averages
            .iter()
            .min_by(|one, other| one.2.total_cmp(&other.2));
        let (Some(chosen), Some(best), 2..) = (chosen, best, averages.len()) else {
            continue;
        };
        regrets.push(Regret {
            nodes: key.0,
            ranks_per_node: key.1,
            operation,
            bytes: key.3,
            chosen: chosen.0.to_owned(),
            best: best.0.to_owned(),
            of_choice: chosen.2 / best.2,
            of_default: defaults.get(&key).map(|(sum, count)| sum / count / best.2),
        });
    }
    regrets
}
