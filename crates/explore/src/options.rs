//! Options of a search.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use crate::SearchProgress;

/// Method of partial-order reduction, which leaves out orders equivalent to others.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Reduction {
    /// Each class of orders exactly once: optimal, with wakeup trees.
    #[default]
    Odpor,
    /// Each class at least once: source sets.
    Sdpor,
    /// Each class at least once: sleep sets alone. The reference for tests of the others.
    Sleep,
    /// Every interleaving, without reduction.
    None,
    /// Every state once, of [worlds](crate::state_machines) that have a fingerprint; without one,
    /// every order. A run ends where another one has been, so runs are not orders then: only the
    /// states that are seen and the ends of runs count.
    States,
}

/// Strategy for the choice of runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Strategy {
    /// All of them, depth first.
    #[default]
    DepthFirst,
    /// At random: each possible step is as likely as any other. Ends only at a bound.
    Uniform {
        /// The same seed gives the same runs.
        seed: u64,
    },
    /// At random by priorities (PCT): finds mistakes that take few orderings. Ends only at a bound.
    Pct {
        /// The same seed gives the same runs.
        seed: u64,
        /// The number of orderings that a mistake may take, at least 1.
        depth: u32,
    },
}

/// The bounds and the method of a search.
#[derive(Clone, Debug)]
pub struct Options {
    /// The partial-order reduction.
    pub reduction: Reduction,
    /// Strategy for the choice of runs; the reduction applies only to depth-first search.
    pub strategy: Strategy,
    /// The most steps of one run. Longer runs are cut, and the search is then not exhaustive.
    pub depth_max: usize,
    /// The most runs.
    pub executions_max: u64,
    /// The most executed steps, replayed ones included.
    pub transitions_max: u64,
    /// The most seconds of real time.
    pub seconds_max: f64,
    /// Number of findings to keep; the search stops at that number, unless
    /// [`Options::goes_on`].
    pub findings_max: usize,
    /// True if the search continues after the last finding that is kept, to count.
    pub goes_on: bool,
    /// Stops the search soon after the flag has become true.
    pub interrupt: Option<Arc<AtomicBool>>,
    /// Is told now and then how far the search is.
    pub progress: Option<Arc<SearchProgress>>,
    /// Looks at all races of every run instead of the new ones only; slower, with the same result.
    pub every_race: bool,
    /// A mistake on purpose, for tests.
    #[cfg(feature = "seeded-defects")]
    pub defect: Option<crate::SeededDefect>,
}

impl Default for Options {
    /// Exhaustive, but for runs of more than 100 000 steps; keeps 10 findings.
    fn default() -> Self {
        Self {
            reduction: Reduction::default(),
            strategy: Strategy::default(),
            depth_max: 100_000,
            executions_max: u64::MAX,
            transitions_max: u64::MAX,
            seconds_max: f64::INFINITY,
            findings_max: 10,
            goes_on: true,
            interrupt: None,
            progress: None,
            every_race: false,
            #[cfg(feature = "seeded-defects")]
            defect: None,
        }
    }
}
